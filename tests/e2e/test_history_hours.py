"""History: the files of finished hours are merged, and old ones go. Readers see each row once at any moment. Covers history-sink/merging.c."""
import datetime
import shutil

from harness.waiting import eventually
from test_history import (Feed, away_from_the_hour, check_answers, check_files, location, owner_says, produce, read_files,
                          wait_published, wanted_rows)


def move_to_another_hour(cluster, days=1):
    """All small files of that many days before, as if they were from then."""
    for path in sorted(cluster.history.glob('date=*')):
        day = datetime.date.fromisoformat(path.name.removeprefix('date=')) - datetime.timedelta(days=days)
        path.rename(path.with_name(f'date={day}'))


MERGING = {'history-sink:history.merge.s': 1, 'history-sink:history.merge.keep.s': 0, 'history-sink:history.roll.s': 1}


def small_files(cluster):
    return list(cluster.history.glob('date=*/hour=*/*.avro'))


def merged_files(cluster):
    return list(cluster.history.glob('hours/date=*/hour=*/*.avro'))


def check_files_once(cluster):
    """At this moment: no row is there twice, and there is no gap."""
    for partition, chain in read_files(cluster.history).items():
        end = 0
        for first, _, _, its_end in chain:
            assert first == end, f'partition {partition}: a file from {first} behind the end {end}'
            end = its_end
        offsets = [row['offset'] for _, _, rows, _ in chain for row in rows]
        assert len(offsets) == len(set(offsets)), 'a row is there twice'


def today():
    return f'date={datetime.datetime.now(datetime.UTC):%Y-%m-%d}'


def test_finished_hours_are_merged(sinks, users):
    """Into one file an hour and partition, and the small ones go. Two sinks; one is killed in the middle of it all; whoever reads sees
    each row once at any moment; and a lost store is loaded from both trees."""
    away_from_the_hour()
    cluster, ours = sinks(settings=MERGING), users(30)
    sink, = cluster.sinks
    for rows in (2000, 1000, 1500):  # some files a partition
        produce(cluster, ours, rows)
        wait_published(cluster)
    assert len(small_files(cluster)) >= 8 and not merged_files(cluster)
    sink.stop()
    move_to_another_hour(cluster)
    other = cluster.add('history-sink', wait=False)
    sink.start(wait=False)
    with Feed(cluster, ours):
        eventually(lambda: merged_files(cluster), 30, what='a merged file')
        sink.kill()
        check_files_once(cluster)
        sink.start(wait=False)
        eventually(lambda: len(merged_files(cluster)) == 4, 60, what='a merged file of each partition')
        check_files_once(cluster)
        eventually(lambda: all(path.parent.parent.name == today() for path in small_files(cluster)), 30,
                   what='the small files of that hour are gone')
    count = len(wanted_rows(cluster))
    eventually(lambda: check_files(cluster, hours=False)[0] == count, 40, what='all rows are published')
    check_answers(cluster, ours[:5])
    assert other.stop() == 0 and sink.stop() == 0
    for each in (sink, other):
        shutil.rmtree(each.settings['data.dir'])
    sink.start()
    assert sink.total('starling_history_rebuilt_rows_total') == count
    check_answers(cluster, ours)


def test_a_quiet_partition_is_merged_too(sinks, users):
    """Nothing arrives any more that would say that the hour is over."""
    away_from_the_hour()
    cluster, ours = sinks(settings=MERGING), users(20)
    sink, = cluster.sinks
    produce(cluster, ours, 800)
    count = wait_published(cluster)
    sink.stop()
    move_to_another_hour(cluster)
    sink.start()
    eventually(lambda: len(merged_files(cluster)) == 4 and not small_files(cluster), 60, what='one file a partition is left')
    assert check_files(cluster, hours=False) == (count, 4)
    produce(cluster, ours, 300)
    eventually(lambda: check_files(cluster, hours=False)[0] == len(wanted_rows(cluster)) > count, 20, what='the chain goes on')
    check_answers(cluster, ours[:5])


def test_old_files_and_rows_are_removed(sinks, users):
    """All but the newest file of a partition, which says where to go on."""
    away_from_the_hour()
    cluster, ours = sinks(settings={**MERGING, 'history-sink:history.retention.days': 30}), users(20)
    sink, = cluster.sinks
    produce(cluster, ours, 800)  # the phones' times are long ago
    wait_published(cluster)
    assert sink.stop() == 0
    move_to_another_hour(cluster, days=40)
    sink.start()
    eventually(lambda: len(merged_files(cluster)) == 4 and not small_files(cluster), 60, what='one file a partition is left')
    for user in ours:
        cluster.topics.produce('locations', user, ('location', location(user, 1)))
    assert owner_says(cluster, ours[0])['items'], 'a new row is kept'
    eventually(lambda: not merged_files(cluster), 30, what='the old files are gone')
    rows = [row for chain in read_files(cluster.history).values() for _, _, rows, _ in chain for row in rows]
    assert len(rows) == len(ours)
    assert sink.stop() == 0
    shutil.rmtree(sink.settings['data.dir'])
    sink.start()
    assert len(owner_says(cluster, ours[0])['items']) == 1
