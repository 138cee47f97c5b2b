"""The main promise of comments (docs/COMMENTS.md) with 200 users: 20,000 comments and 100,000 likes on 50 subjects, one of which gets half,
over two comments processes that are killed in the middle. Every page of every order equals brute force, and so do the threads of those who
watch. Processes that have nothing but the topics answer the same pages, byte for byte, and so does one that has copies of the topics."""
import asyncio
import json
import os
import random
import shutil
import time
import urllib.parse

import pytest

from harness.asking import PATIENCE_S
from harness.commenters import Commenters
from harness.commenting import Commenting, path
from harness.links import Link, to_its_end
from harness.thread_watcher import ThreadWatcher
from harness.waiting import eventually

SESSION = {'kafka.session.timeout.ms': 6000, 'kafka.heartbeat.interval.ms': 500}
# How many people there are, and what each does. STARLING_CROWD=all: the whole, instead of a tenth.
PEOPLE, SUBJECTS, ROOTS, REPLIES, LIKES = (200, 50, 55, 45, 500) if os.environ.get('STARLING_CROWD') == 'all' else (60, 50, 18, 15, 166)
SORTS = ('floor', 'newest', 'heat')
LISTS = ((1000, 20), (37, 3))  # limits, and first replies of each root
READERS = 16
WATCHERS = 8  # half of them watch the subject that gets half
TOLD_S = 180  # whatever is lost, a watcher knows by then that the thread is to be read again
TOPICS = ('comments', 'comment-texts', 'reactions', 'comment-refusals', 'comments-wide', 'moderation-log', 'bans',
          'posts', 'post-texts')  # only who sees a post reads its thread


def plan(people):
    plans = {}
    for user in people:
        deeds = ['post'] * ROOTS + ['reply'] * REPLIES + ['like'] * LIKES + ['unlike'] * (LIKES // 50) + ['delete'] * 2
        if user % 4 == 0:
            deeds.append('hide')
        random.Random(user).shuffle(deeds)
        plans[user] = ['post', *deeds]
    return plans


class Pages:
    """All pages of all lists, as a gateway answers them: {list: [(URL, body, ETag), ...]}."""

    def __init__(self, cluster, user):
        self._address, self._token = cluster.http_url.removeprefix('http://'), cluster.token(user)

    async def _read(self, link, where):
        pages, url, since = [], where, time.monotonic()
        while url:
            reply = await link.ask('GET', url)
            if reply.status == 503 and time.monotonic() < since + PATIENCE_S:  # a process has just been killed
                await asyncio.sleep(0.1)
                continue
            assert reply.status == 200, f'{url}: {reply.status} {reply.body.decode()}'
            since = time.monotonic()
            pages.append((url, reply.body, reply.header('ETag')))
            after = reply.json()['next']
            url = after and f'{where}&after={urllib.parse.quote(after)}'
        return pages

    async def _read_all(self, lists):
        found, left = {}, list(lists)

        async def work():
            link = Link(self._address, self._token)
            try:
                while left:
                    where = left.pop()
                    found[where] = await self._read(link, where)
            finally:
                link.close()

        async with asyncio.TaskGroup() as group:
            for _ in range(READERS):
                group.create_task(work())
        return found

    def read(self, lists):
        return to_its_end(self._read_all(lists))


def items_of(pages, member='items'):
    return [Commenting.bare(item) for page in pages for item in page[member]]


def wrong_list(threads, where, pages) -> str | None:
    """How a list differs from brute force; None: it does not."""
    url, query = urllib.parse.urlsplit(where), dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(where).query))
    _, _, _, kind, id, *root = url.path.split('/')
    subject = f'{kind}:{id}'
    if root:
        replies = threads.subjects[subject].replies(int(root[0]))
        return None if items_of(pages) == [threads.shown(subject, reply.id) for reply in replies] else f'{where} differs'
    wanted = threads.page(subject, query['sort'], limit=10**9, replies=int(query['replies']))
    found = items_of(pages)
    if found != wanted['items']:
        return f'{where}: {Commenting.difference(found, wanted["items"])}'
    for page in pages:
        if (page['total'], page['likes'], items_of([page], 'pinned')) != (wanted['total'], wanted['likes'], wanted['pinned']):
            return f'{where}: total {page["total"]} instead of {wanted["total"]}, {page["likes"]} likes instead of {wanted["likes"]}, or other pins'
    return None


def all_lists(threads):
    lists = [f'{path(subject)}?sort={sort}&limit={limit}&replies={replies}'
             for subject in threads.subjects for sort in SORTS for limit, replies in LISTS]
    return lists + [f'{path(subject, root.id, "replies")}?limit=23' for subject, known in threads.subjects.items()
                    for root in known.roots() if known.replies(root.id)]


def read_until_right(pages, threads, timeout=60):
    """A hot subject's pages may be a second old."""
    began, found, left = time.monotonic(), {}, all_lists(threads)
    while left:
        read = pages.read(left)
        found |= read
        said = [wrong for where in left if (wrong := wrong_list(threads, where, [json.loads(body) for _, body, _ in read[where]]))]
        left = [where for where in left if any(wrong.startswith(where) for wrong in said)]
        assert not left or time.monotonic() - began < timeout, f'{len(left)} lists differ: {said[:2]}'
    return found


def threads_are_right(threads, watchers):
    """Those who watch have the whole thread and its counters, by frames and by reading it again when they are told to."""
    deadline = time.monotonic() + TOLD_S

    def right(watcher, known):
        found = {id: Commenting.bare(comment) for id, comment in watcher.thread().items()}
        wanted = {id: threads.shown(watcher.subject, id) for id in known.comments}
        wrong = [id for id in wanted.keys() | found.keys() if found.get(id) != wanted.get(id)]
        assert not wrong, f'{watcher.subject}: {len(wrong)} of {len(wanted)} differ: {found.get(wrong[0])}, wanted {wanted.get(wrong[0])}'
        assert (watcher.total, watcher.likes) == (known.total(), len(known.likes))
        return True

    for watcher in watchers:
        known = threads.subjects[watcher.subject]
        eventually(lambda one=watcher, of=known: right(one, of), max(1.0, deadline - time.monotonic()), every=0.5)
        assert not watcher.broken and watcher.phone.closed() is None, (watcher.user, watcher.broken)


@pytest.mark.slow
@pytest.mark.timeout(480)
def test_every_page_equals_brute_force(make_cluster, users):
    settings = {'comments:comments.user.rate': 0,
                **{f'comments:{key}': value for key, value in SESSION.items()}}
    cluster = make_cluster(partitions=8, settings=settings)
    cluster.start(sinks=0, feeds=1, comments=2)
    comments = Commenting(cluster)
    site, *people = users(1 + PEOPLE)
    crowd = Commenters(cluster, {(comments.new_subject if n % 5 else comments.new_post)(site): site for n in range(SUBJECTS)})
    crowd.weights = [SUBJECTS - 1] + [1] * (SUBJECTS - 1)
    first, second = cluster.comments
    watchers = [ThreadWatcher(cluster, user, crowd.subjects[max(0, number - WATCHERS // 2 + 1)])
                for number, user in enumerate(people[:WATCHERS])]

    def killed(process):
        process.kill()
        process.start()

    began = time.monotonic()
    crowd.run(plan(people), [(0.3, lambda: killed(first)), (0.7, lambda: killed(second))])
    written = time.monotonic() - began
    threads = comments.threads = crowd.threads()
    crowd.check_order()
    hot = crowd.subjects[0]
    for root in [id for id in threads.sorted_roots(hot, 'heat') if id not in crowd.states][:3]:
        comments.pin(hot, site, root)
    pages = Pages(cluster, site)
    found = read_until_right(pages, threads)
    threads_are_right(threads, watchers)
    assert all(watcher.told() for watcher in watchers), 'comments came over the sockets, not only by pages'
    for watcher in watchers:
        watcher.close()

    for process in cluster.comments:
        process.kill()
        shutil.rmtree(process.folder / 'data')
        process.start(wait=False)
    for process in cluster.comments:
        process.wait_ready()
    assert pages.read(found) == found, 'the same pages, from topics alone'

    for daemon in cluster.daemons:
        daemon.stop()
    copy = make_cluster(partitions=8, settings=settings)
    copy.create_topics()
    cluster.topics.copy_to(copy.topics, *TOPICS)
    copy.start(fanouts=0, sinks=0, feeds=1, comments=1, topics=False)  # a router: ETags depend on whom a reader has blocked
    assert Pages(copy, site).read(found) == found, 'the same pages, from copies of the topics'

    liked_posts = sum(map(len, crowd.post_likes.values()))
    assert liked_posts > PEOPLE
    likes = sum(map(len, crowd.likes.values())) + liked_posts
    print(f'{len(crowd.made)} comments and {likes} likes by {PEOPLE} people in {written:.0f} s; {sum(map(len, found.values()))} pages of '
          f'{len(found)} lists compared; {sum(len(watcher.told()) for watcher in watchers)} frames told to {WATCHERS} watchers, who read the '
          f'thread {sum(watcher.rereads for watcher in watchers)} times; {time.monotonic() - began:.0f} s in all; {dict(crowd.answers)}')
    assert len(crowd.made) > 0.99 * PEOPLE * (ROOTS + REPLIES) and likes > 0.95 * PEOPLE * LIKES
