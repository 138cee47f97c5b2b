"""Who is let in, who is kept out, and what the edge bears: TLS, rotating keys, origins, limits, floods, dead peers, overload,
many processes, drain. Tests play the routers where one is needed."""
import base64
import datetime
import hashlib
import hmac
import ipaddress
import json
import pathlib
import signal
import socket
import ssl
import time

import jwt
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from websockets.sync.client import connect

from harness.edge import Stage, move
from harness.geo import north_of
from harness.http import Http
from harness.phone import Phone
from harness.waiting import eventually, now_ms

HOME = 39.9847, 116.3184
SETTINGS = {'edge.flush.window.ms': 100, 'edge.first.page.ms': 60_000}


def at(metres):
    return north_of(*HOME, metres)


# wss


class Certificate:
    """A certificate for 127.0.0.1 by itself, written to two files; `key` is a private key of cryptography's."""

    def __init__(self, key=None, days=30):
        self.key = key or ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, 'localhost')])
        now = datetime.datetime.now(datetime.timezone.utc)
        self.end = now + datetime.timedelta(days=days)
        self.certificate = (
            x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(self.key.public_key())
            .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(self.end)
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address('127.0.0.1'))]), False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
            .sign(self.key, hashes.SHA256()))
        self.pem = self.certificate.public_bytes(serialization.Encoding.PEM)
        self.key_pem = self.key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                              serialization.NoEncryption())

    def write(self, folder: pathlib.Path) -> dict:
        """The settings of an edge that has it."""
        (folder / 'edge.pem').write_bytes(self.pem)
        (folder / 'edge.key').write_bytes(self.key_pem)
        return {'edge.tls.certificate.file': folder / 'edge.pem', 'edge.tls.key.file': folder / 'edge.key'}

    def trusting(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=self.pem.decode())


def secure_phone(stage, user, certificate, **options):
    return Phone(stage.cluster.ws_url.replace('ws://', 'wss://'), user, stage.cluster.token(user),
                 ssl=certificate.trusting(), **options)


def shown_certificate(stage) -> bytes:
    """What a handshake made now is shown."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    host, port = stage.cluster.ws_url.split('/')[2].split(':')
    with socket.create_connection((host, int(port)), 5) as plain, context.wrap_socket(plain) as secure:
        return secure.getpeercert(binary_form=True)


def der(certificate) -> bytes:
    return certificate.certificate.public_bytes(serialization.Encoding.DER)


def test_certificates_are_renewed_under_living_sessions(make_cluster, users, tmp_path):
    first, second = Certificate(days=2), Certificate(rsa.generate_private_key(public_exponent=65537, key_size=2048))
    stage = Stage(make_cluster(settings={**SETTINGS, **{f'fanout:{k}': v for k, v in first.write(tmp_path).items()}}))
    user, other, friend = users(3)
    stage.share(user, other, friend)
    end = lambda: stage.edge.metrics().total('starling_edge_certificate_end_seconds')
    assert end() == pytest.approx(first.end.timestamp(), abs=2)
    with secure_phone(stage, user, first) as phone:
        join = stage.join(phone, *HOME)
        with pytest.raises(Exception):
            connect(stage.cluster.ws_url, subprotocols=['starling.v1'], open_timeout=3, proxy=None)  # not without TLS
        with pytest.raises(ssl.SSLError):  # nor for who trusts another
            connect(stage.cluster.ws_url.replace('ws:', 'wss:'), subprotocols=['starling.v1'], proxy=None,
                    ssl=second.trusting())

        (tmp_path / 'edge.pem').write_bytes(second.pem)  # without its key: not a pair
        stage.edge.signal(signal.SIGHUP)
        stage.edge.wait_for_log('the certificate stays as it was')
        assert shown_certificate(stage) == der(first)
        (tmp_path / 'edge.key').write_text('not a key')
        stage.edge.signal(signal.SIGHUP)
        eventually(lambda: stage.edge.log().count('the certificate stays as it was') == 2)
        assert shown_certificate(stage) == der(first)

        second.write(tmp_path)  # another kind of key
        stage.edge.signal(signal.SIGHUP)
        stage.edge.wait_for_log('the certificate was read again')
        assert shown_certificate(stage) == der(second)
        assert end() == pytest.approx(second.end.timestamp(), abs=2)
        with secure_phone(stage, other, second) as late:
            stage.join(late, *HOME)
        t = now_ms()
        stage.deliver(join['route'], move(friend, at(100), t, user))  # the old session lives on
        phone.wait_screen({friend})
        phone.report(*at(1))
        stage.wait_said(user, 'REPORT')
        assert phone.closed() is None


def test_a_bad_certificate_stops_the_start(make_cluster, tmp_path):
    settings = Certificate().write(tmp_path)
    (tmp_path / 'edge.key').write_bytes(Certificate().key_pem)
    cluster = make_cluster(settings={f'fanout:{key}': value for key, value in settings.items()})
    cluster.create_topics()
    edge = cluster.add('fanout', wait=False)
    assert edge.wait(30) == 1
    assert 'edge.pem' in edge.log()


# rotating keys


class Rotating:
    """Key pairs by kid, their set in a file."""

    def __init__(self, path: pathlib.Path):
        self.path, self.keys = path, {}

    def add(self, kid, kind='RS256'):
        self.keys[kid] = kind, (rsa.generate_private_key(public_exponent=65537, key_size=2048) if kind == 'RS256'
                                else ec.generate_private_key(ec.SECP256R1()))

    def write(self, *kids):
        members = []
        for kid in kids:
            kind, key = self.keys[kid]
            algorithm = jwt.algorithms.get_default_algorithms()[kind]
            members.append({**algorithm.to_jwk(key.public_key(), as_dict=True), 'kid': kid, 'use': 'sig'})
        self.path.write_text(json.dumps({'keys': members}))

    def token(self, kid, user, key=None, algorithm=None, **claims):
        kind, own = self.keys[kid]
        return jwt.encode({'sub': str(user), 'exp': int(time.time()) + 600, **claims},
                          None if algorithm == 'none' else key or own,
                          algorithm=algorithm or kind, headers={'kid': kid})

    def forged_with_public_key(self, kid, user) -> str:
        """HS256 with the public key as the secret: by hand, as libraries refuse to make it."""
        def part(data: bytes) -> bytes:
            return base64.urlsafe_b64encode(data).rstrip(b'=')

        pem = self.keys[kid][1].public_key().public_bytes(serialization.Encoding.PEM,
                                                          serialization.PublicFormat.SubjectPublicKeyInfo)
        body = part(json.dumps({'alg': 'HS256', 'kid': kid}).encode()) + b'.' + part(
            json.dumps({'sub': str(user), 'exp': int(time.time()) + 600}).encode())
        return (body + b'.' + part(hmac.new(pem, body, hashlib.sha256).digest())).decode()


def test_keys_rotate_under_gateway_and_edge(make_cluster, users, tmp_path):
    rotating = Rotating(tmp_path / 'jwks.json')
    for kid, kind in [('old', 'RS256'), ('new', 'ES256')]:
        rotating.add(kid, kind)
    rotating.write('old')
    cluster = make_cluster(settings={'fanout:edge.first.page.ms': 200, 'fanout:auth.jwks.file': rotating.path,
                                     'ingest:auth.jwks.file': rotating.path})
    cluster.start(routers=0, sinks=0)
    user, = users(1)

    def taken(token) -> bool:
        """By gateway and edge alike."""
        answer = Http(cluster.http_url, token).get('/v1/profile')
        with cluster.phone(user, token=token) as phone:
            phone.hello(*HOME, wait=False)
            try:
                phone.expect('welcome', 5)
                edge = True
            except AssertionError:
                assert phone.wait_closed() == 1008
                edge = False
        assert edge == (answer.status_code != 401), answer.text
        return edge

    forged = [rotating.token('old', user, key=rotating.keys['new'][1], algorithm='ES256'),
              rotating.token('old', user, algorithm='none'), rotating.forged_with_public_key('old', user),
              rotating.token('new', user).replace('.', '.e30.', 1)]
    assert taken(rotating.token('old', user)) and not taken(rotating.token('new', user))
    assert taken(cluster.token(user))  # by the secret of the file, as before
    rotating.write('old', 'new')
    for daemon in cluster.ingest, cluster.fanouts[0]:
        daemon.wait_for_log('keys of tokens read again')  # nobody told it
        assert daemon.metrics().total('starling_auth_keys') == 4  # with the two files
    assert taken(rotating.token('old', user)) and taken(rotating.token('new', user))
    assert not any(taken(token) for token in forged)

    rotating.path.write_text('{"keys":[')
    for daemon in cluster.ingest, cluster.fanouts[0]:
        daemon.wait_for_log('keys of tokens stay as they were')
        assert daemon.metrics().total('starling_auth_reload_failures_total') == 1
    assert taken(rotating.token('new', user))
    with cluster.phone(user, token=rotating.token('old', user)) as phone:
        phone.hello(*HOME)
        rotating.write('new')
        cluster.fanouts[0].signal(signal.SIGHUP)  # at once
        cluster.ingest.signal(signal.SIGHUP)
        for daemon in cluster.ingest, cluster.fanouts[0]:
            eventually(lambda d=daemon: d.metrics().total('starling_auth_keys') == 3)
        assert phone.closed() is None  # a session is good until its token ends
    assert not taken(rotating.token('old', user)) and taken(rotating.token('new', user))
