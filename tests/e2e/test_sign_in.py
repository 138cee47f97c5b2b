"""Tokens of sign-in providers at gateway and edge. Covers lib/service/keys.c and lib/service/jwks_fetch.c."""
import base64
import contextlib
import json
import time

import jwt
import pytest
import requests

from harness.http import Http
from harness.jwks import Provider, oidc_provider, takers
from harness.ports import free_port
from harness.waiting import eventually

HOME = 52.52, 13.405


def signs_in(cluster, user, token) -> bool:
    """At gateway and edge alike."""
    return all(takers(cluster, user, token))


def refused(cluster, user, token) -> bool:
    """By both."""
    return not any(takers(cluster, user, token))


def both(**settings):
    return {f'{kind}:{name.replace("__", ".")}': value for kind in ('ingest', 'fanout') for name, value in settings.items()}


@pytest.fixture
def provider():
    with Provider() as made:
        yield made


@contextlib.contextmanager
def within(seconds):
    began = time.monotonic()
    yield
    assert time.monotonic() - began < seconds


def test_a_new_key_counts_within_ten_seconds(make_cluster, user, provider):
    """Without a restart, whatever was fetched when; and one that is taken out ends the sessions of its tokens."""
    provider.publish('old')
    cluster = make_cluster(settings=both(auth__jwks__url=provider.url)).start(routers=0, sinks=0)
    assert signs_in(cluster, user, provider.token('old', user))
    assert refused(cluster, user, provider.token('old', user).replace('.', '.e30.', 1))
    assert len(provider.asked) == 2  # gateway and edge, once each
    with cluster.phone(user, token=provider.token('old', user)) as phone:
        phone.hello(*HOME)
        provider.publish('new', kind='ES256')
        token = provider.token('new', user)
        with within(10):
            eventually(lambda: Http(cluster.http_url, token).get('/v1/profile').status_code != 401, 12)
        assert phone.closed() is None
        with within(10):
            refused(cluster, user, token)  # the edge is asked for the first time now
            assert phone.wait_closed() == 1008
    assert signs_in(cluster, user, token) and refused(cluster, user, provider.token('old', user))
    began, count = time.monotonic(), len(provider.asked)
    provider.publish('old', 'new')
    provider.kids = ['new']
    while time.monotonic() - began < 12:  # nobody makes the daemons ask more often
        refused(cluster, user, provider.token('old', user))
    assert len(provider.asked) - count <= 4


def test_a_provider_that_is_away_or_broken(make_cluster, user, provider):
    """A process starts without it, takes its tokens once it is back, and keeps the last good keys."""
    provider.publish('one')
    provider.answer = lambda handler: provider.say(handler, 500, b'')
    cluster = make_cluster(settings=both(auth__jwks__url=provider.url)).start(routers=0, sinks=0)
    daemons = cluster.ingest, cluster.fanouts[0]
    token = provider.token('one', user)
    assert refused(cluster, user, token) and signs_in(cluster, user, cluster.token(user))
    for daemon in daemons:
        daemon.wait_for_log('keys of tokens stay as they were')
        assert daemon.total('starling_auth_reload_failures_total') >= 1
        assert daemon.total('starling_auth_fetched_seconds') == 0
    provider.answer = None
    with within(12):
        eventually(lambda: signs_in(cluster, user, token), 15)
    assert all(time.time() - daemon.total('starling_auth_fetched_seconds') < 60 for daemon in daemons)

    def slow(handler):
        time.sleep(20)
        provider.serve(handler)

    for answer in (lambda handler: provider.say(handler, 500, b''), lambda handler: provider.say(handler, 200, b'{'),
                   lambda handler: provider.say(handler, 200, b'{"keys":[' + b' ' * 10_000_000 + b']}'), slow):
        provider.answer = answer
        failed = [daemon.total('starling_auth_reload_failures_total') for daemon in daemons]
        provider.keys['unknown'] = provider.keys.get('unknown') or provider.keys['one']
        refused(cluster, user, provider.token('unknown', user))
        for daemon, before in zip(daemons, failed):
            eventually(lambda d=daemon, b=before: d.total('starling_auth_reload_failures_total') > b, 20)
        assert signs_in(cluster, user, token)


def test_a_real_providers_access_tokens(make_cluster, user):
    """RFC 9068, with the user in a claim whose name is a URL."""
    port, api = free_port(), 'https://api.example'
    with oidc_provider(port, 'http://127.0.0.1:1/signin.html') as issuer:
        found = requests.get(f'{issuer}/.well-known/openid-configuration', timeout=10).json()
        cluster = make_cluster(settings=both(auth__jwks__url=found['jwks_uri'], auth__issuer=issuer, auth__audience=f'other {api}',
                                             auth__user__claim='https://app.example/user')).start(routers=0, sinks=0)

        def token(resource):
            answer = requests.post(found['token_endpoint'], auth=('program', 'secret'), timeout=10,
                                   data={'grant_type': 'client_credentials', 'resource': resource})
            assert answer.ok, answer.text
            return answer.json()['access_token']

        good = token(api)
        assert jwt.get_unverified_header(good)['typ'] == 'at+jwt'
        assert signs_in(cluster, 42, good)
        assert Http(cluster.http_url, good).ok('GET', '/v1/me') == {'user': 42}
        assert refused(cluster, 42, token('https://elsewhere.example'))
        head, claims, signature = good.split('.')
        grown = json.loads(base64.urlsafe_b64decode(claims + '==')) | {'https://app.example/user': user}
        assert refused(cluster, user, f'{head}.{base64.urlsafe_b64encode(json.dumps(grown).encode()).decode().rstrip("=")}.{signature}')


def test_kinds_and_forgeries(make_cluster, user, provider):
    """By each `typ` that providers use, and not by others; and what is no token of theirs."""
    provider.publish('one', 'two')
    cluster = make_cluster(settings=both(auth__jwks__url=provider.url, auth__issuer='https://id.example', auth__audience='starling',
                                         auth__hs256__key__file='', auth__rs256__public__key__file='')).start(routers=0, sinks=0)
    claims = {'iss': 'https://id.example', 'aud': 'starling'}
    for kind in ('JWT', 'at+jwt', 'application/at+jwt', 'AT+JWT', None):
        assert signs_in(cluster, user, provider.token('one', user, {'typ': kind}, **claims)), kind
    forged = [provider.token('one', user, {'typ': kind}, **claims) for kind in ('logout+jwt', 'dpop+jwt', 'JOSE')]
    forged += [provider.token('one', user, **{**claims, **changed}) for changed in (
        {'iss': 'https://id.example/'}, {'iss': None}, {'aud': 'other'}, {'aud': None, 'client_id': 'starling'}, {'exp': int(time.time()) - 1},
        {'nbf': int(time.time()) + 300}, {'exp': None})]
    forged += [provider.token('one', user, {'kid': kid}, **claims) for kid in ('two', 'three')]
    forged += [cluster.token(user, **claims), provider.token('one', user, {'crit': ['x'], 'x': 1}, **claims)]
    body = {'sub': str(user), 'exp': int(time.time()) + 600, **claims}
    forged += [jwt.encode(body, None, 'none', headers={'kid': 'one'}), provider.forged(body, 'one')]
    for token in forged:
        assert refused(cluster, user, token), jwt.get_unverified_header(token)
