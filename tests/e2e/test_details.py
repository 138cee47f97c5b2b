"""What phones say beside the place, on friends' screens: shown as the user chose. Covers fanout/nearby/faces.c, lib/users/report.c."""
import pytest

from harness.geo import HOME, north_of
from harness.waiting import eventually, now_ms

DETAILS = {'battery': 0.57, 'charging': True, 'speed_mps': 1.389, 'course': 270.25, 'activity': 'walking', 'vertical_accuracy_m': 3.5}
NAMES = {*DETAILS, 'accuracy'}


@pytest.fixture(scope='module')
def cluster(make_module_cluster):
    return make_module_cluster(settings={'fanout:edge.flush.window.ms': 100, 'fanout:edge.min.report.ms': 100}).start(routers=2)


def sharing(http, **more):
    return http.ok('PUT', '/v1/sharing', json={'mode': 'friends', **more})


def of(item):
    return {name: item[name] for name in item.keys() & NAMES}


def test_friends_see_them_as_the_user_chose(cluster, users):
    ada, ben, cleo = users(3)
    cluster.share(ada, ben, cleo)
    cluster.befriend((ada, ben), (ada, cleo))
    http = cluster.http(ada)
    http.ok('PUT', f'/v1/friends/{cleo}/rounded')
    assert http.ok('GET', '/v1/sharing') == {'user': ada, 'mode': 'friends'}
    assert sharing(http, details=True) == http.ok('GET', '/v1/sharing') == {'user': ada, 'mode': 'friends', 'details': True}
    with cluster.online(ben, *HOME) as phone, cluster.online(cleo, *HOME) as rounded:
        def told(**report):
            """What ben's screen has of a report, once it is there; cleo's never has more than the cell."""
            report = {'lat': north_of(*HOME, 50)[0], 'lng': HOME[1], 'time': now_ms(), **report}
            http.ok('POST', '/v1/locations', json=report)
            item = eventually(lambda: (seen := phone.screen.get(ada)) and seen['time'] >= report['time'] and seen, 20)
            other = eventually(lambda: (seen := rounded.screen.get(ada)) and seen['time'] >= report['time'] and seen, 20)
            assert other['rounded'] and not of(other)
            return of(item)

        eventually(lambda: told(**DETAILS, accuracy=12) == {**DETAILS, 'accuracy': 12}, 20)  # edges hear of the choice within moments
        assert told(battery=0.5) == {'battery': 0.5}
        assert told(accuracy=3) == {'accuracy': 3}
        assert told() == {}
        assert told(**DETAILS) == DETAILS
        with cluster.online(ada, *HOME) as other:  # by a socket, too
            other.report(*HOME, battery=0.25)
            eventually(lambda: phone.screen[ada].get('battery') == 0.25, 20)
        sharing(http)  # at once: what comes from now on says nothing
        assert told(**DETAILS, accuracy=12) == {}
        with cluster.online(ben, *HOME) as late:
            item = eventually(lambda: late.screen.get(ada), 20)
            assert not of(item)
    newest = eventually(lambda: (rows := http.items('/v1/history')) and rows[-1].get('battery') == 0.57 and rows[-1], 20)
    assert newest['accuracy'] == 12  # history has all


@pytest.mark.parametrize('details', [1, 'yes', None])
def test_bad_choices_are_named(cluster, user, details):
    cluster.http(user).refused('PUT', '/v1/sharing', 400, 'bad_details', json={'mode': 'friends', 'details': details})


def test_off_has_no_details(cluster, user):
    http = cluster.http(user)
    assert http.ok('PUT', '/v1/sharing', json={'mode': 'off', 'details': True}) == {'user': user, 'mode': 'off'}
