"""The edge's protocol, item by item: the tests play the routers, and a phone says what it is shown. Covers fanout/deliveries.c, fanout/phones.c,
fanout/nearby/items.c and fanout/nearby/product.c."""
import time

import pytest

from harness.edge import Stage, digest, left, move, myself, parted, roster, superseded
from harness.geo import HOME, at, distance_m, e7
from harness.records import NEARBY
from harness.waiting import eventually, now_ms

SETTINGS = {'edge.flush.window.ms': 200, 'edge.first.page.ms': 60_000}  # the first page comes by a Roster, or not at all


@pytest.fixture(scope='module')
def stage(make_module_cluster):
    return Stage(make_module_cluster(settings=SETTINGS))


@pytest.fixture
def pair(stage, users):
    """A phone at HOME with its JOIN, and a friend who shares: (phone, join, friend)."""
    user, friend = users(2)
    stage.share(user, friend)
    with stage.cluster.phone(user) as phone:
        yield phone, stage.join(phone, *HOME), friend


# what the edge tells Kafka


def test_a_session_is_join_reports_and_quit(stage, user):
    opted = stage.share(user)[user]
    phone = stage.cluster.phone(user)
    start = now_ms()
    join = stage.join(phone, *HOME, time=start)
    assert join == {'user': user, 'lat': e7(HOME[0]), 'lng': e7(HOME[1]), 'time': start, 'kind': 'JOIN',
                    'session': join['session'], 'route': join['route'], 'opted': opted, 'accuracy': -1}
    assert join['session'] >> 21 == pytest.approx(start, abs=10_000)
    assert 0 <= join['route'] < 4
    phone.report(*at(100), time=start + 10, accuracy=7.9)
    phone.report(*at(50), time=start + 5)  # late: for history
    stage.wait_said(user, 'REPORT', 2)
    phone.close()
    quit = stage.wait_said(user, 'QUIT')
    newest, late = [record for record in stage.said(user) if record['kind'] == 'REPORT']
    assert (newest['time'], newest['lat'], newest['accuracy']) == (start + 10, e7(at(100)[0]), 7)
    assert (late['time'], late['lat'], late['accuracy']) == (start + 5, e7(at(50)[0]), -1)
    assert quit['time'] == start + 10
    for record in newest, late, quit:
        assert [record[name] for name in ('session', 'route', 'opted')] == [join['session'], join['route'], opted]
    assert stage.kinds(user) == ['JOIN', 'REPORT', 'REPORT', 'QUIT']


def test_a_phone_that_vanishes_has_quit(stage, user):
    stage.share(user)
    phone = stage.cluster.phone(user)
    stage.join(phone, *HOME)
    phone.vanish()
    stage.wait_said(user, 'QUIT')


def test_locations_are_keyed_as_java_does(stage, user):
    stage.share(user)
    with stage.cluster.phone(user) as phone:
        stage.join(phone, *HOME)
    ours = {m.key: m.partition for m in stage.topics.read('locations')}
    theirs = {m.key: m.partition for m in stage.topics.read('sharing')}
    assert ours.items() <= theirs.items()


# the screen


def test_the_first_page_is_sorted_and_follows_the_roster(stage, users):
    user, *friends = users(4)
    stage.share(user, *friends)
    stage.topics.produce('profiles', friends[0], ('profile', {'name': 'Zoë "Z"', 'avatar_url': 'https://e.org/z.png'}))
    eventually(lambda: stage.edge.total('starling_copies_records_total', topic='profiles') >= 1)
    with stage.cluster.phone(user) as phone:
        phone.hello(*HOME, wait=False)
        join = stage.wait_said(user, 'JOIN')
        welcome = phone.expect('welcome')
        assert welcome == {'type': 'welcome', 'user': user, 'session': str(join['session']), 'server_time': pytest.approx(now_ms(), abs=10_000),
                           'radius_m': 8046.72, 'report_every_s': 30, 'inactive_after_s': 600}
        assert len(phone.frames) == 1
        t = now_ms()
        stage.deliver(join['route'], roster(join, [(friends[0], at(3000), t), (friends[1], at(-1000), t - 1),
                                                   (friends[2], at(9000), t)]))
        page = phone.expect('nearby')
        assert page['total'] == 2 and page['next'] is None
        assert [item['user'] for item in page['items']] == [friends[1], friends[0]]
        lat, lng = at(3000)
        item = page['items'][1]
        assert item == {'user': friends[0], 'name': 'Zoë "Z"', 'avatar_url': 'https://e.org/z.png',
                        'lat': pytest.approx(lat, abs=1e-7), 'lng': lng, 'time': t, 'distance_m': item['distance_m']}
        assert item['distance_m'] == pytest.approx(distance_m(*HOME, lat, lng), abs=0.06)


def test_moves_come_change_and_go(stage, pair):
    phone, join, friend = pair
    t = now_ms()
    stage.deliver(join['route'], move(friend, at(8000), t, phone.user))
    phone.wait_item(friend, lambda item: item['time'] == t)
    stage.deliver(join['route'], move(friend, at(500), t - 1, phone.user),   # older: ignored
                  move(friend, at(700), t + 1, 1, phone.user, 2))
    phone.wait_item(friend, lambda item: item['time'] == t + 1 and item['distance_m'] == pytest.approx(700, abs=0.1))
    stage.deliver(join['route'], move(friend, at(8100), t + 2, phone.user))
    phone.wait_screen(set())
    assert phone.frames[-1] == {'type': 'update', 'near': [], 'gone': [friend]}


def test_my_own_report_takes_friends_outside(stage, pair):
    phone, join, friend = pair
    stage.deliver(join['route'], move(friend, at(5000), now_ms(), phone.user))
    phone.wait_screen({friend})
    phone.report(*at(-4000))
    phone.wait_screen(set())


def test_a_complete_roster_replaces_and_a_partial_one_adds(stage, users):
    user, *friends = users(4)
    stage.share(user, *friends)
    a, b, c = friends
    with stage.cluster.phone(user) as phone:
        t = now_ms()
        join = stage.join(phone, *HOME, [(a, at(100), t), (b, at(200), t)])
        phone.wait_screen({a, b})
        stage.deliver(join['route'], roster(join, [(c, at(300), t)], complete=False))
        phone.wait_screen({a, b, c})
        stage.deliver(join['route'], roster(join, [(b, at(200), t)]))
        phone.wait_screen({b})
        stage.deliver(join['route'], roster({**join, 'session': join['session'] + 1}, []))  # another session's
        stage.deliver(join['route'], move(c, at(1), t + 1, user))
        phone.wait_screen({b, c})


def test_updates_are_gathered_in_the_flush_window(stage, users):
    user, *friends = users(21)
    stage.share(user, *friends)
    with stage.cluster.phone(user) as phone:
        join = stage.join(phone, *HOME)
        before, t = len(phone.frames), now_ms()
        for friend in friends:
            stage.deliver(join['route'], move(friend, at(100), t, user))
        phone.wait_screen(set(friends))
        assert len(phone.frames) - before < len(friends)


def test_left_and_parted_hide_and_the_parted_stay_hidden(stage, pair):
    phone, join, friend = pair
    t = now_ms()
    stage.deliver(join['route'], move(friend, at(100), t, phone.user))
    phone.wait_screen({friend})
    stage.deliver(join['route'], left(friend, phone.user))
    phone.wait_screen(set())
    stage.deliver(join['route'], move(friend, at(100), t, phone.user))
    phone.wait_screen({friend})
    stage.deliver(join['route'], parted(phone.user, friend), move(friend, at(90), t + 1, phone.user))
    phone.wait_screen(set())
    stage.deliver(join['route'], move(friend, at(80), t + 2, phone.user))
    stage.deliver(join['route'], roster(join, [(friend, at(70), t + 3)], complete=False))
    phone.wait_item(friend, lambda item: item['time'] == t + 3)
    assert all(item['time'] != t + 2 for frame in phone.frames if frame['type'] == 'update' for item in frame['near'])
    # Friends again while the other one is silent: nothing to be seen yet, but no bar either.
    stage.deliver(join['route'], parted(phone.user, friend), roster(join, [(friend, at(70), -1)], complete=False))
    phone.wait_screen(set())
    stage.deliver(join['route'], move(friend, at(60), t + 4, phone.user))
    phone.wait_item(friend, lambda item: item['time'] == t + 4)


def test_items_that_cannot_be_read_cost_only_themselves(stage, pair):
    """Another product's, or a later release's: the edge leaves them out, and the dead letters do not hear of it."""
    phone, join, friend = pair
    skipped = [stage.edge.total('starling_edge_delivery_items_skipped_total', reason=reason)
               for reason in ('unknown_kind', 'malformed')]
    dead = len(stage.topics.read('deliveries.dlq'))
    envelope = {'kind': NEARBY, 'recipients': [phone.user], 'payload': b''}
    stage.deliver(join['route'], {**envelope, 'kind': 1000}, {**envelope, 'kind': -1, 'recipients': []},
                  {**envelope, 'kind': 0, 'payload': b'x' * 5000}, move(friend, at(100), now_ms(), phone.user))
    phone.wait_screen({friend})
    stage.deliver(join['route'], envelope, {**envelope, 'payload': b'\x20\x02'},  # nothing; a branch of later
                  {**envelope, 'payload': b'\x0c\x02\x02'},  # a byte left over
                  {**envelope, 'payload': b'\x0a\x02', 'recipients': []},  # Parted, and nobody is parted
                  left(friend, phone.user))
    phone.wait_screen(set())
    assert [stage.edge.total('starling_edge_delivery_items_skipped_total', reason=reason) - before
            for reason, before in zip(('unknown_kind', 'malformed'), skipped)] == [3, 4]
    assert len(stage.topics.read('deliveries.dlq')) == dead


def test_twenty_a_page_and_more_on_request(stage, users):
    user, *friends = users(46)
    stage.share(user, *friends)
    with stage.cluster.phone(user) as phone:
        phone.hello(*HOME, wait=False)
        join = stage.wait_said(user, 'JOIN')
        t = now_ms()
        stage.deliver(join['route'], roster(join, [(friend, at(10 * i), t) for i, friend in enumerate(friends)]))
        pages = [phone.expect('nearby')]
        while pages[-1]['next'] is not None:
            pages.append(phone.more())
        assert [len(page['items']) for page in pages] == [20, 20, 5]
        assert [item['user'] for page in pages for item in page['items']] == friends
        assert {page['total'] for page in pages} == {45}
        phone.wait_screen(set(friends))


def test_more_without_a_cursor_is_the_first_page(stage, pair):
    phone, join, friend = pair
    stage.deliver(join['route'], move(friend, at(100), now_ms(), phone.user))
    phone.wait_screen({friend})
    phone.send({'type': 'more'})
    assert [item['user'] for item in phone.expect('nearby')['items']] == [friend]


def test_a_report_by_http_moves_the_session(stage, pair):
    phone, join, friend = pair
    t = now_ms()
    stage.deliver(join['route'], move(friend, at(5000), t, phone.user))
    phone.wait_screen({friend})
    stage.deliver(join['route'], myself(join, at(-5000), join['time'] - 1))  # older: ignored
    stage.deliver(join['route'], myself(join, at(-5000), t + 1))
    phone.wait_screen(set())
    stage.deliver(join['route'], digest(join, t + 1, friend), digest(join, t + 1, friend))
    rejoin = stage.wait_said(phone.user, 'REJOIN')
    assert (rejoin['lat'], rejoin['time']) == (e7(at(-5000)[0]), t + 1)


# digests


def test_the_second_wrong_digest_in_a_row_has_the_list_sent_again(stage, pair):
    phone, join, friend = pair
    wrong, right = digest(join, join['time'], friend), digest(join, join['time'])
    stage.deliver(join['route'], wrong, right, wrong, digest(join, join['time'] - 1, friend))
    phone.report(*at(1), time=join['time'] + 1)
    stage.wait_said(phone.user, 'REPORT')
    stage.deliver(join['route'], digest(join, join['time'] + 1, friend))
    rejoin = stage.wait_said(phone.user, 'REJOIN')
    assert rejoin == {**join, 'kind': 'REJOIN', 'lat': e7(at(1)[0]), 'time': join['time'] + 1}
    assert stage.kinds(phone.user) == ['JOIN', 'REPORT', 'REJOIN']
    stage.deliver(join['route'], roster(join, [(friend, at(10), now_ms())]))
    phone.wait_screen({friend})
    good = digest(join, join['time'] + 1, friend)
    stage.deliver(join['route'], good, good, good, move(friend, at(11), now_ms(), phone.user))
    phone.wait_item(friend, lambda item: item['distance_m'] > 9.5)
    assert stage.kinds(phone.user).count('REJOIN') == 1


# one screen a user


def test_a_session_that_was_answered_gives_way_to_a_greater_one(stage, pair):
    phone, join, _ = pair
    stage.deliver(join['route'], superseded(phone.user, join['session']))  # not smaller than itself
    stage.deliver(join['route'], superseded(phone.user, join['session'] + 1))
    assert phone.wait_closed() == 4001
    assert stage.kinds(phone.user) == ['JOIN']  # no QUIT


def test_a_session_superseded_before_its_first_roster_tries_once_more(stage, user):
    stage.share(user)
    with stage.cluster.phone(user) as phone:
        phone.hello(*HOME, wait=False)
        join = stage.wait_said(user, 'JOIN')
        winner = join['session'] + 12345
        stage.deliver(join['route'], superseded(user, winner))
        again = stage.wait_said(user, 'JOIN', 2)
        assert again == {**join, 'session': again['session']}
        assert winner < again['session'] <= winner + 2**21  # two that outbid one winner must not take one number
        stage.deliver(join['route'], roster(join, []))  # the old session's: not for this one
        stage.deliver(join['route'], superseded(user, again['session'] + 1))
        assert phone.wait_closed() == 4001
        assert stage.kinds(user) == ['JOIN', 'JOIN']


def test_nobody_outbids_the_greatest_session(stage, user):
    stage.share(user)
    with stage.cluster.phone(user) as phone:
        phone.hello(*HOME, wait=False)
        join = stage.wait_said(user, 'JOIN')
        stage.deliver(join['route'], superseded(user, 2**63 - 1))
        assert phone.wait_closed() == 4001


# sessions without a position


def test_a_hello_without_a_position_lives_beside_the_users_others(stage, users):
    user, friend = users(2)
    stage.share(user, friend)
    with stage.cluster.phone(user) as watcher, stage.cluster.phone(user) as phone:
        watcher.send({'type': 'hello', 'token': watcher.token})
        watcher.expect('welcome')
        join = stage.join(phone, *HOME)
        stage.deliver(join['route'], move(friend, at(100), now_ms(), user))
        phone.wait_screen({friend})
        watcher.send({'type': 'more'})
        assert watcher.expect('error')['code'] == 'no_position'
        watcher.send({'type': 'hello', 'token': watcher.token})  # a renewal, still without
        watcher.expect('welcome')
        assert [frame['type'] for frame in watcher.frames] == ['welcome', 'error', 'welcome']
        assert stage.kinds(user) == ['JOIN']
        assert phone.closed() is None and watcher.closed() is None

        # From its first position on it is the user's newest session with one.
        watcher.report(*at(50))
        second = stage.wait_said(user, 'JOIN', 2)
        assert second['session'] > join['session']
        stage.deliver(join['route'], superseded(user, second['session']))
        stage.deliver(second['route'], roster(second, [(friend, at(100), now_ms())]))
        assert watcher.expect('nearby')['total'] == 1
        assert phone.wait_closed() == 4001
    stage.wait_said(user, 'QUIT')
    assert stage.kinds(user) == ['JOIN', 'JOIN', 'QUIT']


def test_a_session_that_never_says_where_it_is_tells_kafka_nothing(stage, users):
    user, friend = users(2)
    stage.share(user, friend)
    with stage.cluster.phone(user) as watcher:
        watcher.send({'type': 'hello', 'token': watcher.token})
        watcher.expect('welcome')
        stage.share(user, mode='OFF')
        stage.share(user)
        for route in range(4):
            stage.deliver(route, move(friend, at(100), now_ms(), user), left(friend, user), parted(user, friend),
                          superseded(user, 2**62))
        watcher.send({'type': 'hello', 'token': watcher.token, 'lat': 91, 'lng': 0, 'time': now_ms()})
        assert watcher.expect('error')['code'] == 'bad_location'
        assert [frame['type'] for frame in watcher.frames] == ['welcome', 'error']
    assert stage.kinds(user) == []


# sharing


def test_who_is_off_is_told_nothing_and_tells_nothing(stage, users):
    user, friend = users(2)
    stage.share(friend)
    with stage.cluster.phone(user) as phone:
        page = phone.hello(*HOME)  # at once, without any router
        assert page['items'] == [] and page['total'] == 0
        phone.report(*at(10))
        phone.report(*at(20), time=now_ms() + 1)
        latest = phone.frames  # both were taken: no error came
        opted = stage.share(user)[user]
        join = stage.wait_said(user, 'JOIN')
        assert (join['lat'], join['opted']) == (e7(at(20)[0]), opted)
        assert all(frame['type'] != 'error' for frame in latest)
        stage.deliver(join['route'], roster(join, [(friend, at(30), now_ms())]))
        phone.wait_screen({friend})

        stage.share(user, mode='OFF')
        phone.wait_screen(set())
        stage.deliver(join['route'], move(friend, at(31), now_ms(), user))
        phone.report(*at(40))
        again = stage.share(user, mode='PUBLIC')[user]
        second = stage.wait_said(user, 'JOIN', 2)
        assert (second['lat'], second['opted'], second['session']) == (e7(at(40)[0]), again, join['session'])
        assert phone.friends() == set()
        stage.share(user)  # from PUBLIC to FRIENDS: nothing to say
        phone.report(*at(50))
        stage.wait_said(user, 'REPORT')
        assert stage.kinds(user) == ['JOIN', 'JOIN', 'REPORT']


def test_friends_who_are_off_are_not_shown(stage, pair):
    phone, join, friend = pair
    t = now_ms()
    stage.deliver(join['route'], move(friend, at(100), t, phone.user))
    phone.wait_screen({friend})
    stage.share(friend, mode='OFF')
    phone.wait_screen(set())  # at once, whatever routers say
    stage.deliver(join['route'], move(friend, at(90), t + 1, phone.user), roster(join, [(friend, at(90), t + 1)]))
    stage.share(friend)
    stage.deliver(join['route'], move(friend, at(80), t + 2, phone.user))
    phone.wait_item(friend, lambda item: item['time'] == t + 2)
    assert all(item['time'] != t + 1 for frame in phone.frames if frame['type'] == 'update' for item in frame['near'])


def test_who_parted_and_made_friends_again_while_off_is_shown(stage, pair, users):
    """Rosters are not listened to while off, so nobody who was parted before could be named."""
    phone, join, friend = pair
    other, = users(1)
    stage.share(other)
    stage.deliver(join['route'], move(friend, at(100), now_ms(), phone.user), move(other, at(10), now_ms(), phone.user))
    phone.wait_screen({friend, other})
    stage.deliver(join['route'], parted(phone.user, friend))
    phone.wait_screen({other})
    stage.share(phone.user, mode='OFF')
    phone.wait_screen(set())
    stage.share(phone.user)
    again = stage.wait_said(phone.user, 'JOIN', 2)
    stage.deliver(again['route'], roster(again, []), move(friend, at(90), now_ms(), phone.user))
    phone.wait_screen({friend})


# silence


def test_silent_friends_disappear_and_a_silent_session_shows_nobody(make_cluster, users):
    inactive_s = 6
    stage = Stage(make_cluster(settings={**SETTINGS, 'inactive.after.s': inactive_s}))
    user, friend, other = users(3)
    stage.share(user, friend, other)
    with stage.cluster.phone(user) as phone:
        join = stage.join(phone, *HOME)
        t = now_ms()
        stage.deliver(join['route'], roster(join, [(friend, at(100), t), (other, at(200), t - 60_000)]))
        phone.wait_screen({friend})  # the other one has been silent for too long already
        while phone.friends():  # it goes on reporting, the friend does not
            phone.report(*HOME)
            time.sleep(0.2)
        assert inactive_s <= (now_ms() - t) / 1000 < inactive_s + 4
        t = now_ms()
        phone.report(*HOME, time=t)
        stage.deliver(join['route'], move(friend, at(100), t + 50_000, user))  # whose clock is ahead
        phone.wait_screen({friend})
        phone.wait_screen(set())  # it is me who is silent now
        assert inactive_s <= (now_ms() - t) / 1000 < inactive_s + 4


def test_the_stream_says_what_time_it_is(make_cluster, users):
    stage = Stage(make_cluster(settings={**SETTINGS, 'clock': 'stream'}))
    user, friend, other = users(3)
    stage.share(user, friend, other)
    t = 28_800_000
    with stage.cluster.phone(user) as phone:
        join = stage.join(phone, *HOME, [(friend, at(100), t)], time=t + 1000)  # no wall clock refuses or expires it
        stage.deliver(join['route'], move(other, at(200), t + 300_000, user), stream_time=t + 300_000)
        phone.wait_screen({friend, other})
        stage.deliver(join['route'], stream_time=t + 599_999)
        stage.deliver((join['route'] + 1) % 4, stream_time=t + 599_999)
        eventually(lambda: stage.edge.total('starling_edge_stream_time_seconds') == (t + 599_999) / 1000)
        assert phone.friends() == {friend, other}
        stage.deliver((join['route'] + 1) % 4, stream_time=t + 600_000)  # any route's
        phone.wait_screen({other})
        stage.deliver(join['route'], stream_time=t + 500_000)  # never back
        phone.report(*HOME, time=t + 600_000)
        stage.wait_said(user, 'REPORT')
        stage.deliver(join['route'], stream_time=t + 900_000)
        phone.wait_screen(set())
