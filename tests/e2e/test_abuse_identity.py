"""Attacks on who is who: by somebody on the same machine, by a page in a browser, with names that show what they are not."""
import json
import time

import jwt
import requests
from cryptography.hazmat.primitives.asymmetric import ec

from harness.meanwhile import at_once
from harness.waiting import eventually

def test_being_on_the_machine_is_no_identity(make_cluster, user):
    """A page of any origin, and any user of the machine, reach the ports of loopback: neither ends a daemon, nor reads of people."""
    cluster = make_cluster().start()
    token = {'Authorization': f'Bearer {cluster.keys.peer_token}'}
    for daemon in cluster.daemons:
        drain = f'http://{daemon.ops}/drain'
        assert requests.post(drain, timeout=5).status_code == 401
        assert requests.post(drain, timeout=5, headers={**token, 'Origin': 'http://localhost:3000'}).status_code == 403
        assert requests.post(drain, timeout=5, headers={**token, 'Host': 'rebound.example'}).status_code == 421
        assert requests.get(f'http://{daemon.ops}/metrics', timeout=5, headers={'Host': '[::1]evil'}).status_code == 421
    for base in (cluster.sinks[0].peer, cluster.routers[0].peer):
        for path in (f'/peer/history/{user}', f'/peer/friends/{user}'):
            assert requests.get(f'http://{base}{path}', timeout=5).status_code == 401
            assert requests.get(f'http://{base}{path}', timeout=5, headers={**token, 'Host': 'rebound.example'}).status_code == 421
    assert all(daemon.ready() for daemon in cluster.daemons)
    assert cluster.sinks[0].drain().status_code == 202
    assert cluster.sinks[0].wait() == 0


def test_a_key_that_is_taken_back_ends_its_sessions(make_cluster, users, tmp_path):
    """However long its tokens say they live. Those of other keys stay."""
    path, keys = tmp_path / 'jwks.json', {kid: ec.generate_private_key(ec.SECP256R1()) for kid in ('stolen', 'good')}

    def publish(*kids):
        algorithm = jwt.algorithms.get_default_algorithms()['ES256']
        path.write_text(json.dumps({'keys': [{**algorithm.to_jwk(keys[kid].public_key(), as_dict=True), 'kid': kid} for kid in kids]}))

    def token(kid, user, **claims):
        return jwt.encode({'sub': str(user), 'exp': int(time.time()) + 10 * 365 * 86400, **claims}, keys[kid], 'ES256', headers={'kid': kid})

    publish('stolen', 'good')
    cluster = make_cluster(settings={'fanout:auth.jwks.file': path, 'ingest:auth.jwks.file': path}).start(routers=0, sinks=0)
    thief, other = users(2)
    with cluster.phone(thief, token=token('stolen', thief)) as caught, cluster.phone(other, token=token('good', other)) as honest, \
            cluster.phone(other, token=cluster.token(other)) as by_file:
        for phone in (caught, honest, by_file):
            phone.hello(52.5, 13.4, wait=False)
            phone.expect('welcome', 5)
        began = time.monotonic()
        publish('good')
        assert caught.wait_closed() == 1008
        assert time.monotonic() - began < 2.5
        assert caught.closed()[1] == 'bad_token'
        assert honest.closed() is None and by_file.closed() is None
    old = token('good', other, iat=int(time.time()) - 31 * 86400)
    assert requests.get(f'{cluster.http_url}/v1/profile', headers={'Authorization': f'Bearer {old}'}, timeout=5).status_code == 401
    assert eventually(lambda: requests.get(f'{cluster.http_url}/v1/profile', timeout=5, headers={
        'Authorization': f"Bearer {token('stolen', thief)}"}).status_code == 401)


def test_names_and_texts_show_what_they_are(shared_cluster, users):
    http = shared_cluster.http(users(1)[0])
    for name in (' ', '\u3164', 'Mira\n', 'Mira\u202e', '\u2066Mira', 'Mi\u200bra', '\u200dMira', '\ufeffMira', '\x7f'):
        http.refused('PUT', '/v1/profile', 400, 'bad_profile', json={'name': name})
    for name in ('Mira', '\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645', '\U0001f468\u200d\U0001f469'):
        assert http.put('/v1/profile', json={'name': name}).ok, name
    for text in ('\u202egpj.exe', 'a\u202db'):
        http.refused('POST', '/v1/posts', 400, 'bad_text', json={'text': text})


def test_refused_callers_are_in_the_log_and_counted(make_cluster, users):
    cluster = make_cluster(settings={'ingest:ingest.user.changes.rate': 1, 'ingest:ingest.user.changes.burst': 1}).start(routers=0)
    for _ in range(40):
        with cluster.phone(1, token='x') as phone:
            phone.hello(52.5, 13.4, wait=False)
            assert phone.wait_closed() == 1008
        assert requests.get(f'{cluster.http_url}/v1/profile', headers={'Authorization': 'Bearer x'}, timeout=5).status_code == 401
        assert cluster.http(users(1)[0]).get('/v1/moderation/comments').status_code == 403
        assert requests.get(f'http://{cluster.sinks[0].peer}/peer/history/1', timeout=5).status_code == 401
    user, = users(1)
    changes = at_once(lambda session: session.put('/v1/sharing', json={'mode': 'off'}), [cluster.http(user) for _ in range(20)])
    assert 429 in [change.status_code for change in changes]
    assert cluster.ingest.total('starling_access_refused_total', reason='too_many_writes') >= 1
    for daemon, reason in ((cluster.ingest, 'bad_token'), (cluster.ingest, 'moderators_only'), (cluster.sinks[0], 'unauthorized'),
                           (cluster.fanouts[0], 'bad_token')):
        lines = [line for line in daemon.log().splitlines() if 'access refused' in line and f'reason={reason}' in line]
        network = 'unknown' if daemon in cluster.fanouts else '127.0.0.0/24'  # a proxy on the edge's machine has none
        assert len(lines) == 1 and f'network={network}' in lines[0], lines
        assert daemon.total('starling_access_refused_total', reason=reason) == 40
