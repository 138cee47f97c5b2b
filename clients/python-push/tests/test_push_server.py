"""The HTTP side, with a gateway that is none."""
import base64
import hashlib
import hmac
import io
import json
import os
import time

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from starling_push.gateway import Away, Unauthorized
from starling_push.server import LONGEST_SUBSCRIPTION, Application
from starling_push.store import Full, Store

KEY = b'k' * 40
SERVICES = ('https://push.example',)
PAGE = 'https://page.example'


class FakeGateway:
    def __init__(self):
        self.tokens = {'seven': (7, True), 'eight': (8, False)}
        self.away, self.asked = False, 0

    def user_of(self, token):
        self.asked += 1
        if self.away:
            raise Away('away')
        if token not in self.tokens:
            raise Unauthorized
        return self.tokens[token]


class Site:
    def __init__(self, folder):
        self.store, self.gateway, self.woken = Store(folder / 'push.db'), FakeGateway(), 0
        self.application = Application(self.store, self.gateway, KEY, 'PUBLIC', SERVICES, [PAGE], self._wake)

    def _wake(self):
        self.woken += 1

    def ask(self, method, path, body=None, token=None, **headers):
        """(status, headers, JSON)"""
        content = b'' if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        environ = {'REQUEST_METHOD': method, 'PATH_INFO': path, 'CONTENT_LENGTH': str(len(content)), 'wsgi.input': io.BytesIO(content),
                   **({'HTTP_AUTHORIZATION': f'Bearer {token}'} if token else {}),
                   **{f'HTTP_{name.upper()}': value for name, value in headers.items()}}
        started = []
        answer = b''.join(self.application(environ, lambda *head: started.append(head)))
        [(status, fields)] = started
        fields = dict(fields)
        assert fields['Content-Length'] == str(len(answer))
        return int(status.split()[0]), fields, json.loads(answer) if answer else None

    def notify(self, *items, body=None, key=KEY, sent=None):
        body = body or json.dumps({'sent': int(time.time() * 1000) if sent is None else sent, 'items': items}).encode()
        return self.ask('POST', '/notify', body, starling_signature='sha256=' + hmac.new(key, body, hashlib.sha256).hexdigest())


@pytest.fixture
def site(tmp_path):
    site = Site(tmp_path)
    yield site
    site.store.close()


def encoded(some):
    return base64.urlsafe_b64encode(some).rstrip(b'=').decode()


def subscription(name='a', **more):
    point = ec.generate_private_key(ec.SECP256R1()).public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
    return {'endpoint': f'https://push.example/{name}', 'keys': {'p256dh': encoded(point), 'auth': encoded(os.urandom(16))}, 'language': 'zh-CN', **more}


def follow(id='one', user=7):
    return {'id': id, 'user': user, 'what': 'follow', 'from': 9, 'subject': None, 'comment': None, 'time': int(time.time() * 1000)}


def test_the_page_subscribes_and_unsubscribes(site):
    assert site.ask('GET', '/push/key')[2] == {'key': 'PUBLIC'}
    for name in 'ab':
        assert site.ask('POST', '/push/subscriptions', subscription(name, expirationTime=None), 'seven')[0] == 204
    assert [(one.endpoint[-1], one.language, one.service) for one in site.store.subscriptions(7)] == [
        ('a', 'zh', SERVICES[0]), ('b', 'zh', SERVICES[0])]
    assert site.ask('DELETE', '/push/subscriptions', {'endpoint': 'https://push.example/a'}, 'eight')[0] == 204
    assert len(site.store.subscriptions(7)) == 2, 'it is not that user\'s'
    assert site.ask('DELETE', '/push/subscriptions', {'endpoint': 'https://push.example/a'}, 'seven')[0] == 204
    assert len(site.store.subscriptions(7)) == 1
    assert site.ask('DELETE', '/push/subscriptions', None, 'seven')[0] == 204
    assert site.store.subscriptions(7) == []
    assert site.store.named_users(-1, 9) == []


def test_whoever_has_no_good_token_is_refused(site):
    for token, method in ((None, 'POST'), ('forged', 'POST'), (None, 'DELETE'), ('forged', 'DELETE')):
        status, fields, problem = site.ask(method, '/push/subscriptions', subscription() if method == 'POST' else None, token)
        assert (status, problem['code'], fields['WWW-Authenticate'], fields['Content-Type']) == (
            401, 'unauthorized', 'Bearer', 'application/problem+json')
    site.gateway.away = True
    assert site.ask('POST', '/push/subscriptions', subscription(), 'seven')[0] == 503


def test_only_browsers_at_known_push_services(site):
    for endpoint in ('http://push.example/a', 'https://push.example.org/a', 'https://push.example@evil.example/a', 'https://push.example:444/a',
                     'https://169.254.169.254/', 'file:///etc/passwd', 'https://push.example/\u00fc', 'https://push.example/' + 'a' * 2048, None, 7):
        status, _, problem = site.ask('POST', '/push/subscriptions', subscription(endpoint=endpoint), 'seven')
        assert (status, problem['code']) == (400, 'bad_endpoint'), endpoint
    assert site.gateway.asked == 0


def test_only_keys_that_can_be_used(site):
    good = subscription()['keys']
    for change in ({'p256dh': encoded(b'\x04' + b'\x01' * 64)}, {'p256dh': encoded(os.urandom(10))}, {'p256dh': None}, {'auth': encoded(os.urandom(15))},
                   {'auth': '!' * 22}, {'auth': 7}):
        status, _, problem = site.ask('POST', '/push/subscriptions', subscription(keys={**good, **change}), 'seven')
        assert (status, problem['code']) == (400, 'bad_keys'), change
    assert site.ask('POST', '/push/subscriptions', subscription(keys=None), 'seven')[0] == 400


@pytest.mark.parametrize('body', [b'', b'{', b'[]', b'null', b'\xff', b'[' * 8000])
def test_other_bodies_are_refused(site, body):
    assert site.ask('POST', '/push/subscriptions', body, 'seven')[0] == 400


def test_a_long_body_is_refused(site):
    assert site.ask('POST', '/push/subscriptions', b'{"x":"' + b'x' * LONGEST_SUBSCRIPTION + b'"}', 'seven')[0] == 413


def test_a_post_is_stored_before_it_is_answered(site):
    site.ask('POST', '/push/subscriptions', subscription(), 'seven')
    assert site.notify(follow(), follow('two', 8))[::2] == (200, {'taken': 1})
    assert site.store.next(SERVICES[0], int(time.time() * 1000), ()).newest.id == 'one'
    assert site.woken == 1
    assert site.notify(follow())[::2] == (200, {'taken': 0}) and site.woken == 1


def test_a_post_that_is_not_starlings_is_refused_before_it_is_read(site):
    assert site.notify(body=b'{', key=b'x' * 40)[0] == 401
    assert site.ask('POST', '/notify', {'sent': 1, 'items': []})[0] == 401
    assert site.notify(body=b'{')[0] == site.notify(body=b'[' * 100_000)[0] == 400
    assert site.notify(sent=int(time.time() * 1000) - 301_000)[0] == 400


def test_a_post_that_cannot_be_stored_is_not_taken(site, monkeypatch):
    site.ask('POST', '/push/subscriptions', subscription(), 'seven')

    def full(*_):
        raise Full

    monkeypatch.setattr(site.store, 'take', full)
    status, fields, _ = site.notify(follow())
    assert status == 503 and fields['Retry-After'] == '60'


def test_pages_at_addresses_that_are_allowed(site):
    status, fields, _ = site.ask('OPTIONS', '/push/subscriptions', origin=PAGE)
    assert status == 204 and fields['Access-Control-Allow-Origin'] == PAGE and 'DELETE' in fields['Access-Control-Allow-Methods']
    assert fields['Access-Control-Allow-Headers'] == 'Authorization, Content-Type'
    assert site.ask('POST', '/push/subscriptions', b'{', 'seven', origin=PAGE)[1]['Access-Control-Allow-Origin'] == PAGE, 'errors, too'
    for origin in 'https://evil.example', 'null', '':
        assert 'Access-Control-Allow-Origin' not in site.ask('OPTIONS', '/push/subscriptions', origin=origin)[1]
    assert 'Access-Control-Allow-Origin' not in site.ask('OPTIONS', '/notify', origin=PAGE)[1]


def test_paths_and_methods(site):
    assert site.ask('GET', '/readyz')[0] == 200
    assert site.ask('GET', '/')[0] == 404
    status, fields, _ = site.ask('GET', '/push/subscriptions', token='seven')
    assert status == 405 and fields['Allow'] == 'POST, DELETE'
    assert site.ask('GET', '/notify')[0] == 405
