"""Users who ask as fast as possible, or for more work than it seems, are refused, and others are served."""
import base64
import json
import time

from harness.commenting import Commenting
from harness.honest import honest, memory, served
from harness.http import Http
from harness.meanwhile import at_once
from harness.waiting import eventually

ATTACK_S = 5


def attack_with(ask, clients, seconds=ATTACK_S):
    """The statuses of what so many clients ask at once, each for its own session, without a pause."""
    statuses = []

    def attack(number):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            statuses.append(ask(number).status_code)

    at_once(attack, range(clients))
    return statuses


def test_a_user_who_asks_as_fast_as_possible_is_refused(make_cluster, users):
    cluster = make_cluster(settings={'ingest:ingest.user.rate': 50, 'ingest:ingest.user.burst': 500}).start(feeds=1)
    attacker, other = users(2)
    eventually(lambda: cluster.http(other).get('/v1/feed').status_code == 200)
    sessions = [Http(cluster.http_url, cluster.token(attacker)) for _ in range(8)]
    reader = honest(cluster.http_url, cluster.token(other))
    with served(lambda: reader.ok('GET', '/v1/feed')):
        statuses = attack_with(lambda number: sessions[number].get('/v1/feed'), len(sessions))
    assert set(statuses) == {200, 429}
    assert statuses.count(200) <= 500 + 50 * (ATTACK_S + 2)
    assert cluster.ingest.total('starling_budget_refused_total', what='requests', by='user') == statuses.count(429)


def test_bodies_of_tiny_values_are_not_built(make_cluster, users):
    """A tree of 87,000 empty objects is 16 MB, and 20 ms of the loop."""
    cluster = make_cluster(settings={'ingest:ingest.user.rate': 50, 'ingest:ingest.user.burst': 500}).start(comments=1)
    attacker, other = users(2)
    eventually(lambda: cluster.http(other).get('/v1/comments/place/1').status_code == 200)
    body = b'{"text":"x","y":[' + b'{},' * 86_000 + b'{}]}'
    sessions = [Http(cluster.http_url, cluster.token(attacker)) for _ in range(10)]
    reader = honest(cluster.http_url, cluster.token(other))
    before = memory(cluster.ingest)
    with served(lambda: reader.ok('GET', '/v1/comments/place/1'), median_s=0.5):
        statuses = attack_with(lambda number: sessions[number].post('/v1/comments/place/1', data=body), len(sessions))
    assert set(statuses) <= {400, 429} and 400 in statuses
    # 258 KB are worth 16 requests, after a burst of 500 that may be overdrawn by as many as are under way
    assert statuses.count(400) <= (500 + 50 * (ATTACK_S + 2)) / 16 + len(sessions)
    assert memory(cluster.ingest) - before < 64 << 20


def test_bad_tokens_are_not_taken_apart_for_ever(make_cluster, user):
    cluster = make_cluster(settings={'ingest:ingest.address.rate': 20, 'ingest:ingest.address.burst': 50}).start()
    good = cluster.token(user)

    def part(value):
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b'=').decode()

    dear = f'{good.split(".")[0]}.{part({"sub": "1", "x": [1] * 1800})}.{good.split(".")[2]}'
    sessions = [Http(cluster.http_url, dear) for _ in range(4)]
    statuses = attack_with(lambda number: sessions[number].get('/v1/friends'), len(sessions), 2)
    refused = cluster.ingest.total('starling_budget_refused_total', what='bad_tokens', by='address')
    assert set(statuses) == {401, 429} and refused > 0
    fresh = Http(cluster.http_url, cluster.token(user, ttl=77))
    answer = fresh.get('/v1/friends')
    assert (answer.status_code, answer.json()['detail']) == (429, 'too many bad tokens came from this network')
    assert honest(cluster.http_url, cluster.token(user, ttl=78)).get('/v1/friends').status_code == 200


def test_changes_cost_their_bytes(make_cluster, users):
    """A comment of 40 KB is copied, kept and indexed: it counts as twenty short ones."""
    cluster = make_cluster(settings={'ingest:ingest.user.changes.rate': 1, 'ingest:ingest.user.changes.burst': 100,
                                     'comments:comments.user.rate': 0}).start(comments=1)
    longest, short, owner = users(3)
    Commenting(cluster).register('place:1', owner=owner)

    def taken(user, text):
        http, began, count = cluster.http(user), time.monotonic(), 0
        while http.post('/v1/comments/place/1', data=f'{{"text":"{text}"}}'.encode()).status_code in (201, 202):
            count += 1
        return count, time.monotonic() - began

    count, seconds = taken(longest, chr(0x20000) * 10_000)
    assert 5 <= count <= (100 + seconds) / 20 + 1
    count, seconds = taken(short, 'short')
    assert 100 <= count <= 100 + seconds + 1
