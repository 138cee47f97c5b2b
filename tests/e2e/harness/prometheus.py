"""The real Prometheus, with our configuration, over a cluster's processes."""
import json
import os
import pathlib
import shutil
import subprocess

import requests

from .broker import REPOSITORY
from .ports import free_port
from .processes import Process

MONITORING = REPOSITORY / 'monitoring'
JOBS = ['ingest', 'router', 'fanout', 'feed', 'comments', 'places', 'history-sink', 'moderation']


def program(name) -> pathlib.Path:
    """prometheus or promtool, which `./dev test` puts beside Kafka."""
    return pathlib.Path(os.environ.get('STARLING_PROMETHEUS', REPOSITORY / '.cache/prometheus')) / 'usr/bin' / name


def promtool(*arguments):
    """Must succeed; returns what it said."""
    done = subprocess.run([program('promtool'), *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Prometheus(Process):
    """Reads every second what ours reads every ten."""

    def __init__(self, cluster, folder: pathlib.Path):
        self.address = f'127.0.0.1:{free_port()}'
        (folder / 'targets').mkdir(parents=True)
        shutil.copytree(MONITORING / 'rules', folder / 'rules')
        text = (MONITORING / 'prometheus.yml').read_text()
        assert text.count(': 10s') == 2
        (folder / 'prometheus.yml').write_text(text.replace(': 10s', ': 1s'))
        for job in JOBS:
            targets = [daemon.ops for daemon in cluster.daemons if daemon.kind == job]
            (folder / 'targets' / f'starling-{job}.yml').write_text(json.dumps([{'targets': targets}]))
        super().__init__('prometheus', [
            program('prometheus'), f'--config.file={folder}/prometheus.yml', f'--storage.tsdb.path={folder}/data',
            f'--web.listen-address={self.address}'], folder / 'prometheus.log')

    def get(self, path, **parameters):
        answer = requests.get(f'http://{self.address}/api/v1/{path}', params=parameters, timeout=30)
        assert answer.status_code == 200, answer.text
        return answer.json()['data']

    def query(self, expression) -> list:
        return self.get('query', query=expression)['result']
