"""The store: for how long it keeps things, and how many."""
import itertools

import pytest

from starling_push.notices import Notice
from starling_push.store import (GATHER_MS, KEPT_MS, MOST_NOTICES, MOST_SUBSCRIPTIONS, MOST_WAITING, UNUSED_MS, Full, Store, Subscription)

NOW = 1_785_500_003_000
SERVICE = 'https://push.example'
_ids = itertools.count()


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / 'push.db')
    yield store
    store.close()


def browser(name, service=SERVICE):
    return Subscription(f'{service}/{name}', service, 'key', 'secret', 'en')


def notice(sender=9, *, id=None, user=7, what='follow', subject=None, comment=None, time=NOW, place=None):
    return Notice(id or str(next(_ids)), user, what, sender, subject, comment, time, place)


def all_due(store, now=NOW, service=SERVICE):
    copy, found = Store(':memory:'), []
    store._db.backup(copy._db)
    while message := copy.next(service, now, ()):
        copy._db.execute('DELETE FROM queue WHERE endpoint = ? AND topic = ?', (message.subscription.endpoint, message.topic))
        found.append(message)
    copy.close()
    return found


def test_each_browser_of_the_user_is_told_once(store):
    for name in 'ab':
        store.subscribe(7, browser(name), True, NOW)
    store.subscribe(8, browser('c'), True, NOW)
    one = notice(id='one')
    assert store.take([one, one], NOW) == 1
    assert store.take([one, notice(user=99)], NOW) == 0  # the same again, and of somebody who has no browser
    messages = all_due(store)
    assert {message.subscription.endpoint for message in messages} == {f'{SERVICE}/a', f'{SERVICE}/b'}
    assert all(message.newest == one and message.people == 1 for message in messages)
    for message in messages:
        store.sent(message, NOW)
    assert store.take([one], NOW) == 0 and all_due(store, NOW + KEPT_MS) == []


def test_the_same_id_of_another_user_is_another_notice(store):
    store.subscribe(7, browser('a'), True, NOW)
    store.subscribe(8, browser('b'), True, NOW)
    assert store.take([notice(id='one'), notice(id='one', user=8)], NOW) == 2


def test_it_is_on_the_disk(store, tmp_path):
    store.subscribe(7, browser('a'), True, NOW)
    store.take([notice(id='one', what='arrived', place='Home')], NOW)
    again = Store(tmp_path / 'push.db')
    assert [(message.newest.id, message.newest.place) for message in all_due(again)] == [('one', 'Home')] and again.take([notice(id='one')], NOW) == 0
    again.close()


def test_several_are_told_as_one_the_newest_in_front(store):
    store.subscribe(7, browser('a'), True, NOW)
    store.take([notice(1, time=NOW - 2), notice(2, time=NOW), notice(3, time=NOW - 1), notice(3, time=NOW - 3)], NOW)
    [message] = all_due(store)
    assert (message.newest.sender, message.people) == (2, 3)
    store.sent(message, NOW)
    store.take([notice(4, time=NOW + 1)], NOW)
    assert all_due(store) == []  # more are gathered
    [message] = all_due(store, NOW + GATHER_MS)
    assert (message.newest.sender, message.people) == (4, 4)


def test_what_comes_while_a_message_is_sent_is_sent_as_well(store):
    store.subscribe(7, browser('a'), True, NOW)
    store.take([notice(1)], NOW)
    [message] = all_due(store)
    store.take([notice(2, time=NOW + 1)], NOW)
    store.sent(message, NOW)
    assert [message.people for message in all_due(store, NOW + GATHER_MS)] == [2]


def test_a_message_that_failed_waits_and_counts_its_tries(store):
    store.subscribe(7, browser('a'), True, NOW)
    store.take([notice()], NOW)
    [message] = all_due(store)
    store.later(message, NOW + 500)
    assert all_due(store) == [] and store.due(SERVICE) == NOW + 500
    [message] = all_due(store, NOW + 500)
    assert message.tries == 1
    store.take([notice()], NOW)  # a newer one does not wake it
    assert store.due(SERVICE) == NOW + 500


def test_a_browser_that_fails_waits_with_all_that_is_for_it(store):
    for name in 'ab':
        store.subscribe(7 if name == 'a' else 8, browser(name), True, NOW)
    store.take([notice(what='reply', id=str(number), user=user) for number in range(3) for user in (7, 8)], NOW)
    first = store.next(SERVICE, NOW, (f'{SERVICE}/b',))
    assert first.subscription.endpoint == f'{SERVICE}/a' and store.next(SERVICE, NOW, (f'{SERVICE}/a', f'{SERVICE}/b')) is None
    store.later(first, NOW + 500)
    store.take([notice(what='reply', id='late')], NOW + 1)
    assert {message.subscription.endpoint for message in all_due(store, NOW + 499)} == {f'{SERVICE}/b'}
    [_, *waiting] = [message for message in all_due(store, NOW + 500) if message.subscription.endpoint == f'{SERVICE}/a']
    assert [message.tries for message in waiting] == [1, 1, 1]
    store.later(waiting[0], NOW + 5000)
    store.sent(waiting[1], NOW + 600)  # it is well again
    assert [message.tries for message in all_due(store, NOW + 600) if message.subscription.endpoint == f'{SERVICE}/a'] == [0, 0, 0]


def test_services_do_not_wait_for_each_other(store):
    store.subscribe(7, browser('a', 'https://one.example'), True, NOW)
    store.subscribe(7, browser('b', 'https://two.example'), True, NOW)
    store.take([notice()], NOW)
    assert [message.subscription.endpoint for message in all_due(store, service='https://two.example')] == ['https://two.example/b']


def test_a_browser_that_is_gone_takes_what_waits_with_it(store):
    for name in 'ab':
        store.subscribe(7, browser(name), True, NOW)
    store.take([notice(id='one')], NOW)
    store.gone(f'{SERVICE}/a')
    assert [message.subscription.endpoint for message in all_due(store)] == [f'{SERVICE}/b']
    store.unsubscribe(8, f'{SERVICE}/b')  # it is not that user's
    assert store.subscriptions(7) != []
    store.unsubscribe(7, f'{SERVICE}/b')
    assert all_due(store) == [] and store.subscriptions(7) == []
    store.subscribe(7, browser('a'), True, NOW)
    assert store.take([notice(id='one')], NOW) == 1, 'of a user without a browser nothing is kept'


def test_a_browser_that_another_takes_over_hears_nothing_of_the_first(store):
    store.subscribe(7, browser('a'), True, NOW)
    store.take([notice()], NOW)
    store.subscribe(8, browser('a'), True, NOW)
    assert all_due(store) == [] and store.subscriptions(7) == [] and len(store.subscriptions(8)) == 1


def test_a_browser_that_subscribes_again_has_new_keys_and_keeps_what_waits(store):
    store.subscribe(7, browser('a'), True, NOW)
    store.take([notice()], NOW)
    store.subscribe(7, Subscription(f'{SERVICE}/a', SERVICE, 'new', 'new', 'zh'), True, NOW + 1)
    [message] = all_due(store)
    assert (message.subscription.p256dh, message.subscription.language) == ('new', 'zh')


def test_a_user_has_so_many_browsers(store):
    for number in range(MOST_SUBSCRIPTIONS + 3):
        store.subscribe(7, browser(number), True, NOW)
    found = store.subscriptions(7)
    assert len(found) == MOST_SUBSCRIPTIONS and f'{SERVICE}/{MOST_SUBSCRIPTIONS + 2}' in [one.endpoint for one in found]


def test_so_many_messages_wait_for_a_browser_and_so_many_notices_are_kept(store):
    store.subscribe(7, browser('a'), True, NOW)
    for start in range(0, MOST_NOTICES + 50, 50):
        store.take([notice(what='reply', subject='post:1', time=NOW - MOST_NOTICES + start + i) for i in range(50)], NOW + start)
    messages = all_due(store, NOW + KEPT_MS)
    assert len(messages) == MOST_WAITING and max(message.newest.time for message in messages) == NOW + 49
    assert store._db.execute('SELECT count(*), min(time) FROM notices').fetchone() == (MOST_NOTICES, NOW - MOST_NOTICES + 50)


def test_a_store_that_is_full_takes_nothing(tmp_path):
    store = Store(tmp_path / 'push.db', most_queued=2)
    store.subscribe(7, browser('a'), True, NOW)
    store.take([notice(what='reply'), notice(what='reply')], NOW)
    with pytest.raises(Full):
        store.take([notice(id='late')], NOW)
    store.sent(all_due(store)[0], NOW)
    assert store.take([notice(id='late')], NOW) == 1
    store.close()


def test_old_notices_are_no_news_and_are_not_kept(store):
    store.subscribe(7, browser('a'), True, NOW)
    old = notice(time=NOW - KEPT_MS)
    near = notice(what='approach', time=NOW - 10 * 60_000)
    assert store.take([old, near], NOW) == 0
    assert store.take([notice(id='fresh')], NOW) == 1
    store.tidy(NOW + KEPT_MS)
    [message] = all_due(store, NOW + KEPT_MS)
    assert message.newest is None  # the sender drops it
    assert store.take([notice(id='fresh')], NOW + KEPT_MS) == 0, 'too old by now'


def test_browsers_that_are_not_used_end(store):
    store.subscribe(7, browser('a'), True, NOW)
    store.subscribe(7, browser('b'), True, NOW + 1)
    store.tidy(NOW + UNUSED_MS)
    assert [one.endpoint for one in store.subscriptions(7)] == [f'{SERVICE}/b']


def test_a_user_who_had_a_name_and_has_none_twice_was_forgotten(store):
    for user, named in (6, False), (7, True), (8, True):
        store.subscribe(user, browser(user), named, NOW)
    assert store.named_users(-1, 10) == [7, 8] and store.named_users(7, 10) == [8] and store.named_users(-1, 1) == [7]
    assert not store.looked(7, False) and not store.looked(7, True) and not store.looked(7, False)
    assert store.subscriptions(7) != []
    assert store.looked(7, False) and store.subscriptions(7) == []
    assert not store.looked(8, True) and store.named_users(-1, 10) == [8] and len(store.subscriptions(6)) == 1
