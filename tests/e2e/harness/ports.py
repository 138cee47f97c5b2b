"""Free TCP ports, outside the range that the kernel gives to outgoing connections: so a daemon that is killed and started
again finds its port still free. Each worker of pytest-xdist has a share of its own."""
import os
import socket

_SHARES, _SHARE = 8, 1500
_FIRST = 20000 + int(os.environ.get('PYTEST_XDIST_WORKER', 'gw0')[2:]) % _SHARES * _SHARE
_LAST = _FIRST + _SHARE
_next = _FIRST + os.getpid() * 37 % (_LAST - _FIRST)


def free_port() -> int:
    global _next
    for _ in range(_LAST - _FIRST):
        port, _next = _next, _next + 1 if _next + 1 < _LAST else _FIRST
        with socket.socket() as probe:
            try:
                probe.bind(('127.0.0.1', port))
                return port
            except OSError:
                continue
    raise RuntimeError('no free port')
