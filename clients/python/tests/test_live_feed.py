"""The feed over a timeline that the test changes, and over a server that the test plays."""
import asyncio
import functools
import random

import pytest
from test_client import HERE, Server, to_its_end, until

from starling_client import ApiError, FeedChange, FeedPage, Post, StarlingClient, State, feed


@pytest.fixture(autouse=True)
def _pauses_are_short(monkeypatch):
    monkeypatch.setattr(feed, '_SOON_S', 0.005)


def post(number, **more):
    return Post(**{'id': str(number), 'user': 7, 'name': 'Ada', 'avatar_url': None, 'text': f'post {number}', 'media': (),
                   'time': number, 'unavailable': False, **more})


def item(number):
    """As on the wire."""
    return {'id': str(number), 'user': 7, 'name': 'Ada', 'avatar_url': '', 'text': f'post {number}', 'media': [], 'time': number}


def down(first, last):
    return list(range(first, last - 1, -1))


class Api:
    """Pages of `posts` (newest first) as GET /v1/feed has them. errors: raised by the next requests. hold: answers wait for it."""

    def __init__(self, count=30):
        self.posts, self.version, self.complete = [post(number) for number in down(count, 1)], 'v1', True
        self.asked, self.asked_one, self.errors, self.found = [], [], [], {}
        self.free = asyncio.Event()
        self.free.set()

    async def get_feed(self, after=None, limit=20):
        self.asked.append((after, limit))
        older = [one for one in self.posts if after is None or int(one.id) < int(after)]
        page = FeedPage(older[:limit], older[limit - 1].id if len(older) > limit else None, self.complete,
                        self.version if after is None else '')
        error = self.errors.pop(0) if self.errors else None
        await asyncio.sleep(0)
        await self.free.wait()
        if error:
            raise error
        return page

    async def get_post(self, number):
        self.asked_one.append(number)
        if number not in self.found:
            raise ApiError(503, 'owner_unavailable', 'away')
        if self.found[number] is None:
            raise ApiError(404, 'no_post', 'gone')
        return self.found[number]


class Watched:
    """A LiveFeed over an Api, what it said and what it told."""

    def __init__(self, count=30):
        self.api, self.said, self.told = Api(count), [], []
        self.feed = feed.LiveFeed(self.api, self.said.append, lambda: 0.0)
        self.feed.on_event(self.told.append)

    async def begin(self):
        self.feed.connected()
        self.feed.refresh()
        await self.quiet()

    async def quiet(self):
        """Nothing is being read."""
        await until(lambda: not self.feed._reading)

    def ids(self):
        return [int(one.id) for one in self.feed.list]

    def posts(self, since, version, *numbers, gone=()):
        self.feed.posted({'type': 'posts', 'since': since, 'version': version, 'items': list(map(item, numbers)),
                          'gone': list(gone)})

    def stale(self, version, after_ms=0):
        self.feed.stale({'type': 'stale', 'what': 'feed', 'version': version, 'after_ms': after_ms})


def watched(test, count=30):
    def run():
        async def body():
            it = Watched(count)
            await it.begin()
            await test(it)
            it.feed.close()
        to_its_end(body())
    run.__name__ = test.__name__
    return run


@watched
async def test_watches_reads_and_says_which_version_it_has(it):
    assert it.said == [{'type': 'watch', 'what': 'feed', 'version': 'v1'}]
    assert it.ids() == down(30, 11) and it.feed.has_more and it.feed.complete
    assert it.told[-1].cause == 'page'


@watched
async def test_posts_that_follow_our_version_are_applied(it):
    it.posts('v1', 'v2', 32, 31, gone=['29', '5', '99'])
    assert it.ids() == [32, 31, 30, *down(28, 11)] and it.feed.version == 'v2'
    assert [one.id for one in it.told[-1].came] == ['32', '31'] and it.told[-1].gone == ['29']
    it.posts('v2', 'v3', 33)
    assert it.feed.version == 'v3' and len(it.api.asked) == 1


@watched
async def test_posts_that_do_not_follow_make_it_read_again(it):
    it.api.posts = [post(number) for number in down(33, 1)]
    it.api.version = 'v4'
    it.posts('v3', 'v4', 33)
    assert it.ids() == down(30, 11)
    await until(lambda: it.ids() == down(33, 1))
    assert it.said[-1] == {'type': 'watch', 'what': 'feed', 'version': 'v4'}


@watched
async def test_what_leads_to_the_version_that_we_have_is_no_news_but_for_deletions(it):
    it.posts('v0', 'v1', 30)
    it.posts('v1', 'v1', gone=['12'])
    it.posts('v0', 'v1', gone=['13'])
    assert it.ids() == [*down(30, 14), 11]
    it.api.free.clear()
    it.feed.refresh()
    await asyncio.sleep(0)
    it.posts('v1', 'v1', gone=['14'])
    it.api.free.set()
    await it.quiet()
    assert 14 not in it.ids()
    await asyncio.sleep(0.05)
    assert len(it.api.asked) == 2


@watched
async def test_what_is_said_while_a_page_is_on_its_way_is_applied_where_it_follows(it):
    it.api.free.clear()
    it.api.version = 'v3'
    it.feed.refresh()
    await asyncio.sleep(0)
    for since, version, number in (('v1', 'v2', 31), ('v2', 'v3', 32), ('v3', 'v4', 33), ('v4', 'v5', 34)):
        it.posts(since, version, number)
    it.api.free.set()
    await it.quiet()
    assert it.feed.version == 'v5' and it.ids()[:3] == [34, 33, 30]
    await asyncio.sleep(0.05)
    assert len(it.api.asked) == 2


@watched
async def test_stale_that_names_the_page_on_its_way_is_read_once(it):
    it.api.free.clear()
    it.api.version = 'v2'
    it.feed.refresh()
    await asyncio.sleep(0)
    it.stale('v2', 20)
    it.api.free.set()
    await it.quiet()
    await asyncio.sleep(0.08)
    assert len(it.api.asked) == 2


@watched
async def test_stale_is_read_after_its_delay_and_again_while_the_page_is_old(it):
    it.stale('v2', 30)
    await asyncio.sleep(0.01)
    assert len(it.api.asked) == 1
    await until(lambda: len(it.api.asked) >= 4)
    it.api.version = 'v2'
    await until(lambda: it.feed.version == 'v2')
    count = len(it.api.asked)
    it.stale('v2')
    await asyncio.sleep(0.05)
    assert len(it.api.asked) == count


@watched
async def test_stale_is_given_up_when_the_page_stays_old_and_enough_when_it_is_newer(it):
    it.stale('v2')
    await until(lambda: it.feed._named is None, 10)
    assert len(it.api.asked) == 1 + 8
    it.api.version = 'v4'
    it.stale('v3')
    await until(lambda: it.feed.version == 'v4')
    await asyncio.sleep(0.05)
    assert len(it.api.asked) == 10


@watched
async def test_after_a_long_absence_the_list_begins_anew(it):
    it.api.posts, it.api.version = [post(number) for number in down(5000, 1)], 'v2'
    it.stale('v2')
    await until(lambda: it.feed.version == 'v2')
    assert it.ids() == down(5000, 5001 - len(it.ids())) and 220 <= len(it.ids()) <= 320 and it.feed.has_more


@functools.partial(watched, count=400)
async def test_older_posts_come_and_a_reading_covers_all_that_is_listed(it):
    await asyncio.gather(it.feed.older(), it.feed.older())
    seen = len(it.feed.list)
    for _ in range(6):
        await it.feed.older()
    assert len(it.feed.list) == seen + 120
    it.api.posts = [one for one in it.api.posts if one.id not in ('250', '399')]
    it.api.version = 'v2'
    it.stale('v2')
    await until(lambda: it.feed.version == 'v2')
    assert it.ids() == [int(one.id) for one in it.api.posts][:len(it.feed.list)] and len(it.ids()) >= seen + 118
    assert sorted(it.told[-1].gone) == ['250', '399']


@watched
async def test_a_frame_that_leads_to_the_page_ends_the_wait_for_an_older_version(it):
    it.stale('v0')
    await until(lambda: len(it.api.asked) >= 2 and not it.feed._reading)
    asked = len(it.api.asked)
    it.posts('v0', 'v1', 30)
    await asyncio.sleep(0.1)
    assert len(it.api.asked) == asked and it.feed._named is None


@watched
async def test_older_ends_and_tells_what_it_cannot_read(it):
    it.api.errors = [ApiError(503, 'owner_unavailable', 'away')]
    with pytest.raises(ApiError, match='away'):
        await it.feed.older()
    it.api.free.clear()
    older = asyncio.ensure_future(it.feed.older())
    await asyncio.sleep(0.01)
    it.posts('v1', 'v2', gone=['7'])
    it.api.free.set()
    await older
    assert it.ids() == [*down(30, 8), *down(6, 1)] and not it.feed.has_more
    count = len(it.api.asked)
    await it.feed.older()
    assert len(it.api.asked) == count


@watched
async def test_a_timeline_that_is_being_gathered_is_read_until_it_is_complete(it):
    it.api.complete = False
    it.feed.refresh()
    await until(lambda: len(it.api.asked) >= 4)
    assert not it.feed.complete
    it.api.complete = True
    await until(lambda: it.feed.complete)
    count = len(it.api.asked)
    await asyncio.sleep(0.05)
    assert len(it.api.asked) == count


@watched
async def test_a_server_that_is_away_is_asked_again_a_refused_token_is_not(it):
    it.api.errors = [ApiError(503, 'owner_unavailable', 'away', 0.2)]
    it.feed.refresh()
    await it.quiet()
    assert it.feed.failure.code == 'owner_unavailable' and 0.1 < it.feed.retry_after <= 0.2
    it.stale('v2')
    await asyncio.sleep(0.05)
    assert len(it.api.asked) == 2 and it.ids() == down(30, 11)
    it.api.version = 'v2'
    await until(lambda: it.feed.failure is None)
    it.api.errors = [ApiError(401, 'token_expired', 'expired')]
    it.feed.refresh()
    await it.quiet()
    assert it.feed.failure.status == 401 and it.feed.retry_after is None
    assert [event.status for event in it.told if isinstance(event, ApiError)] == [503, 401]


@watched
async def test_unavailable_posts_are_filled_in_or_go(it):
    it.api.posts = [post(30), *(post(number, text=None, unavailable=True) for number in (29, 28, 27))]
    it.feed.refresh()
    await it.quiet()
    assert it.feed.list[1].text == 'post 29', 'what was read is not forgotten'
    it.api.posts = [post(50), *(post(number, text=None, unavailable=True) for number in (49, 48))]
    it.feed.refresh()
    await until(lambda: it.api.asked_one[-2:] == ['49', '48'])
    it.api.found = {'49': post(49), '48': None}
    await until(lambda: it.ids() == [50, 49])
    assert it.feed.list[1].text == 'post 49' and it.told[-1] == FeedChange('filled', [], ['48'])


@watched
async def test_drop_and_close(it):
    it.feed.drop(lambda one: one.id == '30')
    assert it.ids() == down(29, 11) and it.told[-1] == FeedChange('gone', [], ['30'])
    it.feed.close()
    assert it.said[-1] == {'type': 'unwatch', 'what': 'feed'}
    it.posts('v1', 'v2', 31)
    it.stale('v3')
    it.feed.refresh()
    await asyncio.sleep(0.02)
    assert it.ids() == down(29, 11) and len(it.api.asked) == 1 and not len(it.feed._timers) and not it.feed._tasks


@watched
async def test_what_is_no_list_of_posts_changes_nothing(it):
    it.feed.posted({'since': 'v1', 'version': 'v2', 'items': [None, 7, {}, {'id': 5, 'user': 1}, {'id': 'x', 'user': 1}],
                    'gone': [{}, None]})
    assert it.ids() == down(30, 11) and it.feed.version == 'v2'


@watched
async def test_whatever_comes_the_list_is_the_timeline_from_the_top(it):
    luck, version, number = random.Random(11), 1, 31
    told = 'v1'
    for step in range(1500):
        kind = luck.randrange(10)
        if kind < 5:
            since, gone = it.api.version, []
            if luck.random() < 0.3 and len(it.api.posts) > 5:
                gone = [it.api.posts.pop(luck.randrange(5)).id]
            it.api.posts.insert(0, post(number))
            version += 1
            it.api.version = f'v{version}'
            if luck.random() < 0.95:  # else what is told is lost
                it.posts(since if told == since else 'lost', it.api.version, number, gone=gone)
                told = it.api.version
            number += 1
        elif kind == 5:
            it.feed.refresh()
        elif kind == 6:
            it.stale(it.api.version, luck.randrange(5))
            told = it.api.version
        else:
            await asyncio.sleep(0.0002)
        if it.feed.version == it.api.version:
            assert it.ids() == [int(one.id) for one in it.api.posts][:len(it.feed.list)], f'step {step}'
    it.stale(it.api.version)
    await until(lambda: it.feed.version == it.api.version)
    assert it.ids() == [int(one.id) for one in it.api.posts][:len(it.feed.list)]


def test_over_a_socket_without_a_position_and_over_a_new_one():
    async def body():
        async with Server() as server:
            api = Api()
            async with StarlingClient(server.url, 'jwt', rand=lambda: 0.0, connect_options={'proxy': None}) as client:
                live = client.watch_feed(api)
                assert await server.heard('hello') == {'type': 'hello', 'token': 'jwt'}
                await server.greet()
                await until(lambda: client.state is State.ONLINE and live.version == 'v1')
                await until(lambda: any(frame.get('version') == 'v1' for frame in server.frames[0]))
                await server.say(type='posts', since='v1', version='v2', items=[item(31)], gone=[])
                await until(lambda: live.version == 'v2')
                server.sockets[-1].transport.abort()
                await until(lambda: len(server.sockets) == 2)
                await server.heard('hello')
                await server.greet()
                assert (await server.heard('watch'))['version'] == 'v2'
                await server.say(type='stale', what='feed', version='v3', after_ms=0)
                await until(lambda: len(api.asked) > 1)
                assert not any(frame['type'] == 'location' for heard in server.frames for frame in heard)
                client.move(*HERE)
                assert (await server.heard('location'))['lat'] == HERE[0]
                live.close()
                await server.heard('unwatch')
    to_its_end(body())
