"""GET /v1/users/{user}/mutual-friends: whom the caller and the user both have as friends, as two routers answer. Covers ingest/nearby/mutual.c."""
import itertools
import random

import pytest

from harness.http import problem
from harness.waiting import eventually


@pytest.fixture(scope='module')
def cluster(make_module_cluster):
    return make_module_cluster().start(routers=2, feeds=1)


def mutual(cluster, me, user, limit=20):
    """(users on all pages, total)"""
    pages = list(cluster.http(me).pages(f'/v1/users/{user}/mutual-friends', limit=limit))
    assert len({page['total'] for page in pages}) == 1, pages
    return [item['user'] for page in pages for item in page['items']], pages[0]['total']


def test_both_see_whom_both_have_and_nobody_else(cluster, users):
    people = users(16)
    chance = random.Random(5)
    pairs = [pair for pair in itertools.combinations(people, 2) if chance.random() < 0.5]
    cluster.befriend(*pairs)
    for asker, asked in chance.sample(list(itertools.combinations(people, 2)), 12):
        if (asker, asked) not in pairs:
            cluster.http(asker).ok('PUT', f'/v1/friends/{asked}')  # a request makes nobody a friend
    friends = {user: {a if b == user else b for a, b in pairs if user in (a, b)} for user in people}
    sizes = set()
    for me, user in itertools.permutations(people, 2):
        wanted = sorted(friends[me] & friends[user])
        assert mutual(cluster, me, user) == (wanted, len(wanted))
        assert mutual(cluster, me, user, limit=chance.randint(1, 4)) == (wanted, len(wanted))
        sizes.add(len(wanted))
    assert max(sizes) > 4 and all(router.total('starling_router_caught_up') == 1 for router in cluster.routers)


def test_rows_are_those_of_other_lists_and_places_are_not_concerned(cluster, users):
    me, user, friend = users(3)
    cluster.befriend((me, friend), (user, friend))
    cluster.http(friend).ok('PUT', '/v1/profile', json={'name': 'Mira'})
    cluster.http(friend).ok('PUT', '/v1/handle', json={'handle': f'mira_{friend}'})
    for door in me, user, friend:
        cluster.share(door, mode='off')
    wanted = {'items': [{'user': friend, 'name': 'Mira', 'avatar_url': '', 'handle': f'mira_{friend}'}], 'next': None, 'total': 1}
    eventually(lambda: cluster.http(me).ok('GET', f'/v1/users/{user}/mutual-friends') == wanted)
    cluster.http(friend).ok('DELETE', f'/v1/friends/{user}')
    eventually(lambda: mutual(cluster, me, user) == mutual(cluster, user, me) == ([], 0), what='the friendship is over')


def test_a_block_shows_nobody_to_either(cluster, users):
    me, user, friend = users(3)
    cluster.befriend((me, friend), (user, friend))
    eventually(lambda: mutual(cluster, me, user) == mutual(cluster, user, me) == ([friend], 1))
    cluster.http(me).ok('PUT', f'/v1/blocks/{user}')
    eventually(lambda: mutual(cluster, me, user) == mutual(cluster, user, me) == ([], 0), what='nobody across the block')
    assert cluster.friends_of(me) == cluster.friends_of(user) == {friend}
    cluster.http(user).ok('PUT', f'/v1/blocks/{me}')
    cluster.http(me).ok('DELETE', f'/v1/blocks/{user}')
    eventually(lambda: mutual(cluster, me, user) == mutual(cluster, user, me) == ([], 0), what='the other one still blocks')
    cluster.http(user).ok('DELETE', f'/v1/blocks/{me}')
    eventually(lambda: mutual(cluster, me, user) == mutual(cluster, user, me) == ([friend], 1))


def test_who_is_not_known_has_nobody_and_oneself_is_refused(cluster, users):
    me, friend = users(2)
    cluster.befriend((me, friend))
    assert mutual(cluster, me, 2**62) == mutual(cluster, me, friend) == ([], 0)
    http = cluster.http(me)
    problem(http.get(f'/v1/users/{me}/mutual-friends'), 400, 'same_user')
    for query in {'limit': 0}, {'limit': 1001}, {'after': 'x'}:
        problem(http.get(f'/v1/users/{friend}/mutual-friends', params=query), 400, 'bad_query')


def test_a_router_that_goes_takes_no_list_with_it(make_cluster, users):
    cluster = make_cluster().start(routers=2, feeds=1)
    people = users(8)
    hub, *others = people
    cluster.befriend(*((hub, other) for other in others))
    pairs = list(itertools.permutations(others, 2))
    eventually(lambda: all(mutual(cluster, *pair) == ([hub], 1) for pair in pairs))
    assert cluster.routers[0].stop() == 0

    def whole():
        answers = [cluster.http(me).get(f'/v1/users/{user}/mutual-friends') for me, user in pairs]
        for answer in answers:  # all or nothing
            assert answer.status_code == 503 or answer.json()['total'] == 1, answer.text
        return all(answer.ok for answer in answers)

    eventually(whole, 30)
