"""What starling-places answers to gateways' questions, and that what it is asked is that of the owner. Covers places/answers.c, places/places.c and
places/topology.c."""
import pytest

from harness.geo import HOME, at
from harness.http import Http
from harness.placing import Placing
from harness.records import decode, key_users
from harness.waiting import eventually, now_ms


@pytest.fixture(scope='module')
def cluster(make_module_cluster):
    return make_module_cluster().start(ingests=0, routers=0, fanouts=0, sinks=0, places=2)


@pytest.fixture
def placing(cluster):
    return Placing(cluster)


@pytest.fixture
def ask(cluster):
    def ask(path, **query):
        """Whichever process owns the user."""
        def asked():
            for daemon in cluster.places:
                answer = Http(f'http://{daemon.peer}', cluster.keys.peer_token).get(f'/peer/{path}', params=query)
                if answer.status_code not in (202, 421, 503):
                    return [answer]  # one of 400 is false
            return None
        answer, = eventually(asked, 30, what=f'an answer to {path}')
        return answer
    return ask


def test_a_place_is_made_changed_listed_and_deleted(placing, ask, users):
    ada, = users(1)
    made = placing.put(ada, 'home', *HOME, 100, name='Zu "Hause"', users=[7, 9])
    answer = ask(f'place/{ada}', place='home', offset=made.offset).json()
    assert answer == {'place': {'id': 'home', 'name': 'Zu "Hause"', 'lat': HOME[0], 'lng': HOME[1], 'radius_m': 100, 'tell': [7, 9]},
                      'count': 1}
    changed = placing.put(ada, 'home', *HOME, 50000, friends=True)
    assert ask(f'place/{ada}', place='home', offset=changed.offset).json()['place']['tell'] == 'friends'
    last = placing.put(ada, 'B-2', *HOME, 50)
    found = ask(f'places/{ada}', offset=last.offset).json()
    assert [(place['id'], place['tell'], place['radius_m']) for place in found['items']] == [('B-2', 'me', 50), ('home', 'friends', 50000)]
    assert found['next'] is None
    first = ask(f'places/{ada}', limit=1).json()
    assert [place['id'] for place in first['items']] == ['B-2'] and first['next'] == 'B-2'
    assert [place['id'] for place in ask(f'places/{ada}', limit=1, after='B-2').json()['items']] == ['home']
    gone = placing.delete(ada, 'home')
    assert ask(f'place/{ada}', place='home', offset=gone.offset).json() == {'place': None, 'count': 1}


def test_the_51st_place_is_none(placing, ask, users):
    ada, = users(1)
    for number in range(51):
        last = placing.put(ada, f'p{number}', *HOME, 100)
    assert ask(f'place/{ada}', place='p50', offset=last.offset).json() == {'place': None, 'count': 50}
    assert len(ask(f'places/{ada}').json()['items']) == 50


def test_events_are_found_by_time_and_page_by_page(placing, ask, users):
    ada, = users(1)
    placing.put(ada, 'a', *HOME, 100)
    placing.put(ada, 'b', *at(1000), 100)
    eventually(lambda: ask(f'place/{ada}', place='b').json()['place'])
    begin = now_ms() + 1000
    for step in range(10):
        placing.report(ada, *at(1000 * (step % 2)), time=begin + step)
    events = eventually(lambda: len(found := ask(f'place-events/{ada}').json()['items']) == 19 and found, 30)
    assert [(e['place'], e['what'], e['time'] - begin) for e in events[:4]] == [
        ('a', 'arrived', 0), ('a', 'left', 1), ('b', 'arrived', 1), ('b', 'left', 2)]
    assert events[0]['name'] == 'A'
    some = ask(f'place-events/{ada}', **{'from': begin + 3, 'to': begin + 5}).json()
    assert [e for e in events if begin + 3 <= e['time'] < begin + 5] == some['items'] and some['next'] is None
    pages, after = [], {}
    while after is not None:
        page = ask(f'place-events/{ada}', limit=4, **{'from': begin + 1}, **after).json()
        pages += page['items']
        after = None if page['next'] is None else {'after': page['next']}
    assert pages == events[1:]


def test_nothing_is_left_of_who_is_forgotten(cluster, placing, ask, users):
    ada, = users(1)
    placing.put(ada, 'a', *HOME, 100)
    eventually(lambda: ask(f'place/{ada}', place='a').json()['place'])
    placing.report(ada, *HOME, time=now_ms() + 1000)
    eventually(lambda: ask(f'place-events/{ada}').json()['items'], 30)
    done = placing.command('FORGET', ada)
    assert ask(f'places/{ada}', offset=done.offset).json()['items'] == []
    eventually(lambda: ask(f'place-events/{ada}').json()['items'] == [], 30)
    for topic in 'places', 'place-states', 'place-events':
        eventually(lambda topic=topic: ada not in {key_users(key[:8])[0] for key in cluster.topics.latest(topic)}, 30)


def test_questions_that_are_none_are_refused(ask, users):
    ada, = users(1)
    assert ask(f'place/{ada}').status_code == 400
    assert ask(f'place/{ada}', place='x' * 33).status_code == 400
    assert ask(f'place/{ada}', place='a.b').status_code == 400
    assert ask('place/x', place='a').status_code == 404
    assert ask(f'place-events/{ada}', limit=0).status_code == 400
    assert ask(f'place-events/{ada}').json() == {'items': [], 'next': None}
    assert ask(f'places/{ada}').json() == {'items': [], 'next': None}


def test_changes_that_are_none_become_dead_letters(cluster, placing, users):
    ada, = users(1)
    placing.put(ada, 'a b', *HOME, 100)
    placing.put(ada, 'a', *HOME, 49)
    eventually(lambda: len([m for m in cluster.topics.read('place-commands.dlq') if decode(m.value)['user'] == ada]) == 2, 30)
