"""clients/python-push as a process beside a real gateway: who is told what by Web Push, once, whatever dies or hangs meanwhile."""
import contextlib
import itertools
import random
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from harness.push_receiver import PushReceiver, item
from harness.push_service import Browser, PushService
from harness.waiting import eventually, now_ms
from starling_push.gateway import Gateway
from starling_push.main import look
from starling_push.sender import THREADS
from starling_push.store import Store

_numbers = itertools.count()


@pytest.fixture(scope='module')
def town(make_module_cluster):
    return make_module_cluster().start(feeds=1, comments=1, places=1)  # all that a user is forgotten by


@pytest.fixture(scope='module')
def mira(town):
    """Whose name is told."""
    town.http(3).ok('PUT', '/v1/profile', json={'name': 'Mira'})
    eventually(lambda: town.http(3).ok('GET', '/v1/users?ids=3')['items'][0]['name'] == 'Mira', what='the gateway knows the name')
    return 3


@pytest.fixture
def service():
    with PushService() as service:
        yield service
        service.hangs.clear()
        assert service.complaints == []


@pytest.fixture
def receiver(town, service, tmp_path):
    receiver = PushReceiver(tmp_path / 'receiver', town.http_url, town.token('push', 'gateway'), service.url, '--timeout', '2',
                            '--origin', 'https://page.example').start()
    service.key = receiver.vapid
    yield receiver
    receiver.kill()


@pytest.fixture
def subscribed(town, receiver, service):
    """subscribed(user): a browser in which that user wants to be told."""
    def subscribe(user, language='en'):
        browser = Browser(service, f'browser-{next(_numbers)}')
        receiver.page(town.token(user)).ok('POST', '/push/subscriptions', json={**browser.subscription, 'language': language})
        return browser

    return subscribe


def settled(receiver):
    """Waits until nothing is left to be sent."""
    with contextlib.closing(sqlite3.connect(f'file:{receiver.data}/push.db?mode=ro', uri=True)) as db:
        eventually(lambda: db.execute('SELECT count(*) FROM queue').fetchone() == (0,), what='all is sent')


def test_the_right_user_reads_the_right_text_once(receiver, subscribed, users, mira):
    ada, ben = users(2)
    phone, desk, his = subscribed(ada), subscribed(ada, 'zh-CN'), subscribed(ben)
    one = item('1.1.1', ada, 'follow', mira)
    assert receiver.take(one, one, item('1.1.1', ben, 'like', mira, 'post:5')) == 2
    assert receiver.take(one) == 0
    eventually(lambda: phone.titles() == ['Mira follows you'] and desk.titles() == ['Mira关注了你'] and his.titles() == ['Mira likes your post'])
    assert phone.pushed()[0]['opens'] == {'user': str(mira)} and his.pushed()[0]['opens'] == {'post': '5', 'comment': None}
    receiver.take(item('1.1.2', ada, 'reply', mira, 'post:5', '77'), item('1.1.3', ada, 'approach', mira), item('1.1.4', ada, 'poke', mira))
    eventually(lambda: sorted(phone.titles()[1:]) == ['Mira answers you', 'Mira is near you'])
    urgencies = {pushed.text['title']: pushed.headers['Urgency'] for pushed in phone.service.pushed()}
    assert urgencies['Mira is near you'] == 'high' and urgencies['Mira likes your post'] == 'low' and urgencies['Mira answers you'] == 'normal'
    settled(receiver)
    assert len({pushed.headers['Topic'] for pushed in phone.service.pushed()}) == 7 == len(phone.service.pushed()), 'no browser shares a topic'


def test_several_are_one_message(receiver, subscribed, users, mira):
    [ada] = users(1)
    phone = subscribed(ada)
    receiver.take(*(item(f'1.1.{number}', ada, 'follow', sender, time=now_ms() - number) for number, sender in enumerate((mira, 10, 11))))
    eventually(lambda: phone.titles() == ['Mira and 2 others follow you'])


def test_a_user_without_a_name_is_told_of_by_number(receiver, subscribed, users):
    ada, nameless = users(2)
    phone = subscribed(ada)
    receiver.take(item('1.1.1', ada, 'mention', nameless, 'post:5'))
    eventually(lambda: phone.titles() == [f'User {nameless} mentions you'])


def test_posts_that_are_not_starlings_are_refused(receiver, subscribed, users, mira):
    [ada] = users(1)
    phone = subscribed(ada)
    bad = item('bad', ada, 'follow', mira)
    assert receiver.post(bad, key='x' * 40).status_code == 401
    assert receiver.post(bad, sent=now_ms() - 301_000).status_code == 400
    assert receiver.page(None).post('/notify', json={'sent': now_ms(), 'items': [bad]}).status_code == 401
    receiver.take(item('good', ada, 'mention', mira))
    eventually(lambda: phone.titles() == ['Mira mentions you'])


def test_a_crash_loses_nothing_and_repeats_nothing(receiver, subscribed, service, users, mira):
    """Killed when posts are taken and not sent yet, and again when they are. (In the moment between a push service's answer and the note of it,
    a message is sent again: the same notification in the place of the first.)"""
    [ada] = users(1)
    phone = subscribed(ada)
    service.hangs.add(phone.name)
    taken = [item(f'1.1.{number}', ada, 'reply', mira, 'post:5', str(number)) for number in range(30)]
    assert receiver.take(*taken) == 30
    eventually(lambda: service.tries(phone.name) > 0, what='it is being sent')
    receiver.kill()
    service.hangs.clear()
    assert phone.pushed() == []
    receiver.start()
    assert receiver.vapid == service.key, 'browsers know no other key'
    assert receiver.take(*taken) == 0, 'starling repeats what it had no answer for'
    eventually(lambda: len(phone.pushed()) >= 30, 30)
    settled(receiver)
    receiver.kill()
    receiver.start()
    assert receiver.take(*taken) == 0
    receiver.take(item('last', ada, 'mention', mira))
    eventually(lambda: 'Mira mentions you' in phone.titles())
    assert sorted(text['opens']['comment'] for text in phone.pushed() if 'comment' in text['opens']) == sorted(str(number) for number in range(30))


def test_killed_at_any_moment(receiver, subscribed, service, users, mira):
    people = users(3)
    phones = [subscribed(user) for user in people]
    texts, chance = [str(number) for number in range(80)], random.Random(7)

    def posts():  # as starling does: again until it is taken
        for start in range(0, len(texts), 5):
            some = [item(f'1.1.{text}', user, 'reply', mira, 'post:5', text) for user in people for text in texts[start:start + 5]]
            eventually(lambda some=some: _taken(receiver, some), 60)

    with ThreadPoolExecutor(1) as pool:
        posting = pool.submit(posts)
        kills = 0
        while not posting.done() or kills < 5:
            time.sleep(chance.random() / 2)
            receiver.kill()
            kills += 1
            receiver.start()
        posting.result()
    settled(receiver)
    for phone in phones:
        assert {text['opens']['comment'] for text in phone.pushed()} == set(texts), 'none is lost'
    twice = sum(len(phone.pushed()) for phone in phones) - 3 * len(texts)
    assert twice <= THREADS * kills, 'but for those that were on their way'


def _taken(receiver, items):
    with contextlib.suppress(requests.RequestException):
        return receiver.post(*items).ok


def test_a_push_service_in_trouble_gets_it_later(receiver, subscribed, service, users, mira):
    [ada] = users(1)
    phone = subscribed(ada)
    service.answers[phone.name] = [500, 429, 503]
    receiver.take(item('1.1.1', ada, 'follow', mira))
    eventually(lambda: phone.titles() == ['Mira follows you'], 60)
    assert service.tries(phone.name) == 4


@pytest.mark.parametrize('status', [404, 410])
def test_a_browser_that_is_gone_is_told_no_more(receiver, subscribed, service, users, mira, status):
    [ada] = users(1)
    gone, other = subscribed(ada), subscribed(ada)
    service.answers[gone.name] = [status]
    receiver.take(item('1.1.1', ada, 'follow', mira))
    eventually(lambda: other.titles() == ['Mira follows you'] and service.tries(gone.name) == 1)
    settled(receiver)
    receiver.take(item('1.1.2', ada, 'mention', mira))
    eventually(lambda: other.titles() == ['Mira follows you', 'Mira mentions you'])
    settled(receiver)
    assert service.tries(gone.name) == 1


def test_a_push_service_that_hangs_harms_nobody(town, tmp_path, users, mira):
    ada, ben = users(2)
    with PushService() as slow, PushService() as good:
        receiver = PushReceiver(tmp_path / 'receiver', town.http_url, town.token('push', 'gateway'), slow.url, '--timeout', '3', '--service', good.url)
        receiver.start()
        slow.key = good.key = receiver.vapid
        with contextlib.closing(_killed(receiver)):
            stuck = [Browser(slow, f'stuck-{number}') for number in range(10)]
            for browser in stuck:
                receiver.page(town.token(ada)).ok('POST', '/push/subscriptions', json=browser.subscription)
                slow.hangs.add(browser.name)
            his = Browser(good, 'his')
            receiver.page(town.token(ben)).ok('POST', '/push/subscriptions', json=his.subscription)
            receiver.take(item('1.1.1', ada, 'follow', mira))
            eventually(lambda: len(slow.tried) >= 4, what='all threads for it wait')
            began = time.monotonic()
            receiver.take(item('1.1.1', ben, 'follow', mira))
            eventually(lambda: his.titles() == ['Mira follows you'])
            assert time.monotonic() - began < 2.5, 'before any of the others is given up'
            eventually(lambda: 'no answer: ReadTimeout' in receiver.log(), what='one is given up for now')
            slow.hangs.clear()
            eventually(lambda: all(browser.titles() for browser in stuck), 60)
            assert not any(browser.endpoint.rpartition('/')[2] in receiver.log() for browser in stuck)
        assert slow.complaints == good.complaints == []


class _killed:
    def __init__(self, process):
        self._process = process

    def close(self):
        self._process.kill()


def test_only_the_user_subscribes_and_unsubscribes(town, receiver, subscribed, service, users, mira):
    ada, ben = users(2)
    phone = subscribed(ada)
    for token in None, town.token(ada, ttl=-60), town.token(ada)[:-4] + 'AAAA', town.token('push', 'gateway'):
        assert receiver.page(token).post('/push/subscriptions', json=phone.subscription).status_code == 401
        assert receiver.page(token).delete('/push/subscriptions').status_code == 401
    receiver.page(town.token(ben)).ok('DELETE', '/push/subscriptions', json={'endpoint': phone.endpoint})
    receiver.take(item('1.1.1', ada, 'follow', mira))
    eventually(lambda: phone.titles() == ['Mira follows you'])
    receiver.page(town.token(ada)).ok('DELETE', '/push/subscriptions', json={'endpoint': phone.endpoint})
    assert receiver.take(item('1.1.2', ada, 'follow', mira)) == 0
    evil = {**phone.subscription, 'endpoint': town.http_url + '/v1/me'}
    assert receiver.page(town.token(ada)).post('/push/subscriptions', json=evil).status_code == 400


def test_a_page_at_another_address_may_ask(receiver):
    answer = receiver.page(None).options('/push/subscriptions', headers={'Origin': 'https://page.example', 'Access-Control-Request-Method': 'POST'})
    assert answer.headers['Access-Control-Allow-Origin'] == 'https://page.example'


def test_a_user_who_is_forgotten_is_told_no_more(town, receiver, subscribed, users):
    """The hourly look, twice, as a process of its own would do it."""
    ada, ben = users(2)
    for user in ada, ben:
        town.http(user).ok('PUT', '/v1/profile', json={'name': 'Ada'})
        eventually(lambda user=user: town.http(user).get('/v1/profile').ok, what='the profile is known')
    phone, his = subscribed(ada), subscribed(ben)
    eventually(lambda: town.http(ada).delete('/v1/me').status_code == 200, 60, every=1)
    receiver.stop()
    store = Store(receiver.data / 'push.db')
    for _ in range(2):
        assert len(store.subscriptions(ada)) == 1
        look(store, Gateway(town.http_url, receiver.data.parent / 'token'))
    assert store.subscriptions(ada) == [] and [one.endpoint for one in store.subscriptions(ben)] == [his.endpoint]
    store.close()
    assert phone.titles() == []


def test_what_a_stranger_sends_has_a_bound(receiver):
    stranger = receiver.page(None)
    assert stranger.post('/notify', data=b'x' * (5 << 20)).status_code == 413
    assert stranger.post('/push/subscriptions', data=b'{"x":"' + b'x' * 10_000 + b'"}').status_code == 413


def test_it_ends_in_order_and_starts_once(receiver):
    second = PushReceiver.__new__(PushReceiver)
    second.__dict__.update(receiver.__dict__, _child=None, log_path=receiver.log_path.with_name('second'))
    second.launch()
    assert second.wait() == 1 and 'another one works with' in second.log()
    assert receiver.stop() == 0
