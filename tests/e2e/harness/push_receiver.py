"""The receiver of clients/python-push as a process, and posts to it as notify.url gets them."""
import hashlib
import hmac
import json
import secrets
import sys

import requests

from .broker import REPOSITORY
from .http import Http
from .ports import free_port
from .processes import Process
from .waiting import eventually, now_ms

PACKAGE = REPOSITORY / 'clients/python-push'


class PushReceiver(Process):
    """receiver.start(); receiver.post(item, ...); kill -9 and start again keep its port and its data."""

    def __init__(self, folder, api: str, token: str, service: str, *options):
        folder.mkdir()
        self.key, self.address = secrets.token_hex(20), f'127.0.0.1:{free_port()}'
        self.key_file, self.data = folder / 'key', folder / 'data'
        self.key_file.write_text(self.key + '\n')
        (folder / 'token').write_text(token)
        self.url = f'http://{self.address}'
        super().__init__('starling-push', [sys.executable, '-m', 'starling_push', '--listen', self.address, '--data', self.data,
                                           '--key-file', self.key_file, '--token-file', folder / 'token', '--api', api,
                                           '--contact', 'mailto:ops@example.org', '--service', service, *options],
                         folder / 'log', {'PYTHONPATH': str(PACKAGE)})

    def start(self):
        self.launch()

        def ready():
            assert self.alive(), f'it ended by itself:\n{self.tail()}'
            try:
                return Http(self.url).get('/readyz').ok
            except requests.RequestException:
                return False

        eventually(ready, 30, what='the receiver answers')
        return self

    def page(self, token) -> Http:
        """As the page of that user asks it."""
        return Http(self.url, token)

    @property
    def vapid(self) -> str:
        return Http(self.url).ok('GET', '/push/key')['key']

    def post(self, *items, key=None, sent=None) -> requests.Response:
        body = json.dumps({'sent': now_ms() if sent is None else sent, 'items': items}).encode()
        signature = hmac.new((key or self.key).encode(), body, hashlib.sha256).hexdigest()
        return Http(self.url).post('/notify', data=body, headers={'Content-Type': 'application/json', 'Starling-Signature': f'sha256={signature}'})

    def take(self, *items):
        answer = self.post(*items)
        assert answer.ok, answer.text
        return answer.json()['taken']


def item(id, user, what, sender, subject=None, comment=None, time=None):
    """As the contract says."""
    made = {'id': id, 'user': user, 'what': what, 'from': sender, 'subject': subject, 'comment': comment, 'time': now_ms() if time is None else time}
    return {**made, 'friend': sender, 'distance_m': 431.5} if what == 'approach' else made
