"""Comments over the WebSocket: what happens under a watched subject as it happens, and threads that are to be read again. Covers
fanout/comments/product.c and comments/thread_watches.c."""
import time

import pytest

from harness.comments import Comments
from harness.commenting import Commenting
from harness.thread_watcher import ThreadWatcher
from harness.waiting import eventually


@pytest.fixture(scope='module')
def cluster(make_module_cluster):
    return make_module_cluster(settings={'ingest:ingest.outcome.wait.ms': 8000, 'comments:comments.user.rate': 0,
                                         'fanout:edge.flush.window.ms': 200,
                                         'fanout:edge.comments.subjects': 3,
                                         'comments:comments.live.max': 50}).start(sinks=0, feeds=1, comments=1)


@pytest.fixture
def comments(cluster):
    return Commenting(cluster)


@pytest.fixture
def subject(comments, users):
    """(owner, subject)"""
    owner, = users(1)
    return owner, comments.new_subject(owner)


def bare(thread):
    return {id: Commenting.bare(comment) for id, comment in thread.items()}


def expected(comments, subject):
    known = comments.threads.subjects[subject]
    return {id: comments.threads.shown(subject, id) for id, comment in known.comments.items() if comment.state != 'held'}


def wait_shown(watcher, comments, timeout=30):
    def right():
        assert bare(watcher.thread()) == expected(comments, watcher.subject)
        known = comments.threads.subjects[watcher.subject]
        assert (watcher.total, watcher.likes) == (known.total(), len(known.likes))
        assert watcher.settled  # else it reads once more, at some later time
        return True

    eventually(right, timeout)
    assert not watcher.broken, watcher.broken


def wait_live(watcher, comments, user):
    """Until a comment comes in a frame: the owner hears of a watch by Kafka, and comments before that come with a page."""
    def told():
        made = comments.write(watcher.subject, user, 'do you watch?')
        wait_shown(watcher, comments)
        return any(item['id'] == made['id'] for frame in watcher.told() for item in frame['items'])

    eventually(told, 60)


def test_what_happens_under_a_subject_comes_live(cluster, comments, subject, users):
    owner, site = subject
    ada, ben, mona = users(3)
    cluster.http(ben).ok('PUT', '/v1/profile', json={'name': 'Ben', 'avatar_url': ''})
    eventually(lambda: cluster.http(ada).get(f'/v1/profiles/{ben}').ok)
    old = comments.write(site, ada, 'before')
    with ThreadWatcher(cluster, ada, site) as watcher:
        wait_live(watcher, comments, ben)
        before, at = watcher.rereads, len(watcher.told())
        made = comments.write(site, ben, 'Grüße "quoted"\n\U0001f30d')
        frame = watcher.phone.expect('comments', where=lambda f: [item['id'] for item in f['items']] == [made['id']])
        assert frame['items'] == [made] and not frame['gone'] and not frame['counters'] and not frame['sampled']
        assert frame['since'] < frame['version'] == cluster.http(ada).ok('GET', comments.path(site))['version']
        reply = comments.write(site, ada, 'a reply', reply_to=made['id'])
        answer = comments.write(site, ben, 'an answer', reply_to=reply['id'])
        for user in (ada, ben, mona):
            comments.like(site, user, old['id'])
        comments.like(site, mona, reply['id'])
        comments.like(site, ben, old['id'], wanted=False)
        owners = Comments(cluster)
        for user, kind in ((ada, 'LIKE'), (ben, 'LIKE'), (ada, 'UNLIKE')):
            assert owners.tell(kind, site, user, owner=owner)['refused'] is None
            comments.threads.like_subject(site, user, kind == 'LIKE')
        wait_shown(watcher, comments)
        comments.moderate(site, reply['id'], 'hidden', mona)
        hidden = time.monotonic()
        gone = watcher.phone.expect('comments', where=lambda f: f['gone'])
        assert gone['gone'] == [reply['id']] and gone['items'][0]['state'] == 'hidden' and gone['items'][0]['text'] is None
        assert time.monotonic() - hidden < 2
        wait_shown(watcher, comments)
        comments.moderate(site, reply['id'], 'visible', mona)
        wait_shown(watcher, comments)
        assert watcher.thread()[int(reply['id'])]['text'] == 'a reply'
        comments.delete(site, ben, made['id'])
        wait_shown(watcher, comments)
        assert watcher.thread()[int(made['id'])] | {'state': 0} == made | {'text': None, 'reply_count': 2, 'state': 0}
        comments.delete(site, owner, answer['id'])
        wait_shown(watcher, comments)
        assert watcher.rereads == before and len(watcher.told()) > at


def test_pins_and_closing_make_the_page_stale(cluster, comments, subject, users):
    owner, site = subject
    ada, mona = users(2)
    one = comments.write(site, ada, 'one')
    with ThreadWatcher(cluster, ada, site) as watcher:
        wait_live(watcher, comments, ada)
        for change in (lambda: comments.pin(site, owner, one['id']), lambda: comments.register(site, closed=True),
                       lambda: comments.register(site, closed=False)):
            stales = watcher.stales
            change()
            eventually(lambda: watcher.stales > stales)
            wait_shown(watcher, comments)
        rereads = watcher.rereads
        comments.moderate(site, one['id'], 'hidden', mona)  # a pin is lost with its comment, and phones know that
        wait_shown(watcher, comments)
        assert watcher.rereads == rereads


def test_a_held_comment_is_told_when_it_is_approved(cluster, comments, subject, users):
    owner, site = subject
    ada, mona = users(2)
    comments.register(site, review='before')
    with ThreadWatcher(cluster, ada, site) as watcher:
        wait_live(watcher, comments, owner)
        held = comments.write(site, ada, 'wait for it')
        never = comments.write(site, ada, 'never shown')
        comments.write(site, owner, 'not held')
        wait_shown(watcher, comments)
        comments.moderate(site, held['id'], 'visible', mona)
        comments.moderate(site, never['id'], 'hidden', mona)
        wait_shown(watcher, comments)
        assert watcher.thread()[int(held['id'])]['text'] == 'wait for it'
    assert all(item['text'] != 'never shown' for frame in watcher.told() for item in frame['items'])


def test_who_asks_for_what_cannot_be_watched_is_told_so(cluster, comments, ada):
    with cluster.phone(ada) as phone:
        phone.send({'type': 'hello', 'token': phone.token})
        phone.expect('welcome')

        def refused(**message):
            phone.send({'type': 'watch', 'what': 'comments', **message})
            return phone.expect('error')['code']

        assert refused() == refused(subject=7) == refused(subject='no colon') == refused(subject='Post:1') == 'bad_subject'
        assert refused(subject='site:1', version='x') == refused(subject='site:1', version=-1) == 'bad_version'
        assert refused(what='nothing', subject='site:1') == 'bad_what'
        for number in range(3):
            phone.send({'type': 'watch', 'what': 'comments', 'subject': f'site:nobody-{number}'})
            assert phone.expect('stale', timeout=30, where=lambda f: f['subject'] == f'site:nobody-{number}')['version'] == 0
        assert refused(subject='site:nobody-3') == 'too_many_subjects'
        phone.send({'type': 'unwatch', 'what': 'comments', 'subject': 'site:nobody-0'})
        phone.send({'type': 'watch', 'what': 'comments', 'subject': 'site:nobody-3'})
        assert phone.expect('stale', timeout=30, where=lambda f: f['subject'] == 'site:nobody-3')


def test_a_session_watches_several_subjects_and_unwatches_one(cluster, comments, users):
    ada, ben = users(2)
    sites = [comments.new_subject(ben) for _ in range(3)]
    first = ThreadWatcher(cluster, ada, sites[0])
    others = [ThreadWatcher(cluster, ada, site, phone=first.phone) for site in sites[1:]]
    for watcher in (first, *others):
        wait_live(watcher, comments, ben)
    for site in sites:
        comments.write(site, ben, 'to all')
    for watcher in (first, *others):
        wait_shown(watcher, comments)
    first.phone.send({'type': 'unwatch', 'what': 'comments', 'subject': sites[0]})
    comments.write(sites[1], ben, 'the edge has read the unwatch before this')
    wait_shown(others[0], comments)
    frames = len(first.frames)
    comments.write(sites[0], ben, 'not told')
    comments.write(sites[2], ben, 'told')
    wait_shown(others[1], comments)
    assert len(first.frames) == frames
    for watcher in (*others, first):
        watcher.close()
    edge, = cluster.of('fanout')
    eventually(lambda: edge.metrics()['starling_edge_comments_watching_sessions'] == 0
               and edge.metrics()['starling_edge_comments_subjects'] == 0, what='the edge has freed what was watched')


def test_a_subject_on_fire_is_sampled_and_its_counters_are_right(cluster, comments, subject, users):
    _, site = subject
    ada, ben = users(2)
    owners = Comments(cluster)
    first = comments.write(site, ben, 'liked by many')
    with ThreadWatcher(cluster, ada, site) as watcher:
        wait_live(watcher, comments, ben)
        sent = [owners.write('POST', site, ben, text=f'comment {n}', owner=ben) for n in range(600)]
        likes = [owners.write('LIKE', site, 10**6 + n, comment=first['id']) for n in range(300)]
        assert owners.outcome(site, 10**6 + 299, *likes[-1], comment=first['id'])[0] == 200
        assert owners.outcome(site, ben, *sent[-1])[0] == 200
        eventually(lambda: any(frame['sampled'] for frame in watcher.told()), what='it is said to be sampled')

        def right():
            page = cluster.http(ada).ok('GET', comments.path(site), params={'limit': 1000, 'replies': 0})
            assert watcher.version == page['version']
            assert (watcher.total, watcher.thread()[int(first['id'])]['likes']) == (page['total'], 300)
            assert {id: comment['text'] for id, comment in watcher.thread().items()} == {
                int(item['id']): item['text'] for item in page['items']}
            return True

        eventually(right, 60, what='the thread is right when the fire is over')
        assert not watcher.broken, watcher.broken
        told = sum(len(frame['items']) for frame in watcher.told())
        assert told < 600, 'some were left out'


def test_an_owner_and_an_edge_that_die_leave_no_old_thread(cluster, comments, subject, users):
    _, site = subject
    ada, ben = users(2)
    comments.write(site, ben, 'one')
    with ThreadWatcher(cluster, ada, site) as watcher:
        wait_live(watcher, comments, ben)
        owner, = cluster.of('comments')
        owner.kill()
        owner.start()
        for n in range(5):
            comments.write(site, ben, f'after the owner died {n}')
        wait_shown(watcher, comments, 60)
        edge, = cluster.of('fanout')
        edge.kill()
        edge.start()
        eventually(lambda: watcher.phone.closed() is not None)
        comments.write(site, ben, 'while nobody watches')
    with ThreadWatcher(cluster, ada, site) as watcher:
        wait_live(watcher, comments, ben)
        wait_shown(watcher, comments)
