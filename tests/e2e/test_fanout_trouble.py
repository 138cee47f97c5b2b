"""The edge and bad input, forged and old tokens, slow readers, overload, drain, rebalances, poison and a broker that is
away. Tests play the routers where one is needed."""
import functools
import json
import time

import pytest
from websockets.exceptions import InvalidHandshake

from harness.edge import Stage, move, roster
from harness.forged import bad_tokens
from harness.geo import HOME, at, e7
from harness.phone import Phone
from harness.slow import SlowPhone
from harness.waiting import eventually, now_ms

SETTINGS = {'edge.flush.window.ms': 100, 'edge.first.page.ms': 60_000}


@pytest.fixture(scope='module')
def stage(make_module_cluster):
    return Stage(make_module_cluster(settings={**SETTINGS, 'edge.hello.s': 3, 'report.past.days': 366}))


# what phones may say


def place(**fields):
    return {'lat': HOME[0], 'lng': HOME[1], 'time': now_ms(), **fields}


BAD_REPORTS = [
    ('bad_location', {'lat': 90.1}), ('bad_location', {'lat': -91}), ('bad_location', {'lng': 181}),
    ('bad_location', {'lng': '116.3'}), ('bad_location', {'lat': None}), ('bad_location', {'lat': [1]}),
    ('bad_location', {'accuracy': 'near'}), ('bad_location', {'accuracy': -5}),
    ('bad_time', {'time': -1}), ('bad_time', {'time': '0'}), ('bad_time', {'time': 1.5}), ('bad_time', {'time': 1 << 47}),
    ('bad_time', {'time': None}),
]


def test_bad_reports_are_named_and_produce_nothing(stage, user):
    stage.share(user)
    with stage.cluster.phone(user) as phone:
        stage.join(phone, *HOME)
        for code, fields in BAD_REPORTS:
            phone.send({'type': 'location', **place(**fields)})
            assert phone.expect('error')['code'] == code, fields
        phone.send({'type': 'location', **place(time=now_ms() + 90_000)})
        assert phone.expect('error')['code'] == 'bad_time'
        phone.send({'type': 'location', **place(time=now_ms() // 1000)})
        error = phone.expect('error')
        assert error['code'] == 'bad_time' and 'milliseconds' in error['message']
        for code, text in [('bad_message', '{"type":'), ('bad_message', '[]'), ('bad_message', '{}'),
                           ('unknown_type', '{"type":"dance"}'), ('bad_cursor', '{"type":"more","after":"x"}'),
                           ('bad_cursor', '{"type":"more","after":7}')]:
            phone.send_raw(text)
            assert phone.expect('error')['code'] == code, text
        assert stage.kinds(user) == ['JOIN']
        phone.report(*at(1), time=now_ms() + 50_000)  # ahead, but by less than a minute: it counts as now
        stage.wait_said(user, 'REPORT')
        assert now_ms() - 10_000 <= stage.said(user)[-1]['time'] <= now_ms()
        phone.report(*at(2), time=float(now_ms()))  # and the next one is later
        eventually(lambda: stage.kinds(user) == ['JOIN', 'REPORT', 'REPORT'])


def test_a_first_hello_with_a_bad_place_ends(stage, user):
    stage.share(user)
    for code, fields in BAD_REPORTS[:3]:
        with stage.cluster.phone(user) as phone:
            phone.send({'type': 'hello', 'token': phone.token, **place(**fields)})
            assert phone.expect('error')['code'] == code
            assert phone.wait_closed() == 1008
    assert stage.kinds(user) == []


def test_a_hello_from_a_fast_clock_learns_the_time(stage, user):
    stage.share(user)
    with stage.cluster.phone(user) as phone:
        phone.hello(*HOME, time=now_ms() + 3_600_000, wait=False)
        welcome = phone.expect('welcome')
        assert phone.expect('error')['code'] == 'bad_time'
        assert stage.kinds(user) == []
        phone.report(*HOME, time=welcome['server_time'])
        stage.wait_said(user, 'JOIN')


def test_too_many_errors_in_a_row_end_the_connection(stage, user):
    with stage.cluster.online(user, *HOME) as phone:
        for _ in range(15):
            phone.send_raw('?')
        phone.report(*HOME)  # a good one between
        for _ in range(20):
            phone.send_raw('?')
        for _ in range(35):
            phone.expect('error')
        assert phone.closed() is None
        phone.send_raw('?')
        assert phone.wait_closed() == 1008


def test_oversized_and_binary_frames(stage, user):
    for data, code in [('x' * 8193, 1009), ('x' * 2_000_000, 1009), (b'{"type":"more"}', 1003)]:
        with stage.cluster.online(user, *HOME) as phone:
            phone.send_raw(data)
            assert phone.wait_closed() == code
    with stage.cluster.online(user, *HOME) as phone:
        phone.send_raw(json.dumps({'type': 'location', **place(note='x' * 8000)}))
        phone.send({'type': 'more'})
        phone.expect('nearby')


def test_hello_comes_first_and_soon(stage, user):
    with stage.cluster.phone(user) as phone:
        phone.report(*HOME)
        assert phone.expect('error')['code'] == 'no_hello'
        assert phone.wait_closed() == 1008
    with stage.cluster.phone(user) as phone:
        assert phone.wait_closed() == 1008
        assert phone.closed()[1] == 'no_hello'


def test_only_the_subprotocol_is_spoken(stage, user):
    for subprotocol in None, 'starling.v9':
        with pytest.raises((InvalidHandshake, ConnectionError, EOFError)):
            Phone(stage.cluster.ws_url, user, stage.cluster.token(user), subprotocol=subprotocol).close()


# tokens


def test_bad_tokens_are_named_and_produce_nothing(stage, user):
    stage.share(user)
    nobody = 'bad_token', stage.cluster.keys.token('app', scope='gateway')
    for code, token in [*bad_tokens(stage.cluster.keys, user), nobody]:
        with stage.cluster.phone(user) as phone:
            phone.send({'type': 'hello', 'token': token, **place()})
            assert phone.expect('error')['code'] == code, token
            assert phone.wait_closed() == 1008
    with stage.cluster.phone(user) as phone:
        phone.send({'type': 'hello', **place()})
        assert phone.expect('error')['code'] == 'bad_token'
        assert phone.wait_closed() == 1008
    assert stage.kinds(user) == []
    assert 'eyJ' not in stage.edge.log()  # no token is ever logged


def test_rs256_is_accepted_with_its_own_key(stage, user):
    stage.share(user)
    with stage.cluster.phone(user, token=stage.cluster.keys.token(user, algorithm='RS256')) as phone:
        stage.join(phone, *HOME)


def test_a_token_ends_unless_it_is_renewed(stage, users):
    user, other = users(2)
    stage.share(user, other)
    short = stage.cluster.token(user, ttl=4)
    with stage.cluster.phone(user, token=short) as ends, \
            stage.cluster.phone(other, token=stage.cluster.token(other, ttl=4)) as renews:
        for phone in ends, renews:
            phone.hello(*HOME, wait=False)
            phone.expect('welcome')
        join = stage.wait_said(other, 'JOIN')
        renews.hello(*at(10), token=stage.cluster.token(other), wait=False)
        renews.expect('welcome')
        report = stage.wait_said(other, 'REPORT')  # the same session
        assert (report['session'], report['lat']) == (join['session'], e7(at(10)[0]))
        assert ends.wait_closed() == 4003
        time.sleep(1)  # beyond the end of the first token
        renews.send({'type': 'more'})
        renews.expect('nearby')
        assert renews.closed() is None


def test_a_renewal_must_be_the_same_users(stage, users):
    user, other = users(2)
    stage.share(user, other)
    with stage.cluster.phone(user) as phone:
        stage.join(phone, *HOME)
        phone.hello(*HOME, token=stage.cluster.token(other), wait=False)
        assert phone.expect('error')['code'] == 'bad_token'
        assert phone.wait_closed() == 1008
    assert stage.kinds(other) == []


# poison


def test_poison_goes_to_the_dead_letters_and_reading_goes_on(stage, users):
    user, friend = users(2)
    stage.share(user, friend)
    with stage.cluster.phone(user) as phone:
        join = stage.join(phone, *HOME)
        good = stage.topics.produce('deliveries', None, ('delivery-batch', {
            'stream_time': 0, 'oldest_received': 0, 'items': []}), partition=join['route'])
        poison = [b'', b'\0', b'not avro at all', good.value[:-1], good.value + b'\0', b'\0\0\0\0\x63' + good.value[5:],
                  b'\0\0\0\0\x06\0\0\x02\x20', b'\0\0\0\0\x09\0\0\x02\x02\0\x20']
        undecodable = functools.partial(stage.edge.total, 'starling_edge_deliveries_undecodable_total')
        before = undecodable()
        sent = [stage.topics.produce('deliveries', None, value, partition=join['route']) for value in poison]
        stage.deliver(join['route'], ('Move', {'user': friend, 'lat': 2**31 - 1, 'lng': 0, 'time': 0, 'recipients': [user]}),
                      ('Move', {'user': friend, 'lat': 0, 'lng': 0, 'time': -2**63, 'recipients': [user]}),
                      ('Roster', {'recipient': user, 'session': join['session'], 'complete': False, 'friends': [
                          {'user': friend, 'lat': e7(HOME[0]), 'lng': e7(HOME[1]), 'time': 2**63 - 1}]}))
        stage.deliver(join['route'], move(friend, at(100), now_ms(), user))
        phone.wait_screen({friend})
        assert undecodable() == before + len(sent)

        def dead():
            found = {dict(m.headers)['__connect.errors.offset']: m for m in stage.topics.read('deliveries.dlq')}
            return found if len(found) == len(sent) else None

        letters = eventually(dead, what='all poison is in deliveries.dlq')
        for message in sent:
            letter = letters[str(message.offset).encode()]
            headers = {name: value.decode() for name, value in letter.headers}
            assert (letter.value or b'') == (message.value or b'')
            assert headers['__connect.errors.topic'] == stage.topics.name('deliveries')
            assert headers['__connect.errors.partition'] == str(join['route'])
            assert headers['__connect.errors.exception.message']


def test_poison_in_sharing_and_profiles_is_passed_over(stage, user):
    before = len(stage.topics.read('sharing.dlq')) + len(stage.topics.read('profiles.dlq'))
    stage.topics.produce('sharing', user, b'?')
    stage.topics.produce('profiles', b'key', ('profile', {'name': 'x', 'avatar_url': ''}))
    stage.share(user)
    eventually(lambda: len(stage.topics.read('sharing.dlq')) + len(stage.topics.read('profiles.dlq')) == before + 2)
    with stage.cluster.phone(user) as phone:
        stage.join(phone, *HOME)


# too many, too slow, no longer here


def test_overload_is_said(make_cluster, users):
    stage = Stage(make_cluster(settings={**SETTINGS, 'edge.max.sessions': 2}))
    a, b, c = users(3)
    with stage.cluster.online(a, *HOME), stage.cluster.online(b, *HOME) as second:
        with stage.cluster.phone(c) as third:
            assert third.wait_closed() == 1013
        second.close()
        eventually(lambda: stage.edge.total('starling_edge_sessions') == 1)
        with stage.cluster.online(c, *HOME):
            pass
    assert stage.edge.total('starling_edge_overloaded_total') == 1


CROWD = 400


def fill(stage, slow_user, friends, route, rounds):
    """Moves a crowd again and again until the phone is behind; returns the last times told."""
    t = now_ms()
    for i in range(rounds):
        t += 1
        stage.deliver(route, *[move(friend, at(i % 7 + 1), t, slow_user) for friend in friends])
    return t


def test_for_a_slow_reader_nothing_is_queued_and_it_gets_the_newest_truth(make_cluster, users):
    stage = Stage(make_cluster(settings={**SETTINGS, 'edge.flush.window.ms': 1}))
    user, *friends = users(CROWD + 1)
    stage.share(user, *friends)
    slow = SlowPhone(stage.cluster, user, *HOME)
    join = stage.wait_said(user, 'JOIN')
    stage.deliver(join['route'], roster(join, []))
    frames = functools.partial(stage.edge.total, 'starling_edge_frames_total')
    last, told = 0, frames()
    for _ in range(60):  # until rounds bring no frame any more
        last = fill(stage, user, friends, join['route'], 5)
        if frames() == told:
            break
        told = frames()
    else:
        pytest.fail('the socket never filled up')
    last = fill(stage, user, friends, join['route'], 20)
    slow.say({'type': 'more'})  # asked for while it takes nothing: comes when it does
    slow.say({'type': 'more'})
    time.sleep(0.5)
    assert frames() == told
    screen, pages = {}, 0
    while pages < 2 or len(screen) < CROWD or any(item['time'] != last for item in screen.values()):
        opcode, text = slow.hear()
        assert opcode == 1
        frame = json.loads(text)
        pages += frame['type'] == 'nearby'
        for item in frame.get('items', []) + frame.get('near', []):
            screen[item['user']] = item
    assert pages == 2  # the first one, and the one that was asked for (twice, but it is the same)
    slow.socket.close()


def test_who_reads_nothing_for_too_long_is_closed(make_cluster, users):
    stage = Stage(make_cluster(settings={**SETTINGS, 'edge.flush.window.ms': 1, 'edge.slow.close.s': 2}))
    user, *friends = users(CROWD + 1)
    stage.share(user, *friends)
    slow = SlowPhone(stage.cluster, user, *HOME)
    join = stage.wait_said(user, 'JOIN')
    stage.deliver(join['route'], roster(join, []))
    for _ in range(60):
        fill(stage, user, friends, join['route'], 5)
        if stage.edge.total('starling_edge_slow_closed_total'):
            break
    eventually(lambda: stage.edge.total('starling_edge_slow_closed_total') == 1)
    assert slow.hear_close() == 4002
    slow.socket.close()
    stage.wait_said(user, 'QUIT')


def joined(stage, users):
    """The phones of users who share and are all at one place. All are connected before the first one joins."""
    stage.share(*users)
    phones = [stage.cluster.phone(user) for user in users]
    for phone in phones:
        stage.join(phone, *HOME)
    return phones


def test_draining_moves_phones_away(make_cluster, users):
    stage = Stage(make_cluster(settings={**SETTINGS, 'edge.drain.s': 1}))
    crowd = users(6)
    phones = joined(stage, crowd)
    assert stage.edge.stop() == 0
    for phone in phones:
        assert 0 <= phone.expect('reconnect')['after_ms'] <= 2000
        assert phone.wait_closed() == 1012
        assert stage.kinds(phone.user) == ['JOIN', 'QUIT']
    with pytest.raises(OSError):
        stage.cluster.phone(crowd[0])


def test_topics_that_change_their_size_end_an_edge_in_order(make_cluster, users):
    """The check fails again with each look while the edge drains: that must not cut the drain short."""
    stage = Stage(make_cluster(settings={**SETTINGS, 'edge.drain.s': 4}))
    phones = joined(stage, users(4))
    stage.topics.grow('sharing', 5)
    for phone in phones:
        phone.expect('reconnect', 20)
        assert phone.wait_closed() == 1012
    assert stage.edge.wait(30) == 1


def test_an_edge_that_fails_while_it_drains_closes_its_connections(make_cluster, users):
    stage = Stage(make_cluster(settings={**SETTINGS, 'edge.drain.s': 60}), fanouts=0)
    edge = stage.cluster.add('fanout', settings={'group.instance.id': 'the-one'})
    phones = joined(stage, users(3))
    assert edge.drain().status_code == 202
    phones[2].expect('reconnect')  # the newest goes first; the others have a minute
    stage.cluster.add('fanout', settings={'group.instance.id': 'the-one'}, wait=False)
    assert edge.wait(40) == 1
    assert [phone.wait_closed() for phone in phones] == [1012] * 3


# routes


def reachable(stage, phone, friend):
    """A Move by the route that the session said last is seen."""
    t = now_ms()
    stage.deliver(stage.said(phone.user)[-1]['route'], move(friend, at(100), t, phone.user))
    phone.wait_item(friend, lambda item: item['time'] == t)


def test_sessions_share_a_route_and_move_together(make_cluster, users):
    stage = Stage(make_cluster(settings=SETTINGS))
    friend, *crowd = users(5)
    stage.share(friend, *crowd)
    phones = {user: stage.cluster.phone(user) for user in crowd}
    assert len({stage.join(phone, *HOME)['route'] for phone in phones.values()}) == 1
    second = stage.cluster.add('fanout')
    eventually(lambda: stage.edge.total('starling_edge_routes') == 2, 30)
    eventually(lambda: stage.edge.total('starling_edge_rejoins_total') in (0, 4))
    assert len({stage.said(user)[-1]['route'] for user in crowd}) == 1
    for user in crowd:
        reachable(stage, phones[user], friend)
    second.stop()


def test_only_sessions_whose_route_is_lost_rejoin(make_cluster, users):
    stage = Stage(make_cluster(settings=SETTINGS | {'fanout:edge.routes': 4}))
    friend, *crowd = users(9)
    stage.share(friend, *crowd)
    phones, joins = {}, {}
    for user in crowd:  # each says hello at once: an edge waits ten seconds for it
        phones[user] = stage.cluster.phone(user)
        joins[user] = stage.join(phones[user], *HOME)
    assert sorted(join['route'] for join in joins.values()) == [0, 0, 1, 1, 2, 2, 3, 3]

    second = stage.cluster.add('fanout')
    eventually(lambda: stage.edge.total('starling_edge_routes') == 2, 30)
    eventually(lambda: stage.edge.total('starling_edge_rejoins_total') == 4)
    mine = {said[-1]['route'] for user in crowd if len(said := stage.said(user)) == 1}
    assert len(mine) == 2
    for user in crowd:
        said = stage.said(user)
        if joins[user]['route'] in mine:
            assert [record['kind'] for record in said] == ['JOIN']
        else:
            assert [record['kind'] for record in said] == ['JOIN', 'REJOIN']
            assert said[1] == {**said[0], 'kind': 'REJOIN', 'route': said[1]['route']}
            assert said[1]['route'] in mine
        reachable(stage, phones[user], friend)

    second.kill()
    eventually(lambda: stage.edge.total('starling_edge_routes') == 4, 30)
    for user in crowd:
        reachable(stage, phones[user], friend)
        assert phones[user].closed() is None
    assert stage.edge.total('starling_edge_rejoins_total') == 4
    with stage.cluster.phone(crowd[0]) as again:
        stage.join(again, *HOME)


def test_an_edge_without_a_route_lets_nobody_in(make_cluster, user):
    stage = Stage(make_cluster(delivery_partitions=1, settings=SETTINGS))
    spare = stage.cluster.add('fanout', wait=False)
    spare.wait_for_log('no route is left', 60)
    holder = next(edge for edge in stage.cluster.fanouts if edge.total('starling_edge_routes') == 1)
    spare = next(edge for edge in stage.cluster.fanouts if edge is not holder)
    assert not spare.ready()
    stage.share(user)
    for _ in range(6):  # none of them reaches the other process, though they share a port
        with stage.cluster.phone(user) as phone:
            stage.join(phone, *HOME)
    holder.kill()
    spare.wait_ready(30)
    with stage.cluster.phone(user) as phone:
        stage.join(phone, *HOME)


# Kafka


def test_the_broker_goes_and_comes_back(make_cluster, broker, users):
    stage = Stage(make_cluster(settings={**SETTINGS, 'edge.first.page.ms': 500}))
    a, b, late, friend = users(4)
    stage.share(a, b, late, friend)
    latest = {}
    try:
        with stage.cluster.phone(a) as phone_a, stage.cluster.phone(b) as phone_b:
            joins = {phone.user: stage.join(phone, *HOME) for phone in (phone_a, phone_b)}
            broker.stop()
            eventually(lambda: not stage.edge.ready(), 20)
            stage.edge.wait_for_log('waiting for Kafka', 20)
            for i in range(1, 6):
                for phone in phone_a, phone_b:
                    phone.report(*at(i), time=now_ms())
                    latest[phone.user] = e7(at(i)[0])
                time.sleep(0.2)
            phone_c = stage.cluster.phone(late)
            page = phone_c.hello(*at(77))  # welcome, though nobody can say who is near
            assert page['items'] == []
            latest[late] = e7(at(77)[0])
            eventually(lambda: stage.edge.total('starling_edge_unsent_sessions') == 3)
            unstarted = stage.cluster.add('fanout', wait=False)
            unstarted.wait_for_log('waiting for Kafka', 20)
            eventually(lambda: unstarted.get('/readyz').status_code == 503)
            assert 'kafka' in unstarted.get('/readyz').text
            assert unstarted.stop() == 0

            broker.start()
            stage.edge.wait_ready(60)
            for phone in phone_a, phone_b, phone_c:
                eventually(lambda user=phone.user: stage.said(user)[-1]['lat'] == latest[user], 20)
                assert phone.closed() is None
                reachable(stage, phone, friend)
            assert stage.kinds(late) == ['JOIN']
            assert stage.said(a)[-1]['session'] == joins[a]['session']
            assert stage.edge.total('starling_edge_unsent_sessions') == 0
    finally:
        if not broker.alive():
            broker.start()


def test_an_edge_ends_in_order_while_the_broker_is_away(make_cluster, broker, user):
    stage = Stage(make_cluster(settings={**SETTINGS, 'edge.drain.s': 1}))
    stage.share(user)
    try:
        with stage.cluster.phone(user) as phone:
            stage.join(phone, *HOME)
            broker.stop()
            phone.report(*at(5))
            assert stage.edge.stop() == 0
            assert phone.wait_closed() == 1012
    finally:
        broker.start()


ODD = [('locations', 4), ('friend-commands', 4), ('friendships', 4), ('profiles', 4), ('sharing', 3), ('deliveries', 4),
       ('command-offsets', 4), ('follow-commands', 4), ('follower-commands', 4), ('post-commands', 4), ('name-commands', 4),
       ('notice-commands', 4), ('directory-commands', 4), ('link-commands', 4), ('links', 4), ('place-commands', 4), ('place-events', 4),
       ('feed-watches', 4), ('bans', 4), ('nearby-mutes', 4), ('devices', 4), ('device-ends', 4)]


@pytest.mark.parametrize('kind', ['fanout', 'ingest', 'router'])
def test_topics_of_other_sizes_are_refused_by_name(make_cluster, kind):
    cluster = make_cluster()
    for topic, partitions in ODD:
        cluster.topics.create(topic, partitions)
    for topic in 'comment-commands', 'comments-wide', 'comment-watches', 'moderation-log', 'notices', 'approaches', 'erasures', 'audit':
        cluster.topics.create(topic, 4)
    daemon = cluster.add(kind, wait=False)
    assert daemon.wait(30) == 1
    assert cluster.topics.name('sharing') in daemon.log()


def test_topics_that_a_daemon_does_not_need_are_not_its_business(make_cluster):
    cluster = make_cluster()
    cluster.topics.create('locations', 4)
    cluster.topics.create('erasures', 4)
    cluster.topics.create('sharing', 3)
    cluster.add('history-sink').wait_ready(30)


def test_missing_topics_are_waited_for(make_cluster):
    cluster = make_cluster()
    daemon = cluster.add('fanout', wait=False)
    daemon.wait_for_log('waiting for topics', 20)
    assert daemon.get('/readyz').status_code == 503
    cluster.create_topics()
    daemon.wait_ready(30)
