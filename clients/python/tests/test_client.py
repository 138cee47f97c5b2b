"""The client against a server that the test plays."""
import asyncio
import concurrent.futures
import contextlib
import json
import time

import pytest
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed

from starling_client import ClientError, Details, StarlingClient, State, StateChange

HERE = 39.9847, 116.3184


class Server:
    """Takes connections; the test says what each is told. Frames received by connection, in order."""

    def __init__(self):
        self.sockets, self.frames = [], []

    async def __aenter__(self):
        self._server = await serve(self._connected, '127.0.0.1', 0, subprotocols=['starling.v1'])
        self.url = f'ws://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/'
        return self

    async def __aexit__(self, *_):
        self._server.close()

    async def _connected(self, socket):
        self.sockets.append(socket)
        self.frames.append(heard := [])
        with contextlib.suppress(ConnectionClosed):
            async for text in socket:
                heard.append(json.loads(text))

    async def heard(self, kind, count=1, connection=-1):
        """The count-th frame of that kind on the newest connection."""
        def found():
            frames = self.frames[connection:][:1]
            return [frame for heard in frames for frame in heard if frame['type'] == kind]
        await until(lambda: len(found()) >= count)
        return found()[count - 1]

    async def say(self, **frame):
        await self.sockets[-1].send(json.dumps(frame))

    async def greet(self, *items, **more):
        await self.say(type='welcome', user=7, server_time=int(time.time() * 1000),
                       **{'radius_m': 8046.72, 'report_every_s': 30, 'inactive_after_s': 600, **more})
        await self.say(type='nearby', total=len(items), items=list(items), next=None)


def to_its_end(coroutine):
    """In a thread of its own: where other tests of the same run drive a browser, this one has a loop already."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, coroutine).result()


async def until(check, timeout=30):
    end = time.monotonic() + timeout
    while not check():
        assert time.monotonic() < end, 'it does not become true'
        await asyncio.sleep(0.005)


def item(user, time_ms=None):
    return {'user': user, 'name': '', 'avatar_url': '', 'lat': HERE[0] + user / 1e4, 'lng': HERE[1], 'distance_m': 1.0,
            'time': int(time.time() * 1000) if time_ms is None else time_ms}


def on_a_server(test):
    def run():
        async def body():
            async with Server() as server:
                await test(server)
        to_its_end(body())
    run.__name__ = test.__name__
    return run


def client(server, token='jwt', rand=lambda: 0.0, **options):
    made = StarlingClient(server.url, token, *HERE, rand=rand, connect_options={'proxy': None}, **options)
    made.told = []
    made.on_event(made.told.append)
    return made


@on_a_server
async def test_hello_welcome_page_update_and_close(server):
    async with client(server) as me:
        hello = await server.heard('hello')
        assert (hello['token'], hello['lat'], hello['lng']) == ('jwt', *HERE)
        await server.greet(item(1), item(2))
        await until(lambda: me.total == 2)
        assert me.state is State.ONLINE and me.welcome.user == 7
        await server.say(type='update', near=[item(3)], gone=[1])
        await until(lambda: [friend.user for friend in me.list] == [2, 3])
        me.move(HERE[0] + 1e-3, HERE[1], accuracy=12, details=Details(battery=0.25, speed=1.5))
        assert [friend.user for friend in me.list] == [3, 2]
        report = await server.heard('location')
        assert (report['battery'], report['speed_mps'], 'charging' in report) == (0.25, 1.5, False)
        assert report['accuracy'] == 12 and report['time'] > hello['time']
    assert me.state is State.IDLE and me.list == [] and not me._timers and not me._background


@on_a_server
async def test_comes_back_with_the_list_kept_and_replaced(server):
    async with client(server) as me:
        await server.heard('hello')
        await server.greet(item(1))
        await until(lambda: me.total == 1)
        server.sockets[-1].transport.abort()
        await until(lambda: me.state is State.WAITING)
        assert me.total == 1 and me.told[-1].retry_after == 0.1
        await until(lambda: len(server.sockets) == 2)
        await server.heard('hello')
        await server.greet(item(2))
        await until(lambda: [friend.user for friend in me.list] == [2])


@on_a_server
async def test_the_servers_delay_counts_from_when_it_was_said(server):
    async with client(server) as me:
        await server.heard('hello')
        await server.greet()
        await until(lambda: me.state is State.ONLINE)
        start = time.monotonic()
        await server.say(type='reconnect', after_ms=400)
        await asyncio.sleep(0.1)
        await server.sockets[-1].close(1012)
        await until(lambda: len(server.sockets) == 2)
        assert 0.35 < time.monotonic() - start < 1
        await server.heard('hello')
        await server.say(type='reconnect', after_ms=200)  # and nobody closes
        await until(lambda: len(server.sockets) == 3)


@on_a_server
async def test_ends_for_good_where_only_a_person_can_help(server):
    for code, reason, why in ((4001, 'elsewhere', ''), (1008, 'token', 'bad_token'), (1008, 'expired', 'token_expired'),
                              (4003, 'expired', '')):
        async with client(server) as me:
            connections = len(server.sockets)
            await until(lambda before=connections: len(server.sockets) > before)
            await server.sockets[-1].close(code, why)
            await until(lambda c=me: c.state is State.CLOSED)
            assert me.told[-1] == StateChange(State.CLOSED, reason, code)
            await asyncio.sleep(0.3)
            me.reconnect()
            assert len(server.sockets) == connections + 1
            if code != 4001:
                me.renew('new')
                await until(lambda before=connections: len(server.sockets) == before + 2)
                assert (await server.heard('hello'))['token'] == 'new'


@on_a_server
async def test_check_makes_a_connection_anew_that_ended_without_a_word(server):
    async with client(server) as me:
        await server.heard('hello')
        await server.greet()
        await until(lambda: me.state is State.ONLINE)
        me.check()
        await server.heard('hello', 2)
        await server.greet()  # it lives
        await until(lambda: 'welcome' not in me._timers)
        me.check()
        me._timers.set('welcome', 0.1, me._drop)  # sooner than in ten seconds
        await until(lambda: len(server.sockets) == 2)


@on_a_server
async def test_1008_for_what_is_no_fault_of_the_token_passes(server):
    for why in 'no_hello', 'too_many_messages', 'bad_message':
        async with client(server) as me:
            connections = len(server.sockets)
            await until(lambda before=connections: len(server.sockets) > before)
            await server.sockets[-1].close(1008, why)
            await until(lambda c=me: c.state is State.WAITING)
            assert me.told[-1].code == 1008


@on_a_server
async def test_overloaded_means_five_seconds_or_what_is_said(server):
    async with client(server) as me:
        await server.heard('hello')
        await server.sockets[-1].close(1013)
        await until(lambda: me.state is State.WAITING)
        assert me.told[-1].retry_after == 5
        me.reconnect()
        await server.heard('hello', connection=1)
        await server.say(type='reconnect', after_ms=20_000)
        await server.sockets[-1].close(1013)
        await until(lambda: me.state is State.WAITING)
        assert me.told[-1].retry_after == pytest.approx(20, abs=0.5)


@on_a_server
async def test_a_token_function_renews_and_is_asked_once_more(server):
    given = []

    async def token():
        given.append(f'jwt{len(given) + 1}')
        return given[-1]

    async with client(server, token) as me:
        assert (await server.heard('hello'))['token'] == 'jwt1'
        await server.greet()
        await until(lambda: me.state is State.ONLINE)
        me._renew_token()
        assert (await server.heard('hello', 2))['token'] == 'jwt2'
        await server.sockets[-1].close(4003)
        await until(lambda: len(server.sockets) == 2)
        assert (await server.heard('hello'))['token'] == 'jwt3'
        await server.sockets[-1].close(1008, 'bad_token')
        await until(lambda: me.state is State.CLOSED)
        assert me.told[-1].reason == 'token'


@on_a_server
async def test_a_token_function_that_fails_is_asked_again(server):
    answers = [RuntimeError('no network'), 'jwt']

    def token():
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async with client(server, token) as me:
        await until(lambda: me.state is State.WAITING)
        assert ClientError('no_token', 'RuntimeError: no network') in me.told
        assert (await server.heard('hello'))['token'] == 'jwt'


@on_a_server
async def test_garbage_is_told_and_changes_nothing(server):
    async with client(server) as me:
        await server.heard('hello')
        await server.greet(item(1))
        await until(lambda: me.total == 1)
        for data in ('{', '[]', b'\0\1', '{"type":"nearby"}', '{"type":"festival"}', '{"type":"update","near":[7]}'):
            await server.sockets[-1].send(data)
        await server.say(type='update', near=[item(2)])
        await until(lambda: me.total == 2)
        assert [event.code for event in me.told if isinstance(event, ClientError)] == ['bad_frame'] * 4


@on_a_server
async def test_a_listener_may_close_or_begin_anew(server):
    async with client(server) as me:
        me.on_event(lambda event: isinstance(event, StateChange) and event.state is State.ONLINE and
                    len(server.sockets) == 1 and me.reconnect())
        await server.heard('hello')
        await server.greet()
        await until(lambda: len(server.sockets) == 2)
        await server.heard('hello')
        await server.greet(item(1))
        await until(lambda: me.total == 1 and me.state is State.ONLINE)


def test_an_address_that_is_none_is_told_and_not_tried_again():
    async def body():
        told = []
        me = StarlingClient('nonsense', 'jwt', *HERE)
        me.on_event(told.append)
        me.connect()
        await until(lambda: me.state is State.CLOSED)
        assert told[-1].reason == 'url' and told[-2].code == 'bad_url'
        await me.close()
    to_its_end(body())


def test_nobody_there_is_tried_again_later_each_time():
    async def body():
        told = []
        me = StarlingClient('ws://127.0.0.1:9/', 'jwt', *HERE, rand=lambda: 0.1, connect_options={'proxy': None})
        me.on_event(told.append)
        me.connect()
        await until(lambda: sum(isinstance(e, StateChange) and e.state is State.WAITING for e in told) == 3)
        delays = [e.retry_after for e in told if isinstance(e, StateChange) and e.state is State.WAITING]
        assert delays == pytest.approx([0.1, 0.2, 0.4])
        await me.close()
    to_its_end(body())
