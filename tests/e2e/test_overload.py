"""Too much at once: a router that is far behind, and users with as many friends as one may have."""
import collections
import time

import pytest
from confluent_kafka import Producer

from harness.records import decode, encode, user_key
from harness.waiting import eventually, now_ms

HOME = 39.9, 116.4
FAR = 0.2  # degrees: more than twice the radius
ROUNDS = 40
BIG = 5000


def caught_up(router):
    metrics = router.metrics()
    return metrics.total('starling_router_warm') == 1 and metrics.total('starling_router_caught_up') == 1


def in_and_out(person, round):
    """Where somebody is: half of them are elsewhere at any time, and all change places now and then."""
    away = (person + round // 7) % 2
    return HOME[0] + person * 1e-4 + away * FAR, HOME[1] + round * 1e-5


@pytest.mark.timeout(180)
def test_far_behind_only_the_newest_report_of_each_is_joined(make_cluster, users, tmp_path):
    cluster = make_cluster(settings={'router:max.lag.s': 1}).start()
    router, people = cluster.routers[0], users(6)
    cluster.share(*people)
    graph = tmp_path / 'friends'
    graph.write_text(''.join(f'{a} {b}\n' for a in people for b in people if a < b))
    cluster.starling('graph', 'import', graph, '--wait', 60)
    phones = {user: cluster.online(user, *in_and_out(i, 0)) for i, user in enumerate(people)}
    eventually(lambda: caught_up(router), 60)

    def joins_and_events():
        metrics = router.metrics()
        return metrics.total('starling_router_joins_total'), metrics.total('starling_router_events_total', partition='owned')

    joined, seen = joins_and_events()
    router.pause()  # for less than its session lasts: it comes back to what it owns, and to a backlog
    for round in range(1, ROUNDS + 1):
        for i, user in enumerate(people):
            phones[user].report(*in_and_out(i, round))
        time.sleep(0.005)
    last, sent = now_ms(), ROUNDS * len(people)
    eventually(lambda: sum(cluster.topics.ends('locations').values()) >= seen + sent, 20)
    eventually(lambda: now_ms() - last > 1500, 5)
    router.resume()
    eventually(lambda: joins_and_events()[1] >= seen + sent, 30, what='the backlog is read')
    eventually(lambda: caught_up(router), 30)
    skipped = router.total('starling_router_reports_skipped_total')
    assert router.total('starling_router_reports_held') == 0
    assert skipped > sent / 2, 'hardly a report was superseded'
    assert joins_and_events()[0] - joined <= sent - skipped + 10  # and what rosters were asked for

    for _ in range(2):
        time.sleep(0.005)  # a report of the same time and place would be a repeated one
        for i, user in enumerate(people):
            phones[user].report(*in_and_out(i, ROUNDS))
    homes = {user: in_and_out(i, ROUNDS)[0] > HOME[0] + FAR / 2 for i, user in enumerate(people)}
    for user in people:
        phones[user].wait_screen({other for other in people if other != user and homes[other] == homes[user]}, 20)
    wanted = dict.fromkeys(people, 1 + ROUNDS + 2)

    def all_written():
        counts = collections.Counter()
        for user in people:
            answer = cluster.http(user).ok('GET', '/v1/history', params={
                'from': last - 600_000, 'to': last + 600_000, 'limit': 1000})
            counts[user] = len(answer['items'])
        assert counts == wanted, counts
        return True

    eventually(all_written, 30)


@pytest.mark.timeout(240)
def test_users_with_very_many_friends_hold_up_nobody(make_cluster, users, tmp_path):
    """Two with 5,000 friends each, all in one place, and one with none: every report of theirs reaches every friend."""
    cluster = make_cluster(settings={'router:joins.user.rate': 0})
    cluster.start(ingests=0, fanouts=0, sinks=0)
    router = cluster.routers[0]
    first, second, lonely, *friends = users(3 + BIG - 1)
    graph = tmp_path / 'friends'
    graph.write_text(f'{first} {second}\n' + ''.join(f'{big} {friend}\n' for big in (first, second) for friend in friends))
    cluster.starling('graph', 'import', graph, '--wait', 60, timeout=120)
    eventually(lambda: caught_up(router), 60)
    assert router.total('starling_router_friend_changes_total', change='made') == 2 * (2 * (BIG - 1) + 1)

    producer = Producer({'bootstrap.servers': cluster.topics.bootstrap, 'partitioner': 'murmur2_random', 'log_level': 2})
    start = now_ms()

    def say(user, kind, time):
        # Checked against an opt-in that no router has read yet: so nobody has to opt in first.
        producer.produce(cluster.topics.name('locations'), key=user_key(user), value=encode('location', {
            'user': user, 'lat': 399_000_000 + user % 1000, 'lng': 1_164_000_000, 'time': time, 'kind': kind,
            'session': user, 'route': user % cluster.delivery_partitions, 'opted': 1 << 40, 'accuracy': -1}))
        producer.poll(0)

    def handled(count):
        producer.flush(30)
        eventually(lambda: router.total('starling_router_events_total', partition='owned') >= count, 60)
        eventually(lambda: caught_up(router), 60)

    everybody = [first, second, lonely, *friends]
    for user in everybody:
        say(user, 'JOIN', start)
    handled(len(everybody))
    begun = cluster.topics.ends('deliveries')
    for report in range(1, 51):
        for user in first, second, lonely:
            say(user, 'REPORT', start + report)
    handled(len(everybody) + 150)

    told = collections.Counter()
    for message in cluster.topics.read('deliveries', begun):
        for kind, item in decode(message.value)['items']:
            if kind == 'Move':
                told[item['user'], item['time']] += len(item['recipients'])
    assert told == {(user, start + report): BIG for user in (first, second) for report in range(1, 51)}
    metrics = router.metrics()
    assert metrics.total('starling_router_batches_lost_total') == 0
    assert metrics.total('starling_router_join_seconds_count') > 0
    # Nearly all joins were of people with two friends; of those that had thousands, none was slow enough to be felt.
    over = metrics.total('starling_router_join_seconds_count') - metrics.total('starling_router_join_seconds_bucket', le='0.1')
    assert over == 0
    assert metrics.total('starling_router_candidates_bucket', le='1600') < metrics.total('starling_router_candidates_count')
