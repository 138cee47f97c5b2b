"""Errors have the type of what was wrong."""
import contextlib
import http.server
import socket
import ssl
import subprocess
import threading

import pytest
from test_api import Server
from test_client import to_its_end, until

import starling_client as sc
from starling_client import StarlingApi
from starling_client.errors import connection_ended


def raised_by(api):
    async def ask():
        await api.request('GET', '/v1/friends')

    with pytest.raises(sc.ApiError) as raised:
        to_its_end(ask())
    return raised.value


@pytest.mark.parametrize('status, code, kind', [
    (400, 'bad_query', sc.BadRequest), (413, 'body_too_large', sc.BadRequest), (401, 'bad_token', sc.TokenRefused),
    (401, 'token_expired', sc.TokenExpired), (403, 'gateways_only', sc.Forbidden), (404, 'no_profile', sc.NotFound),
    (409, 'handle_taken', sc.Conflict), (429, 'too_many_writes', sc.TooManyRequests), (500, 'refused', sc.ServerUnavailable),
    (503, 'owner_unavailable', sc.ServerUnavailable)])
def test_an_answer_has_its_kind_and_all_members_of_the_problem(status, code, kind):
    problem = {'type': f'urn:starling:{code}', 'title': 'No', 'status': status, 'detail': 'because', 'code': code}
    with Server() as server:
        server.answers = [(status, problem, {'Retry-After': '7'})]
        error = raised_by(StarlingApi(server.url, 't'))
    assert type(error) is kind and error.problem == problem
    assert (error.status, error.code, error.message, error.retry_after) == (status, code, 'because', 7)
    assert error.passing == (status in (429, 503))


def test_what_something_between_us_answers_has_its_kind_too():
    with Server() as server:
        server.answers = [(502, b'<html>bad gateway</html>')]
        error = raised_by(StarlingApi(server.url, 't'))
    assert type(error) is sc.ServerUnavailable and error.code == 'unknown' and error.problem == {} and error.retry_after is None


def test_a_refused_connection_and_no_answer_are_unreachable():
    with Server() as server:
        server.answers = [None]
        api = StarlingApi(server.url, 't')
        assert type(raised_by(api)) is sc.Unreachable
    error = raised_by(api)  # nobody listens any more
    assert type(error) is sc.Unreachable and error.status == 0 and error.passing
    assert (error.code, error.why) == ('unreachable', 'refused') and 'Nobody listens at http://' in error.message


@pytest.mark.parametrize('code, reason, kind', [
    (1006, '', sc.ConnectionLost), (1008, 'bad_token', sc.ConnectionTokenRefused), (1008, '', sc.ConnectionTokenRefused),
    (1008, 'token_expired', sc.ConnectionTokenExpired), (1008, 'no_hello', sc.ProtocolBroken), (1009, '', sc.ProtocolBroken),
    (1012, 'draining', sc.ServerRestarting), (1013, '', sc.ServerOverloaded), (4001, 'connected elsewhere', sc.ConnectedElsewhere),
    (4002, '', sc.TooSlow), (4003, '', sc.ConnectionTokenExpired), (4999, 'x', sc.ConnectionEnded)])
def test_an_end_of_a_connection_has_its_kind(code, reason, kind):
    error = connection_ended(code, reason)
    assert type(error) is kind and (error.code, error.reason) == (code, reason) and str(error) == error.message != ''


def test_the_client_tells_what_ended_the_connection():
    error = ended_with('ws://127.0.0.1:9/')  # nobody listens there
    assert type(error) is sc.ConnectionRefused and error.code == 1006 and error.retries and 'Nobody listens at ws://127.0.0.1:9/' in str(error)


# servers that are not what the address says


@pytest.fixture(scope='module')
def certificate(tmp_path_factory):
    """A certificate and its key that nobody trusts."""
    folder = tmp_path_factory.mktemp('tls')
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2',
                    '-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', 'key.pem', '-out', 'certificate.pem'],
                   cwd=folder, check=True, capture_output=True)
    return folder / 'certificate.pem', folder / 'key.pem'


@contextlib.contextmanager
def web_server(certificate=None):
    """Answers everything with 404, by TLS if there is a certificate. Yields its host and port."""
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), type('Handler', (http.server.BaseHTTPRequestHandler,), {
        'do_GET': lambda self: self.send_error(404), 'protocol_version': 'HTTP/1.1',
        'log_message': lambda *_: None}))
    server.handle_error = lambda *_: None
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f'127.0.0.1:{server.server_port}'
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def mute_server():
    """Ends each connection at the first byte, as a server does that expects something else."""
    with socket.create_server(('127.0.0.1', 0)) as server:
        def run():
            with contextlib.suppress(OSError):
                while True:
                    with server.accept()[0] as one:
                        one.recv(1)

        threading.Thread(target=run, daemon=True).start()
        yield f'127.0.0.1:{server.getsockname()[1]}'
        server.shutdown(socket.SHUT_RDWR)


def ended_with(url):
    """What a client says when it cannot connect."""
    told = []

    async def run():
        client = sc.StarlingClient(url, 't', 1, 2)
        client.on_event(told.append)
        client.connect()
        await until(lambda: client.state is sc.State.WAITING)
        await client.close()

    to_its_end(run())
    return next(event.error for event in told if isinstance(event, sc.StateChange) and event.state is sc.State.WAITING)


def test_a_connection_that_cannot_be_made_says_why(certificate):
    with web_server() as plain, web_server(certificate) as tls, mute_server() as mute:
        for url, kind, words in ((f'wss://{plain}/', sc.TlsMismatch, 'speak ws:, not wss:'), (f'ws://{tls}/', sc.TlsMismatch, 'speak wss:, not ws:'),
                                 (f'wss://{tls}/', sc.CertificateRefused, 'not trusted'), (f'ws://{plain}/', sc.NotAnEdge, 'HTTP API'),
                                 (f'ws://{mute}/', sc.TlsMismatch, 'speak wss:, not ws:'), ('ws://no.host.invalid/', sc.NotConnected, 'no.host')):
            error = ended_with(url)
            assert type(error) is kind and words in error.message, (url, repr(error))
            assert isinstance(error, sc.ConnectionLost) and (error.code, error.reason, error.retries) == (1006, '', True)


def test_an_api_that_cannot_be_reached_says_why(certificate):
    with web_server() as plain, web_server(certificate) as tls, mute_server() as mute:
        for url, why in ((f'https://{plain}', 'tls'), (f'http://{tls}', None), (f'https://{tls}', 'certificate'), (f'http://{mute}', None),
                         ('http://no.host.invalid', 'unknown_host')):
            error = raised_by(StarlingApi(url, 't', patience=0))
            assert type(error) is sc.Unreachable and error.why == why, (url, repr(error))
        trusting = ssl.create_default_context(cafile=certificate[0])
        assert type(raised_by(StarlingApi(f'https://{tls}', 't', context=trusting))) is sc.NotFound


def test_the_end_of_a_connection_says_whether_the_client_tries_again():
    assert connection_ended(1012).retries and not connection_ended(4001, '', False).retries


@pytest.mark.parametrize('place, words', [
    ((None, 1), 'lat is missing'), ((1, None), 'lng is missing'), (('39.98', 1), "lat is the str '39.98', and must be a number"),
    ((1, True), 'lng is the bool'), ((-91, 1), 'lat is -91, and must be from -90 to 90'), ((1, float('nan')), 'lng is nan')])
def test_a_position_that_is_none_says_what_is_wrong(place, words):
    with pytest.raises(sc.InvalidPosition, match=words):
        sc.StarlingClient('ws://127.0.0.1:9/', 't', *place)
    with pytest.raises(ValueError, match=words):
        to_its_end(StarlingApi('http://127.0.0.1:9', 't').report(sc.Report(*place)))
