"""Kafka Connect with a sink, and a PostgreSQL, both from Maven's jars that `./dev test` puts beside Kafka (tools/kafka/pom.xml)."""
import io
import os
import pathlib
import shutil
import signal
import tarfile
import tempfile
import zipfile

import pg8000.native
import requests

from .broker import REPOSITORY
from .ports import free_port
from .processes import Process
from .waiting import eventually

NOBODY = 65534


def jars() -> pathlib.Path | None:
    """None: they could not be had, or have no PostgreSQL for this kind of machine."""
    given = os.environ.get('STARLING_CONNECT_LIB')
    found = [pathlib.Path(given)] if given else sorted((REPOSITORY / '.cache').glob('kafka-*-connect'))
    return found[-1] if found and _archive(found[-1]) else None


def _archive(folder: pathlib.Path) -> pathlib.Path | None:
    kind = {'x86_64': 'amd64', 'aarch64': 'arm64v8'}.get(os.uname().machine)
    return next(iter(folder.glob(f'embedded-postgres-binaries-linux-{kind}-*.jar')), None)


class Postgres(Process):
    """A context manager: `.url` for JDBC, and `.rows(query)`. It runs for nobody where we are root, as it refuses to run for root."""

    def __init__(self, lib: pathlib.Path, folder: pathlib.Path):
        self.port, self._home = free_port(), pathlib.Path(tempfile.mkdtemp(prefix='starling-postgres-', dir='/tmp'))
        self.url = f'jdbc:postgresql://127.0.0.1:{self.port}/postgres'
        with zipfile.ZipFile(_archive(lib)) as jar:
            packed, = (name for name in jar.namelist() if name.endswith('.txz'))
            with tarfile.open(fileobj=io.BytesIO(jar.read(packed)), mode='r:xz') as archive:
                archive.extractall(self._home)
        self._rank = []
        if os.getuid() == 0:
            os.chown(self._home, NOBODY, NOBODY)
            self._rank = ['setpriv', f'--reuid={NOBODY}', f'--regid={NOBODY}', '--clear-groups', '--pdeathsig', 'KILL']
        super().__init__('postgres', self._program(
            'postgres', '-D', self._home / 'data', '-p', self.port, '-k', '', '-c', 'listen_addresses=127.0.0.1', '-c', 'fsync=off'),
            folder / 'postgres.log')

    def _program(self, name, *arguments) -> list:
        return [*self._rank, self._home / 'bin' / name, *arguments]

    def __enter__(self):
        made = Process('initdb', self._program('initdb', '-D', self._home / 'data', '-U', 'starling', '--auth=trust', '--no-sync',
                                               '--encoding=UTF8', '--locale=C'), self.log_path)
        made.launch()
        assert made.wait(60) == 0, made.tail()
        self.launch()
        self.wait_for_log('ready to accept connections', 60)
        return self

    def __exit__(self, *_):
        self.expect_end()
        self.signal(signal.SIGINT)  # without waiting for its clients; SIGKILL would leave shared memory
        self.wait()
        shutil.rmtree(self._home)

    def rows(self, query, **values) -> list[dict]:
        """None of a table that is not there yet."""
        with pg8000.native.Connection('starling', host='127.0.0.1', port=self.port, database='postgres') as connection:
            try:
                found = connection.run(query, **values)
            except pg8000.DatabaseError as error:
                if error.args[0]['C'] != '42P01':
                    raise
                return []
            return [dict(zip((column['name'] for column in connection.columns), row)) for row in found]


class Connect(Process):
    """A context manager: one worker, which `.add(connector)` gives work."""

    def __init__(self, lib: pathlib.Path, bootstrap: str, folder: pathlib.Path, java_options: list[str]):
        port = free_port()
        self.url, properties = f'http://127.0.0.1:{port}', folder / 'worker.properties'
        folder.mkdir(parents=True, exist_ok=True)
        properties.write_text('\n'.join([
            f'bootstrap.servers={bootstrap}', f'listeners={self.url}', f'offset.storage.file.filename={folder}/offsets',
            'key.converter=org.apache.kafka.connect.converters.ByteArrayConverter',
            'value.converter=org.apache.kafka.connect.converters.ByteArrayConverter',
            'connector.client.config.override.policy=All', 'offset.flush.interval.ms=1000', 'plugin.discovery=service_load']))
        super().__init__('connect', ['java', *java_options, '-Xmx512m', '-cp', f'{lib}/*', 'org.apache.kafka.connect.cli.ConnectStandalone',
                                     properties], folder / 'connect.log')

    def __enter__(self):
        self.launch()
        return self

    def __exit__(self, *_):
        self.kill()

    def add(self, connector: dict):
        """As soon as it answers."""
        def added():
            assert self.alive(), self.tail()
            try:
                answer = requests.post(f'{self.url}/connectors', json=connector, timeout=60)
            except requests.ConnectionError:
                return False
            assert answer.status_code == 201, answer.text
            return True

        eventually(added, 120, every=0.2, what='Kafka Connect takes the connector')

    def check(self, name: str):
        """No task has failed."""
        for task in requests.get(f'{self.url}/connectors/{name}/status', timeout=30).json()['tasks']:
            assert task['state'] == 'RUNNING', task.get('trace', task)
