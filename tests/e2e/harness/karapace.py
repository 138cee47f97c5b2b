"""Karapace, a schema registry that others wrote. It is on no package index: STARLING_KARAPACE is a folder with its source (`src/karapace`, 4.1.4)
and a virtual environment with what that needs (`venv`)."""
import json
import os
import pathlib
import subprocess

import requests

from .ports import free_port
from .processes import die_with_parent
from .waiting import eventually

WHY_NOT = None if os.environ.get('STARLING_KARAPACE') else 'no Karapace: STARLING_KARAPACE is a folder with src/ and venv/'


class Karapace:
    """`.url`; it keeps its schemas in the topic _schemas of that broker."""

    def __init__(self, bootstrap: str, folder: pathlib.Path):
        self.home, self.log = pathlib.Path(os.environ['STARLING_KARAPACE']), folder / 'karapace.log'
        port = free_port()
        self.url = f'http://127.0.0.1:{port}'
        self.config = folder / 'karapace.json'
        self.config.write_text(json.dumps({
            'host': '127.0.0.1', 'advertised_hostname': '127.0.0.1', 'port': port, 'bootstrap_uri': bootstrap, 'karapace_registry': True,
            'karapace_rest': False, 'compatibility': 'FULL', 'replication_factor': 1, 'log_level': 'INFO'}))

    def __enter__(self):
        with open(self.log, 'w') as log:
            self.process = subprocess.Popen([self.home / 'venv/bin/python', '-m', 'karapace.karapace_all', self.config], stdout=log,
                                            stderr=log, env={**os.environ, 'PYTHONPATH': str(self.home / 'src')}, preexec_fn=die_with_parent)
        eventually(self._takes_schemas, 60, every=0.5, what='Karapace')
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def _takes_schemas(self):
        try:  # it answers before it may write
            return self.register('ready', {'type': 'record', 'name': 'Ready', 'fields': []}).ok
        except requests.RequestException:
            return False

    def register(self, subject, schema):
        return requests.post(f'{self.url}/subjects/{subject}/versions', json={'schema': json.dumps(schema)}, timeout=30)
