"""The HTTP gateway: every endpoint, every named error, and what happens to it when Kafka or the owners are away. Covers ingest/call.c,
ingest/gateway.c, ingest/limits.c, ingest/owners.c, ingest/products.c, ingest/write.c, ingest/nearby/friends.c, ingest/nearby/locations.c,
ingest/nearby/nearby.c, ingest/nearby/parts.c, ingest/nearby/profiles.c, ingest/nearby/sharing.c and lib/users/user_copies.c."""
import functools
import json
import re
import socket
import subprocess
import time

import pytest

from harness.broker import REPOSITORY
from harness.cluster import build_folder
from harness.forged import bad_tokens
from harness.geo import HOME, e7
from harness.http import Http
from harness.http import problem as any_problem
from harness.meanwhile import beside
from harness.processes import clean_environment
from harness.records import decode, encode
from harness.waiting import eventually, now_ms


def report(**fields):
    return {'lat': HOME[0], 'lng': HOME[1], 'time': now_ms(), **fields}


problem = functools.partial(any_problem, retry=False)


def said(cluster, user, topic='locations'):
    return [decode(m.value) for m in cluster.topics.read(topic) if m.key == user.to_bytes(8, 'big')]


@pytest.fixture
def member(shared_cluster, user):
    """A user who shares, and a session as that user."""
    shared_cluster.share(user)
    return user, shared_cluster.http(user)


# reports


def test_a_report(shared_cluster, member):
    user, http = member
    assert http.ok('POST', '/v1/locations', json=report(time=1000, accuracy=12.5)) == {'accepted': 1, 'sharing_off': 0}
    record, = said(shared_cluster, user)
    opted = record.pop('opted')
    assert record == {'user': user, 'lat': e7(HOME[0]), 'lng': e7(HOME[1]), 'time': 1000, 'kind': 'REPORT', 'session': 0,
                      'route': -1, 'accuracy': 12}
    offsets = {m.key: m.offset for m in shared_cluster.topics.read('sharing')}
    assert opted == offsets[user.to_bytes(8, 'big')]


DETAILS = {'battery': 0.57, 'charging': True, 'speed_mps': 1.389, 'course': 270.25, 'activity': 'walking', 'vertical_accuracy_m': 3.5}
DETAILS_STORED = {'battery': 570, 'charging': 1, 'speed': 1389, 'course': 27025, 'activity': 2, 'vertical_accuracy': 350}


def test_details_are_kept_with_a_report(shared_cluster, member):
    user, http = member
    body = {'locations': [report(time=1000), report(time=1001, **DETAILS), report(time=1002, battery=0, charging=False)]}
    http.ok('POST', '/v1/locations', json=body)
    http.ok('POST', '/v1/locations', data=avro({'time': 1003, **DETAILS_STORED}), headers=AVRO)
    plain, full, some, binary = said(shared_cluster, user)
    assert 'battery' not in plain  # written as version 1
    assert DETAILS_STORED.items() <= full.items() and DETAILS_STORED.items() <= binary.items()
    assert (some['battery'], some['charging'], some['speed'], some['shown']) == (0, 0, -1, False)
    rows = eventually(lambda: len(rows := http.ok('GET', '/v1/history')['items']) == 4 and rows, 20)
    assert [{name: row[name] for name in row.keys() & DETAILS.keys()} for row in rows] == \
        [{}, DETAILS, {'battery': 0, 'charging': False}, DETAILS]
    lines = http.get('/v1/history', headers={'Accept': 'text/csv'}).text.splitlines()
    assert lines[0].endswith(',received,battery,charging,speed_mps,course,activity,vertical_accuracy_m')
    assert lines[1].endswith(',,,,,,') and lines[2].endswith(',0.57,true,1.389,270.25,walking,3.5')
    lines = [json.loads(line) for line in http.get('/v1/history', headers={'Accept': 'application/x-ndjson'}).text.splitlines()]
    assert DETAILS.items() <= lines[1].items() and lines[2]['battery'] == 0


def test_several_reports_in_order(shared_cluster, member):
    user, http = member
    body = {'locations': [report(time=1000 + i) for i in range(5)]}
    assert http.ok('POST', '/v1/locations', json=body) == {'accepted': 5, 'sharing_off': 0}
    assert [record['time'] for record in said(shared_cluster, user)] == [1000, 1001, 1002, 1003, 1004]


def test_a_gateway_reports_for_others(shared_cluster, users):
    a, b, off = users(3)
    shared_cluster.share(a, b)
    body = {'locations': [report(user=user) for user in (a, off, b)]}
    assert shared_cluster.gateway().ok('POST', '/v1/locations', json=body) == {'accepted': 2, 'sharing_off': 1}
    assert [len(said(shared_cluster, user)) for user in (a, b, off)] == [1, 1, 0]
    problem(shared_cluster.gateway().post('/v1/locations', json=report()), 400, 'bad_user')
    problem(shared_cluster.gateway().post('/v1/locations', json=report(user=off)), 403, 'sharing_off')
    both = shared_cluster.http(a, scope='read gateway')  # a user who is a gateway as well
    assert both.ok('POST', '/v1/locations', json=report())['accepted'] == 1


BAD_REPORTS = [
    (400, 'bad_location', {'lat': 90.0000001}), (400, 'bad_location', {'lat': -90.1}), (400, 'bad_location', {'lat': 1e400}),
    (400, 'bad_location', {'lng': 180.1}), (400, 'bad_location', {'lng': '116'}), (400, 'bad_location', {'lng': True}),
    (400, 'bad_location', {'lat': None}), (400, 'bad_location', {'lat': {}}),
    (400, 'bad_location', {'accuracy': '3'}), (400, 'bad_location', {'accuracy': -1}),
    (400, 'bad_time', {'time': -1}), (400, 'bad_time', {'time': '0'}), (400, 'bad_time', {'time': 0.5}),
    (400, 'bad_time', {'time': 1 << 47}), (400, 'bad_time', {'time': None}), (400, 'bad_time', {'time': 4_000_000_000_000}),
    (400, 'bad_user', {'user': 'me'}), (400, 'bad_user', {'user': -1}), (400, 'bad_user', {'user': None}),
    (400, 'bad_details', {'battery': 1.1}), (400, 'bad_details', {'charging': 1}), (400, 'bad_details', {'speed_mps': -1}),
    (400, 'bad_details', {'course': 361}), (400, 'bad_details', {'activity': 'flying'}), (400, 'bad_details', {'vertical_accuracy_m': None}),
    (400, 'bad_location', {'accuracy': None}), (403, 'not_your_user', {'user': 1}),
]


def test_what_is_ahead_counts_as_now_and_stays_in_order(shared_cluster, member):
    user, http = member
    began, times = now_ms(), [-60_000, 55_000, 40_000, 58_000]
    places = [report(lat=10 + index, time=began + time) for index, time in enumerate(times)]
    assert http.ok('POST', '/v1/locations', json={'locations': places})['accepted'] == 4
    ended = now_ms()
    taken = said(shared_cluster, user)
    assert [record['lat'] for record in taken] == [(10 + index) * 10_000_000 for index in range(4)]
    first, *ahead = [record['time'] for record in taken]
    assert first == began - 60_000 and began - 3 <= ahead[0] < ahead[1] < ahead[2] <= ended
    assert http.ok('GET', '/v1/nearby', params={'since': now_ms() + 55_000}) is not None


def test_whole_numbers_are_written_as_json_schema_takes_them(shared_cluster, member):
    user, http = member
    text = f'{{"user":{user}.0,"lat":39.9,"lng":116,"time":{now_ms() // 1000}.0e3}}'
    assert http.ok('POST', '/v1/locations', data=text)['accepted'] == 1
    problem(http.post('/v1/locations', data=text.replace('.0,', '.5,')), 400, 'bad_user')


def test_bad_reports_are_named_and_produce_nothing(shared_cluster, member):
    _user, http = member
    ends = shared_cluster.topics.ends('locations')
    for status, code, fields in BAD_REPORTS:
        if fields.get('lat') == 1e400:
            response = http.post('/v1/locations', data='{"lat":1e400,"lng":0,"time":0}')
            problem(response, 400, 'bad_message')  # no number of JSON's readers
            continue
        problem(http.post('/v1/locations', json=report(**fields)), status, code)
        # One bad one spoils all: none is produced, and it is said which.
        mixed = problem(http.post('/v1/locations', json={'locations': [report(), report(**fields)]}), status, code)
        assert mixed['detail'].startswith('locations[1]') and mixed['index'] == 1
    for text in '', '{', 'null', '[]', '5', '"x"', '{"lat":1,"lat":2}', '{"locations":{}}', '{"locations":[]}', \
            '{"locations":[5]}', '\xff':
        problem(http.post('/v1/locations', data=text.encode('latin-1')), 400, 'bad_message')
    problem(http.post('/v1/locations', json={'locations': [report()] * 1001}), 413, 'too_many')
    assert shared_cluster.topics.ends('locations') == ends


# as Avro

AVRO = {'Content-Type': 'application/avro'}


def avro(*reports):
    return encode('location-reports', {'reports': [
        {'user': -1, 'lat': e7(HOME[0]), 'lng': e7(HOME[1]), 'time': now_ms(), 'accuracy': -1, **fields} for fields in reports]})


def test_reports_come_as_avro_too(shared_cluster, member, users):
    user, http = member
    a, off = users(2)
    shared_cluster.share(a)
    assert http.ok('POST', '/v1/locations', data=avro({'time': 1000}, {'time': 1001, 'accuracy': 7}), headers=AVRO) == \
        {'accepted': 2, 'sharing_off': 0}
    first, second = said(shared_cluster, user)
    assert (first['time'], first['lat'], first['lng'], first['accuracy']) == (1000, e7(HOME[0]), e7(HOME[1]), -1)
    assert (second['time'], second['accuracy'], second['kind'], second['session'], second['route']) == (1001, 7, 'REPORT', 0, -1)
    body = avro({'user': user}, {'user': off}, {'user': a})
    assert shared_cluster.gateway().ok('POST', '/v1/locations', data=body, headers={'Content-Type': 'Application/Avro; v=1'}) == \
        {'accepted': 2, 'sharing_off': 1}


def test_bad_avro_is_named_and_produces_nothing(shared_cluster, member):
    _user, http = member
    ends = shared_cluster.topics.ends('locations')
    for status, code, fields in [
            (400, 'bad_location', {'lat': 900_000_001}), (400, 'bad_location', {'lng': -1_800_000_001}), (400, 'bad_location', {'accuracy': -2}),
            (400, 'bad_time', {'time': -1}), (400, 'bad_time', {'time': 1 << 47}), (400, 'bad_time', {'time': 4_000_000_000_000}),
            (400, 'bad_details', {'battery': 1001}), (400, 'bad_details', {'activity': 7}), (400, 'bad_details', {'speed': -2}),
            (400, 'bad_user', {'user': -2}), (403, 'not_your_user', {'user': 1})]:
        refused = problem(http.post('/v1/locations', data=avro({}, fields), headers=AVRO), status, code)
        assert refused['detail'].startswith('locations[1]') and refused['index'] == 1
    good = avro({})
    for body in b'', b'{}', good[:-1], good + b'x', b'\1' + good[1:], good[:4] + b'\1' + good[5:], good[:4] + b'\xff' + good[5:], avro():
        problem(http.post('/v1/locations', data=body, headers=AVRO), 400, 'bad_message')
    problem(http.post('/v1/locations', data=avro(*[{}] * 1001), headers=AVRO), 413, 'too_many')
    problem(shared_cluster.gateway().post('/v1/locations', data=avro({}), headers=AVRO), 400, 'bad_user')
    problem(http.post('/v1/locations', data=good), 400, 'bad_message')  # that is no JSON
    assert shared_cluster.topics.ends('locations') == ends


def test_an_oversized_body_is_refused(shared_cluster, member):
    user, http = member
    response = http.post('/v1/locations', data=b' ' * 262_145)
    assert response.status_code == 413
    assert response.headers['Content-Type'] == 'application/problem+json'
    assert http.post('/v1/locations', data=b'{"lat":1,"lng":1,"time":1}' + b' ' * 200_000).ok
    assert len(said(shared_cluster, user)) == 1


def test_who_does_not_share_reports_nothing(shared_cluster, user):
    http = shared_cluster.http(user)
    problem(http.post('/v1/locations', json=report()), 403, 'sharing_off')
    shared_cluster.share(user)
    assert http.post('/v1/locations', json=report()).ok
    shared_cluster.share(user, mode='off')
    problem(http.post('/v1/locations', json=report()), 403, 'sharing_off')
    assert len([r for r in said(shared_cluster, user) if r['kind'] == 'REPORT']) == 1


def test_who_has_turned_sharing_on_can_report_at_once(shared_cluster, users):
    for user in users(100):
        http = shared_cluster.http(user)
        http.ok('PUT', '/v1/sharing', json={'mode': 'friends'})
        assert http.ok('GET', '/v1/sharing')['mode'] == 'friends'
        http.ok('POST', '/v1/locations', json=report())
        http.ok('PUT', '/v1/sharing', json={'mode': 'off'})
        problem(http.post('/v1/locations', json=report()), 403, 'sharing_off')


# tokens

ENDPOINTS = [('POST', '/v1/locations'), ('POST', '/v1/owntracks'), ('GET', '/v1/profile'), ('PUT', '/v1/profile'), ('GET', '/v1/profiles/5'),
             ('GET', '/v1/sharing'), ('PUT', '/v1/sharing'), ('GET', '/v1/friends'), ('PUT', '/v1/friends/5'),
             ('DELETE', '/v1/friends/5'), ('PUT', '/v1/blocks/5'), ('DELETE', '/v1/blocks/5'), ('GET', '/v1/audience'), ('POST', '/v1/friendships'),
             ('GET', '/v1/history'), ('GET', '/v1/nearby'), ('GET', '/v1/discover'), ('GET', '/v1/nearby/mutes'),
             ('GET', '/v1/devices'), ('PUT', '/v1/nearby/mutes/5'), ('DELETE', '/v1/nearby/mutes/5'), ('PUT', '/v1/friends/5/rounded'),
             ('DELETE', '/v1/friends/5/rounded'), ('GET', '/v1/links'), ('POST', '/v1/links'), ('GET', '/v1/places'), ('GET', '/v1/places/events'),
             ('POST', '/v1/posts'), ('PUT', '/v1/posts/5'), ('DELETE', '/v1/posts/5'), ('GET', '/v1/posts/5/edits'),
             ('PUT', '/v1/posts/5/like'), ('DELETE', '/v1/posts/5/like'),
             ('GET', '/v1/posts/5/likes'), ('GET', '/v1/feed'),
             ('GET', '/v1/follows/requests'), ('GET', '/v1/followers/requests'), ('PUT', '/v1/followers/5'), ('DELETE', '/v1/followers/5'),
             ('GET', '/v1/visibility'), ('PUT', '/v1/visibility'),
             ('PUT', '/v1/follows/5'), ('DELETE', '/v1/follows/5'), ('PUT', '/v1/mutes/5'), ('DELETE', '/v1/mutes/5'),
             ('GET', '/v1/posts/5'), ('GET', '/v1/users'), ('GET', '/v1/users/5'), ('GET', '/v1/users/5/posts'), ('GET', '/v1/users/5/followers'),
             ('GET', '/v1/users/5/followers/known'), ('GET', '/v1/users/5/mutual-friends'),
             ('GET', '/v1/users/5/following'), ('PUT', '/v1/handle'), ('DELETE', '/v1/handle'), ('GET', '/v1/handles/ada'), ('GET', '/v1/notices'),
             ('PUT', '/v1/notices/read'), ('GET', '/v1/notices/preferences'), ('PUT', '/v1/notices/preferences'),
             ('GET', '/v1/export'), ('GET', '/v1/me'), ('DELETE', '/v1/me'), ('POST', '/v1/posts/5/report'), ('POST', '/v1/users/5/report')]
OF_COMMENTS = [('GET', ''), ('POST', ''), ('GET', '/{comment}'), ('PUT', '/{comment}'), ('DELETE', '/{comment}'), ('GET', '/{comment}/edits'),
               ('GET', '/{comment}/replies'), ('GET', '/{comment}/answers'),
               ('PUT', '/{comment}/like'), ('DELETE', '/{comment}/like'), ('PUT', '/{comment}/pin'), ('DELETE', '/{comment}/pin'),
               ('POST', '/{comment}/report')]
TEMPLATES = [(method, '/v1/comments/{type}/{id}' + path) for method, path in OF_COMMENTS] + [
    ('GET', '/v1/users/{user}/comments'), ('PUT', '/v1/subjects/{type}/{id}'), ('GET', '/v1/subjects/{type}/{id}/outcome'),
    ('GET', '/v1/moderation/comments'), ('PUT', '/v1/moderation/comments/{type}/{id}/{comment}'),
    ('GET', '/v1/moderation/posts'), ('PUT', '/v1/moderation/posts/{id}'), ('GET', '/v1/moderation/users'),
    ('PUT', '/v1/moderation/bans/{user}'), ('DELETE', '/v1/moderation/bans/{user}'), ('DELETE', '/v1/devices/{id}'),
    ('DELETE', '/v1/links/{id}'), ('GET', '/v1/places/{id}'), ('PUT', '/v1/places/{id}'), ('DELETE', '/v1/places/{id}'),
    ('GET', '/v1/externals'), ('GET', '/v1/externals/{external}')]
FILLED = [(method, path.format(type='site', id=5, comment=5, user=5, external='x')) for method, path in TEMPLATES]
NOT_OF_USERS = {'/v1/locations', '/v1/profiles/5', '/v1/friendships', '/v1/users', '/v1/users/5', '/v1/users/5/posts', '/v1/users/5/followers',
                '/v1/users/5/following', '/v1/handles/ada', '/v1/posts/5/likes', '/v1/posts/5/edits'}  # a gateway may ask for these
OF_USERS = [(method, path) for method, path in ENDPOINTS if path not in NOT_OF_USERS and (method, path) != ('GET', '/v1/posts/5')] + [
    ('DELETE', '/v1/links/5'), ('GET', '/v1/places/5'), ('PUT', '/v1/places/5'), ('DELETE', '/v1/places/5'),
    ('POST', '/v1/comments/site/x'), ('DELETE', '/v1/comments/site/x/5'), ('PUT', '/v1/comments/site/x/5/like'),
    ('GET', '/v1/users/5/comments'), ('GET', '/v1/subjects/site/x/outcome')]
OPEN = {('GET', '/v1/config'), ('GET', '/v1/openapi.yaml'), ('GET', '/v1/links/{secret}/place')}  # need no token
WRITTEN = 'locations', 'friend-commands', 'profiles', 'sharing', 'follow-commands', 'follower-commands', 'post-commands', 'name-commands', 'notice-commands', \
    'comment-commands', 'bans', 'nearby-mutes', 'device-ends', 'link-commands', 'place-commands'


def test_no_token_or_a_bad_one_does_nothing_anywhere(shared_cluster, user):
    ends = {topic: shared_cluster.topics.ends(topic) for topic in WRITTEN}
    http = shared_cluster.http(None)
    body = {'mode': 'friends', 'name': 'X', 'a': 1, 'b': 2, **report()}
    for method, path in ENDPOINTS + FILLED:
        response = http.request(method, path, json=body)
        problem(response, 401, 'no_token')
        assert response.headers['WWW-Authenticate'] == 'Bearer'
    for code, token in bad_tokens(shared_cluster.keys, user):
        response = http.put('/v1/sharing', json=body, headers={'Authorization': f'Bearer {token}'})
        problem(response, 401, code)
    for method, path in ENDPOINTS + FILLED:
        expired = shared_cluster.token(user, ttl=-5)
        problem(http.request(method, path, json=body, headers={'Authorization': f'Bearer {expired}'}), 401, 'token_expired')
    problem(http.get('/v1/profile', headers={'Authorization': 'Basic dTpw'}), 401, 'no_token')
    assert {topic: shared_cluster.topics.ends(topic) for topic in WRITTEN} == ends
    assert 'eyJ' not in shared_cluster.ingest.log()


def test_rs256_is_accepted_with_its_own_key(shared_cluster, user):
    assert shared_cluster.http(user, algorithm='RS256').get('/v1/sharing').ok


def test_a_gateway_is_nobody(shared_cluster):
    for method, path in OF_USERS:
        response = shared_cluster.gateway().request(method, path, json={'mode': 'off', 'name': 'x'})
        problem(response, 403, 'not_a_user')


# profiles and sharing


def test_profiles(shared_cluster, users):
    user, other = users(2)
    http = shared_cluster.http(user)
    problem(http.get('/v1/profile'), 404, 'no_profile')
    shown = {'name': 'Zoë "Z" 🚲', 'avatar_url': 'https://example.org/z.png', 'bio': '🚲' * 499 + '\n', 'url': 'http://example.org/?z=1'}
    profile = {'user': user, **shown}
    assert http.ok('PUT', '/v1/profile', json=shown) == profile
    eventually(lambda: http.get('/v1/profile').ok)
    assert http.ok('GET', '/v1/profile') == profile
    assert shared_cluster.http(other).ok('GET', f'/v1/profiles/{user}') == profile
    problem(http.get(f'/v1/profiles/{other}'), 404, 'no_profile')
    assert shared_cluster.http(other).ok('GET', f'/v1/users/{user}').items() >= profile.items()
    assert said(shared_cluster, user, 'profiles') == [shown]
    http.ok('PUT', '/v1/profile', json={'name': 'Z', 'bio': '', 'url': ''})
    eventually(lambda: http.ok('GET', '/v1/profile') == {'user': user, 'name': 'Z', 'avatar_url': '', 'bio': '', 'url': ''})
    assert said(shared_cluster, user, 'profiles')[1:] == [{'name': 'Z', 'avatar_url': ''}]  # which the last release reads


def test_bad_profiles_are_named(shared_cluster, user):
    http = shared_cluster.http(user)
    for body in [{}, {'name': ''}, {'name': None}, {'name': 'x', 'avatar_url': None}, {'name': 5}, {'name': 'x' * 201}, {'name': 'x', 'avatar_url': 7},
                 {'name': 'x', 'avatar_url': 'javascript:alert(1)'}, {'name': 'x', 'avatar_url': 'https://' + 'x' * 1000},
                 {'name': 'x', 'bio': 'b' * 501}, {'name': 'x', 'bio': 5}, {'name': 'x', 'bio': None}, {'name': 'x', 'bio': 'a\u202e'},
                 {'name': 'x', 'url': 'javascript:alert(1)'}, {'name': 'x', 'url': 'https://' + 'x' * 1000}, {'name': 'x', 'url': 7}]:
        problem(http.put('/v1/profile', json=body), 400, 'bad_profile')
    problem(http.put('/v1/profile', data='x'), 400, 'bad_message')
    assert said(shared_cluster, user, 'profiles') == []


def test_sharing(shared_cluster, user):
    http = shared_cluster.http(user)
    assert http.ok('GET', '/v1/sharing') == {'user': user, 'mode': 'off'}
    for mode in 'friends', 'public', 'off':
        assert http.ok('PUT', '/v1/sharing', json={'mode': mode}) == {'user': user, 'mode': mode}
    assert [record['mode'] for record in said(shared_cluster, user, 'sharing')] == ['FRIENDS', 'PUBLIC', 'OFF']
    for body in {}, {'mode': 'FRIENDS'}, {'mode': 1}, {'mode': None}:
        problem(http.put('/v1/sharing', json=body), 400, 'bad_mode')
    assert len(said(shared_cluster, user, 'sharing')) == 3


# friends


def state(http, other):
    """What my lists say of the other one."""
    items = http.ok('GET', '/v1/friends', params={'state': 'all'})['items']
    return next((item['state'] for item in items if item['user'] == other), 'none')


def outcome(response, wanted, other):
    """200 with the state; with everything running, the owner answers in time."""
    assert response.status_code == 200, response.text
    body = response.json()
    assert (body['user'], body['state']) == (other, wanted)
    if wanted in ('none', 'requested'):  # of what one has asked for no time is said: it might be that of a block
        assert 'since' not in body
    else:
        assert abs(body['since'] - now_ms()) < 60_000


def test_asking_accepting_and_parting(shared_cluster, users):
    a, b = users(2)
    for asker, asked in ((a, b), (b, a)):  # the lower asks, then the higher
        first, second = shared_cluster.http(asker), shared_cluster.http(asked)
        outcome(first.put(f'/v1/friends/{asked}'), 'requested', asked)
        outcome(first.put(f'/v1/friends/{asked}'), 'requested', asked)  # asking again changes nothing
        eventually(lambda: state(second, asker) == 'invited')
        assert state(first, asked) == 'requested'
        assert [i['user'] for i in second.ok('GET', '/v1/friends', params={'state': 'invited'})['items']] == [asker]
        assert second.ok('GET', '/v1/friends')['items'] == []
        outcome(second.put(f'/v1/friends/{asker}'), 'friends', asker)
        eventually(lambda: (state(first, asked), state(second, asker)) == ('friends', 'friends'))
        assert [i['user'] for i in first.ok('GET', '/v1/friends')['items']] == [asked]
        outcome(second.delete(f'/v1/friends/{asker}'), 'none', asker)
        eventually(lambda: (state(first, asked), state(second, asker)) == ('none', 'none'))
        outcome(first.delete(f'/v1/friends/{asked}'), 'none', asked)


def test_a_request_can_be_taken_back_and_refused(shared_cluster, users):
    a, b = users(2)
    outcome(shared_cluster.http(a).put(f'/v1/friends/{b}'), 'requested', b)
    outcome(shared_cluster.http(a).delete(f'/v1/friends/{b}'), 'none', b)
    outcome(shared_cluster.http(b).put(f'/v1/friends/{a}'), 'requested', a)
    outcome(shared_cluster.http(a).delete(f'/v1/friends/{b}'), 'none', b)
    eventually(lambda: state(shared_cluster.http(b), a) == 'none')


def test_blocking_removes_hides_and_prevents(shared_cluster, users):
    a, b = users(2)
    mine, theirs = shared_cluster.http(a), shared_cluster.http(b)
    shared_cluster.befriend((a, b))
    outcome(mine.put(f'/v1/blocks/{b}'), 'blocked', b)
    eventually(lambda: state(mine, b) == 'blocked' and state(theirs, a) == 'none')
    assert [i['user'] for i in mine.ok('GET', '/v1/friends', params={'state': 'blocked'})['items']] == [b]
    response = theirs.put(f'/v1/friends/{a}')
    assert response.status_code == 200 and response.json()['state'] != 'friends'  # and it is not said why
    assert 'block' not in response.text
    assert state(mine, b) == 'blocked'
    assert mine.delete(f'/v1/blocks/{b}').status_code == 200
    eventually(lambda: state(mine, b) != 'blocked')


def test_a_gateway_makes_friends(shared_cluster, users):
    a, b = users(2)
    outcome(shared_cluster.gateway().post('/v1/friendships', json={'a': a, 'b': b}), 'friends', b)
    outcome(shared_cluster.gateway().post('/v1/friendships', json={'a': b, 'b': a}), 'friends', a)
    eventually(lambda: state(shared_cluster.http(b), a) == 'friends')


def test_bad_friend_commands_are_named_and_produce_nothing(shared_cluster, user):
    http = shared_cluster.http(user)
    ends = shared_cluster.topics.ends('friend-commands')
    for method, path in ('PUT', 'friends'), ('DELETE', 'friends'), ('PUT', 'blocks'), ('DELETE', 'blocks'):
        problem(http.request(method, f'/v1/{path}/{user}'), 400, 'same_user')
        for other in 'me', '-1', '+5', '5x', '9223372036854775808', '%205', '0x5':
            problem(http.request(method, f'/v1/{path}/{other}'), 400, 'bad_user')
    gateway = shared_cluster.gateway()
    problem(gateway.post('/v1/friendships', json={'a': user, 'b': user}), 400, 'same_user')
    for body in {}, {'a': 1}, {'a': 1, 'b': None}, {'a': 1, 'b': '2'}, {'a': -1, 'b': 2}, {'a': 1.5, 'b': 2}:
        problem(gateway.post('/v1/friendships', json=body), 400, 'bad_user')
    problem(gateway.post('/v1/friendships', data='['), 400, 'bad_message')
    problem(http.post('/v1/friendships', json={'a': user, 'b': 5}), 403, 'gateways_only')
    assert shared_cluster.topics.ends('friend-commands') == ends


def test_lists_come_in_pages(shared_cluster, users):
    user, *others = users(8)
    http = shared_cluster.http(user)
    shared_cluster.befriend(*[(user, other) for other in others[:5]])
    for other in others[5:]:
        outcome(http.put(f'/v1/friends/{other}'), 'requested', other)

    def listed(**query):
        return [item['user'] for item in http.items('/v1/friends', **query)]

    for limit in 1, 2, 5, 100:
        assert listed(limit=limit) == others[:5]
        eventually(lambda: listed(limit=limit, state='requested') == others[5:])
        assert sorted(listed(limit=limit, state='all')) == others
    for query in {'state': 'foes'}, {'limit': 0}, {'limit': 1001}, {'limit': 'x'}, {'after': '-1'}, {'after': 'x'}, {'limit': ''}:
        problem(http.get('/v1/friends', params=query), 400, 'bad_query')


def test_a_page_has_twenty_items_for_who_does_not_say(shared_cluster, member, users):
    user, http = member
    others = users(21)
    shared_cluster.share(*others)
    shared_cluster.befriend(*[(user, other) for other in others])
    for other in others:
        shared_cluster.report_http(other, *HOME).raise_for_status()
    start = now_ms() - 10_000
    http.ok('POST', '/v1/locations', json={'locations': [{**report(time=start + i), 'lat': round(39 + i / 100, 7)} for i in range(21)]})
    for path in '/v1/friends', '/v1/audience', '/v1/export?after=friends', '/v1/history':
        more = '&' if '?' in path else '?'
        eventually(lambda: len(http.ok('GET', f'{path}{more}limit=1000')['items']) == 21, 20, what=path)
        page = http.ok('GET', path)
        assert len(page['items']) == 20 and page['next'] is not None, path


def test_lists_have_names(shared_cluster, users):
    user, friend, nameless, invited, blocked = users(5)
    http = shared_cluster.http(user)
    profiles = {friend: ('Zoë "Z"', 'https://example.org/z.png'), nameless: ('', ''), invited: ('Ivo', ''), blocked: ('Bo', '')}
    for other, (name, url) in profiles.items():
        if name:
            shared_cluster.http(other).ok('PUT', '/v1/profile', json={'name': name, **({'avatar_url': url} if url else {})})
    shared_cluster.befriend((user, friend), (user, nameless))
    outcome(http.put(f'/v1/friends/{invited}'), 'requested', invited)
    outcome(http.put(f'/v1/blocks/{blocked}'), 'blocked', blocked)

    def listed(**query):
        return {item['user']: (item['name'], item['avatar_url']) for item in http.ok('GET', '/v1/friends', params=query)['items']}

    eventually(lambda: listed(state='all') == profiles, what='every list has names')
    assert listed() == {friend: profiles[friend], nameless: ('', '')}
    shared_cluster.http(friend).ok('PUT', '/v1/profile', json={'name': 'Zed'})
    eventually(lambda: listed()[friend] == ('Zed', ''), what='the new name')


# history


def test_history_is_ones_own(shared_cluster, member, users):
    _user, http = member
    other, = users(1)
    start = now_ms() - 10_000
    body = {'locations': [{**report(time=start + i), 'lat': round(39 + i / 100, 7)} for i in range(5)]}
    http.ok('POST', '/v1/locations', json=body)
    eventually(lambda: len(http.ok('GET', '/v1/history')['items']) == 5, 20)
    times = [item['time'] for item in http.ok('GET', '/v1/history', params={'from': start + 1, 'to': start + 4})['items']]
    assert times[0] == start + 1 and set(times) >= {start + 1, start + 2, start + 3}
    pages = http.items('/v1/history', limit=2)
    assert [item['time'] for item in pages] == [start + i for i in range(5)]
    assert pages[2]['lat'] == pytest.approx(39.02, abs=1e-7)
    assert shared_cluster.http(other).ok('GET', '/v1/history')['items'] == []
    for query in {'from': 'x'}, {'to': '-1'}, {'limit': 0}, {'limit': 10_001}, {'after': 'a b'}, {'after': 'x' * 200}, \
            {'after': 'nonsense'}:
        problem(http.get('/v1/history', params=query), 400, 'bad_query')


# the rest of HTTP


def test_unknown_paths_and_methods(shared_cluster, member):
    _, http = member
    for path in '/v1/nothing', '/v1/', '/v1/friends/', '/v1/friends/5/6', '/v1/profiles/':
        problem(http.get(path), 404, 'no_such_path')
    problem(http.post('/nothing', json={}), 404, 'no_such_path')
    for method, path in ('DELETE', '/v1/locations'), ('POST', '/v1/profile'), ('GET', '/v1/blocks/5'), ('PATCH', '/v1/friends/5'):
        refused = http.request(method, path)
        problem(refused, 405, 'bad_method')
        allowed = refused.headers['Allow'].split(', ')
        assert allowed and method not in allowed
        assert ('HEAD' in allowed) == ('GET' in allowed)


def test_head_is_answered_where_get_is(shared_cluster, member):
    _, http = member
    for path in '/v1/sharing', '/v1/profile', '/v1/friends', '/v1/nothing', '/v1/config', '/v1/openapi.yaml', '/':
        head, got = http.head(path), http.get(path)
        assert (head.status_code, head.headers['Content-Type'], head.content) == \
            (got.status_code, got.headers['Content-Type'], b'')
        assert 'Content-Encoding' in got.headers or head.headers['Content-Length'] == str(len(got.content))
    problem(shared_cluster.http(None).get('/v1/sharing'), 401, 'no_token')
    assert shared_cluster.http(None).head('/v1/sharing').status_code == 401
    assert http.head('/v1/locations').status_code == 405


def say(cluster, text) -> str:
    """Sends those bytes, and reads until the gateway closes."""
    host, _, port = cluster.http_url.removeprefix('http://').partition(':')
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(text)
        answer = b''
        while part := connection.recv(65536):
            answer += part
        return answer.decode()


def test_what_two_servers_could_read_differently_is_refused(shared_cluster, member):
    user, _ = member
    token = shared_cluster.token(user).encode()
    inner = b'PUT /v1/profile HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ' + token + \
        b'\r\nContent-Length: 16\r\n\r\n{"name":"inner"}'
    for framing in (b'Content-Length: 5\r\nContent-Length: %d' % (len(inner) + 5), b'Content-Length: 5\r\nTransfer-Encoding: chunked',
                    b'Transfer-Encoding: chunked\r\nContent-Length: 5', b'Transfer-Encoding: xchunked'):
        answer = say(shared_cluster, b'POST /v1/locations HTTP/1.1\r\nHost: x\r\n' + framing + b'\r\n\r\n0\r\n\r\n' + inner)
        assert re.match(r'HTTP/1.1 (400|501) ', answer) and answer.count('HTTP/1.1 ') == 1
        assert 'Connection: close' in answer and 'application/problem+json' in answer
    for line in b'GET /v1/profile%00 HTTP/1.1', b'GET /v1/\x00 HTTP/1.1', b'GET /' + b'a' * 9000 + b' HTTP/1.1':
        answer = say(shared_cluster, line + b'\r\nHost: x\r\n\r\n' + inner)
        assert re.match(r'HTTP/1.1 4(00|14) ', answer) and answer.count('HTTP/1.1 ') == 1
        assert 'Connection: close' in answer and 'application/problem+json' in answer
    for line in b'nonsense', b'GET / HTTP/3.0', b'POST / HTTP/1.1\r\nContent-Length: x':
        answer = say(shared_cluster, line + b'\r\nHost: x\r\n\r\n' + inner)
        assert answer.startswith('HTTP/1.1 400 ') and answer.count('HTTP/1.1 ') == 1 and 'application/problem+json' in answer
    assert said(shared_cluster, user, 'profiles') == []


def total_of(cluster, **labels) -> float:
    try:
        return cluster.ingest.total('starling_ingest_requests_total', **labels)
    except KeyError:
        return 0


def test_requests_are_counted_by_route_and_status(shared_cluster, member):
    _, http = member
    count = functools.partial(total_of, shared_cluster)
    before = count(route='/v1/profiles/{user}', status='404')
    for user in range(3):
        problem(http.get(f'/v1/profiles/{user}'), 404, 'no_profile')
    assert count(method='GET', route='/v1/profiles/{user}', status='404') == before + 3
    shared_cluster.http(None).get('/v1/nothing')
    assert count(route='none', status='404') >= 1
    metrics = shared_cluster.ingest.metrics()
    assert metrics.total('starling_ingest_request_seconds_count', route='/v1/profiles/{user}') == count(route='/v1/profiles/{user}')
    assert metrics.total('starling_ingest_connections') >= 1


def test_the_page_and_its_settings_need_no_token(shared_cluster):
    http = shared_cluster.http(None)
    config = http.ok('GET', '/v1/config')
    assert config == {'ws_url': shared_cluster.ws_url, 'push_url': '', 'tile_url': '', 'map_url': '', 'map_attribution': '',
                      'radius_m': 8046.72}  # and no demonstration, no provider
    problem(http.get('/demo/people.json'), 404, 'no_such_path')
    problem(http.get('/../../etc/passwd'), 404, http.get('/../../etc/passwd').json()['code'])


def test_the_description_names_what_there_is():
    """docs/openapi.yaml against the tables of endpoints in ingest/ and what this file tests: every path and method, both ways;
    and every problem's code."""
    source = ''.join(file.read_text() for file in (REPOSITORY / 'ingest').rglob('*.c'))
    served = {(method, re.sub(r':\w+}', '}', path))
              for method, path in re.findall(r'\{"([A-Z]+)", "(/v1/[^"]+)", \w+, NEEDS_\w+\}', source)}
    tested = {(method, path.replace('/posts/5', '/posts/{id}').replace('/5', '/{user}').replace('/ada', '/{handle}')) for method, path in ENDPOINTS}
    assert served == tested | set(TEMPLATES) | OPEN
    described, path = set(), None
    text = (REPOSITORY / 'docs/openapi.yaml').read_text()
    for line in text.splitlines():
        if match := re.match(r'  (/\S+):$', line):
            path = match[1]
        elif match := re.match(r'    (get|put|post|delete|patch):$', line):
            described.add((match[1].upper(), path))
    assert described == served

    def codes(folder):
        return {code for file in (REPOSITORY / folder).rglob('*.c')
                for code in re.findall(r'\b[45]\d\d,\s*"([a-z_]+)"', file.read_text())}

    listed = set(re.search(r'enum: &codes\n((?: +- \w+\n)+)', text)[1].replace('-', ' ').split())
    ours = {'bad_token', 'shutting_down', 'bad_location', 'bad_method', 'bad_path', 'bad_request',  # not in that form, or in lib
            'bad_text', 'bad_media', 'bad_key', 'bad_subject', 'bad_reply_to', 'bad_version'}
    ours |= codes('lib/http') | codes('lib/service') - {'unauthorized', 'bad_query', 'misdirected', 'forbidden'}  # of ops ports and peers
    assert codes('ingest') | ours == listed


# trouble


def test_without_routers_commands_are_accepted_and_lists_are_not(make_cluster, users):
    cluster = make_cluster().start(routers=0, sinks=0, fanouts=0)
    a, b = users(2)
    http = cluster.http(a)
    response = http.put(f'/v1/friends/{b}')
    assert (response.status_code, response.json()) == (202, {'user': b, 'state': 'pending'})
    command, = said(cluster, a, 'friend-commands')
    assert abs(command.pop('time') - now_ms()) < 60_000
    assert command == {'kind': 'REQUEST', 'from': a, 'to': b, 'since': 0}
    problem(http.get('/v1/friends'), 503, 'owner_unavailable', retry=True)
    problem(http.get('/v1/history'), 503, 'owner_unavailable', retry=True)

    router = cluster.add('router')
    eventually(lambda: state(http, b) == 'requested', 30)  # the command was not lost
    router.pause()  # there, but it says nothing
    began = time.monotonic()
    assert cluster.http(b).put(f'/v1/friends/{a}').status_code == 202
    assert time.monotonic() - began < 6
    router.resume()
    eventually(lambda: state(http, b) == 'friends', 30)


def test_the_broker_goes_and_comes_back(make_cluster, broker, users):
    cluster = make_cluster().start(ingests=2, routers=0, sinks=0, fanouts=0)
    second = cluster.of('ingest')[1]
    user, other = users(2)
    http = cluster.http(user)
    cluster.share(user)
    http.ok('PUT', '/v1/profile', json={'name': 'Ada'})
    eventually(lambda: http.get('/v1/profile').ok)
    try:
        broker.stop()
        eventually(lambda: not cluster.ingest.ready(), 20)
        for method, path, body in [('POST', '/v1/locations', report()), ('PUT', '/v1/sharing', {'mode': 'off'}),
                                   ('PUT', '/v1/profile', {'name': 'Eve'}), ('PUT', f'/v1/friends/{other}', None)]:
            problem(http.request(method, path, json=body), 503, 'kafka_unavailable', retry=True)
        for path in '/v1/friends', '/v1/history':  # nobody says who the owners are
            problem(http.get(path), 503, 'owner_unavailable', retry=True)
        assert http.ok('GET', '/v1/profile')['name'] == 'Ada'  # what it knows, it says
        assert http.ok('GET', '/v1/sharing')['mode'] == 'friends'
        unstarted = cluster.add('ingest', wait=False)
        unstarted.wait_for_log('waiting for Kafka', 20)
        eventually(lambda: unstarted.get('/readyz').status_code == 503)
        assert unstarted.get('/healthz').status_code == 200
        assert second.stop() == 0  # in order, though Kafka does not answer
    finally:
        broker.start()
    for daemon in cluster.ingest, unstarted:
        daemon.wait_ready(60)
    problem(http.get('/v1/friends'), 503, 'owner_unavailable', retry=True)  # and the question from before kills nobody
    eventually(lambda: http.post('/v1/locations', json=report(time=777)).ok)
    assert [record['time'] for record in said(cluster, user)] == [777]
    assert said(cluster, user, 'profiles') == [{'name': 'Ada', 'avatar_url': ''}]


def test_a_frozen_broker_is_503_in_time(make_cluster, broker, user):
    cluster = make_cluster(settings={'ingest:ingest.produce.timeout.ms': 1500}).start(routers=0, sinks=0, fanouts=0)
    http = cluster.http(user)
    eventually(lambda: http.put('/v1/profile', json={'name': 'Ada'}).ok, 30)  # a busy broker's first answer may take as long
    try:
        broker.pause()
        began = time.monotonic()
        problem(http.put('/v1/profile', json={'name': 'Eve'}), 503, 'kafka_unavailable', retry=True)
        assert time.monotonic() - began < 8
    finally:
        broker.resume()
    eventually(lambda: http.put('/v1/profile', json={'name': 'Bea'}).ok, 30)
    cluster.ingest.wait_ready()


def start_of(daemon, *arguments, **settings):
    """Runs the daemon with other settings until it ends: (exit code, what it said)."""
    changed = [word for key, value in settings.items() for word in ('--set', f'{key.replace("_", ".")}={value}')]
    done = subprocess.run([build_folder() / f'starling-{daemon.kind}', '--config', daemon.properties, *changed, *arguments],
                          capture_output=True, text=True, timeout=20, env=clean_environment())
    return done.returncode, done.stdout + done.stderr


def test_a_gateway_that_could_serve_nobody_does_not_start(shared_cluster, tmp_path):
    daemon = shared_cluster.ingest
    nothing = {'auth_hs256_key_file': '', 'auth_rs256_public_key_file': ''}
    (tmp_path / 'file').touch()
    for arguments, refused in ([], 2), (['--check'], 1):
        for settings, reason in ((nothing, 'no key to check tokens with'), ({'web_dir': tmp_path / 'nowhere'}, 'nowhere'),
                                 ({'web_dir': tmp_path / 'file'}, 'is no folder'), ({'ingest_listen': 'x'}, 'ingest.listen'),
                                 ({'web_demo_dir': tmp_path / 'nowhere'}, 'nowhere'),
                                 ({'web_demo_dir': tmp_path, 'ingest_listen': '0.0.0.0:0'}, 'gives tokens to everybody'),
                                 ({'web_demo_dir': tmp_path, 'ingest_trusted_proxies': '10.0.0.1'}, 'gives tokens to everybody'),
                                 ({'web_demo_dir': tmp_path, 'ingest_cors_origins': '*'}, 'gives tokens to everybody'),
                                 ({'web_oidc_issuer': 'https://id.example', 'auth_issuer': 'https://id.example'}, 'auth.audience'),
                                 ({'web_oidc_issuer': 'https://id.example', 'auth_audience': 'starling'}, 'auth.issuer')):
            code, said_so = start_of(daemon, *arguments, **settings)
            assert code == refused and reason in said_so, said_so
    assert start_of(daemon, '--check') == (0, 'starling-ingest: the configuration is good\n')
    for other in shared_cluster.daemons:
        assert start_of(other, '--check')[0] == 0


def test_tokens_of_other_audiences_and_issuers_are_refused(make_cluster, user):
    cluster = make_cluster(settings={'ingest:auth.audience': 'starling', 'ingest:auth.issuer': 'https://id.example.org',
                                     'report.past.days': 30})
    cluster.start(routers=0, sinks=0, fanouts=0)
    good = {'aud': ['others', 'starling'], 'iss': 'https://id.example.org'}
    assert cluster.http(user, **good).get('/v1/sharing').ok
    for claims in {}, {**good, 'aud': 'others'}, {**good, 'iss': 'https://example.org'}, {'aud': 'starling'}:
        problem(cluster.http(user, **claims).get('/v1/sharing'), 401, 'bad_token')
    old_reports_are_refused(cluster.http(user, **good))


def old_reports_are_refused(http):
    assert http.ok('PUT', '/v1/sharing', json={'mode': 'friends'})
    month = 30 * 24 * 3600 * 1000
    for time_ms in now_ms() // 1000, now_ms() - month - 1:
        problem(http.post('/v1/locations', json=report(time=time_ms)), 400, 'bad_time')
    problem(http.post('/v1/locations', json={'locations': [report(), report(time=0)]}), 400, 'bad_time')
    assert http.post('/v1/locations', json=report(time=now_ms() - month + 60_000)).ok


def test_draining_answers_what_is_under_way(make_cluster, users):
    cluster = make_cluster().start(sinks=0, fanouts=0)
    a, b = users(2)
    http = cluster.http(a)
    cluster.routers[0].pause()
    with beside(http.put, [f'/v1/friends/{b}']) as (answer,):
        eventually(lambda: said(cluster, a, 'friend-commands'))
        assert cluster.ingest.stop() == 0
    assert answer.result().status_code == 202
    cluster.routers[0].resume()


def test_a_gateway_serves_until_balancers_have_noticed_that_it_ends(make_cluster, users):
    cluster = make_cluster(settings={'ingest:ingest.drain.notice.s': 3}).start(routers=0, sinks=0, fanouts=0)
    http = cluster.http(users(1)[0])
    cluster.ingest.terminate()
    eventually(lambda: cluster.ingest.get('/readyz').status_code == 503)
    for _ in range(10):
        with Http(cluster.http_url, cluster.token(users(1)[0])) as other:  # a connection of its own
            assert other.put('/v1/profile', json={'name': 'Mira'}).ok
        assert http.put('/v1/profile', json={'name': 'Ben'}).ok
        time.sleep(0.1)
    assert cluster.ingest.wait() == 0


def test_readyz_tells_what_nobody_owns(make_cluster):
    """A gateway without owners is ready, and says what it cannot serve; it takes it back when they come."""
    cluster = make_cluster()
    cluster.start(routers=0, fanouts=0, sinks=0)

    def cannot_serve():
        answer = cluster.ingest.get('/readyz')
        assert answer.status_code == 200 and answer.json()['ready'] is True
        return set(answer.json()['cannot_serve'])

    eventually(lambda: cannot_serve() == {'friends', 'history', 'feed', 'comments', 'places', 'search'}, 30)
    cluster.add('router')
    feed = cluster.add('feed')
    eventually(lambda: cannot_serve() == {'history', 'comments', 'places', 'search'}, 20)
    assert feed.stop() == 0
    eventually(lambda: cannot_serve() == {'history', 'comments', 'places', 'search', 'feed'}, 20)


def test_a_gateway_says_that_it_shares_its_port(make_cluster):
    """Two on one port share out its connections, wanted or not, so the later one says so; the first one does not."""
    cluster = make_cluster()
    cluster.start(routers=0, fanouts=0, sinks=0)
    second = cluster.add('ingest', settings={'ingest.listen': cluster.ingest.settings['ingest.listen']})
    told = 'event="another process listens there too'

    def said(daemon):
        return [line for line in daemon.log().splitlines() if told in line]

    [line] = said(second)
    assert 'level=warn' in line and f'address={second.settings["ingest.listen"]}' in line and 'setting=ingest.listen' in line
    assert said(cluster.ingest) == []
    assert cluster.ingest.stop() == 0  # the other one serves on, and alone it has nothing to say
    assert cluster.http(None).get('/v1/openapi.yaml').status_code == 200
    second.restart()
    assert said(second) == [line]
