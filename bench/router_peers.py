"""The peers of `./dev bench router`: what else one could build the join with, over the same data."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

from harness.cluster import build_folder

PEERS = pathlib.Path(__file__).resolve().parent / 'peers'
CACHE = pathlib.Path(os.environ['STARLING_CACHE'])


def lacking(*programs) -> list[str]:
    return [program for program in programs if not shutil.which(program)]


def command(what, *words, **run) -> subprocess.CompletedProcess:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **run)
    if done.returncode:
        sys.exit(f'bench router: {what}: {done.stdout[-2000:]}{done.stderr[-2000:]}')
    return done


class Streams:
    """The join as a Kafka Streams program; see its head for what it does and how it is tuned."""
    HOW = ('stored', 'single', 'gathered')
    STORED = 100_000  # reports: it takes its time

    def __init__(self, world, found, cpu_s):
        self.world, self.found, self.cpu_s = world, found, cpu_s
        self.folder = CACHE / 'bench-streams'

    def unavailable(self) -> str | None:
        missing = lacking('mvn', 'javac')
        return f'it needs {" and ".join(missing)}' if missing else None

    def build(self):
        command('building the Kafka Streams program', 'mvn', '-q', '-B', '-f', PEERS / 'streams/pom.xml',
                f'-Doutput={self.folder}', 'package', 'dependency:copy-dependencies',
                f'-DoutputDirectory={self.folder}/lib')

    def run(self, lists, how, folder) -> dict:
        """how: as its head says. CPU between a quarter of the reports, when it is compiled and warm, and the last."""
        world, options = self.world, self.world.options
        wanted = min(world.reports, self.STORED) if how == 'stored' else world.reports
        folder.mkdir()
        words = ['java', '-Xms6g', '-Xmx6g', '-XX:+UseParallelGC', '-XX:+AlwaysPreTouch', f'-Djava.io.tmpdir={folder}',
                 '-cp', f'{self.folder}/streams.jar:{self.folder}/lib/*', 'starling.bench.Peer',
                 world.cluster.broker.bootstrap, world.cluster.prefix + 'locations',
                 world.cluster.prefix + 'deliveries', lists,
                 ','.join(map(str, self.found['first'])), options.routes, options.present, wanted, how]
        lines, broker = [], []
        with subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                lines.append(json.loads(line))
                broker.append(self.cpu_s(world.cluster.broker.pid))
        if process.returncode or len(lines) != 2:
            sys.exit(f'bench router: the Kafka Streams program ended with {process.returncode}')
        reports = lines[1]['reports'] - lines[0]['reports']
        if wanted == world.reports and lines[1]['deliveries'] != self.found['deliveries']:
            sys.exit('bench router: the Kafka Streams program joined other things than the router')
        return {'us': (lines[1]['cpu_s'] - lines[0]['cpu_s']) / reports * 1e6,
                'broker_us': (broker[1] - broker[0]) / reports * 1e6,
                'reports': reports, 'records': (lines[1]['records'] - lines[0]['records']) / reports}


class Redis:
    """A channel a user, handlers that subscribe to their friends' channels: a real Redis, a program with hiredis."""

    def __init__(self, world):
        self.world = world
        self.program = CACHE / 'bench-redis'

    def unavailable(self) -> str | None:
        missing = lacking('redis-server', 'cc', 'pkg-config')
        if not missing and subprocess.run(['pkg-config', '--exists', 'hiredis'], check=False).returncode:
            missing = ['libhiredis-dev']
        return f'it needs {" and ".join(missing)}' if missing else None

    def build(self):
        CACHE.mkdir(parents=True, exist_ok=True)
        flags = command('looking for hiredis', 'pkg-config', '--cflags', '--libs', 'hiredis', 'libuv').stdout.split()
        root, build = PEERS.parent.parent, build_folder()
        command('building the Redis program', 'cc', '-std=gnu11', '-D_GNU_SOURCE', '-O2', '-DSTARLING_VERSION=""', '-o', self.program,
                PEERS / 'redis/peer.c', f'-I{root}', f'-I{root}/lib', f'-I{build}/generated',
                build / 'libstarling_geo.a', build / 'libstarling_base.a', *flags, '-lm', '-lpthread')

    def run(self, folder) -> dict:
        options = self.world.options
        folder.mkdir()
        socket = folder / 'redis.sock'
        server = subprocess.Popen(['redis-server', '--port', '0', '--unixsocket', socket, '--save', '',
                                   '--appendonly', 'no', '--dir', folder, '--logfile', folder / 'log',
                                   '--client-output-buffer-limit', 'pubsub', '0', '0', '0'])
        try:
            done = command('the Redis program', self.program, socket, options.seed, options.present, options.reporters,
                           options.routes, options.rounds, server.pid)
            return json.loads(done.stdout)
        finally:
            server.terminate()
            server.wait()
