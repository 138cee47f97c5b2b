"""How long a router takes until it answers: from the topic, from its own disk, from a checkpoint; and the same purely.

The topic holds half-edges made by the routers' encoder (bench-restore fill). Ready is when /readyz says so: presence warmed
(of an empty topic), the group joined, all partitions' friend lists there. CPU is that of the whole process until then.
The floor of the topic is a consumer that reads the same records and does nothing with them."""
import argparse
import contextlib
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / 'tests/e2e'))

import requests

from harness.broker import Broker
from harness.cluster import Cluster
from harness.waiting import eventually
from machine import cpu_s, program


def started(router, **settings) -> dict:
    """Starts it and waits until it is ready, looking often."""
    began = time.monotonic()
    router.start(wait=False, **settings)
    eventually(lambda: router.ready() or not router.alive(), 300, every=0.01, what='the router is ready')
    assert router.alive(), router.tail()
    applied = router.metrics().total('starling_router_friendships_applied_total')
    return {'ready_s': time.monotonic() - began, 'cpu_s': cpu_s(router.pid), 'records': int(applied)}


def friends_of(router, cluster, user) -> int:
    """How many friends the router says the user has, page by page."""
    count, after = 0, -1
    while True:
        page = requests.get(f'http://{router.peer}/peer/friends/{user}?limit=500' + (f'&after={after}' if count else ''),
                            headers={'Authorization': f'Bearer {cluster.keys.peer_token}'}, timeout=10).json()
        count += len(page['items'])
        if page['next'] is None:
            return count
        after = page['next']


def measure(options, folder) -> dict:
    jars = pathlib.Path(os.environ.get('STARLING_KAFKA_LIB', ROOT / '.cache/kafka/lib'))
    (folder / 'kafka').mkdir()
    with contextlib.ExitStack() as stack:
        broker = Broker(folder / 'kafka', jars)
        stack.callback(broker.kill)
        broker.start()
        cluster = Cluster(broker, folder, partitions=options.partitions)
        stack.callback(cluster.kill)
        cluster.create_topics()
        size = ['--users', options.users, '--friends', options.friends, '--partitions', options.partitions]
        filled = json.loads(program('restore', 'fill', broker.bootstrap, cluster.prefix, *size))
        floor = json.loads(program('restore', 'read', broker.bootstrap, cluster.prefix, *size))
        assert floor['records'] == filled['half_edges'], (floor, filled)
        router = cluster.add('router', start=False)
        checkpoints = folder / 'checkpoints'
        rows = {'topic': started(router, **{'checkpoint.dir': checkpoints, 'checkpoint.every.s': 1})}
        assert rows['topic']['records'] == filled['half_edges'], (rows, filled)
        assert friends_of(router, cluster, filled['user']) == filled['friends']
        eventually(lambda: list(checkpoints.glob('checkpoint-*')), 60, what='a checkpoint')
        router.stop()
        rows['local state'] = started(router, **{'checkpoint.every.s': 3600})
        router.stop()
        data = router.folder / 'data'
        rows['disk_bytes'] = sum(f.stat().st_size for f in (data / 'friends').rglob('*.sst'))
        shutil.rmtree(data)
        rows['checkpoint (links)'] = started(router)
        assert friends_of(router, cluster, filled['user']) == filled['friends']
        router.stop()
        return {**filled, 'floor_cpu_s': floor['cpu_s'], 'rows': rows}


def table(result: dict):
    halves, rows = result['half_edges'], dict(result['rows'])
    disk = rows.pop('disk_bytes')
    print(f'restore: {halves} half-edges in a topic, {disk / halves:.2f} bytes each on disk\n')
    print(f'{"from":20} {"ready after":>12} {"CPU":>9} {"records read":>13} {"half-edges/s/core":>18}')
    floor = result['floor_cpu_s']
    print(f'{"floor: only reading":20} {"":12} {floor:7.2f} s {halves:13} {halves / floor / 1e6:17.2f}M')
    for name, row in rows.items():
        rate = f'{halves / row["cpu_s"] / 1e6:17.2f}M' if row['records'] else ''
        print(f'{name:20} {row["ready_s"]:10.2f} s {row["cpu_s"]:7.2f} s {row["records"]:13} {rate}')


def main():
    parser = argparse.ArgumentParser(prog='restore')
    parser.add_argument('--users', type=int, default=40000)
    parser.add_argument('--friends', type=float, default=100)
    parser.add_argument('--partitions', type=int, default=4)
    parser.add_argument('--json', type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix='starling-bench-') as folder:
        pure = pathlib.Path(folder) / 'pure.json'
        print(program('restore', 'pure', '--users', options.users, '--friends', options.friends, '--partitions', options.partitions,
                    '--json', pure), flush=True)
        result = measure(options, pathlib.Path(folder))
        table(result)
        if options.json:
            options.json.write_text(json.dumps({'pure': json.loads(pure.read_text()), 'kafka': result}, indent=1))


if __name__ == '__main__':
    main()
