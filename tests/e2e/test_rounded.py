"""A user chooses that a friend sees the user's place only rounded: what the friend is told, by whatever way, is the same for all places of a cell.
Covers router/rounding.c."""
import math

import pytest

from harness.geo import distance_m, north_of
from harness.waiting import eventually, now_ms

HEIGHT, WIDTH = 180 / 2 ** 15, 360 / 2 ** 15  # degrees: of geohashes of six characters
RADIUS_M = 8046.72


def cell_of(lat, lng):
    """South-western corner and centre of a place's cell."""
    south, west = math.floor((lat + 90) / HEIGHT) * HEIGHT - 90, math.floor((lng + 180) / WIDTH) * WIDTH - 180
    return (south, west), (south + HEIGHT / 2, west + WIDTH / 2)


CORNER, CENTRE = cell_of(39.9847, 116.3184)
SOUTH_WEST = CORNER[0] + 0.03 * HEIGHT, CORNER[1] + 0.04 * WIDTH
NORTH_EAST = CORNER[0] + 0.96 * HEIGHT, CORNER[1] + 0.95 * WIDTH
MIDDLE = CORNER[0] + 0.3 * HEIGHT, CORNER[1] + 0.7 * WIDTH


pytestmark = pytest.mark.timeout(400)


@pytest.fixture(scope='module')
def cluster(make_module_cluster):
    return make_module_cluster(settings={'fanout:edge.flush.window.ms': 100, 'fanout:edge.min.report.ms': 100,
                                         'kafka.session.timeout.ms': 6000}).start(routers=2, sinks=0)


def choose(cluster, user, other, rounded=True):
    answer = cluster.http(user).ok('PUT' if rounded else 'DELETE', f'/v1/friends/{other}/rounded')
    assert (answer['user'], answer['rounded']) == (other, rounded)
    return answer


def is_at(item, place):
    return abs(item['lat'] - place[0]) < 2e-7 and abs(item['lng'] - place[1]) < 2e-7


def is_rounded(item):
    return item.get('rounded') is True and is_at(item, CENTRE)


def is_exact(place):
    return lambda item: 'rounded' not in item and is_at(item, place)


def near(cluster, user, since=None):
    page = cluster.http(user).ok('GET', '/v1/nearby', params={'limit': 1000, **({'since': since} if since else {})})
    return {item['user']: item for item in page['items']}


def audience(cluster, user):
    return {item['user']: item['near'] for item in cluster.http(user).ok('GET', '/v1/audience')['items']}


def own_choices(cluster, user, state='friends'):
    return {item['user']: item['rounded'] for item in cluster.http(user).ok('GET', '/v1/friends', params={'state': state})['items']}


def acquainted(cluster, users):
    ada, ben, cleo = users(3)
    cluster.acquaint(ada, ben, cleo)
    return ada, ben, cleo


def test_the_friend_sees_the_cell_and_all_others_the_place(cluster, users):
    ada, ben, cleo = acquainted(cluster, users)
    with cluster.online(ada, *MIDDLE) as hers, cluster.online(ben, *CENTRE) as his, cluster.online(cleo, *CENTRE) as third:
        his.wait_item(ada, is_exact(MIDDLE))
        choose(cluster, ada, ben)
        choose(cluster, ada, ben)  # nothing new
        his.wait_item(ada, is_rounded)
        assert abs(his.screen[ada]['distance_m']) <= 0.1  # he is in the centre
        eventually(lambda: is_rounded(near(cluster, ben)[ada]))
        told = len(his.frames)
        hers.report(*SOUTH_WEST)
        third.wait_item(ada, is_exact(SOUTH_WEST))
        his.wait_item(ada, lambda item: item['time'] == third.screen[ada]['time'])
        assert all(is_rounded(item) for frame in his.frames[told:] for item in frame.get('near', []) if item['user'] == ada)
        hers.wait_item(ben, is_exact(CENTRE))  # she sees him exactly
        assert own_choices(cluster, ada) == {ben: True, cleo: False} and own_choices(cluster, ben) == {ada: False}
        with cluster.phone(ben) as again:  # a new session
            again.hello(*CENTRE)
            again.wait_item(ada, is_rounded)
        choose(cluster, ada, ben, False)
        eventually(lambda: is_exact(SOUTH_WEST)(near(cluster, ben)[ada]))


def test_stopping_shows_the_place_again(cluster, users):
    ada, ben, _ = acquainted(cluster, users)
    with cluster.online(ada, *MIDDLE), cluster.online(ben, *CENTRE) as his:
        for _ in range(3):
            choose(cluster, ada, ben)
            his.wait_item(ada, is_rounded)
            choose(cluster, ada, ben, False)
            his.wait_item(ada, is_exact(MIDDLE))


def test_one_may_see_the_other_alone(cluster, users):
    """Whether a rounded friend is near follows from the cell: her place is within the radius, the cell's centre is not."""
    ada, ben, _ = acquainted(cluster, users)
    here = CENTRE[0] + 0.45 * HEIGHT, CENTRE[1]
    there = north_of(*CENTRE, RADIUS_M + 100)
    assert distance_m(*here, *there) < RADIUS_M - 50
    with cluster.online(ada, *here) as hers, cluster.online(ben, *there) as his:
        his.wait_screen({ada})
        hers.wait_screen({ben})
        choose(cluster, ada, ben)
        his.wait_screen(set())
        for _ in range(3):  # digests agree
            his.report(*there)
            hers.report(*here)
        eventually(lambda: near(cluster, ben) == {} and set(near(cluster, ada)) == {ben})
        assert hers.friends() == {ben} and his.friends() == set()
        assert audience(cluster, ben) == {ada: False}  # her list shows him, but that would tell where she is
        assert audience(cluster, ada)[ben] is False
        choose(cluster, ada, ben, False)
        his.wait_screen({ada})


def test_an_attacker_learns_the_cell(cluster, users):
    """Two friends in one cell, far apart in it, and one who walks about and watches both: all that he is told of them is the same. Routers die meanwhile."""
    ben, one, other = users(3)
    cluster.acquaint(ben, one, other)
    for twin in one, other:
        choose(cluster, twin, ben)
    places = {one: [SOUTH_WEST, MIDDLE], other: [NORTH_EAST, SOUTH_WEST]}
    when = [now_ms()]

    def report_twins():
        when.append(max(now_ms(), when[-1] + 1))
        for twin in one, other:
            places[twin].append(places[twin].pop(0))
            cluster.http(twin).ok('POST', '/v1/locations', json=dict(zip(('lat', 'lng', 'time'), (*places[twin][0], when[-1]))))

    def known(items, but=()):
        """What is told of each of the twins."""
        both = [{name: value for name, value in items[twin].items() if name not in ('user', 'name', *but)} if twin in items else None for twin in (one, other)]
        assert both[0] == both[1]
        return both[0]

    seen = []
    with cluster.online(ben, *CENTRE) as his:
        report_twins()
        # A step around the line is a tenth of what the twins are apart.
        for step, metres in enumerate([*range(0, 7500, 2500), *range(7500, 8600, 50)]):
            if step == 12:
                cluster.routers[0].kill()
            if step == 16:
                cluster.routers[0].start()
            if step % 4 == 3:
                report_twins()
            his.report(*north_of(*CENTRE, metres))

            def settled():
                listed = known(near(cluster, ben))
                on_screen = known(his.screen, but=('distance_m',))  # a frame may be from before his last step
                assert (listed is None) == (on_screen is None)
                if listed:
                    assert listed['time'] == on_screen['time'] == when[-1] and is_rounded(listed) and is_rounded(on_screen)
                    assert abs(listed['distance_m'] - metres) < 1
                answers = audience(cluster, ben)
                assert answers.get(one) == answers.get(other) == (listed is not None)
                return (listed is not None, answers[one])

            seen.append(eventually(lambda: (settled(),), timeout=60)[0])
        told = [item for frame in his.frames for item in [*frame.get('items', []), *frame.get('near', [])] if item['user'] in (one, other)]
        assert told and all(is_rounded(item) for item in told)
        for twin in one, other:  # the same places and distances, in the same order
            assert {(item['lat'], item['lng']) for item in told if item['user'] == twin} == {(told[0]['lat'], told[0]['lng'])}
    assert (True, True) in seen and (False, False) in seen and set(seen) == {(True, True), (False, False)}


def test_a_choice_outlives_routers(cluster, users):
    ada, ben, _ = acquainted(cluster, users)
    choose(cluster, ada, ben)
    with cluster.online(ada, *MIDDLE) as hers, cluster.online(ben, *CENTRE) as his:
        his.wait_item(ada, is_rounded)
        for router in cluster.routers:
            router.restart()
            eventually(lambda: own_choices(cluster, ada)[ben] is True, timeout=30)
            hers.report(*NORTH_EAST)
            his.report(*CENTRE)
        sent = his.screen[ada]['time']
        hers.report(*SOUTH_WEST)
        his.wait_item(ada, lambda item: is_rounded(item) and item['time'] > sent, timeout=30)
        assert all(is_rounded(item) for frame in his.frames for item in [*frame.get('items', []), *frame.get('near', [])])


def test_chosen_before_the_friendship(cluster, users):
    """There is no moment in which a new friend sees the place."""
    ada, ben = users(2)
    cluster.share(ada, ben)
    cluster.http(ben).ok('PUT', f'/v1/friends/{ada}')
    assert choose(cluster, ada, ben)['state'] == 'invited'
    eventually(lambda: own_choices(cluster, ada, 'invited') == {ben: True})
    with cluster.online(ada, *MIDDLE), cluster.online(ben, *CENTRE) as his:
        cluster.http(ada).ok('PUT', f'/v1/friends/{ben}')
        his.wait_item(ada, is_rounded)
        assert all(is_rounded(item) for frame in his.frames for item in [*frame.get('items', []), *frame.get('near', [])])


def test_it_ends_with_the_friendship(cluster, users):
    ada, ben, cleo = acquainted(cluster, users)
    for end in (ben, 'DELETE', f'/v1/friends/{ada}'), (ben, 'PUT', f'/v1/blocks/{ada}'):
        choose(cluster, ada, ben)
        cluster.http(end[0]).ok(*end[1:])
        cluster.http(ben).ok('DELETE', f'/v1/blocks/{ada}')
        cluster.http(ada).refused('PUT', f'/v1/friends/{ben}/rounded', 409, 'not_friends')
        assert cluster.http(ada).request('DELETE', f'/v1/friends/{ben}/rounded').status_code == 409
        cluster.befriend((ada, ben))
        eventually(lambda: own_choices(cluster, ada) == {ben: False, cleo: False})
    assert cluster.http(ada).request('PUT', f'/v1/friends/{ada}/rounded').json()['code'] == 'same_user'


def test_the_choice_is_exported(cluster, users):
    ada, ben, cleo = acquainted(cluster, users)
    choose(cluster, ada, cleo)

    def exported():
        page = cluster.http(ada).ok('GET', '/v1/export', params={'after': 'friends'})
        assert page['kind'] == 'friends'
        return {item['user']: item['rounded'] for item in page['items']} == {ben: False, cleo: True}

    eventually(exported)
