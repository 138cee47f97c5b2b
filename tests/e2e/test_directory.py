"""Users whom a sign-in provider knows by texts: each gets one number, whatever dies meanwhile. Covers lib/users/sign_ins.c, ingest/sign_in.c,
feed/commands_directory.c and feed/outcomes.c."""
import collections
import random
import threading
import urllib.parse

import pytest

from harness.http import Http
from harness.jwks import Provider
from harness.meanwhile import at_once
from harness.people import ISSUER, People, fresh, number_of, settings_of
from harness.records import key_users
from harness.waiting import eventually


@pytest.fixture(scope='module')
def provider():
    with Provider() as made:
        made.publish('one')
        yield made


@pytest.fixture(scope='module')
def people(make_module_cluster, provider):
    cluster = make_module_cluster(settings=settings_of(provider))
    return People(cluster.start(sinks=0, feeds=1), provider)


def test_a_user_signs_in_and_is_a_number(people):
    ada, ben = fresh(), fresh()
    me = people.me(ada)
    assert me == {'user': number_of(ada), 'external': ada}
    assert people.http(ada).ok('GET', '/v1/me') == me
    # The edge was not told by the gateway; the second user signs in there for the first time.
    assert [people.welcome(external) for external in (ada, ben)] == [number_of(ada), number_of(ben)]
    assert people.entries()[number_of(ben)] == [ben]

    http, other = people.http(ada), people.http(ben)
    http.ok('PUT', '/v1/profile', json={'name': 'Ada'})
    eventually(lambda: other.get(f'/v1/profiles/{me["user"]}').ok)
    found = other.ok('GET', f'/v1/externals/{urllib.parse.quote(ada, safe="")}')
    assert found == {'user': me['user'], 'external': ada}
    ends = people.cluster.topics.ends('directory-commands')
    texts = [ben, 'auth0|nobody', ada, 'with/slash']
    assert other.ok('GET', '/v1/externals', params={'externals': ','.join(texts)}) == {'users': [
        {'user': number_of(text), 'external': text} for text in (ben, ada)]}
    assert other.ok('GET', '/v1/externals', params={'externals': f'{ben},{ben}'})['users'] == [{'user': number_of(ben), 'external': ben}] * 2
    asked = other.ok('GET', '/v1/externals', params={'users': f'{number_of(ben)},7,{number_of(ada) + 1},{number_of(ada)},{number_of("auth0|nobody")}'})
    assert asked == {'users': [{'user': number_of(text), 'external': text} for text in (ben, ada)]}
    assert other.ok('GET', '/v1/externals', params={'users': number_of(ada), 'externals': ben}) == {'users': asked['users'][:2]}
    assert other.ok('GET', '/v1/externals') == {'users': []}
    for bad in ({'users': ''}, {'users': 'a'}, {'users': ','.join(['1'] * 101)}, {'users': '1', 'externals': ''}):
        other.refused('GET', '/v1/externals', 400, 'bad_query', params=bad)
    for bad in ('', 'a,,b', 'a b', 'x' * 256, ','.join(['a'] * 101)):
        other.refused('GET', '/v1/externals', 400, 'bad_query', params={'externals': bad})
    other.refused('GET', '/v1/externals/auth0%7Cnobody', 404, 'no_user')
    other.refused('GET', '/v1/externals/a%20b', 404, 'no_user')
    assert people.cluster.topics.ends('directory-commands') == ends  # who is looked up gets no number
    assert eventually(lambda: other.put(f'/v1/follows/{me["user"]}').status_code == 200, 30)


def test_paths_take_texts(people):
    """People do what they do in their first five minutes, each known to the others by a text alone."""
    ada, ben = fresh(), fresh()
    a, b = people.http(ada), people.http(ben)
    numbers = {external: people.me(external)['user'] for external in (ada, ben)}
    path = {external: urllib.parse.quote(external, safe='') for external in (ada, ben)}
    b.refused('PUT', '/v1/follows/auth0%7Cnobody', 404, 'no_user')
    b.refused('PUT', '/v1/follows/a%20b', 400, 'bad_user')
    b.refused('PUT', f'/v1/follows/{path[ben]}', 400, 'same_user')
    for http, other in ((a, ben), (b, ada)):
        http.ok('PUT', f'/v1/friends/{path[other]}')
    eventually(lambda: [(one['user'], one['state']) for one in a.ok('GET', '/v1/friends')['items']] == [(numbers[ben], 'friends')], 30)
    assert eventually(lambda: b.put(f'/v1/follows/{path[ada]}').status_code == 200, 30)
    post = a.ok('POST', '/v1/posts', json={'text': 'Good morning', 'key': 'one'})
    eventually(lambda: [one['id'] for one in b.ok('GET', '/v1/feed')['items']] == [post['id']], 30)
    assert [one['id'] for one in b.ok('GET', f'/v1/users/{path[ada]}/posts')['items']] == [post['id']]
    eventually(lambda: [one['user'] for one in b.ok('GET', f'/v1/users/{path[ada]}/followers')['items']] == [numbers[ben]], 30)
    assert b.ok('GET', f'/v1/users/{path[ada]}')['user'] == numbers[ada]
    a.ok('PUT', '/v1/profile', json={'name': 'Ada'})
    eventually(lambda: b.get(f'/v1/profiles/{path[ada]}').ok, 30)
    a.ok('PUT', f'/v1/blocks/{path[ben]}')
    eventually(lambda: b.put(f'/v1/follows/{path[ada]}').status_code == 403, 30)


def test_programs_and_others_are_no_users(people):
    gateway = people.http('abc@clients', scope='gateway')
    gateway.refused('GET', '/v1/me', 403, 'not_a_user')
    for claims in ({'sub': 'a b'}, {'sub': None}, {'sub': 'x' * 256}, {'aud': 'other'}, {'iss': 'https://app.eu.auth0.com'}):
        token = people.provider.token('one', 'x', **{'aud': 'starling', 'iss': ISSUER, **claims})
        Http(people.cluster.http_url, token).refused('GET', '/v1/me', 401, 'bad_token')
    assert not any('abc@clients' in externals for externals in people.entries().values())


def test_records_that_are_no_commands_are_dead_letters(people):
    ada = fresh()
    bad = [{'kind': 'SIGN_IN', 'user': number_of(ada), 'external': 'other'}, {'kind': 'SIGN_IN', 'user': number_of(ada), 'external': ''}]
    for record in bad:
        people.cluster.topics.produce('directory-commands', number_of(ada), ('directory-command', record))
    eventually(lambda: sum(letter.key == number_of(ada).to_bytes(8, 'big')
                           for letter in people.cluster.topics.read('directory-commands.dlq')) == len(bad))
    assert number_of(ada) not in people.entries()


def test_texts_of_one_hash_are_two_users(people):
    """As if another text had come first: the owner gives the next place, and nobody takes the first one's number."""
    ada, first = fresh(), fresh()
    people.cluster.topics.produce('directory', number_of(ada), ('directory-entry', {'externals': [first]}))
    other = people.http(fresh())  # the owner has read the row
    eventually(lambda: other.get('/v1/externals', params={'users': number_of(ada)}).text.count(first), 60)
    user = people.me(ada)['user']
    assert user == number_of(ada) + 1
    assert people.entries()[number_of(ada)] == [first, ada]
    http = people.http(ada)
    http.ok('PUT', '/v1/sharing', json={'mode': 'friends'})
    assert {number_of(ada) + 1} == {key_users(key)[0] for key in people.cluster.topics.latest('sharing')} & {number_of(ada), number_of(ada) + 1}
    assert people.welcome(ada) == user
    eventually(lambda: http.ok('GET', '/v1/externals', params={'users': f'{user},{number_of(ada)}'})['users'] == [
        {'user': user, 'external': ada}, {'user': number_of(ada), 'external': first}], 30)


def test_whoever_is_forgotten_leaves_no_text(people):
    ada = fresh()
    http = people.http(ada)
    people.me(ada)
    assert people.entries()[number_of(ada)] == [ada]
    eventually(lambda: http.delete('/v1/me').status_code in (200, 202), 30)
    eventually(lambda: number_of(ada) not in people.entries(), 30)
    other = people.http(fresh())
    eventually(lambda: other.get('/v1/externals', params={'users': number_of(ada)}).text == '{"users":[]}', 30)


def test_numbers_outlive_processes(make_cluster, provider):
    """Many sign in at once, at two gateways and an edge, while feed processes die: each text has one number everywhere, and for good."""
    cluster = make_cluster(settings=settings_of(provider))
    cluster.start(routers=0, sinks=0, fanouts=0, ingests=2, feeds=2)
    people, externals, seen, chance = People(cluster, provider), [fresh() for _ in range(60)], collections.defaultdict(set), random.Random(5)
    # Some share their hash with one that was there before.
    shared = set(chance.sample(externals, 10))
    for external in shared:
        cluster.topics.produce('directory', number_of(external), ('directory-entry', {'externals': [fresh()]}))
    http = people.http(fresh())
    eventually(lambda: len(http.ok('GET', '/v1/externals', params={'users': ','.join(str(number_of(text)) for text in shared)})['users']) == 10, 60)
    started = threading.Semaphore(0)

    def sign_in(external):
        for gateway in cluster.of('ingest'):
            def answered(at=f'http://{gateway.settings["ingest.listen"]}'):
                response = Http(at, people.token(external)).get('/v1/me')
                started.release()
                assert response.status_code in (200, 503), response.text
                return response.ok and [response.json()['user']]
            seen[external].update(eventually(answered, 120))

    def all_sign_in():
        for many in (externals[:20], externals[20:40], externals[40:]):
            at_once(sign_in, many)

    crowd = threading.Thread(target=all_sign_in)
    crowd.start()
    for process in cluster.feeds * 2:
        assert started.acquire(timeout=60)  # somebody signs in just now
        process.kill()
        process.start()
    crowd.join()
    assert len(seen) == len(externals) and all(len(numbers) == 1 for numbers in seen.values()), seen
    entries = people.entries()
    for external, numbers in seen.items():
        number, = numbers
        assert number == number_of(external) + (external in shared)
        assert entries[number_of(external)][number - number_of(external)] == external
    for record in cluster.topics.read('directory'):  # and no place ever changed
        assert record.value is not None
