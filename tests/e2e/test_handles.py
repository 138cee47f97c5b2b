"""Handles over the HTTP API: each belongs to one user at a time, whoever wants it at once and whatever dies meanwhile. Covers ingest/feed/handles.c,
feed/name_commands.c and feed/replies_names.c."""
import random
import shutil
import threading

import pytest

from harness.meanwhile import at_once, meanwhile
from harness.records import key_users
from harness.waiting import eventually

SETTINGS = {'ingest:ingest.outcome.wait.ms': 8000}
_chance = random.Random(13)


@pytest.fixture(scope='module')
def people(make_module_cluster):
    return make_module_cluster(settings=SETTINGS).start(routers=0, fanouts=0, sinks=0, feeds=1)


def fresh(count=1):
    """Handles that no other test has."""
    handles = [''.join(_chance.choice('abcdefghijklmnopqrstuvwxyz_0123456789') for _ in range(12)) for _ in range(count)]
    return handles[0] if count == 1 else handles


def put(cluster, user, handle):
    """Asks until it is decided; the status."""
    def decided():
        response = cluster.http(user).put('/v1/handle', json={'handle': handle})
        assert response.status_code in (200, 202, 409, 503), response.text
        return [response] if response.status_code in (200, 409) else None  # a response that is no success is false

    return eventually(decided, 60, what=f'{user} asks for {handle}')[0]


def give_up(cluster, user):
    eventually(lambda: cluster.http(user).delete('/v1/handle').status_code == 204, 60)


def holder(cluster, handle):
    """The user who is found by the handle; None: nobody."""
    def found():
        response = cluster.http(1).get(f'/v1/handles/{handle}')
        assert response.status_code in (200, 404, 503), response.text
        return [response] if response.status_code != 503 else None

    response, = eventually(found, 30)
    if response.status_code == 404:
        assert response.json()['code'] == 'no_handle'
        return None
    assert response.json()['handle'] == handle
    return response.json()['user']


def own(cluster, user):
    """The user's handle; None: there is none."""
    def shown():
        shown = cluster.http(user).ok('GET', f'/v1/users/{user}')
        return shown if 'posts' in shown else None  # without counts, its owner did not answer

    return eventually(shown, 30).get('handle')


def read_names(cluster):
    """The topic `names` as a table: what each user has, and who has each handle."""
    users, handles = {}, {}
    for key, record in cluster.topics.latest('names').items():
        if key[0] == 0x80:
            handles[key[1:].decode()] = record['user'], record['number']
        else:
            users[key_users(key)[0]] = record
    return users, handles


def wait_calm(cluster):
    """Nothing is under way: each user's handle is the one that its owner has given him, and no other handle is anybody's."""
    def calm():
        users, handles = read_names(cluster)
        assert not any(record['wish'] for record in users.values())
        assert handles == {record['handle']: (user, record['granted']) for user, record in users.items() if record['handle']}
        return True

    eventually(calm, 60, every=0.2)


def test_a_handle_is_chosen_changed_and_given_up(people, users):
    ada, ben = users(2)
    first, second = fresh(2)
    people.http(ada).ok('PUT', '/v1/profile', json={'name': 'Ada', 'avatar_url': '', 'bio': 'Countess'})
    eventually(lambda: people.http(ben).get(f'/v1/profiles/{ada}').ok)
    assert 'handle' not in people.http(ben).ok('GET', f'/v1/users/{ada}')
    assert holder(people, first) is None
    for written in (first, first.upper(), first):  # again is the same
        assert people.http(ada).ok('PUT', '/v1/handle', json={'handle': written}) == {'user': ada, 'handle': first}
    shown = people.http(ben).ok('GET', f'/v1/handles/{first}')
    assert shown == {'user': ada, 'name': 'Ada', 'avatar_url': '', 'bio': 'Countess', 'url': '', 'handle': first, 'followers': 0, 'following': 0,
                     'posts': 0, 'follow': None}
    assert people.http(ben).ok('GET', f'/v1/users/{ada}') == shown
    assert people.http(ben).ok('GET', f'/v1/handles/{first.upper()}') == shown
    follow = shown.pop('follow')
    assert follow is None and people.gateway().get(f'/v1/handles/{first}').json() == shown  # a gateway follows nobody

    people.http(ben).refused('PUT', '/v1/handle', 409, 'handle_taken', json={'handle': first})
    assert own(people, ben) is None

    assert put(people, ada, second).status_code == 200
    assert (holder(people, first), holder(people, second), own(people, ada)) == (None, ada, second)
    eventually(lambda: put(people, ben, first).status_code == 200)  # once the former one is given back
    assert put(people, ada, first).status_code == 409
    assert own(people, ada) == second  # a refused wish changes nothing

    for _ in range(2):  # also when there is none any more
        gone = people.http(ada).delete('/v1/handle')
        assert (gone.status_code, gone.content) == (204, b'')
        assert (holder(people, second), own(people, ada)) == (None, None)
    eventually(lambda: put(people, ben, second).status_code == 200)
    wait_calm(people)


def test_lists_of_users_have_names_and_handles(make_cluster, users):
    """One answer each, whichever processes have the users; a list does not fail because one of them is away."""
    cluster = make_cluster(settings=SETTINGS).start(fanouts=0, sinks=0, feeds=2)
    me, *others = users(9)
    handles = dict(zip(others, fresh(8)))
    handles[others[-1]] = None  # with neither a handle nor a profile
    me_as = cluster.http(me)
    for user, handle in handles.items():
        me_as.ok('PUT', f'/v1/follows/{user}')
        cluster.http(user).ok('PUT', f'/v1/follows/{me}')
        if handle:
            cluster.http(user).ok('PUT', '/v1/profile', json={'name': f'N{user}', 'avatar_url': f'https://x.example/{user}'})
            assert put(cluster, user, handle).status_code == 200
    cluster.befriend(*((me, user) for user in others))

    def row(user, empty=None):
        name, url = (f'N{user}', f'https://x.example/{user}') if handles[user] else (empty, empty)
        return {'user': user, 'name': name, 'avatar_url': url, 'handle': handles[user]}

    wanted = [row(user) for user in others]
    ids = [*others[::-1], others[0]]
    eventually(lambda: me_as.ok('GET', f'/v1/users?ids={",".join(map(str, ids))}') == {'items': [row(user) for user in ids]})
    for what in 'followers', 'following':
        for limit in (3, 1000):
            pages = list(me_as.pages(f'/v1/users/{me}/{what}', limit=limit))
            assert [item for page in pages for item in page['items']] == wanted and {page['total'] for page in pages} == {8}
    friends = [{name: item[name] for name in wanted[0]} for item in me_as.items('/v1/friends', limit=3)]
    assert friends == [row(user, '') for user in others]
    assert cluster.gateway().get('/v1/users?ids=0').json()['items'][0]['user'] == 0

    told = []
    for away in cluster.of('feed'):
        away.pause()
        try:
            items = me_as.ok('GET', f'/v1/users?ids={",".join(map(str, others))}')['items']
        finally:
            away.resume()
        assert [item['name'] for item in items] == [item['name'] for item in wanted]
        told.append([item['handle'] for item in items])
    assert all({first, second} == {None, handles[user]} for user, first, second in zip(others, *told))


@pytest.mark.parametrize('ids', ['', ',', '1,', '-1', 'a', '1,,2', '9223372036854775808', ','.join(map(str, range(101)))])
def test_ids_that_are_none(people, users, ids):
    people.http(users(1)[0]).refused('GET', f'/v1/users?ids={ids}', 400, 'bad_query')


def test_a_hundred_users_at_once(people, users):
    me, = users(1)
    assert len(people.http(me).ok('GET', f'/v1/users?ids={",".join(map(str, range(100)))}')['items']) == 100
    people.http(me).refused('GET', '/v1/users', 400, 'bad_query')


def test_what_was_answered_can_be_read_at_once(people, users):
    """By others too, though the handle and the user may have different owners."""
    ada, ben = users(2)
    former = None
    for handle in fresh(30):
        assert put(people, ada, handle).status_code == 200
        assert people.http(ben).ok('GET', f'/v1/handles/{handle}')['user'] == ada
        assert former is None or holder(people, former) is None
        former = handle


@pytest.mark.parametrize('body, code', [
    ({}, 'bad_handle'),
    ({'handle': None}, 'bad_handle'),
    ({'handle': 5}, 'bad_handle'),
    ({'handle': ''}, 'bad_handle'),
    ({'handle': 'ad'}, 'bad_handle'),
    ({'handle': 'a' * 31}, 'bad_handle'),
    ({'handle': 'a b'}, 'bad_handle'),
    ({'handle': '@ada'}, 'bad_handle'),
    ({'handle': 'ädä'}, 'bad_handle'),
    ({'handle': 'ada\n'}, 'bad_handle'),
    ({'handle': '\u212aelvin'}, 'bad_handle'),
    ([], 'bad_message'),
])
def test_bad_handles_are_refused(people, ada, body, code):
    ends = people.topics.ends('name-commands')
    people.http(ada).refused('PUT', '/v1/handle', 400, code, json=body)
    assert people.topics.ends('name-commands') == ends


def test_handles_that_are_none_or_nobodys(people, ada):
    for path in ['ab', 'a' * 31, 'a-b', '%20ada', 'ad%C3%A4']:
        people.http(ada).refused('GET', f'/v1/handles/{path}', 400, 'bad_path')
    assert holder(people, fresh()) is None


def test_of_many_who_want_one_at_once_one_gets_it(people, users):
    for _ in range(5):
        crowd, handle = users(8), fresh()
        start = threading.Barrier(len(crowd))

        def want(user):
            start.wait()
            return put(people, user, handle).status_code

        statuses = at_once(want, crowd)
        assert sorted(statuses) == [200] + [409] * 7
        winner = crowd[statuses.index(200)]
        assert holder(people, handle) == winner
        assert [user for user in crowd if own(people, user) == handle] == [winner]


def test_changes_of_mind_leave_one_handle(people, users):
    """Requests of one user at once: the last one that is decided counts, and all others' handles are free again."""
    ada, ben = users(2)
    handles = fresh(6)
    wishes = [('PUT', {'json': {'handle': handle}}) for handle in handles]
    answers = at_once(lambda wish: people.http(ada).request(wish[0], '/v1/handle', **wish[1]), [*wishes, ('DELETE', {})])
    assert {answer.status_code for answer in answers} <= {200, 202, 204, 409, 503}
    wait_calm(people)
    left = own(people, ada)
    assert [handle for handle in handles if holder(people, handle) == ada] == ([left] if left else [])
    for handle in handles:
        assert put(people, ben, handle).status_code == (409 if handle == left else 200)


def test_records_that_are_no_steps_are_dead_letters(people, ada):
    step = {'kind': 'WISH', 'user': ada, 'handle': fresh(), 'number': 0, 'time': 1}
    bad = [{**step, 'handle': 'A-B'}, {**step, 'user': -1}, {**step, 'number': 5}, {**step, 'kind': 'GRANTED'}]
    for record in bad:
        people.topics.produce('name-commands', ada, ('name-command', record))
    eventually(lambda: sum(letter.key == ada.to_bytes(8, 'big') for letter in people.topics.read('name-commands.dlq')) == len(bad))
    assert own(people, ada) is None


# ---- processes that die ----

def test_what_is_left_when_no_feed_process_runs(make_cluster, users):
    ada, ben = users(2)
    handle = fresh()
    cluster = make_cluster().start(routers=0, fanouts=0, sinks=0, feeds=1)
    assert put(cluster, ada, handle).status_code == 200
    cluster.feeds[0].kill()
    away = cluster.http(ben).get(f'/v1/handles/{handle}')
    assert (away.status_code, away.json()['code'], away.headers['Retry-After']) == (503, 'owner_unavailable', '1')
    for method, body in (('PUT', {'handle': handle}), ('DELETE', None)):
        late = cluster.http(ben).request(method, '/v1/handle', json=body)
        assert (late.status_code, late.json()) == (202, {'user': ben, 'state': 'pending'})
    cluster.feeds[0].start()
    assert holder(cluster, handle) == ada
    assert put(cluster, ben, handle).status_code == 409
    cluster.feeds[0].kill()
    shutil.rmtree(cluster.feeds[0].settings['data.dir'])
    cluster.feeds[0].start()  # from an empty disk
    assert (holder(cluster, handle), own(cluster, ada), own(cluster, ben)) == (ada, handle, None)


@pytest.mark.slow
def test_both_processes_are_killed_while_handles_change(make_cluster, users):
    cluster = make_cluster(settings=SETTINGS).start(routers=0, fanouts=0, sinks=0, feeds=2)
    crowd, handles = users(8), fresh(5)
    chances = {user: random.Random(user) for user in crowd}

    def act(user):
        if chances[user].random() < 0.2:
            give_up(cluster, user)
            return
        handle = chances[user].choice(handles)
        if put(cluster, user, handle).status_code == 200:
            assert own(cluster, user) == handle

    with meanwhile(crowd, act):
        for process in cluster.feeds:
            before = sum(cluster.topics.ends('names').values())
            eventually(lambda: sum(cluster.topics.ends('names').values()) > before + 100, 60, every=0.2)
            process.kill()
            process.start()
    wait_calm(cluster)
    found = {handle: holder(cluster, handle) for handle in handles}
    assert {user: own(cluster, user) for user in crowd} == {
        user: next((handle for handle in handles if found[handle] == user), None) for user in crowd}
    for handle in handles:  # and none is lost
        wanted = put(cluster, crowd[0], handle).status_code
        assert wanted == (200 if found[handle] in (None, crowd[0]) else 409)
        give_up(cluster, crowd[0])
        if found[handle] == crowd[0]:
            found[handle] = None
        wait_calm(cluster)
