"""Pages and writes over HTTP for `./dev bench comments`: a gateway and one comments process, readers with tokens; beside nginx, which gives the
same bytes from a cached open file, and a bare libmicrohttpd."""
import collections
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import time

from feed_http import measure_floor, read
from harness.cluster import build_folder
from harness.ports import free_port
from harness.waiting import eventually
from machine import spent, wait_quiet

READERS = 1000
HOT = '/v1/comments/site/000000000?limit=20'
CONNECTIONS = 16
WRITERS, WRITTEN_UNDER = 100, 50
STOPPED_S = 1.5
NGINX = '''
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
{user}
events {{ worker_connections 1024; }}
http {{
    access_log off;
    open_file_cache max=16 inactive=1h;
    open_file_cache_valid 1h;
    sendfile {sendfile};
    keepalive_requests 1000000000;
    default_type application/json;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    server {{ listen 127.0.0.1:{port}; root {folder}/root; }}
}}
'''


def address(gateway) -> tuple[str, str]:
    host, port = gateway.settings['ingest.listen'].split(':')
    return host, port


def gateway_metric(cluster, name) -> float:
    return cluster.ingest.metrics().total(f'starling_ingest_{name}')


def tokens_of(cluster) -> pathlib.Path:
    path = cluster.folder / 'tokens'  # each cluster has a key of its own
    if not path.exists():
        path.write_text(''.join(cluster.token(10_000_000 + reader) + '\n' for reader in range(READERS)))
    return path


# nginx

class Nginx:
    def __init__(self, folder, body, sendfile):
        self.folder, self.port = folder / f'nginx-{sendfile}', free_port()
        file = self.folder / 'root' / HOT.partition('?')[0].lstrip('/')
        file.parent.mkdir(parents=True)
        file.write_bytes(body)
        conf = self.folder / 'nginx.conf'
        conf.write_text(NGINX.format(folder=self.folder, port=self.port, sendfile=sendfile,
                                     user='user root;' if os.getuid() == 0 else ''))
        self.process = subprocess.Popen(['nginx', '-c', conf, '-p', self.folder, '-e', self.folder / 'log'])
        workers = pathlib.Path(f'/proc/{self.process.pid}/task/{self.process.pid}/children')
        eventually(lambda: workers.read_text().split(), 10, what='nginx has a worker')
        self.worker = int(workers.read_text().split()[0])

    def stop(self):
        self.process.terminate()
        self.process.wait()


def measure_nginx(folder, body, tokens, seconds) -> dict | str:
    """The better of two ways to send a file; a text where there is no nginx."""
    if not shutil.which('nginx'):
        return 'it needs nginx'
    rows = []
    for sendfile in ('on', 'off'):
        nginx = Nginx(folder, body, sendfile)
        try:
            read('127.0.0.1', nginx.port, tokens, 0, 1, HOT)
            found, cpu = spent({'nginx': nginx.worker}, lambda: read('127.0.0.1', nginx.port, tokens, 0, seconds, HOT))
        finally:
            nginx.stop()
        assert found['answered'] and not found['bad'], (found, (nginx.folder / 'log').read_text()[-1000:])
        rows.append({'us': cpu['nginx'] / found['answered'] * 1e6, 'sendfile': sendfile, **found})
    version = subprocess.run(['nginx', '-v'], capture_output=True, text=True).stderr.strip().rpartition('/')[2]
    return min(rows, key=lambda row: row['us']) | {'version': version}


# pages

def measure_pages(world, folder, say) -> dict:
    cluster, seconds = world.cluster, world.options.seconds
    gateway, process, tokens = cluster.ingest, cluster.comments[0], tokens_of(cluster)
    processes = {'gateway': gateway.pid, 'comments': process.pid}
    host, port = address(gateway)
    eventually(lambda: cluster.http(2).get(HOT).status_code == 200, 60, what='a page is shown')
    wait_quiet(process.pid)
    say('a hot page')
    read(host, port, tokens, 0, 2, HOT)
    body = cluster.http(2).get(HOT).content
    built = gateway_metric(cluster, 'comment_pages_built_total')
    hot, cpu = spent(processes, lambda: read(host, port, tokens, 0, seconds, HOT))
    hot['us'] = {name: value / hot['answered'] * 1e6 for name, value in cpu.items()}
    hot['built'] = gateway_metric(cluster, 'comment_pages_built_total') - built
    say('nginx, and a bare libmicrohttpd')
    found = {'hot': hot, 'nginx': measure_nginx(folder, body, tokens, seconds),
             'floor': measure_floor(len(body), tokens, seconds, hops=1)}
    say('tokens')
    found['token'] = json.loads(world.load('token', path=cluster.keys.secret_file, tokens=tokens))
    say('pages of many subjects')
    paths = folder / 'paths'
    paths.write_text(''.join(f'/v1/comments/site/{1 + subject * 7919 % (world.options.subjects - 1):09}?sort=heat\n'
                             for subject in range(world.options.subjects)))
    read(host, port, tokens, 0, 2, f'@{paths}')
    built = gateway_metric(cluster, 'comment_pages_built_total')
    many, cpu = spent(processes, lambda: read(host, port, tokens, 0, seconds, f'@{paths}'))
    many['us'] = {name: value / many['answered'] * 1e6 for name, value in cpu.items()}
    many['built'] = gateway_metric(cluster, 'comment_pages_built_total') - built
    size = int(many['bytes'])
    found['many'] = many | {'floor': measure_floor(size, tokens, seconds / 2, hops=2, asked=size)}
    return found


def report_pages(pages):
    hot, nginx, floor, many, token = (pages[name] for name in ('hot', 'nginx', 'floor', 'many', 'token'))
    us = hot['us']['gateway']
    print(f'\na hot page over HTTP: {hot["bytes"]:,.0f} bytes, {CONNECTIONS} connections, {hot["bad"]} of {hot["answered"]:,} refused, '
          f'built {hot["built"]:.0f} times\n'
          f'  gateway {us:6.2f} us of CPU, {1e6 / us:9,.0f} pages/s/core; comments process {hot["us"]["comments"]:.2f} us\n'
          f'  of that a token that was verified before {token["kept_us"]:.2f} us (its first time: {token["first_us"]:.1f})')
    if isinstance(nginx, str):
        print(f'  nginx skipped: {nginx}')
    else:
        print(f'  nginx   {nginx["us"]:6.2f} us of CPU, {1e6 / nginx["us"]:9,.0f} pages/s/core ({nginx["version"]}, sendfile {nginx["sendfile"]}): '
              f'ours is {nginx["us"] / us:.2f} of it (target 0.5), {nginx["us"] / (us - token["kept_us"]):.2f} without the token')
    print(f'  floor, a bare libmicrohttpd {floor["us"]:.2f} us: {us / floor["us"]:.1f} times')
    total = sum(many['us'].values())
    print(f'pages by heat of many subjects, none hot: {many["bytes"]:,.0f} bytes, {many["bad"]} refused, '
          f'{many["built"] / many["answered"]:.2f} questions each\n'
          f'  {total:.1f} us of CPU a page (gateway {many["us"]["gateway"]:.1f}, comments {many["us"]["comments"]:.1f}); '
          f'a bare gateway that asks a bare second process for as many bytes {many["floor"]["us"]:.1f} us over both: '
          f'{total / many["floor"]["us"]:.1f} times')


# writes while the owner stands still

def measure_stopped(world, say) -> dict:
    cluster, seconds = world.cluster, 2.5 * world.options.seconds
    process = cluster.comments[0]
    process.restart(**{'kafka.session.timeout.ms': 6000})  # the default: the group gives the process up meanwhile
    paths = [f'/v1/comments/site/{subject:09}' for subject in range(WRITTEN_UNDER)]
    people = [cluster.http(20_000_000 + writer) for writer in range(WRITERS)]

    def total():
        pages = [people[0].get(path, params={'limit': 1}) for path in paths]
        return sum(page.json()['total'] for page in pages) if all(page.status_code == 200 for page in pages) else -1

    say('writes while the owner stands still')
    for path in paths:  # the gateway knows who owns the subject
        eventually(lambda: people[0].post(path, json={'text': 'hello'}).status_code == 201, 60, every=1, what='it is written')
    before, end = total(), time.monotonic() + seconds
    process.pause()

    def write(writer):
        found = []
        for number in range(1000):
            if time.monotonic() > end:
                break
            path = paths[(writer + number) % WRITTEN_UNDER]
            found.append(people[writer].post(path, json={'text': f'{writer} {number}'}).status_code)
        return found

    try:
        with concurrent.futures.ThreadPoolExecutor(WRITERS) as pool:
            codes = collections.Counter(code for found in pool.map(write, range(WRITERS)) for code in found)
    finally:
        process.resume()
    taken, began = codes[201] + codes[202], time.monotonic()
    eventually(lambda: total() == before + taken, 120, every=0.5, what='all comments are on the pages')
    return {'seconds': seconds, 'taken': taken, 'refused': codes.total() - taken, 'codes': dict(codes),
            'after_s': time.monotonic() - began}


def report_stopped(stopped):
    print(f'\nwrites while the owner is stopped for {stopped["seconds"]:.0f} s: {stopped["taken"]:,} taken, {stopped["refused"]} refused '
          f'(target 0){"" if not stopped["refused"] else " " + str(stopped["codes"])}; all of them are on the pages afterwards')


# many readers of one page

def measure_once(world, say) -> dict:
    """The owner is stopped until everybody has asked, but no longer than a gateway waits for a page."""
    cluster, readers = world.cluster, world.options.readers
    process, tokens = cluster.comments[0], tokens_of(cluster)
    host, port = address(cluster.ingest)
    path = '/v1/comments/site/000000003?limit=1000&replies=0'
    say(f'{readers:,} readers of one page')
    built, shared = (gateway_metric(cluster, f'comment_pages_{name}_total') for name in ('built', 'shared'))
    reader = subprocess.Popen([build_folder() / 'bench-http', 'once', host, port, path, tokens, str(readers)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    reader.stdout.readline()  # all are connected
    asked = 0
    process.pause()
    try:
        reader.stdin.write('\n')
        reader.stdin.flush()
        end = time.monotonic() + STOPPED_S
        while asked < readers and time.monotonic() < end:
            time.sleep(0.1)
            asked = gateway_metric(cluster, 'comment_pages_shared_total') - shared + 1
    finally:
        process.resume()
    found = json.loads(reader.communicate(timeout=60)[0])
    return found | {'readers': readers, 'waited': asked, 'built': gateway_metric(cluster, 'comment_pages_built_total') - built}


def report_once(once):
    print(f'\n{once["readers"]:,} readers of one page that is not built: built {once["built"]:.0f} times (target 1), '
          f'{once["waited"]:,.0f} asked while it was not there; {once["answered"]:,} answered, {once["bad"]} refused')
