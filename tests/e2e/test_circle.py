"""One's circle: who can see a user now, and for how long. The API's answers are held against what the friends' screens show. Covers
ingest/nearby/audience.c."""
import itertools

import pytest

from harness.geo import HOME, at, e7
from harness.records import decode, user_key
from harness.waiting import eventually, now_ms

FAR = at(20000)
ELSEWHERE = -33.9, 18.4


@pytest.fixture(scope='module')
def city(make_module_cluster):
    return make_module_cluster(partitions=2, delivery_partitions=2, settings={'router:discover.delay.s': 0}).start(sinks=0)


def audience(city, user, limit=100):
    """The whole of it, page by page: {friend: near}."""
    pages = list(city.http(user).pages('/v1/audience', limit=limit))
    assert all(page['visible'] or (page['items'] == [] and page['next'] is None) for page in pages)
    return {item['user']: item['near'] for page in pages for item in page['items']}


def agree(city, user, phones, wanted):
    """The audience is this one, and the screens of its phones show the user exactly where it says near."""
    def same():
        said = audience(city, user)
        shown = {phone.user for phone in phones if user in phone.friends()}
        assert said == wanted and shown == {friend for friend, near in said.items() if near}, f'{said}, on screens of {shown}'
        return True

    eventually(same, 10)


# who can see me

def test_the_audience_is_who_has_the_user_on_the_screen(city, users):
    ada, ben, cleo, dan, eve, fay, gus = users(7)
    city.share(ada, ben, cleo, eve, fay, gus)
    city.befriend(*((ada, other) for other in (ben, cleo, dan, eve, gus)))
    city.http(ada).ok('PUT', f'/v1/blocks/{gus}')
    assert city.http(ada).ok('GET', '/v1/audience') == {'mode': 'friends', 'visible': False, 'items': [], 'next': None}
    # Dan does not share, Eve has not reported, Fay is nobody's friend, Gus is blocked.
    phones = [city.online(user, *place) for user, place in [(ben, HOME), (cleo, FAR), (dan, HOME), (fay, HOME), (gus, HOME)]]
    me = city.online(ada, *HOME)
    agree(city, ada, phones, {ben: True, cleo: False})
    assert audience(city, ada, limit=1) == {ben: True, cleo: False}
    assert audience(city, ben) == {ada: True}
    phones[1].report(*HOME)
    agree(city, ada, phones, {ben: True, cleo: True})
    city.report_http(eve, *FAR)  # without a socket
    agree(city, ada, phones, {ben: True, cleo: True, eve: False})
    city.http(ben).ok('DELETE', f'/v1/friends/{ada}')
    agree(city, ada, phones, {cleo: True, eve: False})
    city.share(cleo, mode='off')
    assert cleo not in audience(city, ada)  # at once: the gateway need not wait for the router
    agree(city, ada, phones, {eve: False})
    city.share(ada, mode='off')
    assert city.http(ada).ok('GET', '/v1/audience')['mode'] == 'off'
    agree(city, ada, phones, {})
    city.share(ada, cleo)
    me.report(*HOME)
    phones[1].report(*HOME)
    agree(city, ada, phones, {cleo: True, eve: False})


def test_a_bad_page_of_the_audience_is_refused(city, user):
    for query in {'limit': 0}, {'limit': 1001}, {'limit': 'x'}, {'after': '-1'}, {'after': 'x'}:
        answer = city.http(user).get('/v1/audience', params=query)
        assert answer.status_code == 400 and answer.json()['code'] == 'bad_query'


# for how long

def records_of(city, topic, user):
    """[(message, record)] of one user's key."""
    return [(m, decode(m.value)) for m in city.topics.read(topic) if m.key == user_key(user)]


def until(city, user, seconds, mode='friends'):
    """Goes on sharing for so long; returns when that ends, ms."""
    end = now_ms() + round(seconds * 1000)
    assert city.http(user).ok('PUT', '/v1/sharing', json={'mode': mode, 'until': end}) == {'user': user, 'mode': mode, 'until': end}
    return end


def wait_gone(phones, user, end):
    """The user leaves all these screens, and not before the end."""
    eventually(lambda: not any(user in phone.friends() for phone in phones), 20, every=0.01)
    assert now_ms() >= end


def friends_together(city, users):
    """Friends of each other at one place, with phones that show it."""
    city.share(*users)
    city.befriend(*itertools.combinations(users, 2))
    phones = [city.online(user, *HOME) for user in users]
    for phone in phones:
        phone.wait_screen(set(users) - {phone.user})
    return phones


def wait_left(city, user):
    """The owner has told all routers that the user is gone, by the record that had the end."""
    eventually(lambda: records_of(city, 'locations', user)[-1][1]['kind'] == 'LEAVE', 30)
    assert records_of(city, 'locations', user)[-1][1]['opted'] == records_of(city, 'sharing', user)[-1][0].offset


def test_sharing_ends_by_itself(city, users):
    ada, ben, cleo = users(3)
    me, *others = friends_together(city, (ada, ben, cleo))
    end = until(city, ada, 1.5)
    assert city.http(ada).ok('GET', '/v1/sharing') in ({'user': ada, 'mode': 'friends', 'until': end}, {'user': ada, 'mode': 'off'})
    wait_gone(others, ada, end)
    # As if she had opted out: her screen is empty, she is OFF, and her reports are refused.
    me.wait_screen(set())
    eventually(lambda: city.http(ada).ok('GET', '/v1/sharing') == {'user': ada, 'mode': 'off'})
    assert city.report_http(ada, *HOME).status_code == 403
    wait_left(city, ada)
    eventually(lambda: city.http(ada).ok('GET', '/v1/audience') == {'mode': 'off', 'visible': False, 'items': [], 'next': None})
    me.report(*HOME)  # the edge keeps it back
    # A report that was checked before the end comes late: no router believes it.
    late = records_of(city, 'sharing', ada)[-1][0].offset
    city.topics.produce('locations', ada, ('location', {
        'kind': 'REPORT', 'user': ada, 'session': 0, 'route': -1, 'lat': e7(HOME[0]), 'lng': e7(HOME[1]), 'time': now_ms(),
        'accuracy': -1, 'opted': late}))
    for phone in others:
        phone.report(*HOME)
    eventually(lambda: audience(city, ben) == {cleo: True})
    assert all(phone.friends() == {ben, cleo} - {phone.user} for phone in others)
    # In again, without an end.
    city.share(ada)
    for phone in (me, *others):
        phone.wait_screen({ada, ben, cleo} - {phone.user})
    assert city.http(ada).ok('GET', '/v1/sharing') == {'user': ada, 'mode': 'friends'}


def test_a_later_end_or_none_replaces_the_first(city, users):
    ada, ben, cleo = users(3)
    phones = friends_together(city, (ada, ben, cleo))
    first = [until(city, user, 60) for user in (ada, ben)]
    last = until(city, ada, 2), until(city, ben, 1)
    city.share(ben)
    assert city.http(ben).ok('GET', '/v1/sharing') == {'user': ben, 'mode': 'friends'} and min(first) > max(last)
    wait_gone([phones[2]], ada, last[0])
    assert ben in phones[2].friends() and now_ms() > last[1]


def test_strangers_lose_the_user_at_the_end_too(city, users):
    ada, ben = users(2)
    city.share(ada, ben, mode='public')
    for user in (ada, ben):
        eventually(lambda user=user: city.report_http(user, *ELSEWHERE).ok)

    def seen_by(user):
        answer = city.http(user).get('/v1/discover')
        return answer.status_code == 200 and [item['user'] for item in answer.json()['items']]

    eventually(lambda: seen_by(ben) == [ada] and seen_by(ada) == [ben])
    end = until(city, ada, 1.5, mode='public')
    eventually(lambda: seen_by(ben) == [], 20)
    assert now_ms() >= end
    eventually(lambda: city.http(ada).get('/v1/discover').status_code == 403)


@pytest.mark.parametrize('body', [{'mode': 'friends', 'until': 1}, {'mode': 'friends', 'until': 'tonight'}, {'mode': 'friends', 'until': 0},
                                  {'mode': 'friends', 'until': -5}, {'mode': 'friends', 'until': 2 ** 47}, {'mode': 'friends', 'until': 1e13 + 0.5},
                                  {'mode': 'off', 'until': 2 ** 46}])
def test_a_bad_end_is_refused(city, user, body):
    answer = city.http(user).put('/v1/sharing', json=body)
    assert answer.status_code == 400 and answer.json()['code'] == 'bad_until'
    assert city.http(user).ok('GET', '/v1/sharing') == {'user': user, 'mode': 'off'}


def test_the_end_needs_no_router(city, users):
    ada, ben = users(2)
    me, other = friends_together(city, (ada, ben))
    end = until(city, ada, 3)
    city.routers[0].kill()
    wait_gone([other], ada, end)
    city.routers[0].start()
    wait_left(city, ada)
    assert other.friends() == set()
    city.share(ada)
    me.wait_screen({ben})
    other.wait_screen({ada})


def test_the_end_comes_while_every_daemon_is_away(city, users):
    ada, ben = users(2)
    friends_together(city, (ada, ben))
    end = until(city, ada, 2)
    away = [city.ingest, city.routers[0], city.fanouts[0]]
    for daemon in away:
        daemon.kill()
    eventually(lambda: now_ms() > end)
    for daemon in away:
        daemon.start(wait=False)
    for daemon in away:
        daemon.wait_ready()
    other = city.online(ben, *HOME)
    wait_left(city, ada)
    eventually(lambda: city.http(ben).get('/v1/audience').ok, 20)
    assert audience(city, ben) == {} and other.friends() == set()
    assert city.http(ada).ok('GET', '/v1/sharing') == {'user': ada, 'mode': 'off'}
