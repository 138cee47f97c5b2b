"""GET /v1/nearby: the list of friends near, for who has no socket. It is the one that a socket shows. Covers ingest/nearby/near.c and
router/near_pages.c."""
import random
import time

import pytest

from harness.geo import HOME, distance_m, north_of
from harness.meanwhile import at_once
from harness.waiting import eventually, now_ms

CROWD = 30


@pytest.fixture(scope='module')
def town(make_module_cluster):
    return make_module_cluster(settings={'inactive.after.s': 60, 'fanout:edge.flush.window.ms': 50}).start(routers=2, sinks=0)


def nearby(cluster, user, **query):
    return cluster.http(user).ok('GET', '/v1/nearby', params=query)


def whole(cluster, user, limit):
    """All pages, which end."""
    return cluster.http(user).items('/v1/nearby', limit=limit)


def test_it_is_the_list_of_the_socket_while_the_crowd_moves(town, users):
    me, stranger, *friends = users(CROWD + 2)
    town.share(me, stranger, *friends)
    town.befriend(*[(me, friend) for friend in friends])
    for friend in friends[:10]:
        town.http(friend).ok('PUT', '/v1/profile', json={'name': f'Friend {friend}', 'avatar_url': f'https://img.example/{friend}'})
    chance = random.Random(5)
    town.report_http(stranger, *HOME)
    with town.online(me, *HOME) as phone:
        for turn in range(4):
            for friend in friends[turn:]:
                if chance.random() < 0.8:
                    lat, lng = north_of(*HOME, chance.uniform(-12_000, 12_000))  # some are outside, some move in or out
                    assert town.report_http(friend, lat, lng + chance.uniform(-0.02, 0.02)).ok
            if turn == 2:  # the caller moves, too
                phone.report(*north_of(*HOME, 3000))
            if turn == 3:  # and some leave
                town.share(*friends[-3:], mode='off')
                town.http(me).ok('DELETE', f'/v1/friends/{friends[5]}')

            def same():
                shown = whole(town, me, limit=7)
                assert [item['user'] for item in shown] == [item['user'] for item in nearby(town, me, limit=100)['items']]
                on_screen = dict(phone.screen)
                assert {item['user'] for item in shown} == on_screen.keys()
                for item in shown:
                    socket = on_screen[item['user']]
                    assert item.keys() == socket.keys()
                    for member in item.keys() - {'distance_m'}:
                        assert item[member] == socket[member], member
                    assert item['distance_m'] == pytest.approx(distance_m(phone.lat, phone.lng, item['lat'], item['lng']), abs=0.06)
                return True

            eventually(same, 20)
            distances = [item['distance_m'] for item in whole(town, me, limit=100)]
            assert distances == sorted(distances) and len(distances) > 5
    assert stranger not in {item['user'] for item in whole(town, me, limit=100)}


def test_who_has_no_socket_reads_the_own_report(town, users):
    me, friend = users(2)
    town.acquaint(me, friend)
    empty = {'items': [], 'next': None, 'time': None}
    assert nearby(town, me) == empty  # has not reported
    for turn in range(5):
        lat, lng = north_of(*HOME, 20_000 * turn)
        assert town.report_http(friend, *north_of(lat, lng, 100)).ok
        at = now_ms()
        town.report_http(me, lat, lng, time=at)
        page = nearby(town, me, since=at)
        assert page['time'] == at
        eventually(lambda: [item['user'] for item in nearby(town, me)['items']] == [friend])
    began = time.monotonic()  # a report that does not come is not waited for for ever
    page = nearby(town, me, since=at + 1)
    assert page['time'] == at and 1.5 < time.monotonic() - began < 5
    town.share(me, mode='off')
    assert nearby(town, me) == empty


def test_questions_that_mean_nothing_are_refused(town, users):
    me, = users(1)
    town.share(me)
    http = town.http(me)
    for query in {'limit': 0}, {'limit': 1001}, {'limit': 'x'}, {'after': 'x'}, {'after': '40c3880000000000'}, {'after': ''}, \
            {'since': -1}, {'since': now_ms() + 90_000}, {'since': 'soon'}, {'since': 1 << 62}:
        http.refused('GET', '/v1/nearby', 400, 'bad_query', params=query)


def test_few_questions_of_a_user_wait_at_once(town, users):
    """Others are answered at once, so that nobody fills the owner with waiting questions."""
    me, = users(1)
    town.share(me)
    at = now_ms()
    town.report_http(me, *HOME, time=at)
    eventually(lambda: nearby(town, me)['time'] == at)

    def ask(_):
        began = time.monotonic()
        assert nearby(town, me, since=at + 1)['time'] == at
        return time.monotonic() - began

    waits = sorted(at_once(ask, range(6)))
    assert sum(wait > 1.5 for wait in waits) == 2, waits


def test_without_the_owner_it_is_said(make_module_cluster, users):
    cluster = make_module_cluster().start(routers=0, fanouts=0, sinks=0)
    me, = users(1)
    cluster.share(me)
    cluster.http(me).refused('GET', '/v1/nearby', 503, 'owner_unavailable')
