"""HTTP for hundreds of users at once from one thread: connections that stay open, in an asyncio loop. A request costs a few dozen
microseconds, so that a test on two cores measures the daemons and not itself."""
import asyncio
import concurrent.futures
import json
import typing


class Reply(typing.NamedTuple):
    status: int
    head: bytes
    body: bytes

    def json(self):
        return json.loads(self.body)

    def header(self, name: str) -> str | None:
        for line in self.head.split(b'\r\n')[1:]:
            key, _, value = line.partition(b':')
            if key.decode().lower() == name.lower():
                return value.strip().decode()
        return None


class _Wire(asyncio.Protocol):
    """A connection with at most one request under way."""

    def __init__(self):
        self.transport, self._bytes, self._waiter = None, b'', None

    def connection_made(self, transport):
        self.transport = transport

    def connection_lost(self, error):
        self.transport = None
        if self._waiter and not self._waiter.done():
            self._waiter.set_exception(ConnectionResetError('the connection was lost before the answer'))

    def data_received(self, data):
        self._bytes += data
        end = self._bytes.find(b'\r\n\r\n')
        if end < 0:
            return
        head = self._bytes[:end]
        at = head.lower().find(b'\r\ncontent-length:')
        size = int(head[at + 17:].split(b'\r\n', 1)[0]) if at >= 0 else 0
        if len(self._bytes) < end + 4 + size:
            return
        body, self._bytes = self._bytes[end + 4:end + 4 + size], self._bytes[end + 4 + size:]
        if self._waiter and not self._waiter.done():
            self._waiter.set_result(Reply(int(head[9:12]), head, body))

    def send(self, request: bytes) -> asyncio.Future:
        self._waiter = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self._waiter


class Link:
    """
    link = Link('127.0.0.1:8080', token)
    reply = await link.ask('PUT', '/v1/...', {'text': 'a'})      # ConnectionError: lost, refused, or no answer within `timeout` seconds
    """

    def __init__(self, address: str, token: str, timeout=30.0):
        self._host, port = address.rsplit(':', 1)
        self._port, self._timeout, self._wire = int(port), timeout, None
        self._fields = f'Host: {address}\r\nAuthorization: Bearer {token}\r\n'

    def close(self):
        if self._wire and self._wire.transport:
            self._wire.transport.close()
        self._wire = None

    async def ask(self, method: str, path: str, body=None) -> Reply:
        if self._wire is None or self._wire.transport is None:
            _, self._wire = await asyncio.get_running_loop().create_connection(_Wire, self._host, self._port)
        text = b'' if body is None else json.dumps(body).encode()
        fields = f'Content-Type: application/json\r\nContent-Length: {len(text)}\r\n' if body is not None else ''
        waiter = self._wire.send(f'{method} {path} HTTP/1.1\r\n{self._fields}{fields}\r\n'.encode() + text)
        try:
            return await asyncio.wait_for(waiter, self._timeout)
        except TimeoutError as late:
            self.close()
            raise ConnectionAbortedError(f'{method} {path}: no answer within {self._timeout} s') from late


def to_its_end(coroutine):
    """In a thread of its own: where other tests of the same run drive a browser, this one has a loop already."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()
