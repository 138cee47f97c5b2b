"""A phone that reads nothing until it is told to: a bare socket with a small receive buffer."""
import base64
import json
import os
import socket
import struct

from .waiting import now_ms


class SlowPhone:
    """Connected, and has said hello. A context manager."""

    def __init__(self, cluster, user, lat: float, lng: float):
        host, port = cluster.ws_url.split('/')[2].split(':')
        self.user = user
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(20)
        self.socket.connect((host, int(port)))
        self.socket.sendall((f'GET / HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
                             f'Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n'
                             'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: starling.v1\r\n\r\n').encode())
        self.pending = b''
        while b'\r\n\r\n' not in self.pending:
            self.pending += self.socket.recv(1)
        self.pending = b''
        self.say({'type': 'hello', 'token': cluster.token(user), 'lat': lat, 'lng': lng, 'time': now_ms()})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def say(self, frame: dict):
        data, mask = json.dumps(frame).encode(), os.urandom(4)
        self.socket.sendall(bytes([0x81, 0xfe]) + struct.pack('>H', len(data)) + mask +
                            bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def _take(self, size):
        while len(self.pending) < size:
            more = self.socket.recv(1 << 16)
            if not more:
                raise EOFError
            self.pending += more
        data, self.pending = self.pending[:size], self.pending[size:]
        return data

    def hear(self):
        """The next frame: (opcode, payload)."""
        first, size = self._take(2)
        if size == 126:
            size, = struct.unpack('>H', self._take(2))
        elif size == 127:
            size, = struct.unpack('>Q', self._take(8))
        return first & 15, self._take(size)

    def hear_close(self) -> int | None:
        """Reads on to the close frame; its code, or None: it was dropped without."""
        opcode = payload = None
        try:
            while opcode != 8:
                opcode, payload = self.hear()
        except (EOFError, ConnectionResetError):
            return None
        return struct.unpack('>H', payload[:2])[0]
