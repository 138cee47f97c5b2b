"""A Kafka broker of the tests' own: one KRaft node on free ports, in a folder of its own."""
import pathlib
import socket
import subprocess
import time

from .ports import free_port
from .processes import Process

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
TEMPLATE = REPOSITORY / 'tools/kafka/server.properties.in'


class Broker(Process):
    def __init__(self, folder: pathlib.Path, jars: pathlib.Path):
        self.port = free_port()
        self.bootstrap = f'127.0.0.1:{self.port}'
        self._jars, self._folder = jars, folder
        self._properties = folder / 'server.properties'
        self.client = {}  # what confluent-kafka's clients need besides the address
        super().__init__('kafka', ['java', '-Xmx512m', '-cp', f'{jars}/*', 'kafka.Kafka', self._properties],
                         folder / 'kafka.log')

    def _write_properties(self, controller_port):
        text = TEMPLATE.read_text()
        for name, value in [('PORT', self.port), ('CONTROLLER_PORT', controller_port), ('DATA', self._folder / 'data')]:
            text = text.replace(f'@{name}@', str(value))
        self._properties.write_text(text)

    def _format_options(self) -> list[str]:
        return []

    def _format(self):
        self._write_properties(free_port())
        tool = ['java', '-cp', f'{self._jars}/*', 'kafka.tools.StorageTool']
        identity = subprocess.run([*tool, 'random-uuid'], check=True, capture_output=True, text=True).stdout.strip()
        subprocess.run([*tool, 'format', '-t', identity, '-c', str(self._properties), *self._format_options()], check=True,
                       capture_output=True)

    def start(self, timeout=180.0):
        """The first start formats the storage; later ones go on with it."""
        if not (self._folder / 'data').exists():
            self._format()
        started = self.log().count('Kafka Server started')
        self.launch()
        deadline = time.monotonic() + timeout
        while self.log().count('Kafka Server started') == started or not self._answers():
            assert self.alive(), f'Kafka ended by itself:\n{self.tail()}'
            assert time.monotonic() < deadline, f'Kafka did not start within {timeout} s:\n{self.tail()}'
            time.sleep(0.1)
        return self

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(('127.0.0.1', self.port)) == 0
