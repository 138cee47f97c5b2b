"""Work that strangers make for the processes behind the gateway: joins, notices, erasures."""
import statistics
import time

from harness.feed import Feed
from harness.honest import honest, served
from harness.http import Http
from harness.meanwhile import meanwhile
from harness.waiting import eventually, now_ms

ATTACK_S = 8
FRIENDS = 4000


def befriend_many(cluster, user, others):
    """Makes friends as gateways do; the user's id is the lowest."""
    cluster.topics.produce_all('friend-commands', [
        (user, ('friend-command', {'kind': 'BEFRIEND', 'from': user, 'to': other, 'time': now_ms(), 'since': 0})) for other in others])
    eventually(lambda: len(cluster.friends_of(user)) == len(others), 60)


def moves_of(walker, watcher, until):
    """How long each move of the one takes until the other sees it."""
    times, lat = [], 10.0
    while time.monotonic() < until:
        lat += 0.0001
        began = time.monotonic()
        walker.report(lat, 20.0)
        watcher.wait_item(walker.user, lambda item, wanted=lat: abs(item['lat'] - wanted) < 1e-6)
        times.append(time.monotonic() - began)
        time.sleep(0.1)
    return times


def flood(session, answers):
    now = now_ms()
    body = {'locations': [{'lat': 10.0 + n / 1e4, 'lng': 20.0, 'time': now} for n in range(1000)]}
    answers.append(session.post('/v1/locations', json=body))


def attack_joins(cluster, users):
    """The answers to a flood of reports of a user with many friends, and how long an honest pair's moves take meanwhile."""
    attacker, ada, ben = users(3)
    cluster.share(attacker, ada, ben)
    cluster.befriend((ada, ben))
    befriend_many(cluster, attacker, range(10**9, 10**9 + FRIENDS))
    walker, watcher = cluster.online(ada, 10.0, 20.0), cluster.online(ben, 10.0, 20.0)
    answers = []
    with meanwhile([cluster.http(attacker) for _ in range(4)], lambda session: flood(session, answers)):
        times = moves_of(walker, watcher, time.monotonic() + ATTACK_S)
    assert statistics.median(times) <= 1.0 and max(times) <= 4.0, times
    return answers


def test_reports_that_are_joined_with_many_friends_hold_up_nobody(make_cluster, users):
    cluster = make_cluster().start()
    answers = attack_joins(cluster, users)
    taken = sum(answer.json()['accepted'] for answer in answers if answer.status_code == 200)
    router = cluster.routers[0].metrics()
    assert taken > 5000 and router.total('starling_router_reports_skipped_total') > taken / 2
    eventually(lambda: cluster.routers[0].total('starling_router_reports_held') == 0)


def test_a_user_who_reports_without_an_end_is_told_to_wait(make_cluster, users):
    cluster = make_cluster(settings={'ingest:ingest.user.reports.rate': 5, 'ingest:ingest.user.reports.burst': 10000}).start()
    answers = attack_joins(cluster, users)
    refused = [answer for answer in answers if answer.status_code == 429]
    taken = sum(answer.json()['accepted'] for answer in answers if answer.status_code == 200)
    assert 9000 <= taken <= 10000 + 5 * (ATTACK_S + 4) and refused
    assert all(answer.json()['code'] == 'too_many_reports' and int(answer.headers['Retry-After']) > 0 for answer in refused)


def test_nobody_empties_the_notices_of_another(make_cluster, users):
    feed = Feed(make_cluster().start(routers=1, feeds=1))
    ada, ben, stranger, *others = users(23)
    for other in others:
        feed.follow(other, ada)

    def followers():
        keys = [key for key in feed.cluster.topics.latest('notices') if key[:8] == ada.to_bytes(8, 'big')]
        return {int.from_bytes(key[17:], 'big') for key in keys} - {stranger}

    eventually(lambda: followers() == set(others))
    feed.mute(ada, stranger)
    http = feed.http(stranger)
    with served(lambda: honest(feed.cluster.http_url, feed.cluster.token(ada)).ok('GET', '/v1/notices')):
        for _ in range(110):  # 220 changes
            http.ok('PUT', f'/v1/follows/{ada}')
            http.ok('DELETE', f'/v1/follows/{ada}')
    feed.follow(ben, ada)
    eventually(lambda: followers() == {ben, *others})
    item = eventually(lambda: (items := feed.http(ada).ok('GET', '/v1/notices')['items']) and items[0]['user'] == ben and items[0])
    assert item['count'] == len(others) + 1 and stranger not in item['users']


def test_requests_for_friendship_have_an_end(make_cluster, users):
    cluster = make_cluster(settings={'ingest:friends.requests.max': 5}).start()
    ada, ben, *others = users(8)
    for other in others[:5]:
        cluster.http(ada).ok('PUT', f'/v1/friends/{other}')
    eventually(lambda: len(cluster.http(ada).ok('GET', '/v1/friends', params={'state': 'requested'})['items']) == 5)
    for asker, asked in ((ada, ben), (ben, ada)):
        cluster.http(asker).refused('PUT', f'/v1/friends/{asked}', 409, 'requests_limit')
    assert cluster.http(others[0]).ok('PUT', f'/v1/friends/{ada}')['state'] == 'friends'  # to accept is no request
    eventually(lambda: cluster.http(ada).put(f'/v1/friends/{ben}').status_code == 200)


def test_long_lists_of_friends_are_paid_for(make_cluster, users):
    cluster = make_cluster().start()
    me, user, stranger = users(3)
    for one in me, user:
        befriend_many(cluster, one, range(10**9, 10**9 + FRIENDS))
    strict = cluster.add('ingest', settings={'ingest.user.rate': 1, 'ingest.user.burst': 60})
    url = f'http://{strict.settings["ingest.listen"]}'
    answers = [Http(url, cluster.token(me)).get(f'/v1/users/{user}/mutual-friends') for _ in range(40)]
    page = answers[0].json()
    assert (page['total'], len(page['items']), page['next']) == (FRIENDS, 20, 10**9 + 19)
    refused = [answer for answer in answers if answer.status_code == 429]
    assert 8 <= len(answers) - len(refused) <= 14 and all(answer.json()['code'] == 'too_many_requests' for answer in refused)
    assert Http(url, cluster.token(stranger)).ok('GET', f'/v1/users/{user}/mutual-friends')['total'] == 0


def test_those_who_forget_themselves_deny_it_to_nobody(make_cluster, users):
    cluster = make_cluster().start(feeds=1, comments=1, places=1)
    *attackers, ada = users(71)
    for user in attackers:
        assert cluster.http(user).delete('/v1/me').status_code in (200, 202)
    eventually(lambda: honest(cluster.http_url, cluster.token(ada)).delete('/v1/me').status_code == 200, 20)
    codes = [cluster.http(attackers[0]).delete('/v1/me').status_code for _ in range(8)]
    assert 429 in codes
