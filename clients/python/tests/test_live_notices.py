"""My notices, live, over a server that the test plays."""
from test_client import Server, to_its_end, until

from starling_client import Notice, NoticesChange, StarlingClient, State

WATCH = {'type': 'watch', 'what': 'notices'}


def notice(time, **more):
    """As on the wire."""
    return {'id': f'{time}.1.7', 'what': 'follow', 'user': 7, 'subject': None, 'comment': None, 'time': time, **more}


async def tell(server, unread, *items):
    await server.say(type='notices', unread=unread, items=list(items))


def live(test):
    """Runs test(server, client, notices, changes) with a session that watches."""
    async def run():
        async with Server() as server, StarlingClient(server.url, 'jwt') as client:
            notices, changes = client.watch_notices(), []
            notices.on_event(changes.append)
            assert notices.unread is None
            await connected(server, client)
            assert await server.heard('watch') == WATCH
            await test(server, client, notices, changes)
    to_its_end(run())


async def connected(server, client):
    await server.heard('hello')
    await server.greet()
    await until(lambda: client.state is State.ONLINE)


def told(changes):
    return [(change.unread, [item.id for item in change.items], change.first) for change in changes]


def test_each_new_one_is_told_once_on_each_connection():
    async def test(server, client, notices, changes):
        await tell(server, 1, notice(2), notice(1))
        await tell(server, 2, notice(3))
        await tell(server, 0)
        await until(lambda: len(changes) == 3)
        client.reconnect()
        await until(lambda: len(server.sockets) == 2)
        await connected(server, client)
        assert await server.heard('watch') == WATCH
        await tell(server, 1, notice(4), notice(3), notice(2))
        await until(lambda: len(changes) == 4)
        assert told(changes) == [(1, ['2.1.7', '1.1.7'], True), (2, ['3.1.7'], False), (0, [], False), (1, ['4.1.7'], False)]
        assert notices.unread == 1
    live(test)


def test_many_of_a_kind_say_how_many_there_are_and_what_is_none_is_left_out():
    async def test(server, client, notices, changes):
        await tell(server, 1, None, 7, notice(2, what='like', subject='post:5', count=14, users=[7, 8, 9]))
        await until(lambda: changes)
        assert changes == [NoticesChange(1, [Notice('2.1.7', 'like', 7, '5', None, 2, 14, (7, 8, 9))], True)]
    live(test)


def test_one_at_a_time_until_it_is_closed():
    async def test(server, client, notices, changes):
        other = client.watch_notices()
        assert await server.heard('unwatch') == {'type': 'unwatch', 'what': 'notices'}
        assert await server.heard('watch', 2) == WATCH
        await tell(server, 1, notice(1))
        await until(lambda: other.unread == 1)
        assert notices.unread is None and not changes
        other.close()
        other.close()
        assert await server.heard('unwatch', 2) == {'type': 'unwatch', 'what': 'notices'}
        await tell(server, 2, notice(2))
        client.reconnect()
        await until(lambda: len(server.sockets) == 2)
        await connected(server, client)
        client.discover()
        await server.heard('discover')
        assert 'watch' not in [frame['type'] for frame in server.frames[-1]] and other.unread == 1
    live(test)


def test_those_that_were_told_long_ago_are_forgotten():
    async def test(server, client, notices, changes):
        for time in range(1500):
            notices.told({'unread': 1, 'items': [notice(time)]})
        notices.told({'unread': 1, 'items': [notice(1499 - back) for back in range(20)]})
        notices.told({'unread': 1, 'items': [notice(1)]})
        assert [len(change.items) for change in changes[-2:]] == [0, 1]
    live(test)
