"""Links that show a user's place to whoever has one: an attacker goes through every door, and a link is closed within a second of its end, of a
revocation and of an opt-out. Covers ingest/nearby/links.c, router/link_answers.c and router/links.c."""
import base64
import random
import time

import pytest

from harness.geo import HOME, distance_m, north_of
from harness.http import Http, problem
from harness.records import decode, key_users
from harness.waiting import eventually, now_ms

pytestmark = pytest.mark.timeout(600)

PROMISE_S = 1.0
HOUR_MS = 3_600_000
LINKS_MAX = 20
FIELDS = ['name', 'lat', 'lng', 'time', 'until']


@pytest.fixture(scope='module')
def town(make_module_cluster):
    return make_module_cluster(settings={'ingest:ingest.outcome.wait.ms': 8000, 'ingest:ingest.address.rate': 0, 'kafka.session.timeout.ms': 6000,
                                         'inactive.after.s': 600}).start(ingests=2, routers=2, fanouts=0, sinks=0)


class Visitor:
    """Somebody without an account, who asks each gateway in turn."""

    def __init__(self, cluster):
        self.gateways = [Http(f'http://{daemon.settings["ingest.listen"]}') for daemon in cluster.of('ingest')]

    def get(self, secret, **kwargs):
        self.gateways.append(self.gateways.pop(0))
        return self.gateways[0].get(f'/v1/links/{secret}/place', **kwargs)

    def sees(self, secret) -> dict:
        response = self.get(secret)
        assert response.status_code == 200, response.text
        assert response.headers['Cache-Control'] == 'no-store'
        place = response.json()
        assert list(place) == FIELDS
        return place

    def is_over(self, secret):
        problem(self.get(secret), 410, 'link_over')

    def waits_for_end(self, secret, since, promise_s=PROMISE_S):
        """The link is closed within the promise, at each gateway, and stays so."""
        while True:
            asked = time.time()
            statuses = {self.get(secret).status_code for _ in self.gateways}
            if statuses == {410}:
                break
            assert statuses <= {200, 410} and asked - since < promise_s, f'{statuses} {asked - since:.3f} s afterwards'
        for _ in range(4):
            self.is_over(secret)


def make(cluster, user, until=None, **fields) -> tuple[str, str]:
    """The id and the secret."""
    made = cluster.http(user).ok('POST', '/v1/links', json={'until': until or now_ms() + HOUR_MS, **fields})
    assert list(made) == ['id', 'url'] and int(made['id']) > 0
    page, secret = made['url'].split('#')
    assert page == '/link.html'
    return made['id'], secret


def listed(cluster, user) -> list:
    answer = cluster.http(user).ok('GET', '/v1/links')
    assert list(answer) == ['items', 'next'] and answer['next'] is None and all(list(item) == ['id', 'until', 'rounded', 'made'] for item in answer['items'])
    return answer['items']


@pytest.fixture
def ada(town, users):
    """Somebody who shares, and is somewhere."""
    user, = users(1)
    town.share(user)
    town.http(user).ok('PUT', '/v1/profile', json={'name': 'Ada', 'avatar_url': 'https://x.example/a.png', 'bio': 'secret', 'url': 'https://x.example'})
    town.report_http(user, *HOME)
    return user


@pytest.fixture
def visitor(town):
    return Visitor(town)


def at_home(visitor, secret):
    return eventually(lambda: (place := visitor.sees(secret))['lat'] is not None and place['name'] == 'Ada' and place)


# what is promised


def test_it_shows_the_place_and_nothing_else(town, visitor, ada):
    until = now_ms() + HOUR_MS
    link, secret = make(town, ada, until)
    place = at_home(visitor, secret)
    assert (place['lat'], place['lng'], place['until']) == (pytest.approx(HOME[0]), pytest.approx(HOME[1]), until)
    assert abs(place['time'] - now_ms()) < 60_000
    for step in range(1, 4):  # it follows
        there = north_of(*HOME, 5000 * step)
        town.report_http(ada, *there)
        eventually(lambda: visitor.sees(secret)['lat'] == pytest.approx(there[0]))
    assert [(item['id'], item['until'], item['rounded']) for item in listed(town, ada)] == [(link, until, False)]
    assert secret not in town.http(ada).get('/v1/links').text  # whoever steals a token makes links, but reads none that others have
    response = visitor.get(secret, headers={'Authorization': 'Bearer x'})
    assert response.status_code == 200  # no token is asked for, and none is looked at
    assert str(ada) not in response.text and 'x.example' not in response.text


def test_rounded_is_the_centre_of_a_cell_that_never_moves(town, visitor, ada):
    _, exact = make(town, ada, rounded=False)
    _, rounded = make(town, ada, rounded=True)
    at_home(visitor, exact)
    chance, seen = random.Random(3), set()
    lat, lng = visitor.sees(rounded)['lat'], visitor.sees(rounded)['lng']
    for _ in range(20):  # wherever in the cell: whoever reads often finds no middle
        there = lat + chance.uniform(-0.0027, 0.0027), lng + chance.uniform(-0.0054, 0.0054)
        town.report_http(ada, *there)
        eventually(lambda: visitor.sees(exact)['lat'] == pytest.approx(there[0], abs=1e-6))
        place = visitor.sees(rounded)
        seen.add((place['lat'], place['lng']))
        assert distance_m(*there, place['lat'], place['lng']) < 1000
    assert seen == {(lat, lng)}


def test_somebody_of_whom_nothing_is_known_is_nowhere(town, visitor, users):
    user, = users(1)
    town.share(user)
    _, secret = make(town, user)
    assert {name: visitor.sees(secret)[name] for name in FIELDS[:4]} == {'name': '', 'lat': None, 'lng': None, 'time': None}


def test_bad_wishes_are_named(town, ada, users):
    http, now = town.http(ada), now_ms()
    for body in {}, {'until': None}, {'until': 'x'}, {'until': now - 1}, {'until': 0}, {'until': -5}, {'until': now + 32 * 24 * HOUR_MS}, {'until': 2**60}:
        http.refused('POST', '/v1/links', 400, 'bad_until', json=body)
    for rounded in 1, 'true', []:
        http.refused('POST', '/v1/links', 400, 'bad_rounded', json={'until': now + HOUR_MS, 'rounded': rounded})
    http.refused('DELETE', '/v1/links/x', 400, 'bad_path')
    for query in {'limit': 0}, {'limit': 1001}, {'after': 'x'}:
        http.refused('GET', '/v1/links', 400, 'bad_query', params=query)
    stranger, = users(1)
    town.http(stranger).refused('POST', '/v1/links', 409, 'not_sharing', json={'until': now + HOUR_MS})
    assert listed(town, ada) == listed(town, stranger) == []


def test_a_user_has_so_many_links(town, visitor, ada):
    made = [make(town, ada) for _ in range(LINKS_MAX - 1)]
    _, short = make(town, ada, now_ms() + 5000)
    town.http(ada).refused('POST', '/v1/links', 409, 'links_limit', json={'until': now_ms() + HOUR_MS})
    eventually(lambda: [item['id'] for item in listed(town, ada)] == [link for link, _ in made])  # one that is over makes room
    visitor.is_over(short)
    make(town, ada)
    for limit in 1, 7:
        assert town.http(ada).items('/v1/links', limit=limit) == listed(town, ada)


# the doors


def test_a_secret_that_was_not_made_here_is_one_that_never_was(town, visitor, ada, users):
    """Forged, damaged, cut, sewn together: each has the same answer, which names nobody."""
    _, secret = make(town, ada)
    other, = users(1)
    town.share(other)
    _, theirs = make(town, other)
    never = visitor.get('A' * len(secret)).json()
    alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    raw = base64.urlsafe_b64decode(secret)
    assert len(raw) == 45 and ada.to_bytes(8, 'big') not in raw
    flipped = [secret[:at] + alphabet[alphabet.index(secret[at]) ^ 1 << at % 6] + secret[at + 1:] for at in range(len(secret))]
    sewn = [theirs[:at] + secret[at:] for at in range(4, len(secret), 4)]
    cut = [secret[:size] for size in (1, 4, 30, 56, 59)] + [secret + 'A', secret * 2, secret + '=', secret[1:], 'x' * 250]
    made_up = ['null', '0', '%00', '..', str(ada), f'{ada}:1', base64.urlsafe_b64encode(random.Random(1).randbytes(45)).decode(),
               base64.urlsafe_b64encode(b'\1' + ada.to_bytes(8, 'big') + (1).to_bytes(8, 'big') + bytes(28)).decode(),
               raw.hex(), secret.swapcase()]
    for bad in [*flipped, *sewn, *cut, *made_up]:
        response = visitor.get(bad)
        if response.status_code == 400:  # no text that may stand in a path
            continue
        if bad == '..':
            assert response.status_code == 404
            continue
        problem(response, 404, 'no_link')
        assert response.json() == never
    assert visitor.sees(secret)


def test_two_links_of_a_user_have_nothing_in_common(town, ada):
    secrets = [make(town, ada)[1] for _ in range(8)]
    assert len(set(secrets)) == len(secrets)
    for at in range(0, 60, 4):
        assert len({secret[at:at + 4] for secret in secrets}) == len(secrets)


def test_a_link_opens_no_other_door(town, visitor, ada):
    """Its secret is no token, and its id is no secret."""
    link, secret = make(town, ada)
    as_token = town.http(None)
    as_token.headers['Authorization'] = f'Bearer {secret}'
    for path in '/v1/me', '/v1/links', '/v1/nearby', '/v1/export', f'/v1/profiles/{ada}':
        assert as_token.get(path).status_code == 401
    problem(visitor.get(link), 404, 'no_link')
    for method in 'POST', 'PUT', 'DELETE':
        assert as_token.request(method, f'/v1/links/{secret}/place').status_code == 405
    assert as_token.delete(f'/v1/links/{link}').status_code == 401


def test_nobody_else_ends_a_link(town, visitor, ada, users):
    link, secret = make(town, ada)
    other, = users(1)
    town.share(other)
    theirs, _ = make(town, other)
    town.http(other).refused('DELETE', f'/v1/links/{link}', 404, 'no_link')
    town.http(ada).refused('DELETE', f'/v1/links/{theirs}', 404, 'no_link')
    town.http(ada).refused('DELETE', f'/v1/links/{int(link) ^ 2}', 404, 'no_link')
    assert visitor.sees(secret) and len(listed(town, ada)) == 1
    assert [item['id'] for item in listed(town, other)] == [theirs]  # and nobody lists those of others


# the ends


def test_it_is_closed_at_its_end(town, visitor, ada):
    until = now_ms() + 2500
    _, secret = make(town, ada, until)
    at_home(visitor, secret)
    while now_ms() < until - 200:
        assert visitor.sees(secret)['until'] == until
    time.sleep(max(0, until / 1000 - time.time()))
    visitor.waits_for_end(secret, until / 1000)
    eventually(lambda: ada not in {user for m in town.topics.latest('links') for user in key_users(m)}, 30, what='what is over is forgotten')


def test_it_is_closed_by_a_revocation(town, visitor, ada):
    (first, secret), (_, stays) = make(town, ada), make(town, ada)
    at_home(visitor, secret)
    assert town.http(ada).delete(f'/v1/links/{first}').status_code == 204
    visitor.waits_for_end(secret, time.time())
    assert visitor.sees(stays)
    town.http(ada).refused('DELETE', f'/v1/links/{first}', 404, 'no_link')


def test_an_opt_out_closes_all_for_good(town, visitor, ada):
    secrets = [make(town, ada, rounded=rounded)[1] for rounded in (False, True)]
    for secret in secrets:
        at_home(visitor, secret)
    town.share(ada, mode='off')
    off = time.time()
    for secret in secrets:
        visitor.waits_for_end(secret, off)
    eventually(lambda: listed(town, ada) == [])
    town.http(ada).refused('POST', '/v1/links', 409, 'not_sharing', json={'until': now_ms() + HOUR_MS})
    town.share(ada)
    town.report_http(ada, *HOME)
    _, new = make(town, ada)
    at_home(visitor, new)
    for secret in secrets:
        visitor.is_over(secret)


def test_a_moment_of_not_sharing_is_enough(town, visitor, ada):
    """The next consent follows at once, and brings no link back."""
    for _ in range(5):
        _, secret = make(town, ada)
        at_home(visitor, secret)
        for mode in 'off', 'friends':
            town.http(ada).ok('PUT', '/v1/sharing', json={'mode': mode})
        visitor.waits_for_end(secret, time.time())
        town.report_http(ada, *HOME)


def test_who_shares_with_others_keeps_links(town, visitor, ada):
    _, secret = make(town, ada)
    for mode in 'public', 'friends':
        town.share(ada, mode=mode)
        at_home(visitor, secret)


def test_sharing_that_ends_by_itself_closes_it_for_good(town, visitor, ada):
    ends = now_ms() + 3000
    town.http(ada).ok('PUT', '/v1/sharing', json={'mode': 'friends', 'until': ends})
    _, secret = make(town, ada)
    at_home(visitor, secret)
    time.sleep(max(0, ends / 1000 - time.time()))
    visitor.waits_for_end(secret, ends / 1000)
    eventually(lambda: ada not in {user for m in town.topics.latest('links') for user in key_users(m)}, 30)
    town.share(ada)
    visitor.is_over(secret)


def test_who_is_forgotten_has_no_links(make_module_cluster, users):
    cluster = make_module_cluster(settings={'ingest:ingest.outcome.wait.ms': 8000}).start(fanouts=0, feeds=1, comments=1, places=1)
    user, = users(1)
    cluster.share(user)
    cluster.report_http(user, *HOME)
    visitor, (_, secret) = Visitor(cluster), make(cluster, user)
    eventually(lambda: visitor.sees(secret)['lat'] is not None)
    eventually(lambda: cluster.http(user).delete('/v1/me').status_code == 200, 90)
    visitor.is_over(secret)
    assert {key_users(key)[0] for key in cluster.topics.latest('links')} == set()


def test_a_command_that_makes_no_sense_is_a_dead_letter(town, ada):
    make(town, ada)
    good = {'kind': 'MAKE', 'user': ada, 'id': 7, 'until': now_ms() + HOUR_MS, 'rounded': False, 'opted': 1}
    elsewhere = next(user for user in range(ada + 1, ada + 1000) if town.partition_of(user) != town.partition_of(ada))
    bad = [{**good, 'user': elsewhere}, {**good, 'id': 0}, {**good, 'until': 0}, {**good, 'kind': 'END', 'id': 0}]
    for record in bad:
        town.topics.produce('link-commands', ada, ('link-command', record))
    eventually(lambda: sum(decode(m.value) in bad for m in town.topics.read('link-commands.dlq')) == len(bad))
    assert len(listed(town, ada)) == 1


# trouble


def test_without_its_owner_nothing_is_said(make_module_cluster, users):
    cluster = make_module_cluster().start(fanouts=0, sinks=0)
    user, = users(1)
    cluster.share(user)
    _, secret = make(cluster, user)
    cluster.routers[0].stop()
    problem(Visitor(cluster).get(secret), 503, 'owner_unavailable')


def test_routers_die_and_no_link_comes_back(town, visitor, users):
    """Users make links, revoke them and stop sharing, while routers are killed and started; what has ended once never shows a place again."""
    people = users(6)
    town.share(*people)
    for user in people:
        town.report_http(user, *HOME)
    ended, live = [], {}  # of one whose command waits for long it may not be known yet whether it is there

    def until_answered(user, method, path, statuses, **kwargs):
        def answered():
            response = town.http(user).request(method, path, **kwargs)
            assert response.status_code in (*statuses, 202, 503), response.text
            return response.status_code in statuses and response
        return eventually(answered, 60)

    chance = random.Random(11)
    for turn in range(40):
        if turn % 10 in (3, 6):  # one dies, and is back some turns later
            router = town.routers[turn // 10 % 2]
            router.kill() if turn % 10 == 3 else router.start(wait=False)
        user = people[turn % len(people)]
        if user in live and chance.random() < 0.5:
            link, secret = live.pop(user)
            until_answered(user, 'DELETE', f'/v1/links/{link}', (204, 404))
            ended.append(secret)
        elif user in live:
            _, secret = live.pop(user)
            until_answered(user, 'PUT', '/v1/sharing', (200,), json={'mode': 'off'})
            ended.append(secret)
            until_answered(user, 'PUT', '/v1/sharing', (200,), json={'mode': 'friends'})
        else:
            made = until_answered(user, 'POST', '/v1/links', (201, 202), json={'until': now_ms() + HOUR_MS})
            secret = made.json()['url'].split('#')[1]
            if made.status_code == 201 or eventually(lambda: (status := visitor.get(secret).status_code) != 503 and status, 60) == 200:
                live[user] = made.json()['id'], secret
        statuses = [visitor.get(secret).status_code for secret in ended]
        assert set(statuses) <= {410, 503}, (turn, statuses)
    eventually(lambda: {visitor.get(secret).status_code for secret in ended} == {410}, 60)
    eventually(lambda: {visitor.get(secret).status_code for _, secret in live.values()} == {200}, 60)


def test_an_address_asks_so_often(make_module_cluster, users):
    """Whoever has no token counts for the address, and secrets cannot be tried by the thousand."""
    cluster = make_module_cluster(settings={'ingest:ingest.address.rate': 1, 'ingest:ingest.address.burst': 30}).start(fanouts=0, sinks=0)
    user, = users(1)
    cluster.share(user)
    visitor, (_, secret) = Visitor(cluster), make(cluster, user)
    statuses = [visitor.get(secret if n % 2 else 'A' * 60).status_code for n in range(60)]
    assert statuses.count(429) >= 20 and set(statuses) == {200, 404, 429}
