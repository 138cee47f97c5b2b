"""History of users who were forgotten: their rows leave store and files, and come back from nowhere; all others' stay, each once. Covers
history-sink/wiping.c and history-sink/wiping_files.c."""
import shutil

from harness.waiting import eventually
from test_history import (Feed, all_pages, answer_of, location, of_user, owner_says, produce, read_file, read_files,
                          wait_published, wanted_rows)
from test_history_hours import check_files_once, merged_files, move_to_another_hour, small_files

# Readers keep using merged files, which must lose the rows as well.
KEEPING = {'history-sink:history.merge.s': 1, 'history-sink:history.merge.keep.s': 3600, 'history-sink:history.roll.s': 1}


def erase(cluster, *users):
    for user in users:
        cluster.topics.produce('erasures', user, None)


def forgotten_at(cluster):
    """User -> when Kafka took the erasure."""
    before = {}
    for message in cluster.topics.read('erasures'):
        user = int.from_bytes(message.key, 'big')
        before[user] = max(before.get(user, 0), message.timestamp)
    return before


def kept_rows(cluster):
    """What history must hold, from Kafka. Not while reports are written: it reads to their end."""
    before = forgotten_at(cluster)
    return {key: row for key, row in wanted_rows(cluster).items() if row['received'] >= before.get(row['user'], 0)}


def rows_of_all_files(cluster):
    """Of both trees, small files that were merged among them."""
    while True:
        try:
            return [row for path in small_files(cluster) + merged_files(cluster) for row in read_file(path)[0]]
        except FileNotFoundError:
            continue


def gone_from_files(cluster):
    before = forgotten_at(cluster)
    return all(row['received'] >= before.get(row['user'], 0) for row in rows_of_all_files(cluster))


def check(cluster, users):
    """Readers find all rows that are to be there, each once; so do the answers."""
    def same():
        kept = kept_rows(cluster)
        found = [row for chain in read_files(cluster.history).values() for _, _, rows, _ in chain for row in rows]
        return {(row['partition'], row['offset']): row for row in found} == kept and len(found) == len(kept)

    eventually(same, 40, what='the files hold what they must')
    check_files_once(cluster)
    kept = kept_rows(cluster)
    for user in users:
        expected = answer_of(of_user(kept, user))
        eventually(lambda: all_pages(cluster, user, '', 1000) == expected, 30, what=f'the whole history of {user}')


def test_rows_of_forgotten_users_go_from_everywhere(sinks, users):
    """Small files, merged ones, both sinks' stores; a sink is killed in the middle of it; a lost store brings nothing back."""
    cluster, ours = sinks(settings=KEEPING), users(30)
    gone, others = ours[:3], ours[3:6]
    sink, = cluster.sinks
    for rows in 2000, 1500:
        produce(cluster, ours, rows)
        wait_published(cluster)
    sink.stop()
    move_to_another_hour(cluster)
    sink.start(wait=False)
    produce(cluster, ours, 1000)
    eventually(lambda: len(merged_files(cluster)) == 4, 30, what='merged files')
    other = cluster.add('history-sink', wait=False)
    with Feed(cluster, others):
        erase(cluster, *gone)
        sink.kill()
        sink.start(wait=False)
        eventually(lambda: gone_from_files(cluster), 60, what='no file holds a row of the forgotten')
        check_files_once(cluster)
    check(cluster, gone + others)
    assert not any(owner_says(cluster, user)['items'] for user in gone)
    # The same number again: rows that come later stay, also when the store is lost, and the rows from before do not come back.
    for user in gone[:2]:
        cluster.topics.produce('locations', user, ('location', location(user, 7)))
    eventually(lambda: [len(owner_says(cluster, user)['items']) for user in gone] == [1, 1, 0], 30, what='new rows')
    assert other.stop() == 0 and sink.stop() == 0
    for each in sink, other:
        shutil.rmtree(each.settings['data.dir'])
    sink.start()
    check(cluster, gone + others)
    metrics = sink.metrics()
    assert metrics.total('starling_history_wipe_failures_total') == 0 and metrics.total('starling_history_merge_failures_total') == 0
    assert metrics.total('starling_history_wiping_users') == 3  # looked for again some time after the partitions were taken over


def test_files_made_again_from_the_topic_lack_the_forgotten(sinks, users):
    """Files and store are lost with their disk, and Kafka still has all reports."""
    cluster, ours = sinks(), users(12)
    produce(cluster, ours, 1200)
    sink, = cluster.sinks
    wait_published(cluster)
    erase(cluster, *ours[:3])
    eventually(lambda: gone_from_files(cluster), 30, what='no file holds a row of the forgotten')
    assert sink.stop() == 0
    shutil.rmtree(cluster.history)
    cluster.history.mkdir()
    shutil.rmtree(sink.settings['data.dir'])
    sink.start()
    check(cluster, ours)
    assert gone_from_files(cluster)
