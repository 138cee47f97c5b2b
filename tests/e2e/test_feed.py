"""The feed over the HTTP API: posts, follows, mutes, users and home timelines, with one feed process that is well. Covers ingest/feed/follows.c,
ingest/feed/home.c, ingest/feed/posts.c, ingest/feed/users.c, feed/blocks.c, feed/commands.c, feed/commands_follows.c, feed/commands_posts.c,
feed/consequences.c, feed/feed.c, feed/feed_parts.c, feed/outcomes.c, feed/replies.c, feed/replies_feed.c, feed/replies_posts.c,
feed/replies_slow.c, feed/timelines.c and feed/topology.c."""
import json

import pytest

from harness.feed import Feed
from harness.http import Http, problem
from harness.meanwhile import at_once
from harness.waiting import eventually, now_ms

FOLLOWING_MAX = 25


@pytest.fixture(scope='module')
def feed(make_module_cluster):
    # An answer is 202 where the outcome is not known within two seconds, which a busy machine may need.
    return Feed(make_module_cluster(settings={
        'ingest:ingest.outcome.wait.ms': 8000, 'feed:feed.following.max': FOLLOWING_MAX}).start(feeds=1))


def test_status_shows_the_feed_processes(feed):
    found = json.loads(feed.cluster.starling('status', '--json', check=False).stdout)
    group, = [group for group in found['groups'] if group['group'] == feed.cluster.group('feed')]
    member, = group['members']
    topics = {feed.cluster.topics.name(name) for name in ('follow-commands', 'follower-commands', 'post-commands', 'name-commands',
                                                             'notice-commands', 'directory-commands', 'timeline-requests')}
    assert {topic['topic'] for topic in group['topics']} == topics
    assert all(member['partitions'][topic] == [0, 1, 2, 3] for topic in topics)


# ---- posts ----

def test_a_post_is_made_read_and_deleted(feed, users):
    ada, ben = users(2)
    feed.http(ada).ok('PUT', '/v1/profile', json={'name': 'Ada', 'avatar_url': 'https://img.example/ada.png'})
    eventually(lambda: feed.http(ben).get(f'/v1/profiles/{ada}').ok)
    before = now_ms()
    made = feed.http(ada).post('/v1/posts', json={'text': 'Grüße, \U0001f30d "quoted"\n', 'media': ['https://img.example/1']})
    assert made.status_code == 201
    post = made.json()
    assert isinstance(post['id'], str) and before - 1000 < post['time'] < now_ms() + 1000
    assert post == {'id': post['id'], 'user': ada, 'name': 'Ada', 'avatar_url': 'https://img.example/ada.png',
                    'text': 'Grüße, \U0001f30d "quoted"\n', 'media': ['https://img.example/1'], 'time': post['time'],
                    'version': 1, 'edited': None}
    assert feed.http(ben).ok('GET', f'/v1/posts/{post["id"]}') == post
    assert feed.http(ben).ok('GET', f'/v1/users/{ada}/posts') == {'items': [post], 'next': None}

    feed.http(ben).refused('DELETE', f'/v1/posts/{post["id"]}', 403, 'not_your_post')
    for _ in range(2):  # also when it is gone already
        deleted = feed.http(ada).delete(f'/v1/posts/{post["id"]}')
        assert (deleted.status_code, deleted.content) == (204, b'')
    feed.http(ben).refused('GET', f'/v1/posts/{post["id"]}', 404, 'no_post')
    assert feed.http(ben).ok('GET', f'/v1/users/{ada}/posts') == {'items': [], 'next': None}


def test_what_was_answered_can_be_read_at_once(feed, users):
    """Also by others, while many post: a post's text comes from another topic than its place in the author's list."""
    people = users(6)
    failures = []

    def live(user):
        http = feed.http(user)
        for number in range(40):
            made = http.post('/v1/posts', json={'text': f'post {number}'})
            if made.status_code != 201:
                failures.append(made.text)
                return
            read, own = http.get(f'/v1/posts/{made.json()["id"]}'), http.get(f'/v1/users/{user}/posts', params={'limit': 1})
            if read.json() != made.json() or own.json()['items'] != [made.json()]:
                failures.append((made.text, read.text, own.text))

    at_once(live, people)
    assert not failures, failures


def test_an_author_without_a_profile_has_no_name(feed, ada):
    post = feed.post(ada, 'hello')
    assert post['name'] is None and post['avatar_url'] is None and post['media'] == []


@pytest.mark.parametrize('body, code', [
    ({}, 'bad_text'),
    ({'text': ''}, 'bad_text'),
    ({'text': None}, 'bad_text'),
    ({'text': 5}, 'bad_text'),
    ({'text': 'a' * 2001}, 'bad_text'),
    ({'text': '\U0001f30d' * 2001}, 'bad_text'),
    ({'text': 'a', 'media': 'https://img.example/1'}, 'bad_media'),
    ({'text': 'a', 'media': None}, 'bad_media'),
    ({'text': 'a', 'media': [5]}, 'bad_media'),
    ({'text': 'a', 'media': ['']}, 'bad_media'),
    ({'text': 'a', 'media': ['ftp://img.example/1']}, 'bad_media'),
    ({'text': 'a', 'media': ['javascript:alert(1)']}, 'bad_media'),
    ({'text': 'a', 'media': ['https://img.example/' + 'a' * 2029]}, 'bad_media'),
    ({'text': 'a', 'media': ['https://img.example/1'] * 5}, 'bad_media'),
    ({'text': 'a', 'key': ''}, 'bad_key'),
    ({'text': 'a', 'key': None}, 'bad_key'),
    ({'text': 'a', 'key': 'a' * 65}, 'bad_key'),
    ({'text': 'a', 'key': 'a\nb'}, 'bad_key'),
    ({'text': 'a', 'key': 'ü'}, 'bad_key'),
    ([], 'bad_message'),
])
def test_bad_posts_are_refused(feed, ada, body, code):
    feed.http(ada).refused('POST', '/v1/posts', 400, code, json=body)


@pytest.mark.parametrize('body', [b'', b'{', b'{"text":"\xff"}', b'{"text":"\\u0000"}', b'{"text":"\\ud800"}'])
def test_what_is_no_text_is_refused(feed, ada, body):
    feed.http(ada).refused('POST', '/v1/posts', 400, 'bad_message', data=body)


def test_the_longest_post_comes_back_whole(feed, users):
    ada, ben = users(2)
    body = {'text': '\U0001f30d' * 2000, 'media': ['https://img.example/' + 'a' * 2028] * 4}
    post = feed.post(ada, body['text'], media=body['media'])
    assert {name: post[name] for name in body} == body
    feed.follow(ben, ada)
    feed.wait_home(ben)
    assert feed.home(ben) == [post]


def test_the_same_key_is_the_same_post(feed, users):
    ada, ben = users(2)
    for key in ['k', 'a b/c?d=e&f#g%h+i"\\~', '.' * 64]:
        first = feed.post(ada, 'first', key=key)
        again = feed.http(ada).post('/v1/posts', json={'text': 'again', 'key': key})
        assert (again.status_code, again.json()) == (201, first)
        assert feed.http(ben).ok('POST', '/v1/posts', json={'text': 'of another', 'key': key})['id'] != first['id']
        feed.delete(ada, first['id'])
        feed.http(ada).refused('POST', '/v1/posts', 409, 'post_deleted', json={'text': 'first', 'key': key})
    without = [feed.http(ada).ok('POST', '/v1/posts', json={'text': 'no key'})['id'] for _ in range(2)]
    assert without[0] != without[1]


def test_a_repeated_post_has_the_outcome_of_its_key_although_it_waits_itself(feed, ada):
    """A gateway that does not wait at all stands for commands that wait for longer than gateways do."""
    impatient = feed.cluster.add('ingest', settings={'ingest.outcome.wait.ms': 0})
    http = feed.cluster.http(ada)
    http.base = f'http://{impatient.settings["ingest.listen"]}'

    def posted():
        response = http.post('/v1/posts', json={'text': 'a', 'key': 'again and again'})
        assert response.status_code in (201, 202), response.text
        return response.status_code == 201 and response.json()

    assert feed.http(ada).ok('GET', f'/v1/posts/{eventually(posted)["id"]}')['text'] == 'a'


def test_ids_that_are_none_and_posts_that_are_not_there(feed, ada):
    http = feed.http(ada)
    for path in ['0', '-1', '07', 'abc', '9223372036854775808', '1x', '%20']:
        for method in ('GET', 'DELETE'):
            http.refused(method, f'/v1/posts/{path}', 400, 'bad_path')
    nobodys = [1, 3 << 12, 1023 << 12, 2**63 - 1]  # of partitions that there are, and of one that there is not
    moderator = feed.cluster.http(ada, scope='moderator')
    for post in nobodys:
        http.refused('GET', f'/v1/posts/{post}', 404, 'no_post')
        http.refused('GET', f'/v1/posts/{post}/edits', 404, 'no_post')
        for editor in http, moderator:
            editor.refused('PUT', f'/v1/posts/{post}', 404, 'no_post', json={'text': 'a', 'version': 1, 'reason': 'b'})
        assert http.delete(f'/v1/posts/{post}').status_code == 204


def test_a_users_posts_by_time(feed, ada):
    posts = []
    for number in range(12):
        posts.append(feed.post(ada, str(number)))
        eventually(lambda: now_ms() > posts[-1]['time'] + 2, every=0.001)  # no two of one millisecond
    newest_first = posts[::-1]

    def by(limit, **query):
        return [item for page in feed.pages(ada, f'/v1/users/{ada}/posts', limit=limit, **query) for item in page['items']]

    for limit in (1, 5, 12, 1000):
        assert by(limit) == newest_first
    times = [post['time'] for post in posts]
    for limit in (2, 20):
        for first, last in [(0, 12), (3, 7), (11, 12), (4, 4)]:
            query = {'from': times[first], **({'to': times[last]} if last < 12 else {})}
            assert by(limit, **query) == posts[first:last][::-1], (first, last)
    assert by(5, to=times[0]) == [] and by(5, to=1) == [] and by(5, **{'from': times[-1] + 1}) == []
    assert by(5, **{'from': 2**63 - 1}) == []
    assert by(5, to=2**63 - 1) == newest_first


def test_a_home_timeline_by_time(feed, users):
    reader, *authors = users(3)
    for author in authors:
        feed.follow(reader, author)
    posts = []
    for number in range(12):
        posts.append(feed.post(authors[number % 2], str(number)))
        eventually(lambda: now_ms() > posts[-1]['time'] + 2, every=0.001)  # no two of one millisecond
    feed.wait_home(reader)
    times = [post['time'] for post in posts]

    def by(limit, **query):
        pages = feed.pages(reader, '/v1/feed', limit=limit, **query)
        assert all(page['complete'] and not page['version'] for page in pages)  # only the newest page has one
        return [item['id'] for page in pages for item in page['items']]

    for limit in (1, 5, 20):
        for first, last in [(0, 12), (3, 7), (11, 12), (4, 4)]:
            query = {'from': times[first], **({'to': times[last]} if last < 12 else {})}
            assert by(limit, **query) == [post['id'] for post in posts[first:last][::-1]], (first, last)
    assert by(5, to=times[0]) == [] and by(5, to=1) == [] and by(5, **{'from': times[-1] + 1}) == []
    assert by(5, after=posts[6]['id'], **{'from': times[2], 'to': times[9]}) == [post['id'] for post in posts[2:6][::-1]]
    assert feed.http(reader).ok('GET', '/v1/feed?from=0')['version'] == feed.http(reader).ok('GET', '/v1/feed')['version'] != ''


@pytest.mark.parametrize('query', ['limit=0', 'limit=1001', 'limit=a', 'limit=', 'limit=-1', 'after=abc', 'after=0', 'after=',
                                   'after=-5', 'after=9223372036854775808'])
def test_queries_that_are_none(feed, ada, query):
    for path in ['/v1/feed', f'/v1/users/{ada}/posts', f'/v1/users/{ada}/followers', f'/v1/users/{ada}/following']:
        if query == 'after=0' and path.endswith(('ing', 'ers')):
            continue  # 0 is a user, and no id
        feed.http(ada).refused('GET', f'{path}?{query}', 400, 'bad_query')
    for bad, detail in (('from=x', '"from" is "x"'), ('to=-1', '"to" is "-1"'),
                        ('from=8&to=7', '"from" is 8, but must not be after "to", which is 7')):
        for path in f'/v1/users/{ada}/posts', '/v1/feed':
            response = feed.http(ada).refused('GET', f'{path}?{bad}', 400, 'bad_query')
            assert response.json()['detail'].startswith(detail), bad


# ---- what very many read ----

def test_hot_users_and_posts_are_asked_for_once_a_second(make_cluster, users):
    cluster = make_cluster(settings={'ingest:feed.copies.reads': 20, 'ingest:ingest.outcome.wait.ms': 8000}).start(
        ingests=2, feeds=1, routers=0, sinks=0, fanouts=0)
    feed, (author,) = Feed(cluster), users(1)
    post = feed.post(author, 'one')
    here, there = (Http(f'http://{gateway.settings["ingest.listen"]}', cluster.token('gateway', scope='gateway'))
                   for gateway in cluster.of('ingest'))
    user, posts, single = paths = f'/v1/users/{author}', f'/v1/users/{author}/posts', f'/v1/posts/{post["id"]}'

    def read(http, times) -> float:
        """How many questions that takes; only `here` counts them."""
        before = cluster.ingest.total('starling_ingest_feed_answers_built_total')
        for _ in range(times):
            for path in paths:
                http.ok('GET', path)
        return cluster.ingest.total('starling_ingest_feed_answers_built_total') - before

    eventually(lambda: there.get(single).ok)
    assert read(here, 9) == 27  # nobody shares what is not hot
    read(here, 20), read(there, 25)
    began = now_ms()
    assert read(here, 150) <= 3 * (2 + (now_ms() - began) / 1000)

    newer = feed.post(author, 'two')  # who has posted sees it, hot or not
    assert [one['id'] for one in here.ok('GET', posts)['items']] == [newer['id'], post['id']]
    assert here.ok('GET', user)['posts'] == 2
    read(there, 25)
    feed.delete(author, post['id'])
    assert here.get(single).status_code == 404 and here.ok('GET', user)['posts'] == 1
    eventually(lambda: there.get(single).status_code == 404 and there.ok('GET', user)['posts'] == 1, 2)


# ---- follows and mutes ----

def test_follows_in_both_directions(feed, users):
    people = users(8)
    star, fans = people[0], people[1:]
    assert feed.http(star).ok('GET', f'/v1/users/{star}') == {
        'user': star, 'name': None, 'avatar_url': None, 'bio': None, 'url': None, 'followers': 0, 'following': 0, 'posts': 0}
    for fan in fans:
        for _ in range(2):
            assert feed.http(fan).ok('PUT', f'/v1/follows/{star}') == {'user': star, 'following': True, 'state': 'following'}
    for limit in (1, 3, 7, 20):
        # The other half is in the same transaction, but its owner may read it back a moment later.
        eventually(lambda: feed.listed(star, 'followers', limit) == fans)
        eventually(lambda: all(feed.listed(fan, 'following', limit) == [star] for fan in fans))
    assert feed.counts(star) == (7, 0, 0) and feed.counts(fans[0]) == (0, 1, 0)
    for _ in range(2):
        assert feed.http(fans[3]).ok('DELETE', f'/v1/follows/{star}') == {'user': star, 'following': False, 'state': None}
    eventually(lambda: feed.listed(star, 'followers', 2) == fans[:3] + fans[4:])
    eventually(lambda: feed.listed(fans[3], 'following', 2) == [])
    feed.post(star, 'one')
    assert feed.counts(star) == (6, 0, 1)


def test_known_followers_are_those_whom_both_lists_have(feed, users):
    me, star, stranger, *others = users(40)
    followed, fans = others[::2], others[::3]
    for other in followed:
        feed.follow(me, other)
    for fan in [stranger, *fans]:
        feed.follow(fan, star)
    known = sorted(set(followed) & set(fans))
    assert 2 < len(known) < len(fans) < len(followed)

    def listed(limit):
        return [item['user'] for item in feed.http(me).items(f'/v1/users/{star}/followers/known', limit=limit)]

    eventually(lambda: all(listed(limit) == known for limit in (1, 3, 400)))
    page = feed.http(me).ok('GET', f'/v1/users/{star}/followers/known')
    assert page.keys() == {'items', 'next'} and page['next'] is None and page['items'][0].keys() == {'user', 'name', 'avatar_url', 'handle'}
    for alone in (stranger, star):
        assert feed.http(alone).ok('GET', f'/v1/users/{star}/followers/known') == {'items': [], 'next': None}
    problem(feed.http(me).get(f'/v1/users/{star}/followers/known', params={'limit': 401}), 400, 'bad_query')
    for _ in range(2):  # who has unfollowed is no longer known
        feed.http(me).ok('DELETE', f'/v1/follows/{known[0]}')
    eventually(lambda: listed(2) == known[1:])


def test_nobody_follows_or_mutes_himself(feed, ada):
    for path in ('follows', 'mutes'):
        for method in ('PUT', 'DELETE'):
            feed.http(ada).refused(method, f'/v1/{path}/{ada}', 400, 'same_user')
    assert feed.http(ada).put('/v1/follows/me').json()['code'] == 'bad_user'


def test_following_has_a_limit(feed, users):
    """Authors decide, by how many the reader's owner has heard that she follows."""
    ada, *others = users(FOLLOWING_MAX + 2)

    def wait_known(count):
        eventually(lambda: feed.http(ada).ok('GET', f'/v1/users/{ada}').get('following') == count, what=f'she follows {count}')

    for other in others[:FOLLOWING_MAX]:
        feed.follow(ada, other)
    wait_known(FOLLOWING_MAX)
    feed.http(ada).refused('PUT', f'/v1/follows/{others[-1]}', 409, 'following_limit')
    assert feed.http(ada).ok('PUT', f'/v1/follows/{others[0]}')['following'] is True  # follows him already
    assert feed.http(ada).ok('PUT', f'/v1/mutes/{others[-1]}') == {'user': others[-1], 'muted': True}
    feed.unfollow(ada, others[0])
    wait_known(FOLLOWING_MAX - 1)
    feed.follow(ada, others[-1])


def test_a_timeline_holds_what_is_followed_now(feed, users):
    ada, ben, cem = users(3)
    feed.wait_home(ada)
    assert feed.http(ada).ok('GET', '/v1/feed')['items'] == []
    early = feed.post(ben, 'before anybody follows')
    feed.follow(ada, ben)
    feed.wait_home(ada)
    feed.post(ada, "the reader's own")
    second = feed.post(ben, 'second')
    third = feed.post(cem, 'of another')
    feed.wait_home(ada)
    feed.follow(ada, cem)
    feed.wait_home(ada)
    assert feed.home(ada) == [third, second, early]
    feed.mute(ada, cem)
    feed.wait_home(ada)
    feed.unmute(ada, cem)
    feed.wait_home(ada)
    feed.delete(ben, second['id'])
    feed.wait_home(ada)
    feed.unfollow(ada, ben)
    feed.wait_home(ada)
    assert feed.home(ada) == [third]


def test_the_version_says_whether_a_timeline_is_the_same(feed, users):
    ada, ben = users(2)
    feed.follow(ada, ben)

    def version(**query):
        page = feed.http(ada).ok('GET', '/v1/feed', params=query)
        assert page['complete']
        return page['version']

    for number in range(30):
        feed.post(ben, str(number))
    feed.wait_home(ada)
    first = version()
    assert first and len({version(limit=limit) for limit in (1, 5, 20, 1000)} | {first}) == 1
    assert version(after=feed.home(ada)[3]['id']) == ''
    feed.delete(ben, feed.posts[ben][0])  # not one of the newest 20
    feed.wait_home(ada)
    feed.post(ben, 'one more')
    feed.wait_home(ada)
    assert version() != first


def test_blocks_end_follows_both_ways(feed, users):
    ada, ben = users(2)
    feed.follow(ada, ben)
    feed.follow(ben, ada)
    feed.post(ben, 'hello')
    feed.wait_home(ada)
    feed.http(ben).ok('PUT', f'/v1/blocks/{ada}')
    eventually(lambda: feed.listed(ada, 'following', 5) == feed.listed(ada, 'followers', 5) == [] and
               feed.listed(ben, 'following', 5) == feed.listed(ben, 'followers', 5) == [], 20)
    assert feed.home(ada) == []
    for user, other in ((ada, ben), (ben, ada)):
        feed.http(user).refused('PUT', f'/v1/follows/{other}', 403, 'not_allowed')
    feed.http(ben).ok('DELETE', f'/v1/blocks/{ada}')
    eventually(lambda: feed.http(ada).put(f'/v1/follows/{ben}').status_code == 200, 20)


def test_pages_of_the_longest_posts(feed, users):
    """A control character takes six bytes of JSON: a page of 280 such posts would be 17 MiB."""
    ada, ben = users(2)
    feed.follow(ben, ada)
    long = {'text': '\x01' * 2000, 'media': ['http://' + '\x02' * 2041 for _ in range(4)]}
    for _ in range(280):
        feed.post(ada, **long)
    pages = eventually(lambda: feed.pages(ben, f'/v1/users/{ada}/posts', limit=1000), 60)  # a slow owner is asked again
    assert [int(item['id']) for page in pages for item in page['items']] == feed.posts[ada][::-1]
    assert all(item['text'] == long['text'] for page in pages for item in page['items']) and len(pages) > 1
    feed.wait_home(ben, limit=1000)
    for path in (f'/v1/users/{ada}/posts', '/v1/feed'):
        first = feed.http(ben).get(path, params={'limit': 1000})
        assert 0.9 * 2**20 < len(first.content) < 1.1 * 2**20 and first.json()['next']


def test_a_block_that_is_carried_out_late_ends_no_later_follow(feed, users):
    """A process that takes over carries out once more what a block leads to: the follow may have been made anew since the block was lifted."""
    ada, ben = users(2)
    feed.follow(ada, ben)

    def end_by_block_of(time):
        feed.cluster.topics.produce('follower-commands', ben, ('follower-command', {
            'kind': 'END', 'author': ben, 'reader': ada, 'time': now_ms(), 'following': 0, 'blocked': time}))
        http = feed.http(ben)  # this command comes later, and is answered
        eventually(lambda: http.put('/v1/visibility', json={'posts': 'everybody'}).status_code == 200)

    end_by_block_of(now_ms() - 60000)
    assert feed.listed(ben, 'followers', 5) == [ada]
    end_by_block_of(now_ms() + 60000)
    assert feed.listed(ben, 'followers', 5) == []
    eventually(lambda: feed.listed(ada, 'following', 5) == [])


def test_what_tools_and_older_gateways_write_is_decided_by_the_author_s_owner(feed, users):
    ada, ben = users(2)

    def write(kind):
        feed.cluster.topics.produce('follow-commands', ada, ('follow-command', {
            'kind': kind, 'user': ada, 'other': ben, 'time': now_ms(), 'blocked': 0}))

    write('FOLLOW')
    eventually(lambda: feed.listed(ada, 'following', 5) == [ben] and feed.listed(ben, 'followers', 5) == [ada])
    write('UNFOLLOW')
    eventually(lambda: feed.listed(ada, 'following', 5) == feed.listed(ben, 'followers', 5) == [])
    http = feed.http(ben)
    eventually(lambda: http.put('/v1/visibility', json={'posts': 'followers'}).status_code == 200)
    write('FOLLOW')
    eventually(lambda: [item['user'] for item in http.ok('GET', '/v1/followers/requests')['items']] == [ada])


def test_who_may_ask(feed, ada):
    nobody, backend = feed.http(None), feed.cluster.gateway()
    for method, path in [('GET', '/v1/feed'), ('POST', '/v1/posts'), ('DELETE', '/v1/posts/5'), ('PUT', f'/v1/follows/{ada}'),
                         ('DELETE', f'/v1/mutes/{ada}')]:
        assert nobody.request(method, path).status_code == 401
        assert backend.request(method, path).json()['code'] == 'not_a_user'
    assert nobody.get(f'/v1/users/{ada}').status_code == 401
    for path in (f'/v1/users/{ada}', f'/v1/users/{ada}/posts', f'/v1/users/{ada}/followers'):
        assert backend.get(path).status_code == 200
