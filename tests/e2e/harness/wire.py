"""A WebSocket of bare bytes: it says what no library would, when it likes."""
import base64
import json
import os
import socket
import struct

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class Wire:
    """A connected socket. wire.upgrade(); wire.say({...}); wire.hear() -> (opcode, payload), None when it was closed."""

    def __init__(self, url: str, timeout=20.0):
        self.host, port = url.split('/')[2].split(':')
        self.socket = socket.create_connection((self.host, int(port)), timeout)
        self.pending = b''

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data: bytes) -> bool:
        """False: the other side has closed."""
        try:
            self.socket.sendall(data)
            return True
        except OSError:
            return False

    def request(self, *headers: str) -> bytes:
        """An upgrade with these header lines more; not sent."""
        lines = ['GET / HTTP/1.1', f'Host: {self.host}', 'Upgrade: websocket', 'Connection: Upgrade',
                 f'Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}', 'Sec-WebSocket-Version: 13',
                 'Sec-WebSocket-Protocol: starling.v1', *headers]
        return ('\r\n'.join(lines) + '\r\n\r\n').encode()

    def answer(self) -> int | None:
        """The status of the response that comes; None: closed without one."""
        while b'\r\n\r\n' not in self.pending:
            if not self._more():
                return None
        head, _, self.pending = self.pending.partition(b'\r\n\r\n')
        return int(head.split()[1])

    def upgrade(self, *headers: str) -> 'Wire':
        self.send(self.request(*headers))
        assert self.answer() == 101
        return self

    @staticmethod
    def frame(opcode: int, payload: bytes, final=True, masked=True) -> bytes:
        size, mask = len(payload), os.urandom(4)
        head = bytes([opcode | (0x80 if final else 0)])
        bit = 0x80 if masked else 0
        if size < 126:
            head += bytes([bit | size])
        elif size < 65536:
            head += struct.pack('>BH', bit | 126, size)
        else:
            head += struct.pack('>BQ', bit | 127, size)
        return head + (mask + bytes(b ^ mask[i % 4] for i, b in enumerate(payload)) if masked else payload)

    def say(self, frame: dict) -> bool:
        return self.send(self.frame(TEXT, json.dumps(frame).encode()))

    def hear(self) -> tuple | None:
        head = self._take(2)
        if head is None:
            return None
        size = head[1]
        if size >= 126:
            more = self._take(2 if size == 126 else 8)
            if more is None:
                return None
            size = int.from_bytes(more, 'big')
        payload = self._take(size)
        return None if payload is None else (head[0] & 15, payload)

    def closing(self) -> tuple | None:
        """Hears on to the end: (code, reason) of the close frame; None when there was none."""
        while True:
            heard = self.hear()
            if heard is None:
                return None
            if heard[0] == CLOSE:
                return struct.unpack('>H', heard[1][:2])[0], heard[1][2:].decode()

    def closed(self) -> bool:
        """Waits for the end, whatever comes before."""
        while self._more():
            pass
        return True

    def _more(self) -> bool:
        try:
            data = self.socket.recv(1 << 16)
        except TimeoutError:
            raise AssertionError('the edge said nothing, and did not close') from None
        except OSError:
            return False
        self.pending += data
        return bool(data)

    def _take(self, size: int) -> bytes | None:
        while len(self.pending) < size:
            if not self._more():
                return None
        data, self.pending = self.pending[:size], self.pending[size:]
        return data
