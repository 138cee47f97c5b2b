"""Full disks, of one process's data.dir and of history: who cannot write ends and says why, others take over, and when there is room
everything goes on."""
import contextlib
import pathlib
import shutil
import subprocess
import tempfile

from harness.waiting import eventually

from .drill import drill
from .tiers import COMMENTS, FEED, ROUTER

SIZE = '48m'
REASON = 'No space left on device'


@contextlib.contextmanager
def small_disk():
    """A folder on a disk of its own. Only root can mount one."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix='starling-small-disk-'))
    subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size={SIZE}', 'none', folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(['umount', '--lazy', folder], check=True)
        folder.rmdir()


def fill(disk):
    with contextlib.suppress(OSError), open(disk / 'filler', 'wb', buffering=0) as file:
        while file.write(b'x' * 4096) == 4096:
            pass


def ends_full(world, daemon, disk, before):
    """It ends by itself, and says why."""
    def ended():
        fill(disk)  # an end may leave some room
        world.write_much()  # else routers have nothing to write, and comments processes little
        return not daemon.alive()

    daemon.expect_end()
    eventually(ended, 90, every=0.5, what=f'{daemon.name} ends on a full disk')
    assert daemon.exit_code() == 1, f'{daemon.name} ended with {daemon.exit_code()}'
    assert REASON in daemon.log()[before:], daemon.tail()


def full(world, daemon):
    """Its data.dir is on a disk that is filled while people use everything; it is started again there, in vain, and then with room."""
    with small_disk() as disk:
        usual = daemon.settings['data.dir']
        daemon.restart(**{'data.dir': disk / 'data'})
        with world.traffic() as noticed:
            for _ in range(2):
                before = len(daemon.log())
                if not daemon.alive():
                    daemon.start(wait=False)
                ends_full(world, daemon, disk, before)
            (disk / 'filler').unlink()
            daemon.start()
        daemon.restart(**{'data.dir': usual})
    return noticed


def full_of(tier):
    drill(f'the disk of {tier.one} is full', tier.notice, tier.within, name=f'full-disk-{tier.kind}')(
        lambda world: full(world, world.cluster.of(tier.kind)[0]))


for each in ROUTER, FEED, COMMENTS:
    full_of(each)


@drill('the disk under history is full', 'history ends when the disk was full, until there is room', within=(10, 10, 10))
def full_disk_history(world):
    """The sinks stay, refuse their partitions with the reason, and try again by themselves."""
    cluster, usual = world.cluster, world.cluster.history

    def move_to(folder):
        for sink in cluster.sinks:
            sink.stop()
        shutil.copytree(cluster.history, folder, dirs_exist_ok=True)
        cluster.history = folder
        for sink in cluster.sinks:
            sink.start(**{'history.dir': folder})

    with small_disk() as disk:
        move_to(disk / 'history')
        with world.traffic() as noticed:
            before = [len(sink.log()) for sink in cluster.sinks]

            def all_say_so():
                fill(disk)  # a file that was given up leaves some room
                return all(REASON in sink.log()[size:] for sink, size in zip(cluster.sinks, before))

            eventually(all_say_so, 60, every=0.5, what='each sink says that the disk is full')
            (disk / 'filler').unlink()
        world.walkers.stand()  # else there is always something that is not written yet
        world.past.check(world.walkers.people[:1])
        move_to(usual)
    return noticed
