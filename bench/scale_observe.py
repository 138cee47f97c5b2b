"""What observing costs: a router applies the reports of all users, also of those whom another router owns.

The pure part (bench-scale-observe) by how many users are present; and a whole router behind a real broker. `locations` has one
partition there, so one of two routers owns everybody, and the other one only observes.
"""
import json
import os
import pathlib
import subprocess
import sys
import time

from harness.broker import Broker
from harness.cluster import Cluster, build_folder
from harness.waiting import eventually
from machine import cpu_s, in_folder_with_stack, kafka_version, load, wait_quiet

ROUNDS, ROUTES = 4, 64


def pure(options, folder) -> list[dict]:
    file = folder / 'observe.json'
    words = [build_folder() / 'bench-scale-observe', '--json', file, *options.present.split(',')]
    if subprocess.run([str(word) for word in words]).returncode:
        sys.exit('bench scale: bench-scale-observe failed')
    return json.loads(file.read_text())['rows']


def observed(router, partition='other') -> float:
    return router.metrics().total('starling_router_events_total', partition=partition)


class Load:
    def __init__(self, options, cluster):
        self.values = {'present': options.observed, 'reporters': options.observed // 5, 'partitions': 1, 'routes': ROUTES, 'seed': 1,
                       'bootstrap': cluster.broker.bootstrap, 'prefix': cluster.prefix, 'time': int(time.time() * 1000) - 60_000}
        self.reports = self.values['reporters'] * ROUNDS

    def put(self, what, **more):
        load('router', what, **self.values, **more)


def whole(options, folder, stack) -> dict:
    jars = pathlib.Path(os.environ['STARLING_KAFKA_LIB'])
    (folder / 'kafka').mkdir()
    broker = Broker(folder / 'kafka', jars)
    stack.callback(broker.kill)
    broker.start()
    (folder / 'cluster').mkdir()
    cluster = Cluster(broker, folder / 'cluster', partitions=1, delivery_partitions=ROUTES)
    stack.callback(cluster.kill)
    cluster.create_topics()
    world = Load(options, cluster)
    world.put('sharing')
    world.put('joins')
    settings = {'inactive.after.s': 3600, 'warm.first.s': 3600, 'kafka.session.timeout.ms': 240000, 'standby.replicas': 0}
    routers = [cluster.add('router', start=False, settings=settings) for _ in range(2)]
    for router in routers:
        router.start(timeout=300)
    eventually(lambda: sum(observed(router, 'owned') > 0 for router in routers) == 1, 120, what='one router owns the partition')
    observer = min(routers, key=lambda router: observed(router, 'owned'))
    owner = next(router for router in routers if router is not observer)
    eventually(lambda: observed(observer) >= options.observed, 120, what='the observer has read who is there')
    wait_quiet(owner.pid)
    wait_quiet(observer.pid)
    before, owned = observed(observer), observed(owner, 'owned')
    observer.pause()
    world.put('reports', rounds=ROUNDS)
    eventually(lambda: observed(owner, 'owned') - owned >= world.reports, 240, what='the owner has joined all reports')
    wait_quiet(owner.pid)
    cpu, broker_cpu = cpu_s(observer.pid), cpu_s(broker.pid)
    observer.resume()
    eventually(lambda: observed(observer) - before >= world.reports, 240, what='the observer has read all reports')
    wait_quiet(observer.pid)
    us = (cpu_s(observer.pid) - cpu) / world.reports * 1e6
    broker_us = (cpu_s(broker.pid) - broker_cpu) / world.reports * 1e6
    print(f'a whole router, {options.observed:,} present, {world.reports:,} reports of others: {us:.2f} us each, librdkafka included; '
          f"the broker {broker_us:.2f}")
    return {'kafka': kafka_version(), 'present': options.observed, 'reports': world.reports, 'us': us, 'broker_us': broker_us}


def run(options, result):
    print('observing the reports of others:')
    found = {}

    def both(folder, stack):
        found['pure'] = pure(options, folder)
        found['whole'] = whole(options, folder, stack)

    in_folder_with_stack(options.folder, both)
    result['observe'] = found
