"""Free TCP ports, outside the range that the kernel gives to outgoing connections: so a daemon that is killed and started
again finds its port still free."""
import os
import socket

_FIRST, _LAST = 20000, 32000
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
