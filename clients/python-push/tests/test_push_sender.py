"""Messages: where each is sent, and what comes of an answer. tests/e2e/test_push.py sends really."""
import json
import sqlite3
import threading
import time

import pytest

from starling_push import main, sender
from starling_push.gateway import Away
from starling_push.notices import Notice
from starling_push.sender import SERVICES, Sender, Vapid, compose, pause_s, service_of, topic_header
from starling_push.store import Message, Store, Subscription

SERVICE = 'https://push.example'
SUBSCRIPTION = Subscription(f'{SERVICE}/a', SERVICE, 'key', 'secret', 'en')


def eventually(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def now_ms():
    return int(sender.time.time() * 1000)


def message(what='follow', subject=None, comment=None, people=1):
    return Message(SUBSCRIPTION, 'topic', 0, 1, Notice('one', 7, what, 9, subject, comment, now_ms()), people)


@pytest.mark.parametrize('endpoint, known', [
    ('https://fcm.googleapis.com/fcm/send/x', True), ('https://updates.push.services.mozilla.com/wpush/v2/x', True),
    ('https://wns2-par02p.notify.windows.com/w/?token=x', True), ('https://web.push.apple.com/x', True), ('http://fcm.googleapis.com/x', False),
    ('https://fcm.googleapis.com.evil.example/x', False), ('https://push.apple.com@evil.example/', False), ('https://evil.example/.push.apple.com', False),
    ('https://evil.example\\.push.apple.com/x', False), ('https://evil.example .push.apple.com/x', False), ('https://evil.example\t.push.apple.com/x', False),
    ('https://evil.example?.push.apple.com', False), ('https://evil.example#.push.apple.com', False), ('https://127.0.0.1/', False),
    ('https://fcm.googleapis.com:99999/', False), ('https://fcm.googleapis.com:8443/', False), ('fcm.googleapis.com', False)])
def test_push_services(endpoint, known):
    assert (service_of(endpoint, SERVICES) is not None) == known


def test_pauses_grow_to_a_bound():
    pauses = [pause_s(tries, 1.0) for tries in range(30)]
    assert pauses == sorted(pauses) and pauses[0] == 2 and pauses[-1] == 3600 and pause_s(30, 0.0) == 1800


def test_what_the_page_reads():
    assert json.loads(compose(message(), 'Mira')) | {'time': 0} == {
        'title': 'Mira follows you', 'tag': 'topic', 'lang': 'en', 'time': 0, 'opens': {'user': '9'}}
    assert json.loads(compose(message('reply', 'post:123', '12'), 'Mira'))['opens'] == {'post': '123', 'comment': '12'}
    assert json.loads(compose(message('reply', 'photo:1', '12'), 'Mira'))['opens'] == {}


def test_the_topic_differs_between_browsers():
    other = Subscription(SUBSCRIPTION.endpoint, SERVICE, 'key', 'another secret', 'en')
    made = topic_header(SUBSCRIPTION, 'topic')
    assert len(made) == 32 and made == topic_header(SUBSCRIPTION, 'topic') != topic_header(other, 'topic')


def test_a_signature_is_made_once_for_half_a_day(tmp_path):
    key = main.vapid_key(tmp_path / 'vapid.pem')
    assert (tmp_path / 'vapid.pem').stat().st_mode & 0o777 == 0o600
    assert main.public_key(key) == main.public_key(main.vapid_key(tmp_path / 'vapid.pem'))
    vapid = Vapid(key, 'mailto:ops@example.org')
    header = vapid.header('https://push.example/a', 1000.0)
    assert header == vapid.header('https://push.example/b', 1000.0 + 6 * 3600 - 1)
    assert header != vapid.header('https://other.example/a', 1000.0)
    assert header != vapid.header('https://push.example/a', 1000.0 + 6 * 3600)


class Names:
    away = False

    def names(self, users):
        if self.away:
            raise Away('away')
        return dict.fromkeys(users, 'Mira')


@pytest.fixture
def lane(tmp_path, monkeypatch):
    """One thread's work, with a push service that answers what the test says: lane.answers."""
    store, names = Store(tmp_path / 'push.db'), Names()
    one = Sender(store, names, Vapid(main.vapid_key(tmp_path / 'vapid.pem'), 'mailto:ops@example.org'), [SERVICE], rand=lambda: 1.0)._lanes[0]
    one.store, one.names, one.posted, one.answers = store, names, [], []

    def post(session, subscription, body, headers, timeout_s):
        one.posted.append((json.loads(body), headers))
        return one.answers.pop(0)

    monkeypatch.setattr(sender, 'post', post)
    store.subscribe(7, SUBSCRIPTION, True, now_ms())
    yield one
    store.close()


def send(lane, answer, **notice):
    lane.answers = [answer]
    lane.store.take([Notice(**{'id': 'one', 'user': 7, 'what': 'follow', 'sender': 9, 'subject': None, 'comment': None, 'time': now_ms(), **notice})], now_ms())
    message = lane.store.next(SERVICE, now_ms(), ())
    lane._send(None, message)


def waits_s(lane):
    due = lane.store.due(SERVICE)
    return None if due is None else (due - now_ms()) / 1000


@pytest.mark.parametrize('status', [200, 201, 202])
def test_taken(lane, status):
    send(lane, (status, None))
    assert waits_s(lane) is None
    [(body, headers)] = lane.posted
    assert body['title'] == 'Mira follows you' and headers['Urgency'] == 'normal' and 86_390 <= int(headers['TTL']) <= 86_400


@pytest.mark.parametrize('status', [404, 410])
def test_gone(lane, status):
    send(lane, (status, None))
    assert lane.store.subscriptions(7) == []


@pytest.mark.parametrize('answer, wait', [((500, None), 2), ((503, 60.0), 60), ((429, 0.0), 2), ('no answer', 2)])
def test_not_now(lane, answer, wait):
    send(lane, answer)
    assert wait - 1 < waits_s(lane) <= wait and len(lane.store.subscriptions(7)) == 1


@pytest.mark.parametrize('status', [301, 400, 401, 403, 413])
def test_never(lane, status):
    send(lane, (status, None))
    assert waits_s(lane) is None and len(lane.store.subscriptions(7)) == 1


def test_a_name_is_waited_for_but_not_for_long(lane):
    lane.names.away = True
    send(lane, (201, None))
    assert lane.posted == [] and waits_s(lane) > 0
    send(lane, (201, None), id='two', what='reply', subject='post:1', comment='5', time=now_ms() - 61_000)
    assert lane.posted[0][0]['title'] == 'User 9 answers you'


def test_a_store_that_fails_for_a_while_ends_nothing_and_repeats_nothing(lane, monkeypatch):
    monkeypatch.setattr(sender, '_STORE_PAUSE_S', 0.01)
    store, failures = lane.store, []

    def fail(*_):
        failures.append(1)
        raise sqlite3.OperationalError('database or disk is full')

    lane.answers = [(201, None)] * 3
    with monkeypatch.context() as full:
        for name in 'sent', 'later', 'gone':
            full.setattr(store, name, fail)
        lane.start()
        store.take([Notice('one', 7, 'mention', 9, 'post:1', None, now_ms())], now_ms())
        lane.wake()
        eventually(lambda: len(failures) > 3 * sender.THREADS)
    eventually(lambda: waits_s(lane) is None)
    store.take([Notice('two', 7, 'mention', 9, 'post:2', None, now_ms())], now_ms())
    lane.wake()
    eventually(lambda: len(lane.posted) == 2 and waits_s(lane) is None)
    with monkeypatch.context() as full:
        full.setattr(store, 'next', fail)
        lane.wake()
        eventually(lambda: len(failures) > 6 * sender.THREADS)
        lane.end()
        lane.join()


def test_a_browser_that_hangs_has_one_thread(lane, monkeypatch):
    over, begun = threading.Event(), []

    def post(session, subscription, *_):
        begun.append(subscription.endpoint)
        return 'no answer' if subscription.endpoint == SUBSCRIPTION.endpoint and over.wait(20) else (201, None)

    monkeypatch.setattr(sender, 'post', post)
    lane.store.subscribe(8, Subscription(f'{SERVICE}/b', SERVICE, 'key', 'secret', 'en'), True, now_ms())
    for user in 7, 8:
        lane.store.take([Notice(str(number), user, 'mention', 9, 'post:1', None, now_ms()) for number in range(20)], now_ms())
    lane.start()
    try:
        eventually(lambda: begun.count(f'{SERVICE}/b') == 20)
        assert begun.count(SUBSCRIPTION.endpoint) == 1
    finally:
        over.set()
        lane.end()
        lane.join()
    assert begun.count(SUBSCRIPTION.endpoint) == 1


@pytest.mark.parametrize('failure', [sqlite3.OperationalError('database or disk is full'), Away('away'), OSError()])
def test_whoever_was_forgotten_is_looked_for_again(lane, monkeypatch, failure):
    def fail(*_):
        raise failure

    for name in 'tidy', 'named_users':
        with monkeypatch.context() as broken:
            broken.setattr(lane.store, name, fail)
            main.look(lane.store, lane.names)


def test_arrivals_say_where_and_who_and_lead_to_the_person(lane):
    for user, title in (9, 'Mira arrived at Home'), (7, 'You arrived at Home'):
        notice = Notice('1.8.5', 7, 'arrived', user, None, None, now_ms(), 'Home')
        told = json.loads(compose(Message(SUBSCRIPTION, '1.8.5', 0, 1, notice, 1), 'Mira'))
        assert (told['title'], told['opens'], told['tag']) == (title, {'user': str(user)}, '1.8.5')


def test_near_friends_are_urgent_and_soon_no_news(lane):
    send(lane, (201, None), what='approach')
    [(_, headers)] = lane.posted
    assert headers['Urgency'] == 'high' and 590 <= int(headers['TTL']) <= 600
