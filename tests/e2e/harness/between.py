"""Somebody between a client and the edge: passes frames on, and may hold them back, say things of their own, refuse, cut."""
import asyncio
import contextlib
import json
import threading
import time

from websockets.asyncio.client import connect
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed, InvalidHandshake


class Connection:
    """opened: monotonic time. said, heard: the client's frames, the server's, parsed."""

    def __init__(self, socket):
        self.socket, self.opened, self.said, self.heard = socket, time.monotonic(), [], []


class Between:
    """
    with Between(cluster.ws_url) as between:
        Driven('python', between.url, ...)
        between.say({'type': 'festival'})

    refuse: a close code with which new connections end at once; or None. mute: what the edge says is thrown away.
    """

    def __init__(self, upstream: str):
        self.upstream, self.connections, self.refuse, self.mute = upstream, [], None, False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server = self._call(self._listen())
        self.url = f'ws://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/'

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._call(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    def _call(self, work):
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    # what it does

    def say(self, frame):
        """To the client on the newest connection: a frame as a dict, text as it is, or bytes."""
        self._call(self.connections[-1].socket.send(json.dumps(frame) if isinstance(frame, dict) else frame))

    def close(self, code: int, reason=''):
        self._call(self.connections[-1].socket.close(code, reason))

    def cut(self):
        """No close frame: the network is gone."""
        self._loop.call_soon_threadsafe(self.connections[-1].socket.transport.abort)

    # how it works

    async def _listen(self):
        return await serve(self._connected, '127.0.0.1', 0, subprotocols=['starling.v1'], compression=None, max_size=None,
                           ping_interval=None, close_timeout=1)

    async def _end(self):
        self._server.close()
        await self._server.wait_closed()

    async def _connected(self, socket):
        connection = Connection(socket)
        self.connections.append(connection)
        if self.refuse is not None:
            await socket.close(self.refuse)
            return
        try:
            edge = await connect(self.upstream, subprotocols=['starling.v1'], compression=None, max_size=None,
                                 ping_interval=None, proxy=None, close_timeout=1)
        except (OSError, EOFError, InvalidHandshake):
            socket.transport.abort()
            return
        ways = [asyncio.ensure_future(self._pass(socket, edge, connection.said)),
                asyncio.ensure_future(self._pass(edge, socket, connection.heard))]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for one, other in (socket, edge), (edge, socket):
            with contextlib.suppress(ConnectionClosed, ValueError):
                if one.close_code is None:
                    continue
                if one.close_code in (1005, 1006):
                    other.transport.abort()
                else:
                    await other.close(one.close_code, one.close_reason or '')
        for way in ways:
            way.cancel()

    async def _pass(self, source, target, kept):
        with contextlib.suppress(ConnectionClosed):
            async for text in source:
                kept.append(json.loads(text))
                if not (self.mute and kept is not self.connections[-1].said):
                    await target.send(text)
