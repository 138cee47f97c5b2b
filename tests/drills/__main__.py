"""./dev drill [--list] [--write] [--keep FOLDER] [NAME ...]

Breaks one thing after the other, on purpose, in a whole starling that people use, and checks what is promised: how long they may notice it,
and that nothing is lost. Drills share a world as long as everything in it is as it must be.
"""
import argparse
import os
import pathlib
import shutil
import sys
import tempfile

from harness.machines import Network

# In the order in which they are run: what poison leaves in the topics is there in all that follow.
from . import kills, poison, pauses, groups, disks, damage, memory, clocks, topics, brokers, table  # noqa: F401
from .drill import DRILLS, run
from .world import World

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


class Worlds:
    """One world for all drills, as long as none fails."""

    def __init__(self, keep):
        self._keep, self._world, self._folder, self._network = keep, None, None, None

    def get(self, count):
        if self._world and self._brokers != count:
            wrong = self.end()
            assert not wrong, wrong
        if self._world is None:
            self._folder, self._brokers = tempfile.mkdtemp(prefix='starling-drill-'), count
            self._network = Network(count) if count > 1 else None
            self._world = World(pathlib.Path(self._folder), pathlib.Path(os.environ['STARLING_KAFKA_LIB']),
                                network=self._network).__enter__()
        return self._world

    def discard(self, why):
        world, self._world = self._world, None
        world.__exit__()
        if self._network:
            self._network.close()
        if self._keep:
            shutil.copytree(self._folder, pathlib.Path(self._keep) / why, ignore=shutil.ignore_patterns('data', 'history'),
                            dirs_exist_ok=True)
        shutil.rmtree(self._folder)

    def end(self) -> str | None:
        """-> what is wrong with how the last world ended."""
        if self._world is None:
            return None
        try:
            self._world.end()
            return None
        except AssertionError as error:
            return str(error)
        finally:
            self.discard('end')


def say(text):
    print(text, flush=True)


def main():
    parser = argparse.ArgumentParser(prog='./dev drill', description=__doc__.split('\n\n')[1])
    parser.add_argument('--list', action='store_true', help='only name the drills')
    parser.add_argument('--write', action='store_true', help='put the rows into bench/results/drills.md, where those of other drills stay')
    parser.add_argument('--keep', metavar='FOLDER', help='copy logs there when a drill fails')
    parser.add_argument('names', nargs='*', metavar='NAME')
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in DRILLS]
    if unknown or options.list:
        print(*(f'{name:24} {drill.fault}' for name, drill in DRILLS.items()), sep='\n')
        return 2 if unknown else 0
    rows, worlds = [], Worlds(options.keep)
    for name in options.names or DRILLS:
        row = run(DRILLS[name], worlds.get(DRILLS[name].brokers))
        rows.append(row)
        say(table.line(row))
        if options.write:
            table.write(REPOSITORY / 'bench/results/drills.md', rows)
        if row.failure:
            say(row.failure)
        if not row.sound:
            worlds.discard(name)
    wrong = worlds.end()
    print('\n' + table.markdown(rows))
    failed = [row.drill.name for row in rows if row.failure]
    if wrong or failed:
        print(f'\nFAILED: {", ".join(failed) or wrong}')
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
