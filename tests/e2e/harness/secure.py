"""A connection over TLS with the interface of websockets' threading client, on an event loop of its own thread (which lives
as long as the process).

That client reads in one thread and writes in another, and Python lets both into OpenSSL's connection at once before 3.13: about
one handshake in a hundred lost its request, which no server can make good."""
import asyncio
import threading

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed


class SecureConnection:
    def __init__(self, url: str, **options):
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True, name='tls').start()
        self._connection = self._run(self._connect(url, options))

    @staticmethod
    async def _connect(url, options):
        return await connect(url, **options)

    def _run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def send(self, data):
        self._run(self._connection.send(data))

    def __iter__(self):
        try:
            while True:
                yield self._run(self._connection.recv())
        except ConnectionClosed:
            return

    @property
    def close_code(self):
        return self._connection.close_code

    @property
    def close_reason(self):
        return self._connection.close_reason

    def close(self):
        self._run(self._connection.close())
