"""The `starling` command against a real broker and real daemons. Covers cli/bulk.c, cli/bulk_export.c, cli/bulk_import.c, cli/extent.c, cli/graph.c,
cli/history.c, cli/pace.c, cli/past.c, cli/phone.c, cli/reader.c, cli/replay.c, cli/setup.c, cli/status.c, cli/topics.c and cli/watch.c."""
import contextlib
import csv
import datetime
import gzip
import io
import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
import time
import xml.etree.ElementTree

import pytest
from harness.cluster import build_folder
from harness.command import Running, fails
from harness.feed import Feed
from harness.geo import HOME, at, distance_m
from harness.meanwhile import at_once
from harness.processes import clean_environment
from harness.records import decode, key_users, pair_key
from harness.waiting import eventually, now_ms


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


# topics


def test_topics_are_made_once_and_never_changed(make_cluster):
    cluster = make_cluster(partitions=3, delivery_partitions=5)
    create = 'topics', 'create', '--partitions', 3, '--delivery-partitions', 5
    first = cluster.starling(*create)
    assert 'Created' in first.stdout
    assert re.search(rf'{re.escape(cluster.prefix)}locations +3 partitions', first.stdout)
    assert re.search(rf'{re.escape(cluster.prefix)}deliveries +5 partitions', first.stdout)
    again = cluster.starling(*create)
    assert 'were there already' in again.stdout
    reason = fails(cluster, 'topics', 'create', '--partitions', 4, '--delivery-partitions', 5)
    assert f'{cluster.prefix}locations has 3 partitions, not 4' in reason
    assert len(cluster.topics.ends('locations')) == 3


# graph


def befriended(cluster, *pairs):
    """Imports the pairs from a file and waits until the router has handled them."""
    file = cluster.folder / 'pairs'
    file.write_text(''.join(f'{a} {b}\n' for a, b in pairs))
    return cluster.starling('graph', 'import', file, '--wait', 60)


def exported(cluster, *arguments):
    return {tuple(map(int, line.split())) for line in cluster.starling('graph', 'export', *arguments).stdout.splitlines()}


def test_friendships_go_in_and_come_out(shared_cluster, users, tmp_path):
    ids = users(40)
    pairs = {(a, b) for i, a in enumerate(ids) for b in ids[i + 1::7]}
    packed = tmp_path / 'friends.gz'
    with gzip.open(packed, 'wt') as file:
        file.write('# people\n\n')
        for number, (a, b) in enumerate(sorted(pairs)):
            file.write(f'{a},{b}\n' if number % 2 else f'{b}\t{a}\r\n')
        file.write(f'{ids[0]} {ids[0]}\n')
    done = shared_cluster.starling('graph', 'import', packed, '--wait', 60)
    assert f'{len(pairs)} friendships sent' in done.stderr
    assert '1 lines name one user twice' in done.stderr
    for user in ids[:3]:
        assert shared_cluster.friends_of(user) == {b if a == user else a for a, b in pairs if user in (a, b)}
    ours = {pair for pair in exported(shared_cluster) if pair[0] in ids}
    assert ours == pairs

    (a, b), (c, d) = sorted(pairs)[:2]
    shared_cluster.http(a).ok('DELETE', f'/v1/friends/{b}')
    eventually(lambda: b not in shared_cluster.friends_of(a), what=f'{a} and {b} are no friends')
    out = tmp_path / 'out.gz'
    assert shared_cluster.starling('graph', 'export', out).stdout == ''
    with gzip.open(out, 'rt') as file:
        written = {tuple(map(int, line.split())) for line in file}
    assert (a, b) not in written and (c, d) in written
    assert {pair for pair in written if pair[0] in ids} == pairs - {(a, b)}


def test_importing_twice_changes_nothing(shared_cluster, users):
    a, b = users(2)
    befriended(shared_cluster, (a, b))
    before = shared_cluster.topics.ends('friendships')
    befriended(shared_cluster, (b, a))
    assert shared_cluster.topics.ends('friendships') == before


def commands_among(cluster, ids):
    found = [decode(m.value) for m in cluster.topics.read('friend-commands')]
    return [(c['from'], c['to']) for c in found if c['from'] in ids]


def test_an_import_goes_on_where_it_stopped(shared_cluster, users, tmp_path):
    ids = users(6)
    file, state = tmp_path / 'friends', tmp_path / 'state'
    file.write_text(f'{ids[0]} {ids[1]}\n{ids[2]} {ids[3]}\n{ids[4]} {ids[5]}\n')
    state.write_text(f'size {file.stat().st_size} pairs 2\n')
    done = shared_cluster.starling('graph', 'import', file, '--resume', state)
    assert '1 friendships sent' in done.stderr and '2 were sent by an earlier run' in done.stderr
    assert commands_among(shared_cluster, ids) == [(ids[4], ids[5])]
    assert not state.exists()

    state.write_text('size 7 pairs 2\n')
    assert 'belongs to another file' in fails(shared_cluster, 'graph', 'import', file, '--resume', state)
    state.write_text('whatever\n')
    assert 'not a state of an import' in fails(shared_cluster, 'graph', 'import', file, '--resume', state)


def test_a_killed_import_is_resumed(make_cluster, users, tmp_path):
    """The state that a run leaves behind holds for pairs that Kafka has, and no pair is left out."""
    cluster = make_cluster()
    cluster.create_topics()  # and no router, which would handle all this
    ids = users(2)
    file, state = tmp_path / 'friends', tmp_path / 'state'
    file.write_text(''.join(f'{ids[0]} {ids[1] + i}\n' for i in range(400_000)))
    begun = sum(cluster.topics.ends('friend-commands').values())
    with Running(cluster, 'graph', 'import', file, '--resume', state) as running:
        eventually(state.exists, 60, every=0.005, what='a first state is written')
        running.interrupt(signal.SIGKILL)
    sent = sum(cluster.topics.ends('friend-commands').values()) - begun
    done_before = int(state.read_text().split()[3])
    assert 0 < done_before <= sent < 400_000
    done = cluster.starling('graph', 'import', file, '--resume', state)
    assert f'{400_000 - done_before} friendships sent' in done.stderr
    assert not state.exists()


def test_a_bad_file_is_refused_with_its_line(shared_cluster, tmp_path):
    file = tmp_path / 'friends'
    file.write_text('1 x\n')
    assert f'{file}:1: not two ids' in fails(shared_cluster, 'graph', 'import', file)
    assert 'No such file' in fails(shared_cluster, 'graph', 'import', tmp_path / 'none')


def test_an_import_that_no_router_handles_says_so(make_cluster, tmp_path):
    cluster = make_cluster()
    cluster.create_topics()
    file = tmp_path / 'friends'
    file.write_text('1 2\n')
    reason = fails(cluster, 'graph', 'import', file, '--wait', 2)
    assert '1 friend commands are not handled after 2 s: does a router of group ' f'{cluster.group("router")} run?' in reason


# replay


def report(cluster, user, at, **fields):
    """By HTTP. The gateway hears of an opt-in a moment after it was answered."""
    eventually(lambda: cluster.report_http(user, *at, **fields).status_code in (200, 202), what='the report is taken')


def reported(cluster, user, count):
    """Reports of a user, and the records they became."""
    for i in range(count):
        report(cluster, user, at(10 * i))
        time.sleep(0.01)
    return [m for m in cluster.topics.read('locations') if m.key and key_users(m.key) == (user,)]


def test_a_topic_is_replayed_as_json(shared_cluster, users):
    ada, ben = users(2)
    shared_cluster.share(ada, ben)
    mine, others = reported(shared_cluster, ada, 5), reported(shared_cluster, ben, 2)
    found = lines(shared_cluster.starling('replay', 'locations', '--user', ada, '--raw').stdout)
    assert [line['offset'] for line in found] == [m.offset for m in mine]
    for line, message in zip(found, mine):
        record = decode(message.value)
        assert line['topic'] == shared_cluster.topics.name('locations') and line['partition'] == message.partition
        assert line['timestamp'] == message.timestamp and line['key'] == ada
        assert {name: line['value'][name] for name in ('user', 'lat', 'lng', 'time', 'kind')} == {
            name: record[name] for name in ('user', 'lat', 'lng', 'time', 'kind')}

    for line, raw in zip(lines(shared_cluster.starling('replay', 'locations', '--user', ada).stdout), found):
        assert (line['value']['lat'], line['value']['lng']) == (raw['value']['lat'] / 1e7, raw['value']['lng'] / 1e7)
        assert raw['value']['accuracy'] == -1 and line['value']['accuracy'] is None
        same = {'lat': None, 'lng': None, 'accuracy': None}
        assert {**line['value'], **same} == {**raw['value'], **same}
    both = lines(shared_cluster.starling('replay', 'locations', '--user', f'{ada},{ben}').stdout)
    assert {(m.partition, m.offset) for m in mine + others} == {(line['partition'], line['offset']) for line in both}
    assert lines(shared_cluster.starling('replay', 'locations', '--user', ada, '--limit', 2, '--raw').stdout) == found[:2]

    whole = lines(shared_cluster.starling('replay', shared_cluster.topics.name('locations')).stdout)
    assert {(m.partition, m.offset) for m in mine + others} <= {(line['partition'], line['offset']) for line in whole}
    assert len(whole) == len(shared_cluster.topics.read('locations'))
    one = lines(shared_cluster.starling('replay', 'locations', '--partition', mine[0].partition).stdout)
    assert {line['partition'] for line in one} == {mine[0].partition}


def test_a_replay_is_of_a_range_of_time(shared_cluster, ada):
    shared_cluster.share(ada)
    mine = reported(shared_cluster, ada, 6)
    first, last = mine[2].timestamp, mine[4].timestamp
    wanted = [m.offset for m in mine if first <= m.timestamp < last]
    assert 0 < len(wanted) < 6
    iso = [time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(ms // 1000)) + f'.{ms % 1000:03}Z' for ms in (first, last)]
    for begin, end in (first, last), iso:
        found = lines(shared_cluster.starling('replay', 'locations', '--user', ada, '--from', begin, '--to', end).stdout)
        assert [line['offset'] for line in found] == wanted
    wanted = [m.offset for m in mine]
    found = lines(shared_cluster.starling('replay', 'locations', '--user', ada, '--last', '10m', '--to', 'now').stdout)
    assert [line['offset'] for line in found] == wanted
    # Where nothing is, it says what there is. Markers of transactions count: the last time may be some later.
    stamps = [m.timestamp for m in shared_cluster.topics.read('locations')]
    for nothing in ('--from', now_ms() + 60_000), ('--to', 100_000_000_000), ('--from', '-9000d', '--to', '-8999d'):
        done = shared_cluster.starling('replay', 'locations', *nothing)
        assert done.stdout == ''
        told = re.search(r'no record is in this range; (\S+) holds records from (\S+)Z to (\S+)Z$', done.stderr.strip())
        assert told[1] == shared_cluster.topics.name('locations'), done.stderr
        begin, end = (round(datetime.datetime.fromisoformat(text + '+00:00').timestamp() * 1000) for text in told.groups()[1:])
        assert begin == min(stamps) and max(stamps) <= end < max(stamps) + 60_000
    done = shared_cluster.starling('replay', 'bans')
    assert (done.stdout, 'bans holds no records' in done.stderr) == ('', True), done.stderr


def test_friendships_tombstones_and_what_cannot_be_read_are_replayed(shared_cluster, users):
    ada, ben = users(2)
    befriended(shared_cluster, (ada, ben))
    shared_cluster.http(ada).ok('DELETE', f'/v1/friends/{ben}')
    eventually(lambda: [m for m in shared_cluster.topics.read('friendships') if m.key == pair_key(ada, ben)][-1].value
               is None, what='the half is gone')
    found = lines(shared_cluster.starling('replay', 'friendships', '--user', ada).stdout)
    assert [(line['key'], line['value'] and line['value']['state']) for line in found] == [
        ([ada, ben], 'FRIENDS'), ([ada, ben], None)]
    commands = lines(shared_cluster.starling('replay', 'friend-commands', '--user', ben).stdout)
    assert [line['value']['kind'] for line in commands] == ['BEFRIEND', 'REMOVE']

    message = shared_cluster.topics.produce('profiles', ada, b'\x07junk')
    found = lines(shared_cluster.starling('replay', 'profiles', '--user', ada).stdout)
    assert found[-1]['offset'] == message.offset and found[-1]['value'] is None
    assert found[-1]['bytes'] == b'\x07junk'.hex() and found[-1]['error']

    letter = eventually(lambda: lines(shared_cluster.starling('replay', 'profiles.dlq', '--user', ada).stdout), 20)[0]
    assert letter['topic'] == shared_cluster.topics.name('profiles') + '.dlq' and letter['bytes'] == found[-1]['bytes']
    assert letter['reason'] and (letter['from_partition'], letter['from_offset']) == (str(message.partition), str(message.offset))
    assert 'has the partitions 0 to 0' in fails(shared_cluster, 'replay', 'profiles.dlq', '--partition', 1)


def test_deliveries_are_replayed_by_user(shared_cluster, users):
    ada, ben, eve = users(3)
    shared_cluster.share(ada, ben, eve)
    befriended(shared_cluster, (ada, ben))
    with shared_cluster.online(ada, *HOME) as a, shared_cluster.online(ben, *at(100)):
        a.wait_screen({ben})
    found = lines(shared_cluster.starling('replay', 'deliveries', '--user', ada).stdout)
    assert found and all(str(ada) in json.dumps(line['value']) for line in found)
    assert shared_cluster.starling('replay', 'deliveries', '--user', eve).stdout == ''


def test_a_replay_follows_until_it_is_interrupted(shared_cluster, ada):
    shared_cluster.share(ada)
    reported(shared_cluster, ada, 1)
    for number in signal.SIGINT, signal.SIGTERM:
        with Running(shared_cluster, 'replay', 'locations', '--user', ada, '--follow') as running:
            running.wait_line(f'"key":{ada},')
            before = len(running.lines)
            last = reported(shared_cluster, ada, 1)[-1]
            running.wait_line(f'"offset":{last.offset},')
            assert len(running.lines) == before + 1
            code, said = running.interrupt(number)
            assert (code, said) == (0, '')


# history


def test_history_is_printed_as_json_and_csv(shared_cluster, users):
    ada, ben = users(2)
    shared_cluster.share(ada)
    start = now_ms() - 100_000
    for i in range(5):
        report(shared_cluster, ada, at(100 * i), time=start + 1000 * i, accuracy=10 + i)

    def history(*arguments):
        return lines(shared_cluster.starling('history', ada, *arguments).stdout)

    rows = eventually(lambda: found if len(found := history()) == 5 else None, what='five rows')
    assert [row['time'] for row in rows] == [start + 1000 * i for i in range(5)]
    assert [row['accuracy'] for row in rows] == [10 + i for i in range(5)]
    assert all(row['user'] == ada and row['received'] >= start for row in rows)
    assert distance_m(rows[3]['lat'], rows[3]['lng'], *at(300)) < 0.02
    assert [row['time'] for row in history('--from', start + 1000, '--to', start + 3000)] == [start + 1000, start + 2000]

    text = shared_cluster.starling('history', ada, '--format', 'csv').stdout
    table = list(csv.DictReader(io.StringIO(text)))
    assert [{name: float(value) for name, value in row.items() if value} for row in table] == [  # what was not said is empty
        {name: float(value) for name, value in row.items()} for row in rows]
    done = shared_cluster.starling('history', ben)
    assert done.stdout == '' and f'user {ben} has no history' in done.stderr

    assert [row['time'] for row in history('--limit', 2)] == [start, start + 1000]
    south, north = at(150), at(350)
    assert [row['time'] for row in history('--box', f'{south[0]},116,{north[0]},117')] == [start + 2000, start + 3000]
    assert [row['time'] for row in history('--last', '1h')] == [row['time'] for row in rows]
    done = shared_cluster.starling('history', ada, '--to', start)
    began = datetime.datetime.fromtimestamp(start / 1000, datetime.UTC)
    assert done.stdout == '' and 'no reports in this range; their history begins at ' \
        f'{began:%Y-%m-%dT%H:%M:%S}.{start % 1000:03}Z' in done.stderr

    shared_cluster.share(ben)
    report(shared_cluster, ben, HOME, time=start)
    both = eventually(lambda: found if len(found := lines(shared_cluster.starling('history', ada, ben, '--limit', 2).stdout)) == 3
                      else None, what='rows of both')
    assert [row['user'] for row in both] == [ada, ada, ben] and both[2]['accuracy'] is None
    assert len(shared_cluster.starling('history', ada, ben, '--format', 'csv').stdout.splitlines()) == 7


def check_gpx(text, rows, user):
    """The rules of GPX 1.1 for what we write, and that it holds these rows."""
    gpx = '{http://www.topografix.com/GPX/1/1}'
    root = xml.etree.ElementTree.fromstring(text)
    assert root.tag == gpx + 'gpx' and root.attrib == {'version': '1.1', 'creator': 'starling'}
    assert [child.tag for child in root] == [gpx + 'trk']
    name, segment = root[0]
    assert (name.tag, name.text, segment.tag) == (gpx + 'name', str(user), gpx + 'trkseg')
    assert len(segment) == len(rows)
    for point, row in zip(segment, rows):
        assert point.tag == gpx + 'trkpt' and set(point.attrib) == {'lat', 'lon'}
        assert -90 <= float(point.get('lat')) <= 90 and -180 <= float(point.get('lon')) < 180
        assert (float(point.get('lat')), float(point.get('lon'))) == (row['lat'], row['lng'])
        when, extensions = point  # in the order of the schema
        assert (when.tag, extensions.tag) == (gpx + 'time', gpx + 'extensions')
        assert re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z', when.text)
        assert datetime.datetime.fromisoformat(when.text).timestamp() == pytest.approx(row['time'] / 1000, abs=1e-4)
        assert all(not each.tag.startswith(gpx) for each in extensions), 'extensions are of another namespace'
        found = {each.tag.partition('}')[2]: each.text for each in extensions}
        assert found.get('accuracy') == (None if row['accuracy'] is None else str(row['accuracy']))
        assert datetime.datetime.fromisoformat(found['received']).timestamp() == pytest.approx(row['received'] / 1000, abs=1e-4)


def check_geojson(text, rows):
    """The rules of RFC 7946 for what we write, and that it holds these rows."""
    found = json.loads(text)
    assert set(found) == {'type', 'features'} and found['type'] == 'FeatureCollection'
    assert len(found['features']) == len(rows)
    for feature, row in zip(found['features'], rows):
        assert set(feature) == {'type', 'geometry', 'properties'} and feature['type'] == 'Feature'
        assert feature['geometry'] == {'type': 'Point', 'coordinates': [row['lng'], row['lat']]}
        assert feature['properties'] == {name: row[name] for name in ('user', 'time', 'accuracy', 'received')}


def test_history_as_files_by_the_command_and_by_the_api(shared_cluster, users):
    ada, ben = users(2)
    shared_cluster.share(ada, ben)
    start = now_ms() - 100_000
    for i in range(5):
        report(shared_cluster, ada, at(100 * i), time=start + 1000 * i, **({'accuracy': i} if i else {}))

    def said(user, name, *arguments):
        return shared_cluster.starling('history', user, '--format', name, *arguments).stdout

    rows = eventually(lambda: found if len(found := lines(said(ada, 'jsonl'))) == 5 else None, what='five rows')
    assert rows[0]['accuracy'] is None
    check_gpx(said(ada, 'gpx'), rows, ada)
    check_gpx(said(ben, 'gpx'), [], ben)
    check_geojson(said(ada, 'geojson', '--from', start + 2000), rows[2:])
    check_geojson(said(ben, 'geojson'), [])

    def asked(accept, **params):
        return shared_cluster.http(ada).get('/v1/history', headers={'Accept': accept}, params=params)

    types = {'application/x-ndjson': 'jsonl', 'text/csv': 'csv', 'application/gpx+xml': 'gpx', 'application/geo+json': 'geojson'}
    for media_type, name in types.items():
        answer = asked(media_type)
        assert (answer.status_code, answer.headers['Content-Type']) == (200, media_type)
        assert answer.text == said(ada, name), 'the command and the API write the same'
        assert 'Link' not in answer.headers and 'Accept' in answer.headers['Vary'].split(', ')
        empty = shared_cluster.http(ben).get('/v1/history', headers={'Accept': media_type})
        assert (empty.status_code, empty.text) == (200, said(ben, name))
    page = asked('application/json')
    assert page.json()['next'] is None and 'Accept' in page.headers['Vary'].split(', ')
    assert asked('text/csv;q=0.5, application/geo+json').headers['Content-Type'] == 'application/geo+json'
    assert asked('text/html, */*;q=0.1').headers['Content-Type'].startswith('application/json')
    refused = asked('text/html, application/gpx+xml;q=0')
    assert refused.status_code == 406 and refused.json()['code'] == 'not_acceptable'
    assert all(media_type in refused.json()['detail'] for media_type in types)

    # A page of a file says by a header where the next one is.
    found, answer = [], asked('application/x-ndjson', limit=2, to=start + 4500)
    while True:
        found += lines(answer.text)
        if 'Link' not in answer.headers:
            break
        assert answer.links['next']['url'].startswith('/v1/history?')
        answer = shared_cluster.http(ada).get(answer.links['next']['url'], headers={'Accept': 'application/x-ndjson'})
    assert found == rows
    assert asked('text/csv', **{'from': start, 'to': start}).status_code == 200
    bad = asked('text/csv', **{'from': start + 1, 'to': start})
    assert (bad.status_code, bad.json()['code']) == (400, 'bad_query')
    assert bad.json()['detail'] == f'"from" is {start + 1}, but must not be after "to", which is {start}'
    bad = asked('text/csv', limit='9"\u001b' + 'x' * 100)
    assert bad.json()['detail'].startswith('"limit" is "9\\"\\u001bxxx') and bad.json()['detail'].endswith(
        'xx"..., but must be a whole number from 1 to 10000'), bad.json()
    bad = asked('text/csv', after='nothing')
    assert (bad.status_code, bad.json()['code']) == (400, 'bad_query')


def test_long_histories_come_in_pages(shared_cluster, ada):
    shared_cluster.share(ada)
    start, count = now_ms() - 10_000_000, 4500
    report(shared_cluster, ada, HOME, time=start - 1)
    gateway = shared_cluster.gateway()
    for first in range(0, count, 900):
        gateway.ok('POST', '/v1/locations', json={'locations': [
            {'user': ada, 'lat': HOME[0], 'lng': HOME[1], 'time': start + i} for i in range(first, first + 900)]})
    wanted = [start + i for i in range(-1, count)]
    eventually(lambda: [row['time'] for row in lines(shared_cluster.starling('history', ada).stdout)] == wanted, 30,
               every=0.5, what='all rows, each once, in order')


def test_history_says_why_there_is_none(make_cluster):
    cluster = make_cluster()
    cluster.start(ingests=0, routers=0, fanouts=0, sinks=1)
    assert 'refuses peer.token' in fails(cluster, 'history', 5, '--set', 'peer.token=wrong')
    cluster.sinks[0].stop()
    begun = time.monotonic()
    reason = fails(cluster, 'history', 5)
    assert f"no history sink (group {cluster.group('history-sink')}) has this user's history now" in reason
    assert time.monotonic() - begun < 25


# status


def test_status_tells_members_partitions_and_lag(shared_cluster, ada):
    shared_cluster.share(ada)
    reported(shared_cluster, ada, 3)

    def caught_up():
        found = json.loads(shared_cluster.starling('status', '--json', check=False).stdout)
        groups = {group['group']: group for group in found['groups']}
        lags = [topic['lag'] for kind in ('router', 'history-sink') for topic in groups[shared_cluster.group(kind)]['topics']]
        return (found, groups) if set(lags) == {0} else None

    found, groups = eventually(caught_up, 30, what='no lag')
    topics = {topic['topic']: topic for topic in found['topics']}
    assert set(topics) == {shared_cluster.topics.name(name) for name in (
        'locations', 'friend-commands', 'friendships', 'profiles', 'sharing', 'link-commands', 'links', 'deliveries', 'command-offsets',
        'follow-commands', 'follower-commands', 'follows', 'follow-refusals', 'visibility', 'post-commands', 'posts', 'post-texts', 'feed-offsets', 'timelines',
        'timeline-requests', 'hot-posts', 'feed-watches', 'name-commands', 'names', 'notices',
        'notice-commands', 'notice-settings', 'approaches', 'place-commands', 'places', 'place-states', 'place-events', 'place-offsets',
        'directory-commands', 'directory', 'comment-commands', 'comments',
            'comment-texts', 'reactions', 'comment-refusals', 'comment-offsets', 'bans', 'moderation-log', 'comments-wide',
            'comment-watches', 'erasures', 'nearby-mutes', 'devices', 'device-ends', 'audit')}
    locations = topics[shared_cluster.topics.name('locations')]
    assert locations['partitions'] == 4
    assert locations['written'] == sum(shared_cluster.topics.ends('locations').values())
    for kind in 'router', 'fanout', 'history-sink':
        daemon, group = shared_cluster.of(kind)[0], shared_cluster.group(kind)
        member, = groups[group]['members']
        assert groups[group]['state'] == 'Stable' and member['client_id'].endswith('@' + daemon.settings['peer.listen'])
        for topic in groups[group]['topics']:
            assert member['partitions'][topic['topic']] == [0, 1, 2, 3]
            assert [p['owner'] for p in topic['partitions']] == [member['client_id']] * 4
    with shared_cluster.online(ada, *HOME):
        def front():
            found = json.loads(shared_cluster.starling('status', '--json', check=False).stdout)
            return found['edges']['sessions'] == 1 and found

        found = eventually(front, what='one session')
        assert found['gateways'] == {'ready': 1, 'count': 1} and found['silent'] == 0
        assert found['edges'] == {'ready': 1, 'count': 1, 'sessions': 1}
    text = shared_cluster.starling('status', '--partitions', check=False).stdout
    assert re.search(r'\ngateways: 1 of 1 ready\nedges: 1 of 1 ready, \d sessions?\n', text), text
    assert f'routers: group {shared_cluster.group("router")}, Stable, 1 member\n' in text
    assert 'locations 0-3; friend-commands 0-3; link-commands 0-3' in text
    assert re.search(r'partition 3 +lag 0 +end \d+ +starling-router@', text)


def test_status_sees_the_lag_of_a_router_that_is_gone(make_cluster, ada):
    cluster = make_cluster()
    cluster.start(routers=1, sinks=0, fanouts=0)
    cluster.share(ada)
    report(cluster, ada, HOME)

    def handled():
        found = json.loads(cluster.starling('status', '--json', check=False).stdout)
        return next(g for g in found['groups'] if g['group'] == cluster.group('router'))['topics'][0]['lag'] == 0

    eventually(handled, 30, what='the router has committed')
    cluster.routers[0].stop()
    for _ in range(7):
        report(cluster, ada, HOME)
    done = cluster.starling('status', check=False)
    text = done.stdout
    assert done.returncode == 2 and text.startswith('down\n  no routers run (group '), text
    assert re.search(rf'routers: group {re.escape(cluster.group("router"))}, Empty, 0 members\n  locations +lag 7, 0\.0/s handled\n'
                     r"    partition \d +lag 7 .*\(nobody's\)", text), text


def test_the_verdict_is_the_exit_code(make_cluster):
    cluster = make_cluster()
    cluster.start(sinks=1)

    def status(*arguments):
        done = cluster.starling('status', *arguments, check=False)
        return done.returncode, done.stdout

    code, text = eventually(lambda: found if (found := status())[0] == 0 else None, 40, every=0.5, what='all is well')
    assert text.startswith('healthy\n\n')
    spare = cluster.add('ingest')
    assert status()[0] == 0
    spare.stop()
    code, text = status()
    assert code == 1 and text.startswith('degraded\n  no daemon answers at 1 of ops.addresses\n'), text
    cluster.ingest.stop()
    code, text = status()
    assert code == 2 and text.startswith('down\n  no gateway answers; of ops.addresses, 2 are silent\n'), text
    # Where nobody said where the daemons are, and none is there, nothing is missed.
    cluster.command_settings['ops.addresses'] = ''
    code, text = status()
    assert code == 0 and 'gateways and edges: not known' in text, text


def test_status_goes_on_until_it_is_interrupted(shared_cluster):
    shared_cluster.starling('status', check=False)  # writes the properties
    with Running(shared_cluster, 'status', '--watch', '--every', 1) as running:
        eventually(lambda: sum(line.startswith('routers: ') for line in running.lines) >= 3, 30, what='three readings')
        assert running.interrupt()[0] == -signal.SIGINT


# watch


def test_watch_prints_what_happens_to_a_list(shared_cluster, users):
    ada, ben = users(2)
    shared_cluster.share(ada, ben)
    befriended(shared_cluster, (ada, ben))
    # A gateway refuses such a name; one of before may be there.
    shared_cluster.topics.produce('profiles', ben, ('profile', {'name': 'Ben \x1b[31m 本', 'avatar_url': ''}))
    with Running(shared_cluster, 'watch', ada, '--at', f'{HOME[0]},{HOME[1]}', '--ws', shared_cluster.ws_url) as running:
        running.wait_line('Z connected$')
        with shared_cluster.online(ben, *at(500)) as phone:
            running.wait_line(rf'Z near {ben} 500\.0 m ')
            phone.report(*at(300))
            line = running.wait_line(rf'Z moved {ben} 300\.0 m ')
            assert line.endswith('Ben ?[31m 本')
            phone.report(*at(30_000))
            running.wait_line(rf'Z gone {ben}$')
        assert running.interrupt() == (0, '')


def test_watch_prints_new_notices(make_cluster, users):
    ada, ben, cleo, dora = users(4)
    cluster = make_cluster(settings={'ingest:ingest.outcome.wait.ms': 8000}).start(sinks=0, feeds=1)
    feed = Feed(cluster)
    feed.follow(ben, ada)
    eventually(lambda: feed.http(ada).ok('GET', '/v1/notices')['unread'] == 1)
    with Running(cluster, 'watch', ada, '--at', f'{HOME[0]},{HOME[1]}', '--ws', cluster.ws_url) as running:
        running.wait_line('Z unread 1$')
        feed.follow(cleo, ada)
        running.wait_line(rf'Z notice follow {cleo} of 2$')
        cluster.fanouts[0].kill()
        running.wait_line('Z disconnected$')
        newest = feed.http(ada).ok('GET', '/v1/notices')['items'][0]['id']
        assert feed.http(ada).ok('PUT', '/v1/notices/read', json={'until': newest}) == {'unread': 0}
        cluster.fanouts[0].start()
        running.wait_line('Z unread 0$', 60)  # the list came again
        feed.follow(dora, ada)
        running.wait_line(rf'Z notice follow {dora} of 3$')
        eventually(lambda: [line.split(' ', 1)[1] for line in running.lines if re.search('Z (notice|unread) ', line)] == [
            'unread 1', f'notice follow {cleo} of 2', 'unread 0', f'notice follow {dora} of 3', 'unread 1'], what=f'five lines in {running.lines}')
        assert running.interrupt() == (0, '')


def test_watch_begins_where_the_user_was_last(shared_cluster, users):
    ada, ben = users(2)
    shared_cluster.share(ada, ben)
    befriended(shared_cluster, (ada, ben))
    assert 'has reported nothing for a day: give --at' in fails(shared_cluster, 'watch', ada, '--ws', shared_cluster.ws_url)
    report(shared_cluster, ada, at(9_000))
    report(shared_cluster, ada, HOME)
    eventually(lambda: len(lines(shared_cluster.starling('history', ada).stdout)) == 2, what='two rows')
    with shared_cluster.online(ben, *at(400)), Running(shared_cluster, 'watch', ada, '--ws', shared_cluster.ws_url) as running:
        running.wait_line(rf'near {ben} 400\.0 m')
        assert running.interrupt(signal.SIGTERM) == (0, '')


def test_watch_ends_when_there_is_no_hope(shared_cluster, users):
    ada, ben = users(2)
    at = '--at', f'{HOME[0]},{HOME[1]}', '--ws', shared_cluster.ws_url
    reason = fails(shared_cluster, 'watch', ada, *at, '--token', shared_cluster.token(ada, ttl=-60))
    assert 'the server refuses the token' in reason
    assert f"the token is user {ben}'s" in fails(shared_cluster, 'watch', ada, *at, '--token', shared_cluster.token(ben))
    with contextlib.closing(socket.create_server(('127.0.0.1', 0))) as silent:
        url = f'ws://127.0.0.1:{silent.getsockname()[1]}/'
        begun = time.monotonic()
        assert 'does not answer' in fails(shared_cluster, 'watch', ada, '--at', '1,2', '--ws', url)
        assert time.monotonic() - begun < 15
    assert 'no connection' in fails(shared_cluster, 'watch', ada, '--at', '1,2', '--ws', url)


def test_watch_ends_when_the_user_ends_it_from_another_device(make_cluster, ada):
    cluster = make_cluster()
    cluster.start(feeds=1, sinks=0)
    cluster.share(ada)
    http = cluster.http(ada)
    with Running(cluster, 'watch', ada, '--at', f'{HOME[0]},{HOME[1]}', '--ws', cluster.ws_url, '--device', 'terminal') as running:
        running.wait_line('connected')
        with cluster.online(ada, *HOME) as phone:
            device = eventually(lambda: [item['id'] for item in http.ok('GET', '/v1/devices')['items'] if item['device'] == 'terminal'])[0]
            assert http.delete(f'/v1/devices/{device}').status_code == 204
            code, said = running.wait(40)
            assert code == 1 and 'ended from another device' in said
            assert phone.closed() is None


def test_watch_outlives_its_edge(make_cluster, users):
    cluster = make_cluster()
    cluster.start(ingests=1, sinks=0)
    ada, ben = users(2)
    cluster.share(ada, ben)
    befriended(cluster, (ada, ben))
    with Running(cluster, 'watch', ada, '--at', f'{HOME[0]},{HOME[1]}', '--ws', cluster.ws_url) as running:
        running.wait_line('connected')
        cluster.fanouts[0].restart()
        running.wait_line('disconnected')
        eventually(lambda: sum(line.endswith(' connected') for line in running.lines) == 2, 30, what='connected again')
        with cluster.online(ben, *HOME):
            running.wait_line(f'near {ben} 0.0 m')
        assert running.interrupt() == (0, '')


def read_terminal(fd, seconds, until):
    """What the terminal was sent, until the pattern is in it."""
    text, deadline = b'', time.monotonic() + seconds
    while time.monotonic() < deadline and not re.search(until, text):
        if select.select([fd], [], [], 0.2)[0]:
            text += os.read(fd, 65536)
    assert re.search(until, text), text
    return text


def test_watch_draws_a_picture_in_a_terminal(shared_cluster, users):
    ada, ben = users(2)
    shared_cluster.share(ada, ben)
    befriended(shared_cluster, (ada, ben))
    shared_cluster.http(ben).ok('PUT', '/v1/profile', json={'name': 'Benjamin'})
    shared_cluster.starling('topics', 'create', '--partitions', 4, '--delivery-partitions', 4)  # writes the properties
    master, slave = pty.openpty()
    child = subprocess.Popen(
        [build_folder() / 'starling', 'watch', str(ada), '--at', f'{HOME[0]},{HOME[1]}', '--ws', shared_cluster.ws_url,
         '--config', shared_cluster.folder / 'starling.properties'], stdout=slave, stdin=slave,
        env={**clean_environment(), 'TERM': 'xterm'})
    os.close(slave)
    try:
        read_terminal(master, 20, rb'\x1b\[\?1049h')
        read_terminal(master, 20, b'0 near within 8046 m')
        with shared_cluster.online(ben, *at(2_500)):
            read_terminal(master, 20, rb'1 near within 8046 m\x1b\[K\r\n\x1b\[K\r\nBenjamin +%d +2500.0 m +' % ben)
            child.send_signal(signal.SIGINT)
            read_terminal(master, 20, rb'\x1b\[\?1049l')
        assert child.wait(10) == 0
    finally:
        child.kill()
        child.wait()
        os.close(master)


# trouble


COMMANDS = [('topics', 'create'), ('graph', 'import', '/dev/null'), ('graph', 'export'), ('replay', 'locations'),
            ('history', 5), ('status',), ('watch', 5), ('trace', '--latest', 1)]


def test_a_broker_that_is_away_is_named_within_seconds(make_cluster):
    cluster = make_cluster()
    begun = time.monotonic()
    reasons = at_once(lambda command: fails(cluster, *command, '--set', 'kafka.bootstrap.servers=127.0.0.1:1',
                                            code=2 if command == ('status',) else 1), COMMANDS)
    for command, reason in zip(COMMANDS, reasons, strict=True):
        assert reason.startswith(f'starling {command[0]}: no Kafka broker answers at 127.0.0.1:1'), reason
    assert time.monotonic() - begun < 12


@pytest.mark.parametrize('command', COMMANDS[1:], ids=lambda command: '-'.join(map(str, command[:2])).replace('/', ''))
def test_topics_that_are_missing_are_named(make_cluster, command):
    cluster = make_cluster()
    reason = fails(cluster, *command, code=2 if command == ('status',) else 1)
    assert 'starling topics create' in reason and f'{cluster.prefix}locations' in reason


@pytest.mark.parametrize('arguments', [
    (), ('nothing',), ('topics',), ('topics', 'delete'), ('topics', 'create', '--partitions', '0'),
    ('topics', 'create', '--partitions', 'x'), ('graph',), ('graph', 'import'), ('graph', 'import', 'a', 'b'),
    ('graph', 'export', '--wait', '3'), ('graph', 'import', 'a', '--wait', '0'), ('replay',), ('replay', 'nothing'),
    ('replay', 'locations', '--from', 'soon'), ('replay', 'locations', '--user', '-1'),
    ('replay', 'locations', '--follow', '--to', '5'), ('history',), ('history', 'ada'), ('history', '5', '--format', 'kml'),
    ('history', '5', '--to', 'x'), ('history', '5', '5'), ('history', '5', '--from', '9', '--to', '9'),
    ('history', '5', '--limit', '0'), ('history', '5', '--box', '3,2,1,4'), ('history', '5', '--last', '1h', '--from', '7'),
    ('replay', 'locations', '--user', '1,x'), ('replay', 'locations', '--limit', 'x'),
    ('replay', 'locations', '--raw', '--format', 'avro'), ('status', 'x'), ('status', '--jsn'), ('status', '--live', '--every', '0'),
    ('watch',), ('watch', '5', '--at', '91,0'),
    ('watch', '5', '--at', '1'), ('watch', '5', '--ws', 'http://x'), ('watch', '5', '--set', 'nonsense'),
    ('status', '--set', 'topic.prefix=x'), ('trace',), ('trace', 'new', 'new'), ('trace', 'nothing'), ('trace', '--latest', '0'),
    ('trace', 'new', '--latest', '1'), ('trace', 'new', '--from', 'soon')], ids=lambda arguments: ' '.join(arguments))
def test_wrong_usage_has_a_code_of_its_own_and_the_usage(arguments):
    done = subprocess.run([build_folder() / 'starling', *arguments], capture_output=True, text=True, timeout=20,
                          env=clean_environment())
    # For `status` 2 means down.
    assert done.returncode == (3 if arguments[:1] == ('status',) else 2) and done.stdout == ''
    assert 'usage: starling' in done.stderr


def test_output_that_cannot_be_written_is_a_failure(shared_cluster, users):
    ada, ben = users(2)
    shared_cluster.share(ada)
    shared_cluster.befriend((ada, ben))
    reported(shared_cluster, ada, 1)
    shared_cluster.starling('status', check=False)
    with open('/dev/full', 'w') as full:
        for command in ('replay', 'sharing'), ('status',), ('graph', 'export', '/dev/full'):
            done = subprocess.run([build_folder() / 'starling', *command, '--config',
                                   shared_cluster.folder / 'starling.properties'],
                                  stdout=full, stderr=subprocess.PIPE, text=True, timeout=30, env=clean_environment())
            assert done.returncode == 1 and ('cannot be written' in done.stderr or 'No space left' in done.stderr)
