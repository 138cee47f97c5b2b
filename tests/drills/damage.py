"""Bytes on the disk that are not what was written: in RocksDB's files, and in files of history."""
import contextlib
import pathlib
import shutil

from harness.waiting import eventually

from .drill import drill
from .tiers import COMMENTS, FEED, ROUTER, drill_each

EVERY = 512


def spoil(file: pathlib.Path):
    """Turns over a byte in each half KiB."""
    with open(file, 'r+b') as stream:
        content = bytearray(stream.read())
        for at in range(len(content) // 2 % EVERY, len(content), EVERY):
            content[at] ^= 0xff
        stream.seek(0)
        stream.write(content)


def tables(daemon) -> list[pathlib.Path]:
    return sorted((daemon.folder / 'data').rglob('*.sst'))


def spoiled_tables(_world, daemon):
    """All tables of its stores are damaged while it is down. It ends, and says which file it cannot read, each time that it is started,
    until somebody empties its data.dir; then it reads its state from the topics."""
    daemon.stop()
    daemon.start()  # what the log of its store held is in tables now
    daemon.stop()
    files = tables(daemon)
    assert files, 'there are no tables'
    for file in files:
        spoil(file)
    for _ in range(2):
        before = len(daemon.log())
        daemon.start(wait=False)
        assert daemon.wait(30) == 1
        said = daemon.log()[before:]
        assert 'Corruption' in said and str(daemon.folder / 'data') in said, said
    shutil.rmtree(daemon.folder / 'data')
    daemon.start()


drill_each('damaged', "the friend lists' tables (SST) of {} are damaged",
           [ROUTER._replace(notice='lists of half of the people stand still')], spoiled_tables)
drill_each('damaged', 'the tables (SST) of {} are damaged', [FEED, COMMENTS], spoiled_tables)


@drill('the newest history file of a partition is cut short', 'history of a quarter of the people is 503 until the file is put back',
       within=(10, 10, 10))
def cut_history(world):
    """The sinks refuse to go on behind a file that does not say where it ends; what is reported meanwhile is written when it is back."""
    cluster = world.cluster

    def refused():
        with contextlib.suppress(OSError, KeyError):  # they are only starting, and have no metrics yet
            return sum(sink.total('starling_history_refused_partitions') for sink in cluster.sinks)
        return None

    with world.traffic() as noticed:
        for sink in cluster.sinks:
            sink.stop()
        newest = max(cluster.history.glob('date=*/hour=*/00000-*.avro'), key=lambda file: file.name)
        whole = newest.read_bytes()
        newest.write_bytes(whole[:len(whole) // 2])
        before = [len(sink.log()) for sink in cluster.sinks]
        for sink in cluster.sinks:
            sink.start(wait=False)
        eventually(lambda: refused() == 1, 30, every=0.5, what='one partition is refused')
        assert any(newest.name in sink.log()[size:] for sink, size in zip(cluster.sinks, before)), 'no log names the file'
        newest.write_bytes(whole)
        eventually(lambda: refused() == 0, 30, every=0.5, what='the partition is continued')
    return noticed
