"""Comments over the HTTP API, with a stand-in for their owner that notes every command: what the gateway asks, writes and answers. Covers
ingest/comments/acts.c, ingest/comments/comments.c, ingest/comments/pages.c, ingest/comments/parts.c and ingest/comments/writing.c."""
import pytest

from harness.commenting import Commenting
from harness.comments_owner import CommentsOwner
from harness.feed import Feed
from harness.http import problem
from harness.waiting import eventually, now_ms


@pytest.fixture(scope='module')
def feed(make_module_cluster):
    return Feed(make_module_cluster(settings={'ingest:ingest.outcome.wait.ms': 4000}).start(feeds=1, fanouts=0, sinks=0))


@pytest.fixture(scope='module')
def owner(feed):
    owner = CommentsOwner(feed.cluster)
    yield owner
    owner.close()


@pytest.fixture
def comments(feed, owner):
    """The people; the model is the owner's own."""
    comments = Commenting(feed.cluster)
    yield comments
    owner.paused = owner.deaf = False


@pytest.fixture
def post(feed, users):
    """(author, subject) of a new post."""
    author, = users(1)
    return author, f'post:{feed.post(author, "a post")["id"]}'


@pytest.fixture
def subject(comments, user):
    """(owner, subject) of a new subject that is no post."""
    return user, comments.new_subject(user)


# ---- what is written ----

def test_a_comment_is_written_and_read(comments, owner, feed, post, ada):
    author, subject = post
    feed.http(ada).ok('PUT', '/v1/profile', json={'name': 'Ada', 'avatar_url': 'https://img.example/ada.png'})
    eventually(lambda: feed.http(author).get(f'/v1/profiles/{ada}').ok)
    before = now_ms()
    response = comments.http(ada).post(comments.path(subject), json={'text': 'Grüße, \U0001f30d "quoted"\n'})
    assert response.status_code == 201, response.text
    made = response.json()
    assert before - 1000 < made['time'] < now_ms() + 1000
    assert made == {'id': made['id'], 'user': ada, 'name': 'Ada', 'avatar_url': 'https://img.example/ada.png',
                    'text': 'Grüße, \U0001f30d "quoted"\n', 'time': made['time'], 'version': 1, 'edited': None, 'floor': 1, 'root': None,
                    'reply_to': None, 'likes': 0, 'reply_count': 0, 'replies': [], 'state': 'visible'}
    command = owner.commands[-1]
    assert (command['owner'], command['role'], command['blocked'], command['level']) == (author, 'USER', False, 0)
    page = comments.http(author).ok('GET', comments.path(subject))
    assert page == {'items': [made], 'next': None, 'total': 1, 'likes': 0, 'version': page['version'], 'closed': False,
                    'owner': author, 'pinned': []}

    reply = comments.http(author).post(comments.path(subject), json={'text': 'thanks', 'reply_to': made['id']}).json()
    assert (reply['root'], reply['reply_to'], reply['floor'], reply['name']) == (made['id'], made['id'], 1, None)
    one = comments.http(author).ok('GET', comments.path(subject, made['id']))
    assert one == {**made, 'reply_count': 1}
    assert comments.http(ada).ok('GET', comments.path(subject, made['id'], 'replies')) == {'items': [reply], 'next': None}
    around = comments.http(ada).ok('GET', comments.path(subject, reply['id']), params={'around': 2})
    assert (around['item'], around['root']['id'], around['around']) == (reply, made['id'], [])
    problem(comments.http(ada).get(comments.path(subject, 12345)), 404, 'no_comment')


def test_the_same_key_is_the_same_comment(comments, owner, post, ada):
    _, subject = post
    for _ in range(2):
        response = comments.http(ada).post(comments.path(subject), json={'text': 'once', 'key': 'k /&='})
        assert response.status_code == 201
    assert comments.http(ada).ok('GET', comments.path(subject))['total'] == 1
    outcome = comments.http(ada).get(comments.path(subject, 'outcome').replace('comments', 'subjects'), params={'key': 'k /&='})
    assert (outcome.status_code, outcome.json()) == (201, response.json())
    problem(comments.http(ada).get(comments.path(subject, 'outcome').replace('comments', 'subjects'), params={'key': 'another'}), 404, 'no_outcome')


def test_an_undecided_comment_says_where_its_outcome_is(comments, owner, post, ada):
    _, subject = post
    owner.paused = True
    response = comments.http(ada).post(comments.path(subject), json={'text': 'slow'})
    assert response.status_code == 202, response.text
    assert response.json() == {'key': response.json()['key'], 'location': response.headers['Location']}
    assert comments.http(ada).get(response.headers['Location']).status_code == 202
    owner.paused = False
    made = eventually(lambda: (answer := comments.http(ada).get(response.headers['Location'])).status_code == 201 and answer)
    assert made.json()['text'] == 'slow'


def test_a_silent_owner_holds_no_writer_up(comments, owner, feed, post, ada):
    author, subject = post
    owner.deaf = True
    response = comments.http(ada).post(comments.path(subject), json={'text': 'into the dark'})
    assert response.status_code == 202, response.text
    response = comments.http(ada).post('/v1/comments/site/never-seen', json={'text': 'into the dark'})
    problem(response, 503, 'owner_unavailable')  # nobody can say who owns it
    assert int(response.headers['Retry-After']) > 0
    owner.deaf = False
    eventually(lambda: any(c['user'] == ada and not c['blocked'] and c['owner'] == author for c in owner.commands))
    feed.cluster.http(author).put(f'/v1/blocks/{ada}').raise_for_status()
    owner.deaf = True
    eventually(lambda: problem(comments.http(ada).post(comments.path(subject), json={'text': 'into the dark'}), 404, 'no_post'))
    owner.deaf = False


# ---- what is asked of others ----

def test_facts_about_the_owner_are_in_the_command(comments, owner, feed, subject, users):
    site, name = subject
    ada, ben, cem = users(3)
    comments.register(name, owner=site, who_may='followers')
    problem(comments.http(ada).post(comments.path(name), json={'text': 'a'}), 403, 'not_allowed')
    feed.follow(ada, site)
    comments.write(name, ada, 'a')
    assert owner.commands[-1]['follows'] and not owner.commands[-1]['friends']

    comments.register(name, owner=site, who_may='friends')
    problem(comments.http(ada).post(comments.path(name), json={'text': 'a'}), 403, 'not_allowed')
    comments.cluster.befriend((ben, site))
    comments.write(name, ben, 'b')
    comments.write(name, site, 'the owner may')

    comments.register(name, owner=site, who_may='everyone', level=3)
    problem(comments.http(cem, level=2).post(comments.path(name), json={'text': 'a'}), 403, 'level_too_low')
    comments.write(name, cem, 'c', level=3)
    comments.register(name, owner=site, level=0)
    for blocker, blocked in ((site, ada), (ben, site)):  # in either direction
        comments.http(blocker).put(f'/v1/blocks/{blocked}').raise_for_status()
    for blocked in (ada, ben):
        problem(comments.http(blocked).post(comments.path(name), json={'text': 'a'}), 403, 'not_allowed')


def test_a_blocked_user_cannot_answer(comments, subject, users):
    _, name = subject
    ada, ben = users(2)
    made = comments.write(name, ada, 'a')
    comments.http(ada).put(f'/v1/blocks/{ben}').raise_for_status()
    cem, = users(1)
    below = comments.write(name, cem, 'c', reply_to=made['id'])
    ruled, = users(1)
    comments.register(f'site:ruled-by-{ruled}', owner=ruled, who_may='nobody')
    ordinary = comments.http(ben).post(comments.path(f'site:ruled-by-{ruled}'), json={'text': 'b'})
    answers = [comments.http(ben).post(comments.path(name), json={'text': 'b', 'reply_to': answered['id']})
               for answered in (made, below)]  # the latter stands under the blocker's root
    likes = [comments.http(ben).put(comments.path(name, liked['id']) + '/like') for liked in (made, below)]
    told = {(response.status_code, *(response.json()[name] for name in ('code', 'detail'))) for response in (ordinary, *answers, *likes)}
    assert len(told) == 1 and told.pop()[:2] == (403, 'not_allowed')  # nothing tells a block from a subject's rules
    assert comments.http(ben).delete(comments.path(name, made['id']) + '/like').status_code == 200
    comments.write(name, ben, 'a root of his own')
    assert comments.http(cem).put(comments.path(name, made['id']) + '/like').status_code == 200


def test_nothing_is_written_while_an_owner_is_away(comments, owner, feed, post, ada):
    _, subject = post
    daemon = feed.cluster.feeds[0]
    daemon.pause()
    try:
        response = comments.http(ada).post(comments.path(subject), json={'text': 'a'})
    finally:
        daemon.resume()
    problem(response, 503, 'owner_unavailable')
    assert int(response.headers['Retry-After']) > 0
    assert all(command['user'] != ada for command in owner.commands)


# ---- what is refused ----

@pytest.mark.parametrize('body, code', [
    ({}, 'bad_text'), ({'text': ''}, 'bad_text'), ({'text': None}, 'bad_text'), ({'text': 'a' * 10001}, 'bad_text'),
    ({'text': 'a', 'key': ''}, 'bad_key'), ({'text': 'a', 'key': 'a' * 65}, 'bad_key'),
    ({'text': 'a', 'reply_to': 5}, 'bad_reply_to'), ({'text': 'a', 'reply_to': '0'}, 'bad_reply_to'),
    ({'text': 'a', 'reply_to': None}, 'bad_reply_to'), ([], 'bad_message'),
])
def test_bad_comments_are_refused(comments, owner, subject, ada, body, code):
    _, name = subject
    problem(comments.http(ada).post(comments.path(name), json=body), 400, code)
    assert all(command['user'] != ada for command in owner.commands)


@pytest.mark.parametrize('body', [b'', b'{', b'{"text":"\xff"}', b'{"text":"\\u0000"}', b'{"text":"\\ud800"}'])
def test_invalid_text_is_refused(comments, owner, subject, ada, body):
    _, name = subject
    problem(comments.http(ada).post(comments.path(name), data=body), 400, 'bad_message')
    assert all(command['user'] != ada for command in owner.commands)


def test_the_longest_comment_comes_back_whole(comments, subject, ada):
    _, name = subject
    assert comments.write(name, ada, '\U0001f30d' * 10000)['text'] == '\U0001f30d' * 10000


def test_wrong_subjects_and_comments_are_refused(comments, owner, feed, subject, post, ada):
    _, name = subject
    _, other = post
    made = comments.write(name, ada, 'a')
    http, written = comments.http(ada), len(owner.commands)
    for path in ('/v1/comments/Site/1', '/v1/comments/site/%2E%2E', f'/v1/comments/{"a" * 33}/1', f'/v1/comments/a/{"a" * 129}'):
        response = http.post(path, json={'text': 'a'})
        assert response.status_code in (400, 404) and response.json()['code'] in ('bad_path', 'no_such_path'), response.text
    problem(http.post('/v1/comments/post/1', json={'text': 'a'}), 404, 'no_subject')
    problem(http.post(comments.path(other), json={'text': 'a', 'reply_to': '12345'}), 400, 'no_comment')
    assert len(owner.commands) == written
    # The author of this comment is known, so its owner decides.
    problem(http.post(comments.path(other), json={'text': 'a', 'reply_to': made['id']}), 404, 'no_subject')
    problem(http.post('/v1/comments/site/nobody', json={'text': 'a'}), 404, 'no_subject')
    assert http.ok('GET', '/v1/comments/site/nobody') == {
        'items': [], 'next': None, 'total': 0, 'likes': 0, 'version': 0, 'closed': False, 'owner': None, 'pinned': []}


def test_a_deleted_post_takes_no_comments(comments, feed, post, ada):
    author, subject = post
    first = comments.http(ada).post(comments.path(subject), json={'text': 'a', 'key': 'early'})
    feed.delete(author, subject.removeprefix('post:'))

    def gone():  # what the gateway has heard of the post counts for two seconds
        response = comments.http(ada).post(comments.path(subject), json={'text': 'a'})
        return response.status_code == 404 and response.json()['code'] == 'no_subject'

    eventually(gone, every=0.5)
    again = comments.http(ada).post(comments.path(subject), json={'text': 'a', 'key': 'early'})
    assert (again.status_code, again.json()['id']) == (201, first.json()['id'])


def test_a_closed_subject_takes_no_comments(comments, subject, ada):
    site, name = subject
    answer = comments.register(name, owner=site, closed=True, review='before')
    assert answer == {'type': 'site', 'id': name.removeprefix('site:'), 'owner': site, 'closed': True,
                      'who_may': 'everyone', 'review': 'before', 'level': 0, 'total': 0, 'version': answer['version']}
    problem(comments.http(ada).post(comments.path(name), json={'text': 'a'}), 409, 'subject_closed')
    problem(comments.http(ada).put(f'/v1/subjects/{name.replace(":", "/")}', json={'owner': ada}), 403, 'gateways_only')
    gateway = comments.cluster.gateway()
    for body, code in (({'owner': -1}, 'bad_user'), ({'owner': 1, 'who_may': 'me'}, 'bad_subject'),
                       ({'owner': 1, 'review': 5}, 'bad_subject'), ({'owner': 1, 'closed': 'yes'}, 'bad_subject'),
                       ({'owner': 1, 'level': -1}, 'bad_subject')):
        problem(gateway.put(f'/v1/subjects/{name.replace(":", "/")}', json=body), 400, code)
    problem(gateway.put('/v1/subjects/site/new-one', json={}), 404, 'no_subject')


# ---- what is done to comments ----

def test_likes_pins_and_deletions(comments, subject, users):
    site, name = subject
    ada, ben = users(2)
    one = comments.write(name, ada, 'a')
    reply = comments.write(name, ben, 'b', reply_to=one['id'])
    for _ in range(2):
        assert comments.like(name, ben, one['id']) == 1
    assert comments.like(name, ada, one['id']) == 2  # one's own
    for _ in range(2):
        assert comments.like(name, ben, one['id'], wanted=False) == 1
    problem(comments.http(ben).put(comments.path(name, 12345, 'like')), 404, 'no_comment')

    problem(comments.http(ada).put(comments.path(name, one['id'], 'pin')), 403, 'not_your_comment')
    problem(comments.http(site).put(comments.path(name, reply['id'], 'pin')), 400, 'not_a_root')
    assert comments.pin(name, site, one['id']) is True
    comments.check(name)
    assert comments.pin(name, site, one['id'], wanted=False) is False

    problem(comments.http(ben).delete(comments.path(name, one['id'])), 403, 'not_your_comment')
    for _ in range(2):
        comments.delete(name, ada, one['id'])
    problem(comments.http(ben).put(comments.path(name, one['id'], 'like')), 409, 'comment_not_visible')
    problem(comments.http(ben).post(comments.path(name), json={'text': 'a', 'reply_to': one['id']}), 409, 'comment_not_visible')
    shown = comments.http(ben).ok('GET', comments.path(name))
    assert (shown['items'][0]['state'], shown['items'][0]['text'], shown['total']) == ('deleted', None, 1)
    comments.check(name)


def like_of(subject) -> str:
    return f'/v1/posts/{subject.removeprefix("post:")}/like'


def test_a_post_is_liked(comments, owner, feed, post, users):
    author, subject = post
    ada, ben, cleo = users(3)
    assert comments.like_post(subject, ada, author, wanted=False) == 0  # nobody has ever liked it
    for _ in range(2):
        assert comments.like_post(subject, ben, author) == 1
    assert (owner.commands[-1]['kind'], owner.commands[-1]['comment'], owner.commands[-1]['owner']) == ('LIKE', 0, author)
    assert [comments.like_post(subject, user, author) for user in (author, ada, cleo)] == [2, 3, 4]  # one's own, too
    for user, liked in ((ben, True), (1, False)):
        http = comments.http(user)
        eventually(lambda: [http.ok('GET', like_of(subject).removesuffix('/like')).get(name) for name in ('likes', 'liked')] == [4, liked])
    for _ in range(2):
        assert comments.like_post(subject, ben, author, wanted=False) == 3
    comments.check(subject)
    likers = comments.http(ben).pages(f'{like_of(subject)}s', limit=2)
    assert [one['user'] for page in likers for one in page['items']] == sorted([author, ada, cleo])
    assert set(next(iter(comments.http(ben).pages(f'{like_of(subject)}s')))['items'][0]) == {'user', 'name', 'avatar_url', 'handle'}
    comments.http(ben).put(f'/v1/blocks/{ada}').raise_for_status()
    eventually(lambda: ada not in [one['user'] for one in comments.http(ben).ok('GET', f'{like_of(subject)}s')['items']],
               what='who is blocked is left out')
    for query in ({'limit': 0}, {'limit': 1001}, {'after': 'x'}):
        problem(comments.http(ben).get(f'{like_of(subject)}s', params=query), 400, 'bad_query')


def test_a_post_that_is_gone_is_not_liked(comments, owner, feed, post, ada):
    author, subject = post
    comments.like_post(subject, ada, author)
    feed.delete(author, subject.removeprefix('post:'))
    written = len(owner.commands)
    for path in (like_of(subject), like_of('post:1'), like_of('post:9223372036854775807')):
        for method in ('PUT', 'DELETE'):
            problem(comments.http(ada).request(method, path), 404, 'no_post')
        problem(comments.http(ada).get(f'{path}s'), 404, 'no_post')
    likes = [command for command in owner.commands[written:] if command['kind'] != 'CLOSE']
    assert not likes
    problem(comments.http(None).put(like_of(subject)), 401, 'no_token')


def test_who_is_blocked_does_not_like_a_post(comments, feed, post, users):
    author, subject = post
    ada, ben, cleo = users(3)
    comments.like_post(subject, cleo, author)
    for blocker, other in ((author, ada), (ben, author), (author, cleo)):  # in either direction
        comments.http(blocker).put(f'/v1/blocks/{other}').raise_for_status()
    for user in (ada, ben, cleo):
        eventually(lambda: problem(comments.http(user).put(like_of(subject)), 404, 'no_post') or True)  # until the owner has read the block
    assert comments.http(author).ok('GET', f'/v1/posts/{subject.removeprefix("post:")}')['likes'] == 1
    problem(comments.http(cleo).delete(like_of(subject)), 404, 'no_post')  # and the like is taken back
    eventually(lambda: comments.http(author).ok('GET', f'/v1/posts/{subject.removeprefix("post:")}')['likes'] == 0)


def test_a_like_waits_for_nobody(comments, owner, post, ada):
    """The owner stands still: 202, and it is decided later."""
    _, subject = post
    owner.paused = True
    answer = comments.http(ada).put(like_of(subject))
    assert (answer.status_code, answer.json()) == (202, {'state': 'pending'})
    owner.paused = False
    assert comments.like_post(subject, ada, post[0]) == 1


def test_moderators_hide_restore_and_delete(comments, owner, subject, users):
    _, name = subject
    ada, mod = users(2)
    one = comments.write(name, ada, 'a')
    report = comments.http(mod).post(comments.path(name, one['id'], 'report'), json={'reason': 'spam'})
    assert (report.status_code, owner.commands[-1]['text']) == (202, 'spam')
    problem(comments.http(mod).post(comments.path(name, one['id'], 'report'), json={'reason': ''}), 400, 'bad_reason')
    path = comments.path(name, one['id']).replace('/v1/', '/v1/moderation/', 1)
    problem(comments.http(mod).put(path, json={'state': 'hidden', 'reason': 'x'}), 403, 'moderators_only')
    problem(comments.http(mod, scope='moderator').put(path, json={'state': 'held', 'reason': 'x'}), 400, 'bad_state')
    problem(comments.http(mod, scope='moderator').put(path, json={'state': 'hidden'}), 400, 'bad_reason')
    for state in ('hidden', 'visible', 'deleted'):
        answer = comments.moderate(name, one['id'], state, mod)
        assert (answer['state'], answer['text']) == (state, 'a' if state == 'visible' else None)
        assert (owner.commands[-1]['role'], owner.commands[-1]['user'], owner.commands[-1]['text']) == ('MODERATOR', mod, 'because')
        comments.check(name)


# ---- pages ----

def test_pages_of_every_order(comments, subject, users):
    _, name = subject
    people = users(5)
    made = [comments.write(name, people[n % 5], f'comment {n}') for n in range(17)]
    for n in range(12):
        comments.write(name, people[n % 5], f'reply {n}', reply_to=made[n % 3]['id'])
    for n, liked in enumerate((3, 3, 3, 9, 9, 16)):
        comments.like(name, people[n % 5], made[liked]['id'])
    comments.check(name)
    comments.check(name, limit=20)
    http = comments.http(people[0])
    page = http.ok('GET', comments.path(name), params={'sort': 'newest', 'limit': 5, 'replies': 0})
    assert [item['floor'] for item in page['items']] == [17, 16, 15, 14, 13]
    problem(http.get(comments.path(name), params={'sort': 'heat', 'after': page['next']}), 400, 'wrong_cursor')
    for query, code in (({'sort': 'age'}, 'bad_query'), ({'limit': 0}, 'bad_query'), ({'limit': 1001}, 'bad_query'),
                        ({'after': ''}, 'wrong_cursor'), ({'after': 'a' * 300}, 'wrong_cursor'),
                        ({'replies': 21}, 'bad_query'), ({'liked': 'maybe'}, 'bad_query')):
        problem(http.get(comments.path(name), params=query), 400, code)


def test_a_page_that_has_not_changed_is_not_sent_again(comments, subject, users):
    _, name = subject
    ada, ben = users(2)
    one = comments.write(name, ada, 'a')
    http = comments.http(ada)
    first = http.get(comments.path(name))
    tag = first.headers['ETag']
    same = http.get(comments.path(name), headers={'If-None-Match': tag})
    assert (same.status_code, same.content, same.headers['ETag']) == (304, b'', tag)
    comments.like(name, ben, one['id'])
    other = http.get(comments.path(name), headers={'If-None-Match': tag})
    assert other.status_code == 200 and other.headers['ETag'] != tag


def test_likes_of_ones_own_are_shown_where_they_are_asked_for(comments, subject, users):
    _, name = subject
    ada, ben = users(2)
    ids = [comments.write(name, ada, f'{n}')['id'] for n in range(3)]
    comments.like(name, ben, ids[1])
    assert all('liked' not in item for item in comments.http(ben).ok('GET', comments.path(name))['items'])
    for user, liked in ((ben, [False, True, False]), (ada, [False] * 3)):
        response = comments.http(user).get(comments.path(name), params={'liked': 'true'})
        assert [item['liked'] for item in response.json()['items']] == liked
        assert str(user) in response.headers['ETag']
    assert comments.http(ben).ok('GET', comments.path(name, ids[1]), params={'liked': 'true'})['liked'] is True
