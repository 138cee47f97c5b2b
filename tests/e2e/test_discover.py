"""Strangers nearby (GET /v1/discover, `discover` on a socket): who is listed, and an attacker who asks from everywhere and learns the cell. Covers
ingest/nearby/discover.c, fanout/discover/product.c and lib/users/strangers_json.c."""
import functools
import itertools
import math
import random
import time

import pytest

from harness.geo import distance_m
from harness.http import pages_of
from harness.meanwhile import meanwhile
from harness.waiting import eventually, now_ms

CELL = 180 / 2 ** 12  # degrees: of geohashes of five characters
ROUND = 300_000
DELAY_S = 4
PLACES = 1000


@pytest.fixture(scope='module')
def cluster(make_module_cluster):
    """Reports age by their own times, so that they may be old; questions may come as fast as the attacker likes."""
    return make_module_cluster(settings={'router:discover.user.rate': 0, 'router:discover.delay.s': DELAY_S,
                                         'fanout:edge.max.messages.per.s': 0,
                                         'kafka.session.timeout.ms': 6000}).start(routers=2, sinks=0)


class Answer:
    """A frame, as the answer that HTTP would have given."""
    STATUS = {'bad_query': 400, 'not_public': 403, 'no_position': 409, 'too_many_questions': 429, 'owner_unavailable': 503}

    def __init__(self, frame):
        self._body = {name: value for name, value in frame.items() if name != 'type'}
        self.status_code = 200 if frame['type'] == 'strangers' else self.STATUS[frame['code']]
        self.headers = {'Retry-After': str(frame['after_ms'] // 1000)} if 'after_ms' in frame else {}

    def json(self):
        return self._body


class Socket:
    """Asks on a socket as Http does. Its session has no position of its own: reports come from elsewhere."""

    def __init__(self, cluster, user):
        self.phone = cluster.phone(user)
        self.phone.send({'type': 'hello', 'token': self.phone.token})
        self.phone.expect('welcome')

    def get(self, path, params=None):
        assert path == '/v1/discover'
        self.phone.send({'type': 'discover', **(params or {})})
        return Answer(self.phone.expect(('strangers', 'error')))


@pytest.fixture(params=['http', 'socket'])
def asker(request, cluster):
    """How a user asks: asker(user).get(...)."""
    return cluster.http if request.param == 'http' else lambda user: Socket(cluster, user)


_cities = iter(range(1000))


@pytest.fixture
def centre():
    """The centre of a cell that no other test looks at, far from all others."""
    return centre_of(-40 + 20 * CELL * next(_cities), 20)


def centre_of(lat, lng):
    return tuple((math.floor((value + span) / CELL) + 0.5) * CELL - span for value, span in ((lat, 90), (lng, 180)))


def inside(centre, north=0.0, east=0.0):
    """A place so many cells from a centre: up to 0.5 is inside of the cell, from 0.625 on well outside."""
    return centre[0] + north * CELL, centre[1] + east * CELL


def report(cluster, user, place, at=None):
    cluster.http(user).ok('POST', '/v1/locations', json={'lat': place[0], 'lng': place[1], 'time': at or now_ms()})


def appear(cluster, place, *people, at=None):
    cluster.share(*people, mode='public')
    for user in people:
        report(cluster, user, place, at)


def ask(http, **parameters):
    """An answer; routers that have not heard of an opt-in or a report yet are asked again."""
    def answered():
        response = http.get('/v1/discover', params=parameters)
        return response.status_code == 200 and response.json()

    return eventually(answered)


def listed(http):
    return {item['user']: item for page in pages_of(functools.partial(ask, http, limit=1000)) for item in page['items']}


def problem_of(http, **parameters):
    response = http.get('/v1/discover', params=parameters)
    return response.status_code, response.json().get('code')


def same(a, b):
    return abs(a['lat'] - b[0]) < 2e-7 and abs(a['lng'] - b[1]) < 2e-7


def test_public_users_around_are_listed_and_nobody_else(cluster, users, centre):
    me, here, next_door, far, only_friends, friend, blocked, blocker, silent = users(9)
    appear(cluster, inside(centre, 0.2, 0.1), me, here, friend, blocked, blocker)
    appear(cluster, inside(centre, 1.3, -0.7), next_door)
    appear(cluster, inside(centre, 3, 0), far)
    appear(cluster, inside(centre), silent, at=now_ms() - 600_000)
    cluster.share(only_friends)
    report(cluster, only_friends, inside(centre))
    cluster.befriend((me, friend))
    http = cluster.http(me)
    cluster.http(here).ok('PUT', '/v1/profile', json={'name': 'Ada', 'avatar_url': 'https://example.org/a.png'})
    http.ok('PUT', f'/v1/blocks/{blocked}')
    cluster.http(blocker).ok('PUT', f'/v1/blocks/{me}')

    def only_strangers():
        items = listed(http)
        assert set(items) == {here, next_door}
        assert items[here]['name'] == 'Ada' and items[next_door]['name'] == ''
        return items

    items = eventually(only_strangers)
    assert list(items) == [here, next_door]  # the nearer one first
    assert items[here]['avatar_url'] == 'https://example.org/a.png'
    assert same(items[here], centre) and same(items[next_door], inside(centre, 1, -1))
    for item in items.values():
        distance = distance_m(*inside(centre, 0.2, 0.1), item['lat'], item['lng'])
        assert abs(item['distance_m'] - distance) < 0.2
        assert item['time'] % ROUND == 0 and 0 <= now_ms() - item['time'] < ROUND + 60_000
    assert ask(http)['cell'] == {'height': CELL, 'width': CELL}

    http.ok('DELETE', f'/v1/blocks/{blocked}')
    http.ok('DELETE', f'/v1/friends/{friend}')
    eventually(lambda: set(listed(http)) == {here, next_door, blocked, friend})
    assert blocked in listed(cluster.http(here))
    assert me not in listed(cluster.http(blocker))


def test_who_does_not_share_publicly_or_has_no_position_may_not_ask(cluster, users, centre, asker):
    me, other = users(2)
    http, others = asker(me), asker(other)
    assert problem_of(http) == (403, 'not_public')
    cluster.share(me)
    report(cluster, me, centre)
    assert problem_of(http) == (403, 'not_public')
    cluster.share(other, mode='public')
    eventually(lambda: problem_of(others) == (409, 'no_position'))
    appear(cluster, centre, other)
    assert ask(others)['items'] == []
    for query in {'limit': 0}, {'limit': 1001}, {'after': 'x'}, {'after': '5'}, {'after': '1-2'}, {'after': '1-2-3-4'}, {'after': '9' * 70}:
        assert problem_of(others, **query) == (400, 'bad_query'), query


def test_pages_belong_together(cluster, users, centre, asker):
    me, *others = users(12)
    appear(cluster, centre, me, *others[:6])
    appear(cluster, inside(centre, 0, 1), *others[6:])
    http = asker(me)
    eventually(lambda: set(listed(http)) == set(others))
    pages = [[item['user'] for item in page['items']] for page in pages_of(functools.partial(ask, http, limit=4))]
    assert [user for page in pages for user in page] == sorted(others[:6]) + sorted(others[6:])
    assert [len(page) for page in pages] == [4, 4, 3]


def test_an_attacker_from_a_thousand_places_learns_the_cell(cluster, users, centre, asker):
    """Two victims are in one cell. One walks about, as far as the middle of the margin outside; the other stands still. In all answers,
    wherever and whenever the attacker asks, what is said of the one is what is said of the other."""
    attacker, walker, stander = users(3)
    past = now_ms() // ROUND * ROUND - ROUND  # all reports of the two are of the same five minutes
    cluster.share(attacker, walker, stander, mode='public')
    for user in walker, stander:
        report(cluster, user, inside(centre, 0.1, -0.2), past)
    report(cluster, attacker, centre)
    http = asker(attacker)
    eventually(lambda: set(listed(http)) == {walker, stander})

    chance, times = random.Random(5), itertools.count(past + 1)

    def walk(victim):
        place = inside(centre, chance.uniform(-0.55, 0.55), chance.uniform(-0.55, 0.55))
        victim.ok('POST', '/v1/locations', json={'lat': place[0], 'lng': place[1], 'time': next(times)})

    spy, answers, places = random.Random(7), [], [centre]
    with meanwhile([cluster.http(walker)], walk, pause=0.02):
        for _ in range(PLACES):
            places.append(inside(centre, spy.uniform(-2.2, 2.2), spy.uniform(-2.2, 2.2)))
            report(cluster, attacker, places[-1])
            answers.append((places[-50:], ask(http)['items']))  # a busy router may be some reports behind
    seen = 0
    for latest, items in answers:
        if not items:
            continue
        seen += 1
        assert [item.pop('user') for item in items] == [walker, stander]
        assert items[0] == items[1] and same(items[0], centre)
        assert any(abs(items[0]['distance_m'] - distance_m(*place, *centre)) < 0.2 for place in latest)
    assert PLACES / 4 < seen < PLACES  # the cells around were asked from, and others, too

    cluster.share(walker, mode='off')
    report(cluster, attacker, centre)
    eventually(lambda: set(listed(http)) == {stander})


def test_whoever_stops_is_not_in_the_next_answer(cluster, users, centre, asker):
    def stops(gone):
        """The gateway that has acknowledged the change knows it; an edge reads it a moment later."""
        assert gone() if asker == cluster.http else eventually(gone)

    me, off, private, blocker, quiet, timed = users(6)
    appear(cluster, centre, me, off, private, blocker)
    http = asker(me)
    eventually(lambda: set(listed(http)) == {off, private, blocker})
    cluster.share(off, mode='off')
    stops(lambda: off not in listed(http))
    cluster.share(private)
    stops(lambda: set(listed(http)) == {blocker})
    cluster.http(blocker).ok('PUT', f'/v1/blocks/{me}')
    eventually(lambda: listed(http) == {})
    cluster.http(timed).ok('PUT', '/v1/sharing', json={'mode': 'public', 'until': now_ms() + 2 * DELAY_S * 1000})
    report(cluster, timed, centre)
    appear(cluster, centre, quiet, at=now_ms() - 600_000 + 2 * DELAY_S * 1000)
    eventually(lambda: set(listed(http)) == {quiet, timed})
    eventually(lambda: listed(http) == {})
    cluster.share(me)  # and whoever stops is told nothing any more
    stops(lambda: problem_of(http) == (403, 'not_public'))


def test_a_move_is_told_after_a_random_time_whatever_the_report_says(cluster, users, centre):
    """Many go to the next cell at once, and report it late, with old times. They are told there one by one, and never in between."""
    me, *movers = users(21)
    start = now_ms() - 300_000
    appear(cluster, centre, me)
    appear(cluster, centre, *movers, at=start)
    http = cluster.http(me)
    eventually(lambda: set(listed(http)) == set(movers))
    for user in movers:
        report(cluster, user, inside(centre, 0, 0.55), start + 1000)  # not far enough
    time.sleep(0.5)
    assert all(same(item, centre) for item in listed(http).values())
    cluster.gateway().ok('POST', '/v1/locations', json={'locations': [
        {'user': user, 'lat': centre[0], 'lng': centre[1] + 0.9 * CELL, 'time': start + 2000} for user in movers]})
    moved, begun = {}, time.monotonic()
    while len(moved) < len(movers):
        for user, item in listed(http).items():
            assert same(item, centre) or same(item, inside(centre, 0, 1))
            if not same(item, centre):
                moved.setdefault(user, time.monotonic() - begun)
        assert time.monotonic() - begun < DELAY_S + 30
    assert sum(after > DELAY_S / 4 for after in moved.values()) > 5
    assert max(moved.values()) - min(moved.values()) > DELAY_S / 3


def test_a_new_owner_tells_the_same(cluster, users, centre):
    me, near, edge = users(3)
    appear(cluster, centre, me, near)
    appear(cluster, inside(centre, 0.45, 0), edge)
    http = cluster.http(me)
    eventually(lambda: set(listed(http)) == {near, edge})
    report(cluster, edge, inside(centre, 0.55, 0))  # over the line, and still told to be here
    before = listed(http)
    for router in cluster.routers:
        router.restart()
        eventually(lambda: listed(http) == before)


def test_a_socket_is_told_at_once_who_has_stopped(cluster, users, centre):
    me, off, private, timed, friendly = users(5)
    cluster.http(timed).ok('PUT', '/v1/sharing', json={'mode': 'public', 'until': now_ms() + 2 * DELAY_S * 1000})
    appear(cluster, centre, me, off, private, friendly)
    report(cluster, timed, centre)
    socket = Socket(cluster, me)
    eventually(lambda: set(listed(socket)) == {off, private, timed, friendly})
    cluster.share(off, mode='off')
    assert socket.phone.expect('strangers_gone')['gone'] == [off]
    cluster.share(private)
    assert socket.phone.expect('strangers_gone')['gone'] == [private]
    assert socket.phone.expect('strangers_gone')['gone'] == [timed]
    cluster.share(me)
    assert socket.phone.expect('strangers_gone')['gone'] == [friendly]
    cluster.share(friendly)
    assert problem_of(socket) == (403, 'not_public')
    assert [frame['gone'] for frame in socket.phone.frames if frame['type'] == 'strangers_gone'] == [[off], [private], [timed], [friendly]]


def test_of_many_questions_at_once_few_are_asked_and_the_newest_is_answered(cluster, users, centre):
    me, *others = users(4)
    appear(cluster, centre, me, *others)
    socket = Socket(cluster, me)
    eventually(lambda: set(listed(socket)) == set(others))
    for _ in range(200):
        socket.phone.send({'type': 'discover', 'limit': 2})
    socket.phone.send({'type': 'discover', 'limit': 1})
    socket.phone.expect('strangers', where=lambda frame: len(frame['items']) == 1)


def test_questions_are_counted_over_both_ways_together(cluster, users, centre):
    """The last one here: it leaves the routers with the limit."""
    me, = users(1)
    for router in cluster.routers:
        router.restart(**{'discover.user.rate': 1, 'discover.user.burst': 4})
    appear(cluster, centre, me)
    ways = cluster.http(me), Socket(cluster, me)
    ask(ways[0])

    def rested():
        time.sleep(5)
        answers = [way.get('/v1/discover') for _ in range(8) for way in ways]
        assert 503 not in {answer.status_code for answer in answers}
        return answers

    began = time.monotonic()
    answers = eventually(rested, 60)
    assert [answer.status_code for answer in answers[:4]] == [200] * 4
    good = sum(answer.status_code == 200 for answer in answers)
    refused = [answer for answer in answers if answer.status_code == 429]
    assert good <= 4 + time.monotonic() - began and len(refused) == 16 - good > 0
    assert all(answer.json()['code'] == 'too_many_questions' and answer.headers['Retry-After'] == '1' for answer in refused)
