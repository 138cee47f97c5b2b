"""Free TCP ports, outside the range that the kernel gives to outgoing connections: so a daemon that is killed and started
again finds its port still free.

That a port is free when it is chosen does not say that it still is when a daemon binds it, seconds later or after a kill; and edges,
which share their ports on purpose, would not even notice. So a process takes ports in blocks that are nobody else's while it
lives: who holds the abstract socket of a block has it, and the kernel lets go of that with the process."""
import os
import socket

BLOCK = 50
_FIRST, _LAST = 16000, 32000
_BLOCKS = (_LAST - _FIRST) // BLOCK
_claims: list[socket.socket] = []


def _claim() -> range:
    """A block that no living process has."""
    for turn in range(_BLOCKS):
        block = (os.getpid() + turn) % _BLOCKS
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            claim.bind(f'\0starling-test-ports-{block}')
        except OSError:
            claim.close()
            continue
        _claims.append(claim)
        return range(_FIRST + block * BLOCK, _FIRST + (block + 1) * BLOCK)
    raise RuntimeError('every block of ports is taken')


def _free(port: int) -> bool:
    """Not bound by a program that knows nothing of blocks."""
    with socket.socket() as probe:
        try:
            probe.bind(('127.0.0.1', port))
            return True
        except OSError:
            return False


def _ports():
    while True:
        yield from filter(_free, _claim())


_mine = _ports()


def free_port() -> int:
    return next(_mine)
