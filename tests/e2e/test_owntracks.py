"""POST /v1/owntracks, spoken to as the app's documentation says that it does. Covers ingest/nearby/owntracks.c and Authorization: Basic."""
import base64
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from harness.geo import HOME, distance_m, north_of
from harness.http import problem
from harness.waiting import eventually, now_ms


class App:
    """The app in its HTTP mode: it posts one message, and takes what it is answered for messages."""

    def __init__(self, cluster, user, token=None):
        self.url, self.auth = f'{cluster.http_url}/v1/owntracks', ('phone', token or cluster.token(user))

    def post(self, message=None, **options):
        return requests.post(self.url, **{'json': message, 'auth': self.auth, 'timeout': 10, **options})

    def said(self, message=None, **options):
        response = self.post(message, **options)
        assert response.status_code == 200, response.text
        return response.json()

    def report(self, lat, lng, ago_s=0, **more):
        return self.said({'_type': 'location', 'BSSID': '74:83:c2:e3:2c:1', 'acc': 14, 'alt': 31, 'batt': 72, 'bs': 1, 'conn': 'w', 'lat': lat, 'lon': lng,
                          'm': 1, 't': 'u', 'tid': 'me', 'tst': now_ms() // 1000 - ago_s, 'vac': 3, 'vel': 0, **more})


def told(messages):
    """{user: (place, card)}"""
    places, cards = ({message['topic'].split('/')[1]: message for message in messages if message['_type'] == kind} for kind in ('location', 'card'))
    assert places.keys() == cards.keys() and len(messages) == 2 * len(places)
    return {int(user): (places[user], cards[user]) for user in places}


@pytest.fixture(scope='module')
def town(make_module_cluster):
    return make_module_cluster(settings={'report.past.days': 366}).start(routers=1)


def test_the_app_reports_and_sees_friends(town, users):
    ada, ben, cleo, stranger = users(4)
    town.share(ada, ben, cleo, stranger)
    town.befriend((ada, ben), (ada, cleo))
    town.http(ben).ok('PUT', '/v1/profile', json={'name': 'Ōle Berg'})
    town.http(cleo).ok('PUT', f'/v1/friends/{ada}/rounded')
    for user in ben, cleo, stranger:
        town.report_http(user, *north_of(*HOME, 900))
    app = App(town, ada)
    friends = eventually(lambda: (now := told(app.report(*HOME))).keys() == {ben, cleo} and now, 30)
    place, card = friends[ben]
    assert (place['tid'], place['topic'], card['name'], 'acc' in place) == ('Ōl', f'owntracks/{ben}/starling', 'Ōle Berg', False)
    assert distance_m(place['lat'], place['lon'], *north_of(*HOME, 900)) < 1 and abs(place['tst'] - now_ms() / 1000) < 60
    place, card = friends[cleo]
    assert (place['acc'], card['name'], place['tid']) == (1000, str(cleo), str(cleo)[:2])
    with town.online(ben, *north_of(*HOME, 900)) as phone:
        app.report(*north_of(*HOME, 300))
        eventually(lambda: phone.screen[ada]['lat'] == pytest.approx(north_of(*HOME, 300)[0], abs=1e-6), 30)
    mine = eventually(lambda: town.http(ada).items('/v1/history'), 30)[0]
    assert mine['accuracy'] == 14
    assert (mine['battery'], mine['charging'], mine['speed_mps'], mine['vertical_accuracy_m']) == (0.72, False, 0, 3)
    assert 'course' not in mine and 'activity' not in mine
    app.report(*north_of(*HOME, 100), batt=100, bs=3, vel=18, cog=90, vac=-1)  # what does not fit is left out
    newest = eventually(lambda: len(rows := town.http(ada).items('/v1/history')) > 2 and rows[-1], 30)
    assert (newest['battery'], newest['charging'], newest['speed_mps'], newest['course']) == (1, True, 5, 90)
    assert 'vertical_accuracy_m' not in newest
    app.report(*HOME, ago_s=3600)  # what the app has kept while it was offline
    assert told(app.report(*HOME)).keys() == {ben, cleo}


def test_the_app_is_told_what_friends_show(town, users):
    ada, ben, cleo, dave = users(4)
    town.share(ada, ben, cleo, dave)
    town.befriend((ada, ben), (ada, cleo), (ada, dave))
    town.http(cleo).ok('PUT', f'/v1/friends/{ada}/rounded')
    for user in ben, cleo:
        town.http(user).ok('PUT', '/v1/sharing', json={'mode': 'friends', 'details': True})
    app = App(town, ada)
    said = {'acc': 14, 'batt': 72, 'bs': 1, 'vel': 18, 'cog': 271, 'vac': 3}

    def shown():
        for user in ben, cleo, dave:
            App(town, user).report(*HOME, **said)
        friends = told(app.report(*HOME))
        assert friends.keys() == {ben, cleo, dave}
        return {user: {name: friends[user][0][name] for name in friends[user][0].keys() & said.keys()} for user in friends}

    eventually(lambda: shown() == {ben: said, cleo: {'acc': 1000}, dave: {}}, 30)
    town.http(ben).ok('POST', '/v1/locations', json={'lat': HOME[0], 'lng': HOME[1], 'time': now_ms(), 'charging': True, 'activity': 'driving'})
    place = eventually(lambda: (now := told(app.report(*HOME))[ben][0]).get('bs') == 2 and now, 30)
    assert not place.keys() & (said.keys() - {'bs'})
    town.http(ben).ok('PUT', '/v1/sharing', json={'mode': 'friends'})
    eventually(lambda: 'bs' not in told(app.report(*HOME))[ben][0], 30)


def test_what_is_no_place_is_taken_and_lost(town, user):
    town.share(user)
    app, ends = App(town, user), town.topics.ends('locations')
    enters = {'_type': 'transition', 'event': 'enter', 'lat': 1, 'lon': 1, 'tst': now_ms() // 1000}
    for message in ({'_type': 'lwt', 'tst': 1}, enters, {'_type': 'waypoints', 'waypoints': [{}] * 300},
                    {'_type': 'encrypted', 'data': 'x'}, {}, {'_type': 7}):
        assert app.said(message) == []
    assert app.said(data=b'') == []
    for wrong in ({'lat': 91}, {'lon': '1'}, {'tst': -1}, {'tst': now_ms() // 1000 + 3600}, {'tst': 1}, {'acc': -5}):
        lat, lon, rest = wrong.pop('lat', HOME[0]), wrong.pop('lon', HOME[1]), wrong
        assert app.report(lat, lon, **rest) == []
    for bad in b'{', b'[]', b'7':
        problem(app.post(data=bad), 400, 'bad_message')
    assert town.topics.ends('locations') == ends


def test_while_sharing_is_off_nothing_is_kept(town, users):
    ada, ben = users(2)
    town.share(ada, ben)
    town.befriend((ada, ben))
    town.report_http(ben, *HOME)
    app = App(town, ada)
    eventually(lambda: told(app.report(*HOME)).keys() == {ben}, 30)
    town.share(ada, mode='off')
    ends = town.topics.ends('locations')
    assert app.report(*HOME) == []
    assert town.topics.ends('locations') == ends


def test_only_this_path_takes_a_password(town, user):
    app = App(town, user)
    no_colon = base64.b64encode(app.auth[1].encode()).decode()
    for bad in ('', 'x', 'Basic', 'Basic ', 'Basic !', 'Basic bm9jb2xvbg==', f'Basic {no_colon}'):
        problem(app.post({}, auth=None, headers={'Authorization': bad}), 401, 'no_token')
    for password in ('', 'x', app.auth[1][:-2], app.auth[1] + '\0', '\0' * 50):
        response = app.post({}, auth=('phone', password))
        problem(response, 401, 'bad_token')
        assert response.headers['WWW-Authenticate'] == 'Bearer'  # no browser asks for a password and keeps it
    assert app.said({}, auth=('', app.auth[1])) == []
    assert app.said({}, auth=None, headers={'Authorization': f'Bearer {app.auth[1]}'}) == []
    problem(requests.post(f'{town.http_url}/v1/locations', json={}, auth=app.auth, timeout=10), 401, 'no_token')
    problem(App(town, None, token=town.token('gateway', scope='gateway')).post({}), 403, 'not_a_user')


def test_who_reports_too_fast_waits(make_cluster):
    cluster = make_cluster(settings={'ingest:ingest.user.reports.rate': 1, 'ingest:ingest.user.reports.burst': 2}).start(routers=0, sinks=0)
    cluster.share(7)
    app = App(cluster, 7)
    message = {'_type': 'location', 'lat': 1, 'lon': 1, 'tst': now_ms() // 1000}
    assert app.said(message) == []  # no router is there to tell who is near
    with ThreadPoolExecutor(20) as pool:  # at once: each answer waits for a router, and the budget is filled up meanwhile
        refused = [answer for answer in pool.map(lambda _: app.post(message), range(20)) if answer.status_code != 200]
    assert refused
    for answer in refused:
        problem(answer, 429, 'too_many_reports', retry=True)
