"""How long people wait for what they use while each process of a tier is drained and started again, one after the other.

The world is that of the drills (tests/drills/world.py): walkers with phones, authors and talkers act all the while. For each tier the longest
time between two successes of one person stands beside that of a calm period of the same length, which is the floor of what is measured. There
is one gateway, and no proxy in front of it: what people see of its restart is how long it takes. At the end everything is held against brute
force.
"""
import argparse
import json
import os
import pathlib
import time

from drills.world import World
from machine import in_folder, kafka_version, machine

TIERS = 'router', 'fanout', 'feed', 'comments', 'history-sink', 'moderation', 'ingest'
PRODUCTS = 'lists', 'timelines', 'threads'


def arguments():
    parser = argparse.ArgumentParser(prog='bench rolling', description=__doc__.splitlines()[0])
    parser.add_argument('--tier', choices=TIERS, action='append', help='only this one (may be repeated)')
    parser.add_argument('--walkers', type=int, default=24)
    parser.add_argument('--authors', type=int, default=8)
    parser.add_argument('--talkers', type=int, default=8)
    parser.add_argument('--every', type=float, default=0.5, help='seconds between two reports of a walker')
    parser.add_argument('--write-every', type=float, default=1.0, help='seconds between two deeds of an author or a talker')
    parser.add_argument('--folder', help='where everything is put, and left (default: a temporary one, removed)')
    parser.add_argument('--json', type=pathlib.Path)
    return parser.parse_args()


def rolled(world, tier):
    """-> seconds that the restarts took, and the longest pauses."""
    with world.traffic() as noticed:
        began = time.monotonic()
        for daemon in world.cluster.of(tier):
            assert daemon.stop() == 0, daemon.name
            daemon.start()
        took = time.monotonic() - began
    return took, noticed


def calm(world, length_s):
    with world.traffic() as noticed:
        time.sleep(length_s)
    return noticed


def row(world, tier):
    took, during = rolled(world, tier)
    before = calm(world, took)
    return {'tier': tier, 'processes': len(world.cluster.of(tier)), 'took_s': round(took, 1), 'calm': before.longest,
            'restarted': during.longest, 'errors': during.errors}


def table(rows) -> str:
    head = '| tier | processes | took | ' + ' | '.join(f'{product}: calm, restarted' for product in PRODUCTS) + ' |'
    lines = [head, '|---|---|---|' + '---|' * len(PRODUCTS)]
    for one in rows:
        cells = [f'{one["calm"][product]:.1f} s, {one["restarted"][product]:.1f} s' for product in PRODUCTS]
        lines.append(f'| {one["tier"]} | {one["processes"]} | {one["took_s"]:.0f} s | ' + ' | '.join(cells) + ' |')
    return '\n'.join(lines)


def run(options, folder):
    def say(line):
        print(line, flush=True)

    jars = pathlib.Path(os.environ['STARLING_KAFKA_LIB'])
    load = os.getloadavg()[0]
    say(f'machine: {machine()}; Kafka {kafka_version()}; load {load:.0f}')
    rows = []
    with World(pathlib.Path(folder), jars, options.walkers, options.authors, options.talkers, options.every, options.write_every) as world:
        for tier in options.tier or TIERS:
            rows.append(row(world, tier))
            say(table(rows[-1:]).splitlines()[-1])
        compared = world.check()
        world.end()
    say('\n' + table(rows) + f'\n\ncompared with brute force: {compared}')
    if options.json:
        options.json.write_text(json.dumps({'machine': machine(), 'load': load, 'rows': rows, 'compared': compared}) + '\n')


def main():
    options = arguments()
    in_folder(options.folder, lambda folder: run(options, folder))


if __name__ == '__main__':
    main()
