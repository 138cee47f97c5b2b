"""`starling graph verify`: each half of a friendship and of a follow has its mirror, and a half that has none is found."""
import struct

import pytest

from harness.feed import Feed
from harness.meanwhile import meanwhile
from harness.waiting import now_ms

PEOPLE = 60


@pytest.fixture
def cluster(make_cluster):
    return make_cluster().start(fanouts=0, sinks=0, feeds=1)


def verify(cluster, code=0):
    done = cluster.starling('graph', 'verify', check=False)
    assert done.returncode == code, done
    assert done.stderr.count('halves looked at') == 2
    return done.stdout.splitlines(), done.stderr


def follow_key(user, direction, other):
    return struct.pack('>qbq', user, direction, other)


def imported(cluster, users, tmp_path):
    ids = users(PEOPLE)
    file = tmp_path / 'pairs'
    file.write_text(''.join(f'{a} {b}\n' for i, a in enumerate(ids) for b in ids[i % 5::7] if a != b))
    cluster.starling('graph', 'import', file, '--wait', 60)
    cluster.starling('follows', 'import', file)
    return ids


def test_halves_that_were_written_by_hand_are_found(cluster, users, tmp_path):
    ids = imported(cluster, users, tmp_path)
    assert verify(cluster)[0] == []
    for daemon in cluster.feeds + cluster.routers:  # they would act on what follows
        daemon.stop()
    topics, since = cluster.topics, {'since': now_ms()}
    ada, ben = ids[0], ids[1]
    strangers = users(4)
    for key, value in [
            (follow_key(ada, 1, strangers[0]), ('follow', since)), (follow_key(ben, 2, strangers[1]), ('follow', since)),
            (follow_key(ada, 3, strangers[2]), ('follow', since)),  # a mute has no other half
            (follow_key(ada, 1, ids[7]), None), (follow_key(ids[7], 2, ben), ('follow', since)),
    ]:
        topics.produce('follows', key, value, partition=cluster.partition_of(struct.unpack('>q', key[:8])[0]))
    topics.produce('friendships', struct.pack('>qq', ada, strangers[3]), ('friendship', {'state': 'FRIENDS', **since}),
                   partition=cluster.partition_of(ada))
    expected = {
        f'follows: {ada} follows {strangers[0]}, who has no such follower',
        f'follows: {ben} has the follower {strangers[1]}, who follows no such user',
        f'follows: {ids[7]} has the follower {ada}, who follows no such user',
        f'follows: {ids[7]} has the follower {ben}, who follows no such user',
        f'friendships: {ada} has the friend {strangers[3]}, who has no such friend'}
    lines, said = verify(cluster, code=1)
    assert len(lines) == len(expected) and set(lines) == expected
    assert f'starling graph: {len(expected)} halves have no mirror' in said


def test_what_changes_meanwhile_is_no_half(cluster, users, tmp_path):
    ids = imported(cluster, users, tmp_path)
    feed, changes = Feed(cluster), []

    def change(steps):
        for step in steps:
            feed.follow(ids[step - 20], ids[step])
            feed.unfollow(ids[step - 20], ids[step])
            changes.append(step)

    with meanwhile([range(20, 24)], change):
        for _ in range(4):
            assert verify(cluster)[0] == []
    assert len(changes) > 10
