"""Places of users over HTTP, and who is told that somebody arrived at one or left it: friends then, while both share, who do not mute the
user and do not see the user rounded, and what they learn is the name, what, and when. Covers ingest/places/places.c, router/telling_places.c,
router/choices.c and feed/told.c."""
import hashlib
import hmac
import json
import re
import secrets

import duckdb
import pytest

from harness import analysts
from harness.geo import HOME, at
from harness.http import problem
from harness.posted import Posted
from harness.records import decode, key_users
from harness.waiting import eventually, now_ms

pytestmark = pytest.mark.timeout(600)

KEY = secrets.token_hex(20)
FAR = 5000  # metres: outside of every place here
PLACE = ['id', 'name', 'lat', 'lng', 'radius_m', 'tell']
NOTICE = {'id', 'what', 'user', 'subject', 'comment', 'time', 'place'}
HOUR_MS = 3_600_000


@pytest.fixture(scope='module')
def receiver():
    with Posted('/places') as receiver:
        yield receiver


@pytest.fixture(scope='module')
def town(make_module_cluster, receiver, tmp_path_factory):
    key = tmp_path_factory.mktemp('notify') / 'key'
    key.write_text(KEY)
    return make_module_cluster(settings={'ingest:ingest.outcome.wait.ms': 8000, 'kafka.session.timeout.ms': 6000, 'inactive.after.s': 600,
                                         'feed:notify.url': receiver.url, 'feed:notify.key.file': str(key)}).start(routers=2, sinks=0, feeds=1, places=1)


def body(name='Home', metres=0, radius_m=100, tell='me'):
    lat, lng = (round(degrees, 7) for degrees in at(metres))
    return {'name': name, 'lat': lat, 'lng': lng, 'radius_m': radius_m, 'tell': tell}


def put(town, user, id='home', **fields):
    place = town.http(user).ok('PUT', f'/v1/places/{id}', json=body(**fields))
    assert list(place) == PLACE and place['id'] == id
    return place


def report(town, user, metres, time=None, **fields):
    answer = town.report_http(user, *at(metres), time, **fields)
    assert answer.ok, answer.text


def events(town, user, **query):
    return town.http(user).items('/v1/places/events', **query)


def happened(town, user, *expected):
    """The user's events are these, (place, what) each."""
    eventually(lambda: [(one['place'], one['what']) for one in events(town, user)] == list(expected), what=f'{expected} of {user}')
    return events(town, user)


def notices(town, user):
    """Of arrivals and departures, the oldest first: (who, what, place)."""
    items = [one for one in town.http(user).ok('GET', '/v1/notices', params={'limit': 200})['items'] if one['what'] in ('arrived', 'left')]
    assert all(one.keys() == NOTICE and one['subject'] is one['comment'] is None for one in items)
    return [(one['user'], one['what'], one['place']) for one in reversed(items)]


def told(town, user, *expected):
    eventually(lambda: notices(town, user) == list(expected), what=f'{user} is told {expected}')


@pytest.fixture
def arrive(town):
    """arrive(ada, ...) has her arrive at a place for herself, too: once she is told, everybody else of before is."""
    def arrive(user, marker):
        put(town, user, marker, name=marker, metres=FAR)
        report(town, user, FAR)
        eventually(lambda: (user, 'arrived', marker) in notices(town, user), what='she is told of the last one')

    return arrive


# places


def test_places_are_made_changed_listed_and_deleted(town, user):
    http = town.http(user)
    home = put(town, user)
    assert home == {'id': 'home', **body()}
    assert http.ok('GET', '/v1/places/home') == home
    changed = put(town, user, name='Work \u00fc', metres=500, radius_m=50_000, tell='friends')
    assert changed == {'id': 'home', **body('Work \u00fc', 500, 50_000, 'friends')} == http.ok('GET', '/v1/places/home')
    several = [put(town, user, id, tell=[2**63 - 1, user]) for id in ('A', '_', 'x' * 32, '9-z')]
    assert several[0]['tell'] == [2**63 - 1, user]
    for limit in 1, 2, 1000:
        assert [place['id'] for place in http.items('/v1/places', limit=limit)] == sorted(['home', 'A', '_', 'x' * 32, '9-z'])
    assert http.delete('/v1/places/home').status_code == 204
    http.refused('GET', '/v1/places/home', 404, 'no_place')
    http.refused('DELETE', '/v1/places/home', 404, 'no_place')
    assert len(http.ok('GET', '/v1/places')['items']) == 4


def test_bad_wishes_are_named(town, user):
    http, good = town.http(user), body()
    bad = [{'name': ''}, {'name': None}, {'name': ' '}, {'name': 'a\nb'}, {'name': 'x' * 201}, {'lat': 90.1}, {'lng': -181}, {'lat': None}, {'lat': 'x'},
           {'radius_m': 49}, {'radius_m': 50_001}, {'radius_m': 99.5}, {'radius_m': None}, {'tell': None}, {'tell': 'everybody'}, {'tell': []},
           {'tell': [-1]}, {'tell': ['7']}, {'tell': [2**63 - 1, 1.5]}, {'tell': list(range(51))}, {'tell': {}}]
    for change in bad:
        http.refused('PUT', '/v1/places/home', 400, 'bad_place', json={**good, **change})
    for member in good:
        http.refused('PUT', '/v1/places/home', 400, 'bad_place', json={name: value for name, value in good.items() if name != member})
    http.refused('PUT', '/v1/places/home', 400, 'bad_message', json=[])
    for id in 'x' * 33, 'a.b', 'a%20b', '%C3%BC', 'a:b':
        for method in 'GET', 'PUT', 'DELETE':
            http.refused(method, f'/v1/places/{id}', 400, 'bad_path', json=good)
    assert http.put('/v1/places/events', json=good).status_code == 405  # a place of that name could not be asked for
    for query in {'limit': 0}, {'limit': 1001}, {'after': 'a.b'}:
        http.refused('GET', '/v1/places', 400, 'bad_query', params=query)
    for query in {'limit': 0}, {'limit': 1001}, {'after': 'x'}, {'from': 5, 'to': 4}, {'from': -1}:
        http.refused('GET', '/v1/places/events', 400, 'bad_query', params=query)
    assert http.ok('GET', '/v1/places') == http.ok('GET', '/v1/places/events') == {'items': [], 'next': None}
    put(town, user, tell=list(range(50)))


def test_a_user_has_fifty(town, user):
    http = town.http(user)
    for number in range(50):
        put(town, user, f'p{number}')
    http.refused('PUT', '/v1/places/more', 409, 'places_limit', json=body())
    put(town, user, 'p7', name='Changed')
    assert len(http.items('/v1/places', limit=7)) == 50
    assert http.delete('/v1/places/p7').status_code == 204
    put(town, user, 'more')


def test_events_come_in_pages_and_by_time(town, user):
    town.share(user)
    put(town, user)
    start = now_ms()
    for turn in range(6):
        report(town, user, FAR if turn % 2 else 0, start + turn)
    found = happened(town, user, *[('home', 'left' if turn % 2 else 'arrived') for turn in range(6)])
    assert [list(one) for one in found] == [['number', 'place', 'name', 'what', 'time']] * 6
    assert [one['time'] for one in found] == [start + turn for turn in range(6)]
    numbers = [one['number'] for one in found]
    assert numbers == sorted(set(numbers))
    for limit in 1, 4, 6:
        assert events(town, user, limit=limit) == found
    assert events(town, user, **{'from': start + 1, 'to': start + 4}) == found[1:4]
    assert events(town, user, **{'from': start + 6}) == []
    assert town.http(user).delete('/v1/places/home').status_code == 204
    assert events(town, user) == found  # deleting a place is no departure


def test_the_page_for_analysts_says_how_long_people_stayed(town, users, tmp_path, monkeypatch):
    ada, ben = users(2)
    town.share(ada, ben)
    for user in ada, ben:
        put(town, user)
    start = now_ms()
    for turn, since in enumerate((0, 5, 7, 11, 20)):
        report(town, ada, FAR if turn % 2 else 0, start + since)
    report(town, ben, 0)
    happened(town, ada, *[('home', 'left' if turn % 2 else 'arrived') for turn in range(5)])
    happened(town, ben, ('home', 'arrived'))
    (tmp_path / 'events.jsonl').write_text(town.starling('replay', 'place-events').stdout)
    monkeypatch.chdir(tmp_path)
    [block] = [block for block in re.findall(r'^```python\n(.*?)^```$', analysts.PAGE.read_text(), re.M | re.S) if 'events.jsonl' in block]
    *before, query = block.strip().split('\n')
    names = {'duckdb': duckdb}
    exec('\n'.join(before), names)
    found = eval(query.removesuffix('.show()'), names).fetchall()
    assert [row for row in found if row[0] in (ada, ben)] == [(ada, 'home', 2, 9)]


# who is told


def test_the_user_alone_is_told_without_any_friend_or_session(town, users):
    ada, ben = users(2)
    town.acquaint(ada, ben)
    put(town, ada)
    report(town, ada, 0)
    report(town, ada, FAR)
    told(town, ada, (ada, 'arrived', 'Home'), (ada, 'left', 'Home'))
    [arrived, left] = happened(town, ada, ('home', 'arrived'), ('home', 'left'))
    assert [one['time'] for one in reversed(town.http(ada).ok('GET', '/v1/notices')['items'])] == [arrived['time'], left['time']]
    assert notices(town, ben) == []


def test_friends_are_told_each_once_and_nothing_but_the_name(town, users, arrive):
    ada, ben, cleo, dan = users(4)
    town.acquaint(ada, ben, cleo)
    town.share(dan)
    put(town, ada, tell='friends')
    report(town, ada, 0)
    for friend in ben, cleo:
        told(town, friend, (ada, 'arrived', 'Home'))
    [one] = [one for one in town.http(ben).ok('GET', '/v1/notices')['items'] if one['what'] == 'arrived']
    lat, _ = at(0)
    assert str(lat) not in json.dumps(one) and 'radius' not in json.dumps(one) and 'home' not in json.dumps(one)
    report(town, ada, FAR)
    arrive(ada, 'last')
    for friend in ben, cleo:
        told(town, friend, (ada, 'arrived', 'Home'), (ada, 'left', 'Home'))
    assert notices(town, dan) == []
    assert (ada, 'arrived', 'Home') not in notices(town, ada)  # her friends are told, and not she


def test_whom_a_place_names_is_told_if_a_friend(town, users, arrive):
    ada, ben, cleo, dan = users(4)
    town.acquaint(ada, ben, cleo)
    town.share(dan)
    put(town, ada, tell=[ben, dan, ada])
    report(town, ada, 0)
    told(town, ben, (ada, 'arrived', 'Home'))
    told(town, ada, (ada, 'arrived', 'Home'))
    arrive(ada, 'last')
    assert notices(town, cleo) == notices(town, dan) == []


def test_two_places_of_one_report_are_two_notices(town, users):
    ada, ben = users(2)
    town.acquaint(ada, ben)
    for id in 'a', 'b':
        put(town, ada, id, name=id, tell='friends')
    report(town, ada, 0)
    eventually(lambda: sorted(notices(town, ben)) == [(ada, 'arrived', 'a'), (ada, 'arrived', 'b')])


@pytest.mark.parametrize('why', ['muted', 'rounded', 'blocked', 'parted', 'friend off'])
def test_who_may_not_see_the_user_is_not_told(town, users, arrive, why):
    ada, ben, cleo = users(3)
    town.acquaint(ada, ben, cleo)
    put(town, ada, tell='friends')
    http = town.http(ben)
    if why == 'muted':
        http.ok('PUT', f'/v1/nearby/mutes/{ada}')
    elif why == 'rounded':
        town.http(ada).ok('PUT', f'/v1/friends/{ben}/rounded')
    elif why == 'blocked':
        town.http(ada).ok('PUT', f'/v1/blocks/{ben}')
    elif why == 'parted':
        http.ok('DELETE', f'/v1/friends/{ada}')
    else:
        town.share(ben, mode='off')
    settled(town, ada, ben, cleo)
    report(town, ada, 0)
    told(town, cleo, (ada, 'arrived', 'Home'))
    arrive(ada, 'last')
    assert notices(town, ben) == []


def settled(town, *people):
    """Routers have read of mutes, modes and friendships what was written before: two others' events, which follow from later ones, are told."""
    for _ in range(2):
        one, other = people[0] + (1 << 45), people[0] + (1 << 46)
        put(town, one, 'probe', name='probe', tell=[other])
        town.acquaint(one, other)
        before = len(notices(town, other))

        def is_told(metres, one=one, other=other, before=before):
            report(town, one, metres)
            return eventually(lambda: len(notices(town, other)) > before, 20)

        is_told(0 if before % 2 == 0 else FAR)


def test_who_stops_sharing_leaves_no_place_and_is_not_told_of(town, users, arrive):
    ada, ben = users(2)
    town.acquaint(ada, ben)
    put(town, ada, tell='friends')
    report(town, ada, 0)
    told(town, ben, (ada, 'arrived', 'Home'))
    town.share(ada, mode='off')
    assert town.report_http(ada, *at(FAR)).status_code == 403
    town.share(ada)
    report(town, ada, 0)  # where she was: no news
    report(town, ada, FAR)
    told(town, ben, (ada, 'arrived', 'Home'), (ada, 'left', 'Home'))
    happened(town, ada, ('home', 'arrived'), ('home', 'left'))


def test_preferences_and_pushes_know_both_kinds(town, receiver, users):
    ada, ben = users(2)
    town.acquaint(ada, ben)
    http = town.http(ben)
    preferences = http.ok('PUT', '/v1/notices/preferences', json={'left': {'live': False, 'push': False}})
    assert preferences['arrived'] == {'live': True, 'push': True} and preferences['left'] == {'live': False, 'push': False}
    put(town, ada, name='Home <b>', tell=[ben])
    old = {'user': ada, 'number': 1, 'name': 'Old', 'what': 'ARRIVED', 'time': now_ms() - HOUR_MS - 1000}
    town.topics.produce('approaches', ben, ('place-told', old))  # older than an hour: a notice, and nothing for a phone
    told(town, ben, (ada, 'arrived', 'Old'))
    report(town, ada, 0)
    report(town, ada, FAR)
    report(town, ada, 0)
    told(town, ben, (ada, 'arrived', 'Old'), *[(ada, what, 'Home <b>') for what in ('arrived', 'left', 'arrived')])
    pushed = eventually(lambda: len(found := of(receiver, ben)) == 2 and found)
    assert [(item['what'], item['from'], item['place']) for item in pushed] == [('arrived', ada, 'Home <b>')] * 2
    assert pushed[0].keys() == {'id', 'user', 'what', 'from', 'subject', 'comment', 'place', 'time'}
    assert [item['id'] for item in pushed] == [one['id'] for one in reversed(http.ok('GET', '/v1/notices')['items']) if one['what'] == 'arrived'][1:]


def of(receiver, user):
    items = {}
    for post, headers in receiver.posts:
        assert headers['Starling-Signature'] == 'sha256=' + hmac.new(KEY.encode(), post, hashlib.sha256).hexdigest()
        for item in json.loads(post)['items']:
            if item['user'] == user and item['what'] in ('arrived', 'left'):
                items[item['id']] = item
    return list(items.values())


# the doors


def test_nobody_else_sees_places_or_events(town, users, arrive):
    """Not a friend who is told either, by whatever question."""
    ada, ben, stranger = users(3)
    town.acquaint(ada, ben)
    lat, _ = at(0)
    put(town, ada, 'secret-id', name='Home', tell='friends')
    report(town, ada, 0)
    told(town, ben, (ada, 'arrived', 'Home'))
    report(town, ada, FAR)
    for other in ben, stranger:
        http = town.http(other)
        http.refused('GET', '/v1/places/secret-id', 404, 'no_place')
        http.refused('DELETE', '/v1/places/secret-id', 404, 'no_place')
        for query in {'user': ada}, {'user_id': ada}, {'after': f'{ada}'}:
            assert http.get('/v1/places', params=query).json() == {'items': [], 'next': None}
        assert http.ok('GET', '/v1/places/events', params={'user': ada}) == {'items': [], 'next': None}
        put(town, other, 'secret-id', name='Mine')  # of the same id, and it is another's
        assert http.ok('GET', '/v1/places/secret-id')['name'] == 'Mine'
        assert town.http(ada).ok('GET', '/v1/places/secret-id')['name'] == 'Home'
        for path in '/v1/nearby', '/v1/audience', '/v1/friends', f'/v1/users/{ada}', f'/v1/profiles/{ada}', '/v1/notices', '/v1/feed':
            text = http.get(path).text
            assert 'secret-id' not in text and 'radius_m' not in text, path
        assert str(lat) not in http.get('/v1/notices').text
    anonymous = town.http(None)
    for method, path in ('GET', '/v1/places'), ('GET', '/v1/places/events'), ('GET', '/v1/places/secret-id'), ('DELETE', '/v1/places/secret-id'):
        assert anonymous.request(method, path).status_code == 401
    assert anonymous.put('/v1/places/secret-id', json=body()).status_code == 401
    gateway = town.gateway()  # a backend may report for users, and sees nobody's places
    for method, path in ('GET', '/v1/places'), ('GET', '/v1/places/events'), ('GET', '/v1/places/secret-id'):
        problem(gateway.request(method, path), 403, 'not_a_user')


def test_a_command_that_makes_no_sense_is_a_dead_letter(town, user):
    put(town, user)
    good = {'kind': 'PUT', 'user': user, 'id': 'x', 'name': 'X', 'lat': 0, 'lng': 0, 'radius': 100, 'friends': False, 'users': []}
    bad = [{**good, 'user': user + 1}, {**good, 'id': 'a.b'}, {**good, 'radius': 49}, {**good, 'users': list(range(51))}]
    for record in bad:
        town.topics.produce('place-commands', user, ('place-command', record))
    eventually(lambda: sum(decode(m.value) in bad for m in town.topics.read('place-commands.dlq')) == len(bad))
    assert [place['id'] for place in town.http(user).items('/v1/places')] == ['home']


def test_who_goes_to_and_fro_all_the_time_floods_nobody(town, users):
    """Fifty places, each of which tells fifty: all events are there, and the routers stop telling."""
    ada, ben, *others = users(51)
    town.acquaint(ada, ben)
    for number in range(50):
        put(town, ada, f'p{number}', tell=[ben, *others])
    refused = 'starling_budget_refused_total'

    def refusals():
        return sum(router.total(refused, what='places_told') for router in town.routers)

    before, turns = refusals(), 12
    for turn in range(turns):
        report(town, ada, FAR if turn % 2 else 0)
    eventually(lambda: len(events(town, ada, limit=1000)) == 50 * turns, 60, what='all events are there')
    eventually(lambda: refusals() > before, 60, what='the routers tell no more')
    assert 0 < len(notices(town, ben)) <= 200


# trouble



def test_routers_die_and_everybody_is_told_once(town, users):
    """Whoever owns the partition next tells what was not told; what was told twice is one notice."""
    people = users(4)
    friends = users(4)
    for user, friend in zip(people, friends):
        town.acquaint(user, friend)
        put(town, user, tell='friends')
        report(town, user, FAR)
    for turn in range(8):
        router = town.routers[turn // 2 % 2]
        router.kill() if turn % 2 == 0 else router.start(wait=False)
        for user in people:
            report(town, user, 0 if turn % 2 == 0 else FAR)
    for user, friend in zip(people, friends):
        expected = [(user, 'arrived' if turn % 2 == 0 else 'left', 'Home') for turn in range(8)]
        eventually(lambda friend=friend, expected=expected: notices(town, friend) == expected, 90, what=f'{friend} is told')


def test_without_the_owner_nothing_is_said(make_module_cluster, user):
    cluster = make_module_cluster().start(fanouts=0, sinks=0)
    http = cluster.http(user)
    for path in '/v1/places', '/v1/places/events', '/v1/places/home':
        problem(http.get(path), 503, 'owner_unavailable')
    answer = http.put('/v1/places/home', json=body())
    assert answer.status_code == 202 and answer.json() == {'id': 'home'}


def test_who_is_forgotten_has_no_places(make_module_cluster, users):
    cluster = make_module_cluster(settings={'ingest:ingest.outcome.wait.ms': 8000}).start(fanouts=0, feeds=1, comments=1, places=1)
    user, = users(1)
    cluster.share(user)
    put(cluster, user)
    put(cluster, user, 'work', metres=FAR)
    cluster.report_http(user, *HOME)
    happened(cluster, user, ('home', 'arrived'))
    export = cluster.http(user)
    kinds = {}
    after = None
    while True:
        page = export.ok('GET', '/v1/export', params={'after': after} if after else {})
        kinds.setdefault(page['kind'], []).extend(page['items'])
        after = page['next']
        if after is None or 'following' in kinds:
            break
    assert [place['id'] for place in kinds['places']] == ['home', 'work'] and [one['what'] for one in kinds['place-events']] == ['arrived']
    answer = eventually(lambda: (said := cluster.http(user).delete('/v1/me')).status_code == 200 and said.json(), 90)
    assert answer['removed']['places'] == 2
    for topic in 'places', 'place-events':
        assert user not in {key_users(key)[0] for key in cluster.topics.latest(topic)}, topic
    assert cluster.http(user).ok('GET', '/v1/places/events') == {'items': [], 'next': None}
