"""`starling graph import` of a made-up graph: commands produced, decided by one router in transactions, both halves written,
read back and applied to its friend lists. Beside it, in the same run and on a broker as fresh, the floor: the same records
through librdkafka alone. CPU is user and system seconds of whole processes.

    import.py [--friendships N] [--users N] [--partitions N] [--seed N] [--no-floor] [--keep FOLDER] [--json FILE]
              [--set router:key=value ...]
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

from harness.broker import Broker
from harness.cluster import Cluster, build_folder
from harness.processes import clean_environment
from machine import cpu_s, program


def peak_mb(pid) -> float:
    return int(re.search(r'VmHWM:\s+(\d+)', pathlib.Path(f'/proc/{pid}/status').read_text())[1]) / 1024


class Child:
    """A command run to its end, with its CPU and peak memory."""

    def __init__(self, command, log):
        started = time.monotonic()
        with open(log, 'wb') as out:
            child = subprocess.Popen([str(part) for part in command], stdout=out, stderr=out, env=clean_environment())
        _, status, usage = os.wait4(child.pid, 0)
        self.seconds = time.monotonic() - started
        self.cpu = usage.ru_utime + usage.ru_stime
        self.peak = usage.ru_maxrss / 1024
        if status:
            raise SystemExit(f'{command}: {status}\n{pathlib.Path(log).read_text()[-4000:]}')


def run_import(options, folder, jars, graph):
    (folder / 'kafka').mkdir()
    (folder / 'cluster').mkdir()
    broker = Broker(folder / 'kafka', jars).start()
    settings = dict(setting.split('=', 1) for setting in options.set)
    cluster = Cluster(broker, folder / 'cluster', partitions=options.partitions, settings=settings)
    try:
        cluster.start(ingests=0, fanouts=0, sinks=0)
        router = cluster.routers[0]
        before = cpu_s(broker.pid), cpu_s(router.pid)
        if options.profile:
            print(f'router {router.pid} broker {broker.pid}', flush=True)
        child = Child([build_folder() / 'starling', 'graph', 'import', graph, '--wait', 3600, '--config',
                       cluster.folder / 'starling.properties'], folder / 'import.log')
        after = cpu_s(broker.pid), cpu_s(router.pid)
        metrics = router.metrics()
        figures = {
            'seconds': child.seconds, 'import_cpu': child.cpu, 'import_peak_mb': child.peak,
            'broker_cpu': after[0] - before[0], 'router_cpu': after[1] - before[1], 'router_peak_mb': peak_mb(router.pid),
            'transactions': metrics.total('starling_router_transactions_total'),
            'commands': metrics.total('starling_router_commands_total'),
            'applied': metrics.total('starling_router_friendships_applied_total'),
        }
        cluster.stop()
        figures.update(json.loads(program('import', 'check', options.friendships, options.users, options.seed, options.partitions,
                                         router.folder / 'data/friends')))
        figures['data_mb'] = sum(f.stat().st_size for f in (router.folder / 'data/friends').glob('*.sst')) / 1e6
        return figures
    finally:
        cluster.kill()
        broker.kill()


def run_floor(options, folder, jars):
    (folder / 'kafka-floor').mkdir()
    (folder / 'floor').mkdir()
    broker = Broker(folder / 'kafka-floor', jars).start()
    cluster = Cluster(broker, folder / 'floor', partitions=options.partitions)
    try:
        cluster.create_topics()
        before = cpu_s(broker.pid)
        floor = json.loads(program('import', 'floor', broker.bootstrap, cluster.prefix, options.friendships, options.users,
                                  options.seed, options.partitions))
        return {**floor, 'broker_cpu': cpu_s(broker.pid) - before}
    finally:
        broker.kill()


def show(options, figures, floor):
    count = options.friendships

    def us(cpu):
        return cpu / count * 1e6

    print(f'{count:,} friendships of {options.users:,} users, at most {figures["most"]:,} of one, in no order; '
          f'{options.partitions} partitions; one router, one broker\n')
    print(f'{"":12} {"friendships/s":>14} {"CPU us each":>12} {"client":>8} {"router":>8} {"broker":>8}')
    total = figures['import_cpu'] + figures['router_cpu'] + figures['broker_cpu']
    print(f'{"import":12} {count / figures["seconds"]:14,.0f} {us(total):12.1f} {us(figures["import_cpu"]):8.1f} '
          f'{us(figures["router_cpu"]):8.1f} {us(figures["broker_cpu"]):8.1f}')
    if floor:
        print(f'{"floor":12} {count / floor["seconds"]:14,.0f} {us(floor["cpu"] + floor["broker_cpu"]):12.1f} '
              f'{us(floor["cpu"]):8.1f} {"":8} {us(floor["broker_cpu"]):8.1f}')
    print(f'\n{figures["seconds"]:.1f} s; peak memory: import {figures["import_peak_mb"]:.0f} MB, router '
          f'{figures["router_peak_mb"]:.0f} MB; {figures["transactions"]:,.0f} transactions; the router\'s store '
          f'{figures["data_mb"]:.0f} MB; {figures["halves"]:,} halves, {"exact" if figures["exact"] else "WRONG"}')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--friendships', type=int, default=1_000_000)
    parser.add_argument('--users', type=int)
    parser.add_argument('--partitions', type=int, default=16)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--no-floor', action='store_true')
    parser.add_argument('--profile', action='store_true', help='says the processes, for perf')
    parser.add_argument('--keep')
    parser.add_argument('--json')
    parser.add_argument('--set', action='append', default=[])
    options = parser.parse_args()
    options.users = options.users or options.friendships // 20
    jars = pathlib.Path(os.environ['STARLING_KAFKA_LIB'])
    folder = pathlib.Path(options.keep or tempfile.mkdtemp(prefix='starling-import-'))
    folder.mkdir(exist_ok=True)
    machine = program('import', 'machine')
    print(machine, end='')
    try:
        graph = folder / 'graph.txt'
        program('import', 'write', options.friendships, options.users, options.seed, graph)
        figures = run_import(options, folder, jars, graph)
        floor = None if options.no_floor else run_floor(options, folder, jars)
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    show(options, figures, floor)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({
            'bench': 'import', 'machine': machine.strip(), 'friendships': options.friendships, 'users': options.users,
            'partitions': options.partitions, 'import': figures, 'floor': floor}) + '\n')
    if not figures['exact']:
        raise SystemExit('the friend lists are not the graph')


if __name__ == '__main__':
    main()
