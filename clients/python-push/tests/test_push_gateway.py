"""Whose token it is, and names, with a gateway of the test's own."""
import http.server
import json
import threading

import pytest

from starling_push.gateway import Away, Gateway, Unauthorized


GOOD, NAMELESS, FORGED, NOBODY = 'good', 'nameless', 'forged', 'nobody'


@pytest.fixture
def gateway(tmp_path):
    """gateway.asked: paths and tokens. gateway.status: of all answers, if it is set."""
    asked, state = [], {'status': None, 'body': None}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            bearer = self.headers['Authorization'].removeprefix('Bearer ')
            asked.append((self.path, bearer))
            status, body = 401, {'code': 'unauthorized'}
            if self.path == '/v1/me':
                status, body = {GOOD: (200, {'user': 7}), NAMELESS: (200, {'user': 8}), NOBODY: (200, {'user': None})}.get(bearer, (status, body))
            elif self.path == '/v1/profile':
                status = {GOOD: 200, NAMELESS: 404}.get(bearer, 401)
            elif bearer == 'names':
                users = [int(user) for user in self.path.removeprefix('/v1/users?ids=').split(',')]
                status, body = 200, {'items': [{'user': user, 'name': f'N{user}' if user < 1000 else None} for user in users]}
            self.send_response(state['status'] or status)
            self.end_headers()
            self.wfile.write(json.dumps(body if state['body'] is None else state['body']).encode())

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (tmp_path / 'token').write_text('names\n')
    gateway = Gateway(f'http://127.0.0.1:{server.server_port}/', tmp_path / 'token')
    gateway.asked, gateway.state, gateway.file = asked, state, tmp_path / 'token'
    yield gateway
    server.shutdown()
    server.server_close()


def test_the_gateway_says_whether_a_token_is_good(gateway):
    assert gateway.user_of(GOOD) == (7, True)
    assert gateway.user_of(NAMELESS) == (8, False)
    for bad in FORGED, NOBODY:
        with pytest.raises(Unauthorized):
            gateway.user_of(bad)
    assert gateway.asked == [('/v1/me', GOOD), ('/v1/profile', GOOD), ('/v1/me', NAMELESS), ('/v1/profile', NAMELESS), ('/v1/me', FORGED), ('/v1/me', NOBODY)]


@pytest.mark.parametrize('bad', ['', 'a\nb', 'a.\u00fc.c', 'x' * 9000])
def test_what_is_no_token_is_not_asked_about(gateway, bad):
    with pytest.raises(Unauthorized):
        gateway.user_of(bad)
    assert gateway.asked == []


@pytest.mark.parametrize('status', [429, 500, 503])
def test_a_gateway_that_cannot_say_has_refused_nobody(gateway, status):
    gateway.state['status'] = status
    with pytest.raises(Away):
        gateway.user_of(GOOD)
    with pytest.raises(Away):
        gateway.names([1])


@pytest.mark.parametrize('body', [{}, [], {'items': None}, {'items': [7]}, {'items': [{'user': 1}]}, {'items': [{'user': [], 'name': 'A'}]},
                                  {'items': [{'user': 1, 'name': 7}]}, {'items': [{'user': 2, 'name': 'B'}]}])
def test_a_gateway_that_answers_something_else_has_named_nobody(gateway, body):
    gateway.state['body'] = body
    with pytest.raises(Away):
        gateway.names([1])


def test_names_are_asked_for_a_hundred_at_once_and_kept(gateway):
    users = list(range(1, 151))
    assert gateway.names([*users, 1000], now=0.0) == {**{user: f'N{user}' for user in users}, 1000: None}
    assert len(gateway.asked) == 2
    assert gateway.names([5, 1000], now=299.0) == {5: 'N5', 1000: None} and len(gateway.asked) == 2
    assert gateway.names([5], now=301.0) == {5: 'N5'} and len(gateway.asked) == 3


def test_the_token_for_names_may_be_replaced(gateway):
    gateway.file.write_text('old')
    with pytest.raises(Away, match='401'):
        gateway.names([1])
    gateway.file.write_text('names')
    assert gateway.names([1]) == {1: 'N1'}


def test_nobody_answers(tmp_path):
    (tmp_path / 'token').write_text('names')
    with pytest.raises(Away, match=r'^/v1/users has no answer: ConnectionError$'):
        Gateway('http://127.0.0.1:1', tmp_path / 'token').names([1])
