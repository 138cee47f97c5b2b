"""The wall clocks of one machine jump by an hour, while those of the others and the broker's are right: one of each daemon is on that
machine (jumping_clock.c)."""
import contextlib
import pathlib
import struct
import subprocess
import tempfile
import time

from .drill import drill
from .tiers import of_use

SOURCE = pathlib.Path(__file__).parent / 'jumping_clock.c'
HOUR_NS = 3600 * 10**9
WRONG_S = 20


@contextlib.contextmanager
def jumping_clock(daemons):
    """jump(ns): sets the clocks of these daemons, which are restarted for that, so far from the machine's."""
    with tempfile.TemporaryDirectory(prefix='starling-clock-') as folder:
        library, offset = pathlib.Path(folder) / 'jumping_clock.so', pathlib.Path(folder) / 'offset'
        subprocess.run(['cc', '-O2', '-shared', '-fPIC', '-o', library, SOURCE, '-ldl'], check=True)
        offset.write_bytes(struct.pack('=q', 0))

        def jump(ns):
            with open(offset, 'r+b') as file:  # the same bytes: they are mapped
                file.write(struct.pack('=q', ns))

        usual = [daemon.environment for daemon in daemons]
        for daemon in daemons:
            daemon.environment = {**daemon.environment, 'LD_PRELOAD': str(library), 'JUMPING_CLOCK': str(offset)}
            daemon.restart()
        yield jump
        for daemon, environment in zip(daemons, usual):
            daemon.environment = environment
            daemon.restart()


def wrong_clock(world, ns):
    cluster = world.cluster
    daemons = [cluster.ingest, cluster.routers[0], of_use(world, 'fanout'), cluster.feeds[0], cluster.comments[0], cluster.sinks[0]]
    with jumping_clock(daemons) as jump, world.traffic() as noticed:
        jump(ns)
        time.sleep(WRONG_S)
        jump(0)
    assert noticed.longest['lists'] > WRONG_S / 2, 'nobody noticed: the clocks did not jump'
    return noticed


@drill('the clocks of one machine are an hour ahead for 20 s', 'lists of half of the people are empty meanwhile', within=(30, 10, 10))
def clock_ahead(world):
    return wrong_clock(world, HOUR_NS)


@drill('the clocks of one machine are an hour late for 20 s', 'lists of half of the people stand still meanwhile', within=(30, 10, 10))
def clock_late(world):
    return wrong_clock(world, -HOUR_NS)
