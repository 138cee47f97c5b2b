"""`starling dlq`: dead letters are counted, shown and sent again. Covers cli/dlq.c and cli/sender.c."""
import json
import subprocess

import pytest
from harness.cluster import build_folder
from harness.processes import clean_environment
from harness.records import user_key
from harness.waiting import eventually


def shown(cluster, *arguments):
    return [json.loads(line) for line in cluster.starling('dlq', 'show', *arguments).stdout.splitlines()]


def listed(cluster):
    """{topic: records} of the table."""
    rows = [line.split() for line in cluster.starling('dlq', 'list').stdout.splitlines()[1:]]
    return {row[0].removeprefix(cluster.prefix).removesuffix('.dlq'): int(row[1]) for row in rows}


@pytest.fixture(scope='module')
def letters(make_module_cluster):
    """A cluster whose edge and gateway have refused three profiles: each of the two puts letters of its own there."""
    cluster = make_module_cluster()
    cluster.start(routers=0, sinks=0)
    for user in 11, 12, 13:
        cluster.topics.produce('profiles', user, b'\x07junk-%d' % user)
    eventually(lambda: len(shown(cluster, 'profiles')) == 6, 20, what='ingest and fanout have refused all three')
    return cluster


def test_queues_are_listed_with_counts(letters):
    counts = listed(letters)
    assert counts.pop('profiles') == 6
    assert {'locations', 'friend-commands', 'deliveries', 'post-texts', 'hot-posts'} <= set(counts)
    assert set(counts.values()) == {0}


def test_letters_are_shown_with_reason_and_source(letters):
    for letter in shown(letters, 'profiles'):
        assert letter['topic'] == letters.topics.name('profiles') + '.dlq'
        assert bytes.fromhex(letter['bytes']) == b'\x07junk-%d' % letter['key'] and letter['value'] is None
        assert letter['reason'] and letter['by'].startswith('starling-')
        message = letters.topics.read('profiles')
        assert any((str(m.partition), str(m.offset)) == (letter['from_partition'], letter['from_offset']) for m in message)
    assert {letter['key'] for letter in shown(letters, f'{letters.prefix}profiles.dlq', '--offsets', '0-1')} <= {11, 12, 13}
    assert [letter['offset'] for letter in shown(letters, 'profiles', '--offsets', '2-3')] == [2, 3]
    assert [letter['offset'] for letter in shown(letters, 'profiles', '--offsets', '4')] == [4]
    assert shown(letters, 'profiles', '--reason', 'no such reason') == []


def test_letters_are_sent_again(make_cluster):
    """Such as records that a daemon of an older version could not read."""
    cluster = make_cluster()
    cluster.create_topics()
    source = [cluster.topics.produce('profiles', user, b'\x07junk') for user in (21, 22)]
    fanout = cluster.add('fanout')
    eventually(lambda: len(shown(cluster, 'profiles')) == 2, 20)
    fanout.stop()
    said = cluster.starling('dlq', 'replay', 'profiles', '--all', '--dry-run').stdout
    assert said == f'2 records of {cluster.prefix}profiles.dlq would be sent again to {cluster.prefix}profiles.\n'
    assert len(cluster.topics.read('profiles')) == 2

    said = cluster.starling('dlq', 'replay', 'profiles', '--offsets', '1').stdout
    assert said == f'1 records of {cluster.prefix}profiles.dlq were sent again to {cluster.prefix}profiles.\n'
    again = cluster.topics.read('profiles')
    chosen = shown(cluster, 'profiles', '--offsets', '1')[0]['key']
    assert sorted(m.value for m in again) == [b'\x07junk'] * 3
    wanted = next(m for m, user in zip(source, (21, 22)) if user == chosen)
    assert [m.key for m in again].count(wanted.key) == 2
    assert {m.partition for m in again if m.key == wanted.key} == {wanted.partition}

    assert '2 records' in cluster.starling('dlq', 'replay', 'profiles', '--reason', ' ').stdout
    assert len(cluster.topics.read('profiles')) == 5


@pytest.mark.parametrize('arguments', [
    (), ('burn',), ('list', 'profiles'), ('show',), ('show', 'nothing'), ('show', 'profiles', 'sharing'),
    ('show', 'profiles', '--offsets', '5-3'), ('show', 'profiles', '--offsets', 'x'), ('replay', 'profiles')],
    ids=lambda arguments: ' '.join(arguments))
def test_wrong_usage(arguments):
    done = subprocess.run([build_folder() / 'starling', 'dlq', *arguments], capture_output=True, text=True, timeout=20,
                          env=clean_environment())
    assert done.returncode == 2 and done.stdout == '' and 'usage: starling dlq' in done.stderr


def letters_of(cluster, topic):
    """What a queue holds, with what came with it."""
    return [(m.key, m.value, m.timestamp, tuple(m.headers)) for m in cluster.topics.read(f'{topic}.dlq')]


def test_letters_of_a_forgotten_user_go_and_those_of_others_stay(make_cluster, users):
    """As they were, with their times and reasons; and replay leaves out what is still there of users who were forgotten."""
    ada, ben, eve = users(3)
    cluster = make_cluster(settings={'history-sink:history.roll.s': 1}).start(routers=1, fanouts=0, sinks=1, feeds=1, comments=1, places=1, moderators=1)
    for user in ben, ada, eve, ada, ben:
        cluster.topics.produce('profiles', user, b'\x07junk-%d' % user)
    cluster.topics.produce('sharing', eve, b'\x07junk')
    eventually(lambda: len(shown(cluster, 'profiles')) == 10 and shown(cluster, 'sharing'), 20, what='gateway and comments have refused them')
    before = letters_of(cluster, 'profiles')
    sharing = letters_of(cluster, 'sharing')
    said = cluster.starling('forget', ada, '--http', cluster.http_url).stdout
    assert 'dead letters 4\n' in said
    kept = letters_of(cluster, 'profiles')
    assert [letter for letter in before if letter[0] != user_key(ada)] == sorted(kept, key=before.index)
    assert letters_of(cluster, 'sharing') == sharing
    assert 'dead letters 0\n' in cluster.starling('forget', ada, '--http', cluster.http_url).stdout
    assert letters_of(cluster, 'profiles') == kept

    # By herself, over HTTP: her letters stay, and are not sent again.
    eventually(lambda: cluster.http(eve).delete('/v1/me').status_code == 200, 60, what='eve is forgotten')
    assert letters_of(cluster, 'profiles') == kept
    said = cluster.starling('dlq', 'replay', 'profiles', '--all', '--dry-run').stdout
    assert said.startswith('4 records') and '\n2 others are of users who were forgotten since' in said
    # The number is somebody else's now, whose letter is sent.
    cluster.topics.produce('profiles', eve, b'\x07junk of another')
    eventually(lambda: len(shown(cluster, 'profiles')) == 8, 20, what='both have refused that one, too')
    assert cluster.starling('dlq', 'replay', 'profiles', '--all', '--dry-run').stdout.startswith('6 records')
