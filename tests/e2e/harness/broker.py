"""A Kafka broker of the tests' own: one KRaft node on free ports, in a folder of its own."""
import base64
import pathlib
import socket
import subprocess
import time
import uuid
from typing import ClassVar

from .ports import free_port
from .processes import HERE, Place, Process

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
TEMPLATE = REPOSITORY / 'tools/kafka/server.properties.in'


def kafka_identity() -> str:
    """A cluster's id, as `kafka-storage.sh random-uuid` makes it: no dash in front, which would look like an option."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip('=').replace('-', 'a', 1)


class Broker(Process):
    java_options: ClassVar[list[str]] = []  # of the virtual machine

    def __init__(self, folder: pathlib.Path, jars: pathlib.Path, place: Place = HERE):
        self.place, self.port, self.controller_port = place, free_port(), free_port()
        self.bootstrap = f'{place.address}:{self.port}'
        self.identity = kafka_identity()
        self._jars, self._folder = jars, folder
        self._properties = folder / 'server.properties'
        self.client = {}  # what confluent-kafka's clients need besides the address
        self._starts = 0  # how often it had started before the last launch
        super().__init__('kafka', place.inside(['java', *self.java_options, '-Xmx512m', '-cp', f'{jars}/*', 'kafka.Kafka', self._properties]),
                         folder / 'kafka.log')

    def _write_properties(self):
        text = TEMPLATE.read_text()
        for name, value in [('PORT', self.port), ('CONTROLLER_PORT', self.controller_port), ('DATA', self._folder / 'data')]:
            text = text.replace(f'@{name}@', str(value))
        self._folder.mkdir(parents=True, exist_ok=True)
        self._properties.write_text(text)

    def _format_options(self) -> list[str]:
        return []

    def format(self):
        """Makes the storage; start does it when there is none."""
        self._write_properties()
        subprocess.run(['java', *self.java_options, '-cp', f'{self._jars}/*', 'kafka.tools.StorageTool', 'format', '-t', self.identity,
                        '-c', str(self._properties), *self._format_options()], check=True, capture_output=True)

    def start(self, timeout=180.0, wait=True):
        """The first start formats the storage; later ones go on with it."""
        if not (self._folder / 'data').exists():
            self.format()
        self._starts = self.log().count('Kafka Server started')
        self.launch()
        if wait:
            self.wait_started(timeout)
        return self

    def wait_started(self, timeout=180.0):
        deadline = time.monotonic() + timeout
        while self.log().count('Kafka Server started') == self._starts or not self._answers():
            assert self.alive(), f'Kafka ended by itself:\n{self.tail()}'
            assert time.monotonic() < deadline, f'Kafka did not start within {timeout} s:\n{self.tail()}'
            time.sleep(0.1)

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex((self.place.address, self.port)) == 0
