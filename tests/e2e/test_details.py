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
        sharing(http)
        eventually(lambda: of(phone.screen[ada]) == {}, 5)  # without another report
        assert told(**DETAILS, accuracy=12) == {}
        with cluster.online(ben, *HOME) as late:
            item = eventually(lambda: late.screen.get(ada), 20)
            assert not of(item)
    newest = eventually(lambda: (rows := http.items('/v1/history')) and rows[-1].get('battery') == 0.57 and rows[-1], 20)
    assert newest['accuracy'] == 12  # history has all


def test_the_choice_counts_at_once(cluster, users):
    """Details that a phone has said already appear and disappear, time and again, on screens and in answers, and on no screen that has the cell."""
    ada, ben, cleo = users(3)
    cluster.share(ada, ben, cleo)
    cluster.befriend((ada, ben), (ada, cleo))
    http = cluster.http(ada)
    http.ok('PUT', f'/v1/friends/{cleo}/rounded')
    with cluster.online(ben, *HOME) as phone, cluster.online(cleo, *HOME) as rounded, cluster.online(ada, *HOME) as mine:
        said = {**DETAILS, 'accuracy': 12}
        mine.report(*HOME, **said)
        time = eventually(lambda: (item := phone.screen.get(ada)) and item['lat'] == pytest.approx(HOME[0], abs=1e-6) and item['time'], 20)
        for details in True, False, True, False:
            wanted = said if details else {}
            sharing(http, details=details)
            eventually(lambda wanted=wanted: of(phone.screen[ada]) == wanted, 10)
            assert phone.screen[ada]['time'] >= time
            eventually(lambda wanted=wanted: [of(item) for item in cluster.http(ben).ok('GET', '/v1/nearby')['items']] == [wanted], 10)
            assert [of(item) for item in cluster.http(cleo).ok('GET', '/v1/nearby')['items']] == [{}]
        sharing(http, details=True)
        eventually(lambda: of(phone.screen[ada]) == said, 10)
        cluster.share(ada, mode='off')
        eventually(lambda: ada not in phone.screen, 10)
        assert not any(of(item) for frame in rounded.frames for item in [*frame.get('items', []), *frame.get('near', [])])


def test_a_link_shows_no_details(cluster, user):
    http = cluster.http(user)
    sharing(http, details=True)
    secret = http.ok('POST', '/v1/links', json={'until': now_ms() + 3_600_000})['url'].split('#')[1]
    http.ok('POST', '/v1/locations', json={'lat': HOME[0], 'lng': HOME[1], 'time': now_ms(), 'accuracy': 12, **DETAILS})
    place = eventually(lambda: (answer := cluster.http(user).get(f'/v1/links/{secret}/place')).status_code == 200 and answer.json(), 20)
    assert place.keys() == {'name', 'lat', 'lng', 'time', 'until'}


@pytest.mark.parametrize('details', [1, 'yes', None])
def test_bad_choices_are_named(cluster, user, details):
    cluster.http(user).refused('PUT', '/v1/sharing', 400, 'bad_details', json={'mode': 'friends', 'details': details})


def test_off_has_no_details(cluster, user):
    http = cluster.http(user)
    assert http.ok('PUT', '/v1/sharing', json={'mode': 'off', 'details': True}) == {'user': user, 'mode': 'off'}
