"""The comments of a subject, live, over a server that the test plays."""
import asyncio

import pytest
from test_client import Server, to_its_end, until

from starling_client import StarlingClient, State, ThreadChange, ThreadStale, live_thread


@pytest.fixture(autouse=True)
def _pauses_are_short(monkeypatch):
    monkeypatch.setattr(live_thread, '_SOON_S', 0.005)


def comment(number, **more):
    """As on the wire."""
    return {'id': str(number), 'user': 7, 'name': 'Ada', 'avatar_url': '', 'text': f'comment {number}', 'time': number, 'floor': number,
            'root': None, 'reply_to': None, 'likes': 0, 'reply_count': 0, 'replies': [], 'state': 'visible', **more}


def watched(version, subject='post:1'):
    return {'type': 'watch', 'what': 'comments', 'subject': subject, 'version': version}


async def tell(server, since, version, **more):
    await server.say(**{'type': 'comments', 'subject': 'post:1', 'since': since, 'version': version, 'total': 1, 'likes': 9, 'sampled': False,
                        'items': [], 'gone': [], 'counters': [], **more})


def live(test):
    """Runs test(server, client, thread, events) with a session that watches nothing yet."""
    async def run():
        async with Server() as server, StarlingClient(server.url, 'jwt') as client:
            client.connect()
            await server.heard('hello')
            await server.greet()
            await until(lambda: client.state is State.ONLINE)
            thread, events = client.watch_comments('post:1'), []
            thread.on_event(events.append)
            await test(server, client, thread, events)
    to_its_end(run())


def test_changes_from_our_version_on_are_told():
    async def test(server, client, thread, events):
        thread.read('7')
        assert await server.heard('watch') == watched(7)
        await tell(server, 7, 9, items=[comment(5)], gone=['4'], counters=[{'id': '3', 'likes': 2, 'reply_count': 1}], total=4)
        await until(lambda: events)
        change, = events
        assert isinstance(change, ThreadChange) and change.items[0].text == 'comment 5' and change.gone == ['4']
        assert (change.total, change.likes, change.sampled) == (4, 9, False)
        assert (change.counters[0].likes, change.counters[0].reply_count) == (2, 1)
        await tell(server, 8, 11)
        await tell(server, 8, 11)
        await tell(server, 50, 60, sampled=True)
        await until(lambda: len(events) == 3)
        assert thread.version == 11 and events[-1].sampled
        await tell(server, 12, 13)
        await until(lambda: events[-1] == ThreadStale(13))
    live(test)


def test_what_is_gone_is_told_at_once_also_when_changes_before_it_are_missing():
    async def test(server, client, thread, events):
        thread.read(7)
        await server.say(type='stale', what='comments', subject='post:1', version=9, after_ms=60000)
        await tell(server, 9, 10, items=[comment(5), comment(4, text=None, state='hidden')], gone=['4'], total=4,
                   counters=[{'id': '3', 'likes': 2, 'reply_count': 1}])
        await tell(server, 10, 11, items=[comment(6)])
        await tell(server, 20, 20, sampled=True)
        await until(lambda: events and events[-1].total == 1)
        change, _ = events
        assert [(item.id, item.text, item.state) for item in change.items] == [('4', None, 'hidden')]
        assert (change.total, change.sampled, change.gone, change.counters, thread.version) == (4, True, ['4'], [], 7)
    live(test)


def test_stale_pages_are_read_again_while_they_are_older():
    async def test(server, client, thread, events):
        thread.read(7)
        await server.say(type='stale', what='comments', subject='post:1', version=9, after_ms=1)
        for count in (1, 2, 3):
            await until(lambda: events == [ThreadStale(9)] * count)
            thread.read(8)
        await until(lambda: len(events) == 4)
        thread.read(9)
        await server.say(type='stale', what='comments', subject='post:1', version=9, after_ms=0)
        await asyncio.sleep(0.1)
        assert len(events) == 4
    live(test)


def test_a_closed_thread_is_not_watched_and_others_are_watched_again():
    async def test(server, client, thread, events):
        other = client.watch_comments('post:2')
        thread.read(1)
        other.read(2)
        thread.close()
        assert await server.heard('unwatch') == {'type': 'unwatch', 'what': 'comments', 'subject': 'post:1'}
        client.reconnect()
        await server.heard('hello')
        await until(lambda: len(server.sockets) == 2)
        await server.greet()
        assert await server.heard('watch') == watched(2, 'post:2')
        with pytest.raises(ValueError):
            client.watch_comments('no subject')
    live(test)
