"""A user who asks as fast as possible is refused, and others are served."""
import threading
import time

from harness.honest import honest, served
from harness.http import Http
from harness.waiting import eventually

ATTACK_S = 5


def test_a_user_who_asks_as_fast_as_possible_is_refused(make_cluster, users):
    cluster = make_cluster(settings={'ingest:ingest.user.rate': 50, 'ingest:ingest.user.burst': 500}).start(feeds=1)
    attacker, other = users(2)
    eventually(lambda: cluster.http(other).get('/v1/feed').status_code == 200)
    statuses = []

    def attack():
        session, end = Http(cluster.http_url, cluster.token(attacker)), time.monotonic() + ATTACK_S
        while time.monotonic() < end:
            statuses.append(session.get('/v1/feed').status_code)

    reader = honest(cluster.http_url, cluster.token(other))
    attackers = [threading.Thread(target=attack) for _ in range(8)]
    with served(lambda: reader.ok('GET', '/v1/feed')):
        for thread in attackers:
            thread.start()
        for thread in attackers:
            thread.join()
    assert set(statuses) == {200, 429}
    assert statuses.count(200) <= 500 + 50 * (ATTACK_S + 2)
    assert cluster.ingest.metrics().total('starling_budget_refused_total', what='requests', by='user') == statuses.count(429)
