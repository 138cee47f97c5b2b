"""Processes that get too little memory. The limit is that of the address space (RLIMIT_AS): the kernel refuses, where a cgroup's limit
kills, which is the drill of kill -9."""
import pathlib
import re
import signal
import time

from .tiers import COMMENTS, FEED, ROUTER, drill_each

SHARE = 4      # of the address space that it had, it gets one part of so many
TRIES = 2
RESTART_S = 2  # as the units say
ENDS = 1, -signal.SIGABRT  # it says what it could not have, or a library gives up
REASONS = 'out of memory', 'bad_alloc', 'Cannot allocate memory', 'Resource temporarily unavailable'


def address_space(daemon) -> int:
    return int(re.search(r'^VmSize:\s+(\d+) kB', pathlib.Path(f'/proc/{daemon.pid}/status').read_text(), re.M)[1]) << 10


def starved(_world, daemon):
    """It ends each time that it is started with too little, rather than stay and do half of its work, and goes on when it has enough."""
    enough, usual = address_space(daemon), daemon.command
    daemon.kill()
    daemon.command = ['prlimit', f'--as={enough // SHARE}', *usual]
    for _ in range(TRIES):
        time.sleep(RESTART_S)
        before = len(daemon.log())
        daemon.start(wait=False)
        code = daemon.wait(60)
        assert code in ENDS, f'{daemon.name} ended with {code} for want of memory'
        assert any(reason in daemon.log()[before:] for reason in REASONS), daemon.tail()
    daemon.command = usual
    daemon.start()


drill_each('memory', '{} gets a quarter of its address space', [ROUTER, FEED, COMMENTS], starved)
