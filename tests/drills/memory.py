"""Processes that get no more memory than they have (RLIMIT_AS, which any user may lower; a memory limit of a cgroup kills instead of
refusing, which is the drill of kill -9)."""
import re
import pathlib
import resource
import time

from drill import drill

LIMITED_S = 15
ROOM = 1 << 20
RESTART_S = 2
MOST_MB = 400   # of address space that a restarted process is given at most, for the last part


def address_space(daemon) -> int:
    return int(re.search(r'^VmSize:\s+(\d+) kB', pathlib.Path(f'/proc/{daemon.pid}/status').read_text(), re.M)[1]) << 10


def limited(world, daemons):
    """Those that end for want of memory are started again, as the units do, without the limit."""
    with world.traffic() as noticed:
        for daemon in daemons:
            daemon.expect_end()
            most = address_space(daemon) + ROOM
            resource.prlimit(daemon.pid, resource.RLIMIT_AS, (most, most))
        for user in world.walkers.people:
            world.befriend()
        time.sleep(LIMITED_S)
        for daemon in daemons:
            print(daemon.name, daemon.exit_code())
    return noticed


@drill('memory', 'x', within=(50,50,50))
def memory(world):
    return limited(world, [d for d in world.cluster.daemons])
