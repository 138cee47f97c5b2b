"""What the edge's benches share: a broker and topics of their own, edges to be measured, and bench-edge's modes."""
import contextlib
import json
import os
import pathlib
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / 'tests/e2e'))

from harness.broker import Broker
from harness.cluster import Cluster, Daemon, build_folder
from harness.ports import free_port
from machine import machine as facts
from machine import program

FEW_FILES = 'this bench needs {} open files in a process, and the limit here is {} (ulimit -n)'


def machine() -> str:
    this = facts()
    return f'{this["cpu"]}, {this["cores"]} cores, Linux {this["kernel"]}, {this["version"]}'


def raise_file_limit(wanted: int):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        sys.exit(FEW_FILES.format(wanted, hard))
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted if hard == resource.RLIM_INFINITY else hard, hard))


def memory(pid: int) -> int:
    """Bytes that the process has to itself."""
    for line in pathlib.Path(f'/proc/{pid}/smaps_rollup').read_text().splitlines():
        if line.startswith('Private_Dirty:'):
            return int(line.split()[1]) * 1024
    raise RuntimeError('no Private_Dirty')


def kernel_memory() -> int:
    """Bytes of the kernel's slabs: sockets, their queues, files, epoll's entries."""
    return next(int(line.split()[1]) * 1024 for line in open('/proc/meminfo') if line.startswith('Slab:'))


def settle(read, tries=20):
    """A figure once it stays the same for a second."""
    last = read()
    for _ in range(tries):
        time.sleep(1)
        now = read()
        if abs(now - last) < 100_000:
            return now
        last = now
    return last


def cache() -> pathlib.Path:
    return pathlib.Path(os.environ.get('STARLING_CACHE', ROOT / '.cache')) / 'bench-peers'


def wait_for_port(port: int, timeout=20.0):
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(('127.0.0.1', port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f'nobody listens on port {port}')


def fetch(name: str, tool: str, needs: str, *command) -> str | None:
    """Builds a peer in the cache from bench/peers/NAME; why it cannot be, if so."""
    if not shutil.which(tool):
        return f'{name} is left out: it needs {needs}'
    folder = cache() / name
    shutil.copytree(ROOT / 'bench/peers' / name, folder, dirs_exist_ok=True)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return None if done.returncode == 0 else f'{name} is left out, as it does not build: {done.stderr.strip()[-300:]}'


PEERS = {  # how each is made (None: it is there; else why not), and its command
    'centrifuge': (lambda: fetch('centrifuge', 'go', 'Go 1.24 or newer (Debian 12 has 1.19): https://go.dev/dl', 'go',
                                 'build', '-o', 'peer', '.'), ['./peer']),
    'ws': (lambda: fetch('ws', 'npm', 'Node.js 18 or newer with npm', 'npm', 'install', '--no-audit', '--no-fund'),
           ['node', 'server.js']),
}
GATHERED = 'ws, gathered by hand'  # with code of ours around it that does what the edge does



class World:
    """with World(15000) as world: a broker, topics, users who are opted in and have profiles."""

    def __init__(self, sessions: int, settings: dict | None = None, friends: int = 0, partitions=4, routes=4, processes=1):
        """processes: as many share the phones."""
        raise_file_limit(sessions // processes + 1000)
        self.partitions, self.routes = partitions, routes
        self.sessions, self.friends = sessions, friends
        # The edge lets everything in: the benches want to know what there is to be limited.
        self.edge_settings = {'edge.drain.s': 0, 'log.level': 'warn', 'edge.hello.rate': 0, 'edge.max.loop.lag.ms': 0,
                              'edge.network.rate': 0, 'edge.network.sessions': 0, 'edge.min.report.ms': 0, **(settings or {})}
        self._stack = contextlib.ExitStack()
        self._source = 0

    def __enter__(self):
        folder = pathlib.Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix='starling-bench-')))
        jars = pathlib.Path(os.environ.get('STARLING_KAFKA_LIB', ROOT / '.cache/kafka/lib'))
        (folder / 'kafka').mkdir()
        self.broker = Broker(folder / 'kafka', jars)
        self._stack.callback(self.broker.kill)
        self.broker.start()
        self.cluster = Cluster(self.broker, folder, self.partitions, self.routes)
        self._stack.callback(self.cluster.kill)
        self.cluster.create_topics()
        self.bench('prepare', '--sessions', self.sessions, '--friends', self.friends)
        return self

    def __exit__(self, *exception):
        self._stack.close()

    def bench(self, mode: str, *arguments, timeout=600) -> str:
        """bench-edge in one of its modes; its output."""
        return program('edge', mode, '--bootstrap', self.broker.bootstrap, '--prefix', self.cluster.prefix, *arguments, timeout=timeout)

    def _next_source(self) -> int:
        """The phones' address: ports of the last ones may still be taken."""
        self._source = self._source % 250 + 1
        return self._source

    @contextlib.contextmanager
    def edge(self, **settings) -> Daemon:
        if self.cluster.fanouts:
            edge = self.cluster.fanouts[0].start(**settings)
        else:
            edge = self.cluster.add('fanout', settings={**self.edge_settings, **settings})
        try:
            yield edge
        finally:
            edge.stop()
            problem = edge.problem()
            if problem:
                raise RuntimeError(problem)

    def certificate(self) -> list[pathlib.Path]:
        """Of a name that nobody checks, and its key: P-256, as most have."""
        files = [self.cluster.folder / name for name in ('edge.pem', 'edge.key')]
        if not files[0].exists():
            subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2',
                            '-subj', '/CN=bench', '-out', files[0], '-keyout', files[1]], check=True, capture_output=True)
        return files

    def drive(self, edge: Daemon, *arguments) -> dict:
        return json.loads(self.bench('drive', '--key-file', self.cluster.keys.secret_file, '--listen',
                                     edge.settings['edge.listen'], '--pid', edge.pid, '--sessions', self.sessions,
                                     '--source', self._next_source(), *arguments))

    def floor(self, rate: float, size: float, seconds: int, tls=False) -> dict:
        """The same number of sends of the same size by a program that does nothing else."""
        port = free_port()
        with subprocess.Popen([str(build_folder() / 'bench-edge_floor'), str(port), str(self.sessions), str(rate),
                               str(round(size)), *(self.certificate() if tls else ())]) as floor:
            try:
                time.sleep(0.3)
                return self.plain(floor.pid, port, seconds, *(['--tls'] if tls else ()))
            finally:
                floor.kill()

    def plain(self, pid: int, port: int, seconds: int, *arguments) -> dict:
        return json.loads(self.bench('plain', '--listen', f'127.0.0.1:{port}', '--pid', pid, '--sessions',
                                     self.sessions, '--source', self._next_source(), '--seconds', seconds, *arguments))

    def peer(self, name: str, window_ms: int, seconds: int, *arguments) -> dict:
        """The same entries by a server on somebody else's library."""
        port, feed = free_port(), free_port()
        hello = ['--hello', '{"id":1,"connect":{}}'] if name == 'centrifuge' else []
        library, gathered = ('ws', ['gathered']) if name == GATHERED else (name, [])
        with subprocess.Popen([*PEERS[library][1], str(port), str(feed), str(window_ms), *gathered],
                              cwd=cache() / library) as peer:
            try:
                wait_for_port(port)
                return self.plain(peer.pid, port, seconds, '--feed', feed, *hello, *arguments)
            finally:
                peer.kill()

    def routers(self, count: int):
        for _ in range(count):
            self.cluster.add('router', settings={'log.level': 'warn'})

    def _live(self, mode: str, edge: Daemon, *arguments) -> list:
        return [mode, '--key-file', self.cluster.keys.secret_file, '--listen', edge.settings['edge.listen'], '--sessions', self.sessions,
                '--source', self._next_source(), *arguments]

    def live(self, mode: str, edge: Daemon, *arguments, timeout=300) -> list:
        """Phones on the whole pipeline; what they measured."""
        found = program('edge_live', *self._live(mode, edge, *arguments), timeout=timeout)
        return [json.loads(line) for line in found.splitlines()]

    @contextlib.contextmanager
    def live_process(self, mode: str, edge: Daemon, *arguments):
        """The same, to be watched while it runs."""
        command = [build_folder() / 'bench-edge_live', *map(str, self._live(mode, edge, *arguments))]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as phones:
            try:
                yield phones
            finally:
                phones.kill()

    def sizes(self) -> str:
        return program('edge', 'sizes')
