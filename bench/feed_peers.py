"""The peers of `./dev bench feed`: home timelines in PostgreSQL and Redis, over the same follows and posts."""
import json
import os
import pathlib
import pwd
import resource
import shutil
import subprocess
import sys
import tempfile
import time

from harness.cluster import build_folder
from machine import cpu_s

PEERS = pathlib.Path(__file__).resolve().parent / 'peers'
CACHE = pathlib.Path(os.environ['STARLING_CACHE'])
PERSON_ID = '(:p * 2654435761 % 134217728) + 1'  # feed_world_id
TABLES = '''
CREATE TABLE follows (follower bigint, followee bigint);
CREATE TABLE posts (author bigint, id bigint, text text);
CREATE TABLE inbox (reader bigint, id bigint, author bigint, PRIMARY KEY (reader, id));
CREATE SEQUENCE ids START 8000000000000000000;
COPY follows FROM '{folder}/follows';
COPY posts FROM '{folder}/posts';
ALTER TABLE follows ADD PRIMARY KEY (follower, followee);
CREATE INDEX followers ON follows (followee, follower);
CREATE UNIQUE INDEX newest ON posts (author, id DESC);
ALTER TABLE posts ADD PRIMARY KEY (id);
VACUUM (ANALYZE, FREEZE);
'''
PULL = '''
SELECT n.id, n.author, t.text FROM (
    SELECT x.id, x.author FROM follows f CROSS JOIN LATERAL (
        SELECT id, author FROM posts WHERE author = f.followee {since} ORDER BY id DESC LIMIT 20) x
    WHERE f.follower = :u ORDER BY x.id DESC LIMIT 20) n JOIN posts t USING (id) ORDER BY n.id DESC;
'''
PUSH = '''
WITH n AS (INSERT INTO posts VALUES (:u, nextval('ids'), repeat('x', 140)) RETURNING id, author)
INSERT INTO inbox SELECT f.follower, n.id, n.author FROM n JOIN follows f ON f.followee = n.author;
'''
READ = '''
SELECT i.id, t.author, t.text FROM (SELECT id FROM inbox WHERE reader = :u ORDER BY id DESC LIMIT 20) i
JOIN posts t USING (id) ORDER BY i.id DESC;
'''


def command(what, *words, **run) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **run)
    if done.returncode:
        sys.exit(f'bench: {what}: {done.stdout[-2000:]}{done.stderr[-2000:]}')
    return done.stdout


class Postgres:
    """A cluster of its own in a temporary folder; as the user postgres where we are root, whom it refuses."""

    def __init__(self):
        found = sorted(pathlib.Path('/usr/lib/postgresql').glob('*/bin'))
        self.bin = found[-1] if found else None

    def unavailable(self) -> str | None:
        return None if self.bin else 'it needs postgresql'

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='starling-bench-postgres-'))
        self.folder.chmod(0o755)
        self.user = 'postgres' if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
        self.before = ['runuser', '-u', 'postgres', '--'] if os.getuid() == 0 else []
        if self.before:
            shutil.chown(self.folder, 'postgres')
        data = self.folder / 'data'
        command('initdb', *self.before, self.bin / 'initdb', '-D', data, '-A', 'trust', '-E', 'UTF8', '--no-locale', cwd='/')
        settings = {'shared_buffers': '3GB', 'work_mem': '64MB', 'maintenance_work_mem': '1GB', 'synchronous_commit': 'off',
                    'max_wal_size': '8GB', 'jit': 'off', 'autovacuum': 'off', 'listen_addresses': "''",
                    'unix_socket_directories': f"'{self.folder}'", 'max_parallel_workers_per_gather': '0'}
        with open(data / 'postgresql.conf', 'a') as file:
            file.writelines(f'{name} = {value}\n' for name, value in settings.items())
        self.server = subprocess.Popen([*self.before, self.bin / 'postgres', '-D', data], cwd='/',
                                       stdout=subprocess.DEVNULL, stderr=open(self.folder / 'log', 'w'))
        for _ in range(200):
            if not subprocess.run([self.bin / 'pg_isready', '-q', '-h', self.folder, '-U', self.user]).returncode:
                break
            time.sleep(0.1)
        self.pid = int((data / 'postmaster.pid').read_text().split()[0])
        return self

    def __exit__(self, *_):
        os.kill(self.pid, 2)  # a fast shutdown
        self.server.wait()
        shutil.rmtree(self.folder)

    def cpu_s(self) -> float:
        """Of the server, its helpers and the backends that have ended."""
        fields = pathlib.Path(f'/proc/{self.pid}/stat').read_text().rpartition(')')[2].split()
        children = pathlib.Path(f'/proc/{self.pid}/task/{self.pid}/children').read_text().split()
        return sum(map(int, fields[11:15])) / os.sysconf('SC_CLK_TCK') + sum(cpu_s(int(child)) for child in children)

    def sql(self, text):
        return command('psql', self.bin / 'psql', '-h', self.folder, '-U', self.user, '-qAt', '-v', 'ON_ERROR_STOP=1',
                       'postgres', input=text)

    def bench(self, draws, script, transactions) -> dict:
        """us of CPU a transaction. draws: pgbench's variables, name: expression."""
        file = self.folder / 'script.sql'
        file.write_text(''.join(f'\\set {name} {value}\n' for name, value in draws.items()) + ' '.join(script.split()) + '\n')
        words = [self.bin / 'pgbench', '-h', self.folder, '-U', self.user, '-n', '-M', 'prepared', '-f', file, 'postgres']
        command('pgbench', *words, '-t', max(transactions // 10, 10))  # into the caches
        server, client = self.cpu_s(), resource.getrusage(resource.RUSAGE_CHILDREN)
        command('pgbench', *words, '-t', transactions)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - client.ru_utime - client.ru_stime
        return {'server_us': (self.cpu_s() - server) / transactions * 1e6, 'client_us': spent / transactions * 1e6}


def readable_folder(folder) -> pathlib.Path:
    """One for COPY: the server is another user."""
    (folder / 'sql').mkdir()
    folder.chmod(0o755)
    (folder / 'sql').chmod(0o755)
    return folder / 'sql'


def measure_postgres(world, options, folder, say) -> dict:
    people = options.peer_people
    a_person = {'p': f'random(0, {people - 1})', 'u': PERSON_ID}
    world.load('sql', path=readable_folder(folder), people=people, count=options.peer_posts)
    with Postgres() as postgres:
        postgres.sql(TABLES.format(folder=folder / 'sql'))
        recent = postgres.sql('SELECT id FROM posts ORDER BY id DESC LIMIT 1 OFFSET 1000;').strip()
        rows = {}
        say('PostgreSQL: pull')
        rows['pull'] = postgres.bench(a_person, PULL.format(since=''), 500)
        rows['pull, of the newest posts'] = postgres.bench(a_person, PULL.format(since=f'AND id > {recent}'), 1000)
        say('PostgreSQL: push')
        push = postgres.bench(a_person, PUSH, 1500)
        entries = int(postgres.sql('SELECT count(*) FROM inbox;')) / int(postgres.sql("SELECT count(*) FROM posts WHERE id >= 8000000000000000000;"))
        rows['push'] = {name: value / entries for name, value in push.items()}
        postgres.sql('VACUUM ANALYZE inbox;')
        rows['pages of the push table'] = postgres.bench(a_person, READ, 5000)
        rows['version'] = postgres.sql('SHOW server_version;').strip()
    return rows


def redis_program(name, folder, *arguments) -> dict | str:
    """The figures that a program of peers/redis prints about a Redis that keeps everything in memory; a text where Redis is not here."""
    program, socket = CACHE / f'bench-redis-{name}', folder / 'redis.sock'
    if not shutil.which('redis-server') or subprocess.run(['pkg-config', '--exists', 'hiredis'], check=False).returncode:
        return 'it needs redis-server and libhiredis-dev'
    CACHE.mkdir(parents=True, exist_ok=True)
    flags = command('looking for hiredis', 'pkg-config', '--cflags', '--libs', 'hiredis', 'libuv').split()
    root, build = PEERS.parent.parent, build_folder()
    command('building the Redis program', 'cc', '-std=gnu11', '-O2', '-DSTARLING_VERSION=""', '-o', program,
            PEERS / f'redis/{name}.c', f'-I{root}', f'-I{root}/lib', f'-I{build}/generated', build / 'libstarling_ids.a',
            build / 'libstarling_base.a', *flags, '-lm', '-lpthread')
    server = subprocess.Popen(['redis-server', '--port', '0', '--unixsocket', socket, '--save', '', '--appendonly', 'no',
                               '--dir', folder, '--logfile', folder / 'redis.log'])
    try:
        return json.loads(command('the Redis program', program, socket, *arguments, server.pid))
    finally:
        server.terminate()
        server.wait()


def measure_redis(options, folder, say) -> dict | str:
    say('Redis')
    return redis_program('feed', folder, options.peer_people, options.following, options.peer_posts // 10, 50000)


def measure_peers(world, options, folder, say) -> dict:
    """By name; a text for one that is not here."""
    reason = Postgres().unavailable()
    return {'postgres': reason or measure_postgres(world, options, folder, say), 'redis': measure_redis(options, folder, say)}


def report_peers(peers):
    postgres, redis = peers['postgres'], peers['redis']
    print('\npeers: us of CPU, server and client')
    if isinstance(postgres, str):
        print(f'  PostgreSQL skipped: {postgres}')
    else:
        for name, row in postgres.items():
            if name != 'version':
                print(f'  PostgreSQL {postgres["version"].split()[0]}, {name:28} {row["server_us"]:10.2f} {row["client_us"]:8.2f}')
    if isinstance(redis, str):
        print(f'  Redis skipped: {redis}')
        return
    for name, what in (('trimmed', 'push'), ('seldom', 'push, trimmed seldom')):
        row = redis[name]
        print(f'  Redis, {what:32} {row["server_s"] / row["entries"] * 1e6:10.2f} {row["client_s"] / row["entries"] * 1e6:8.2f}')
    row = redis['pages']
    print(f'  Redis, {"pages":32} {row["server_s"] / row["pages"] * 1e6:10.2f} {row["client_s"] / row["pages"] * 1e6:8.2f}')
