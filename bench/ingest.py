"""Reports over HTTP: how many one core of a gateway takes, one in a request and 1,000 in a request, each acknowledged by Kafka; beside
nginx on the same machine in the same run, which reads the same requests and answers 204, and a bare libmicrohttpd. Rates limit nobody, but
are counted. CPU is that of the gateway with all its threads; the broker's is said apart."""
import argparse
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

from harness.broker import Broker
from harness.cluster import Cluster, build_folder
from harness.ports import free_port
from harness.waiting import eventually, now_ms
from machine import in_folder_with_stack, kafka_version, machine, program, spent

HOME = 52.52, 13.405
PATH = '/v1/locations'
USERS, BATCH = 1000, 1000
NGINX = '''
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
{user}
events {{ worker_connections 1024; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    client_max_body_size 1m;
    client_body_buffer_size 256k;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    server {{ listen 127.0.0.1:{port}; location / {{ return 204; }} }}
}}
'''


def arguments():
    parser = argparse.ArgumentParser(prog='./dev bench ingest', description=__doc__)
    parser.add_argument('--seconds', type=float, default=8, help='of each measurement')
    parser.add_argument('--quick', action='store_true', help='short, to see that everything runs')
    parser.add_argument('--connections', type=int, default=64)
    parser.add_argument('--partitions', type=int, default=12)
    parser.add_argument('--folder', help='where everything is put, and left (default: a temporary one, removed)')
    parser.add_argument('--json', type=pathlib.Path)
    options = parser.parse_args()
    if options.quick:
        options.seconds = 1
    return options


def say(text):
    print(text, file=sys.stderr, flush=True)


def post(address, tokens, body, options, rate=0, seconds=None) -> dict:
    host, port = address.split(':')
    return json.loads(program('http', 'post', host, port, PATH, tokens, options.connections, rate, seconds or options.seconds, body,
                              'application/json'))


@contextlib.contextmanager
def running_nginx(folder):
    """Its address and the worker's process."""
    folder.mkdir(exist_ok=True)
    port = free_port()
    conf = folder / 'nginx.conf'
    conf.write_text(NGINX.format(folder=folder, port=port, user='user root;' if os.getuid() == 0 else ''))
    process = subprocess.Popen(['nginx', '-c', conf, '-p', folder, '-e', folder / 'log'])
    try:
        children = pathlib.Path(f'/proc/{process.pid}/task/{process.pid}/children')
        eventually(lambda: children.read_text().split(), 10, what='nginx has a worker')
        yield f'127.0.0.1:{port}', int(children.read_text().split()[0])
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def running_answerer():
    """A bare libmicrohttpd."""
    port = free_port()
    process = subprocess.Popen([build_folder() / 'bench-http', 'answer', str(port), '32'])
    try:
        time.sleep(0.5)
        yield f'127.0.0.1:{port}', process.pid
    finally:
        process.terminate()
        process.wait()


def measure(address, processes, tokens, body, options, reports) -> dict:
    """processes: name -> pid; the first one is measured."""
    post(address, tokens, body, options, seconds=min(1, options.seconds))
    full, cpu = spent(processes, lambda: post(address, tokens, body, options))
    assert full['answered'] and not full['bad'], full
    name = next(iter(processes))
    half = post(address, tokens, body, options, rate=full['per_s'] / 2)
    seconds = {process: value / full['answered'] for process, value in cpu.items()}
    return {'requests_per_s': full['per_s'], 'reports_per_s': full['per_s'] * reports, 'us_per_request': seconds[name] * 1e6,
            'reports_per_core': reports / seconds[name] if seconds[name] else None,
            'others_us_per_request': {process: value * 1e6 for process, value in seconds.items() if process != name},
            'p50_ms': half['p50_ms'], 'p99_ms': half['p99_ms']}


def bodies(folder, users) -> dict:
    """name -> (file, reports in it)"""
    one = {'lat': HOME[0], 'lng': HOME[1], 'time': now_ms(), 'accuracy': 12}
    single, batch = folder / 'single.json', folder / 'batch.json'
    single.write_text(json.dumps(one))
    batch.write_text(json.dumps({'locations': [{'user': user, **one} for user in users]}))
    return {'one': (single, 1), f'{BATCH}': (batch, BATCH)}


def run(options, folder, stack) -> list[dict]:
    say('a broker and a gateway')
    broker = Broker(folder / 'kafka', pathlib.Path(os.environ['STARLING_KAFKA_LIB'])).start()
    stack.callback(broker.kill)
    (folder / 'cluster').mkdir(exist_ok=True)
    cluster = Cluster(broker, folder / 'cluster', partitions=options.partitions,
                      settings={'ingest:ingest.user.rate': 100_000, 'ingest:ingest.user.burst': 1_000_000, 'ingest:ingest.user.reports.rate': 0,
                                'ingest:ingest.address.rate': 100_000, 'ingest:ingest.address.burst': 1_000_000})
    stack.callback(cluster.kill)
    cluster.start(routers=0, fanouts=0, sinks=0)
    users = list(range(1, USERS + 1))
    cluster.share(*users)
    tokens, trusted = folder / 'tokens', folder / 'trusted'
    tokens.write_text(''.join(cluster.token(user) + '\n' for user in users))
    trusted.write_text(cluster.token('gateway', scope='gateway') + '\n')
    address = cluster.ingest.settings['ingest.listen']
    rows = []
    for name, (body, reports) in bodies(folder, users).items():
        asking = tokens if reports == 1 else trusted
        say(f'{name} in a request: the gateway')
        ours = measure(address, {'gateway': cluster.ingest.pid, 'broker': broker.pid}, asking, body, options, reports)
        say(f'{name} in a request: nginx, and a bare libmicrohttpd')
        others = {}
        if shutil.which('nginx'):
            with running_nginx(folder / 'nginx') as (where, worker):
                others['nginx'] = measure(where, {'nginx': worker}, asking, body, options, reports)
        with running_answerer() as (where, pid):
            others['libmicrohttpd'] = measure(where, {'libmicrohttpd': pid}, asking, body, options, reports)
        rows.append({'in_a_request': name, 'bytes': body.stat().st_size, 'gateway': ours, **others})
    return rows


def report(rows):
    print(f'{"in a request":>12} {"":>14} {"requests/s":>12} {"reports/s":>12} {"us/request":>11} {"reports/s/core":>15} {"p50 ms":>7} {"p99 ms":>7}')
    for row in rows:
        for name in ('gateway', 'nginx', 'libmicrohttpd'):
            if name not in row:
                print(f'{row["in_a_request"]:>12} {name:>14} it needs nginx')
                continue
            one = row[name]
            print(f'{row["in_a_request"]:>12} {name:>14} {one["requests_per_s"]:12,.0f} {one["reports_per_s"]:12,.0f} {one["us_per_request"]:11.1f} '
                  f'{one["reports_per_core"] or 0:15,.0f} {one["p50_ms"]:7.2f} {one["p99_ms"]:7.2f}')
        print(f'{"":>12} {"":>14} the broker takes {row["gateway"]["others_us_per_request"]["broker"]:,.0f} us a request; latencies are at half the load')


def main():
    options = arguments()

    def measured(folder, stack):
        rows = run(options, folder, stack)
        report(rows)
        if options.json:
            options.json.write_text(json.dumps({'bench': 'ingest', 'machine': machine(), 'kafka': kafka_version(), 'rows': rows}, indent=1))

    in_folder_with_stack(options.folder, measured)


if __name__ == '__main__':
    main()
