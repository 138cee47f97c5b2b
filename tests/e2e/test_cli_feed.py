"""`starling follows`, `posts` and `feed`, with one feed process that is well. Covers cli/asking.c, cli/feed.c, cli/follows.c, cli/posts.c and
cli/post_options.c."""
import gzip
import json
import re
import subprocess
import time

import pytest
from harness.cluster import build_folder
from harness.command import fails
from harness.feed import Feed
from harness.meanwhile import at_once
from harness.processes import clean_environment
from harness.waiting import eventually

USER_COMMANDS = 'posts', 'feed'


@pytest.fixture(scope='module')
def feed(make_module_cluster):
    return Feed(make_module_cluster(settings={'ingest:ingest.outcome.wait.ms': 8000}).start(
        routers=0, fanouts=0, sinks=0, feeds=1))


def pairs(text):
    return [tuple(map(int, line.split())) for line in text.splitlines()]


def exported(feed, ids):
    return [pair for pair in pairs(feed.cluster.starling('follows', 'export').stdout) if pair[0] in ids]


def shown(feed, command, user, *arguments):
    """The posts that the command prints as JSON."""
    done = feed.cluster.starling(command, user, '--json', *arguments)
    assert done.stderr == ''
    return [json.loads(line) for line in done.stdout.splitlines()]


def as_the_owner_says(post):
    return {name: post[name] for name in ('id', 'user', 'text', 'media', 'time')}


# ---- follows ----

def test_follows_go_in_and_come_out(feed, users, tmp_path):
    ids = users(30)
    wanted = {(a, b) for i, a in enumerate(ids) for b in ids[i % 5::7] if a != b}
    packed = tmp_path / 'follows.gz'
    with gzip.open(packed, 'wt') as file:
        file.write('# who follows whom\n\n')
        for number, (a, b) in enumerate(sorted(wanted)):
            file.write(f'{a},{b}\n' if number % 2 else f'{a}\t{b}\r\n')
        file.write(f'{ids[0]} {ids[0]}\n')
    done = feed.cluster.starling('follows', 'import', packed)
    assert f'{len(wanted)} follows sent' in done.stderr and f'{len(wanted)} follows decided' in done.stderr
    assert '1 lines name one user twice' in done.stderr

    found = exported(feed, ids)
    assert len(found) == len(wanted) and set(found) == wanted
    by_user = {a: [b for user, b in found if user == a] for a in ids}
    assert all(others == sorted(others) for others in by_user.values())
    for user in ids[:8]:
        followers = sorted(a for a, b in wanted if b == user)
        eventually(lambda: feed.listed(user, 'followers', 20) == followers)
        eventually(lambda: feed.listed(user, 'following', 20) == by_user[user])

    (a, b), *_ = found
    feed.unfollow(a, b)
    feed.mute(a, ids[0] if a != ids[0] else ids[1])  # which is no follow
    out = tmp_path / 'out.gz'
    assert feed.cluster.starling('follows', 'export', out).stdout == ''
    with gzip.open(out, 'rt') as file:
        assert {pair for pair in pairs(file.read()) if pair[0] in ids} == wanted - {(a, b)}


def test_what_was_exported_can_be_imported(feed, users, tmp_path):
    """Again, too: it changes nothing."""
    ids = users(5)
    file, out = tmp_path / 'follows', tmp_path / 'out'
    file.write_text(''.join(f'{ids[0]} {other}\n{other} {ids[0]}\n' for other in ids[1:]))
    feed.cluster.starling('follows', 'import', file)
    before = feed.cluster.topics.ends('follows')
    feed.cluster.starling('follows', 'export', out)
    feed.cluster.starling('follows', 'import', out, '--wait', 60)
    assert feed.cluster.topics.ends('follows') == before
    assert set(exported(feed, ids)) == set(pairs(file.read_text()))


def test_an_import_of_follows_goes_on_where_it_stopped(feed, users, tmp_path):
    ids = users(4)
    file, state = tmp_path / 'follows', tmp_path / 'state'
    file.write_text(f'{ids[0]} {ids[1]}\n{ids[2]} {ids[3]}\n')
    state.write_text(f'size {file.stat().st_size} pairs 1\n')
    done = feed.cluster.starling('follows', 'import', file, '--resume', state)
    assert '1 follows sent' in done.stderr and '1 were sent by an earlier run' in done.stderr
    assert exported(feed, ids) == [(ids[2], ids[3])]
    assert not state.exists()


def test_a_bad_file_of_follows_is_refused_with_its_line(feed, tmp_path):
    file = tmp_path / 'follows'
    file.write_text('# fine\n1 x\n')
    assert f'{file}:2: not two ids' in fails(feed.cluster, 'follows', 'import', file)
    assert 'No such file' in fails(feed.cluster, 'follows', 'import', tmp_path / 'none')


# ---- posts and feed ----

def test_posts_and_feed_show_what_was_posted(feed, users, tmp_path):
    ada, ben, cem = users(3)
    file = tmp_path / 'follows'
    file.write_text(f'{ada} {ben}\n{ada} {cem}\n')
    feed.cluster.starling('follows', 'import', file)
    posts = [feed.post(author, text, media=media) for author, text, media in [
        (ben, 'Grüße, \U0001f30d "quoted"\n\x1b[1m', ['https://img.example/1']), (cem, 'two', []), (ben, 'three', []),
        (cem, 'four', []), (ada, 'the own one', [])]]
    deleted = feed.post(ben, 'soon gone')
    feed.delete(ben, deleted['id'])
    newest_first = [as_the_owner_says(post) for post in posts[::-1]]

    def by(*authors):
        # Ids rise with time, but two authors' posts of one millisecond are in the order of partitions.
        return sorted((post for post in newest_first if post['user'] in authors), key=lambda post: -int(post['id']))

    for author in (ada, ben, cem):
        assert shown(feed, 'posts', author) == by(author)
    assert shown(feed, 'posts', ben, '--limit', 1) == by(ben)[:1]
    eventually(lambda: shown(feed, 'feed', ada) == by(ben, cem), 20)
    assert shown(feed, 'feed', ada, '--limit', 3) == by(ben, cem)[:3]

    def lines(command, user):
        return feed.cluster.starling(command, user).stdout.splitlines()

    time_pattern = r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ'
    for post, line in zip(by(ben), lines('posts', ben), strict=True):
        when, number, text = line.split(' ', 2)
        assert re.fullmatch(time_pattern, when) and number == post['id'] and json.loads(text) == post['text']
    for post, line in zip(by(ben, cem), lines('feed', ada), strict=True):
        when, number, author, text = line.split(' ', 3)
        assert re.fullmatch(time_pattern, when) and number == post['id'] and json.loads(text) == post['text']
        assert int(author) == post['user']


def test_many_posts_come_in_pages(feed, users):
    ada, ben = users(2)
    feed.follow(ben, ada)
    posts = [as_the_owner_says(feed.post(ada, str(number))) for number in range(300)][::-1]
    assert shown(feed, 'posts', ada, '--limit', 1000) == posts
    assert shown(feed, 'posts', ada, '--limit', 260) == posts[:260]
    assert shown(feed, 'posts', ada) == posts[:20]
    eventually(lambda: shown(feed, 'feed', ben, '--limit', 1000) == posts, 20)
    assert shown(feed, 'feed', ben) == posts[:20]


def test_an_unknown_user_has_nothing(feed):
    for command in USER_COMMANDS:
        for style in [], ['--json']:
            done = feed.cluster.starling(command, 2**63 - 1, *style)
            assert (done.stdout, done.stderr) == ('', '')


# ---- errors ----

def test_commands_say_why_there_is_nothing(make_cluster, tmp_path):
    cluster = make_cluster()
    cluster.start(ingests=0, routers=0, fanouts=0, sinks=0, feeds=1)
    for command in USER_COMMANDS:
        assert f'starling {command}: the feed process refuses peer.token' in fails(
            cluster, command, 5, '--set', 'peer.token=wrong')
    cluster.feeds[0].stop()
    for command, what in zip(USER_COMMANDS, ('posts', 'timeline')):
        begun = time.monotonic()
        reason = fails(cluster, command, 5)
        assert f"no feed process (group {cluster.group('feed')}) has this user's {what} now" in reason
        assert time.monotonic() - begun < 25
    file = tmp_path / 'follows'
    file.write_text('1 2\n')
    assert f'1 follower commands are not decided after 2 s: does a feed process of group {cluster.group("feed")} run?' in \
        fails(cluster, 'follows', 'import', file, '--wait', 2)


def test_a_broker_that_is_away_is_named(make_cluster):
    cluster = make_cluster()
    commands = [('follows', 'import', '/dev/null'), ('follows', 'export'), ('posts', 5), ('feed', 5)]
    reasons = at_once(lambda command: fails(cluster, *command, '--set', 'kafka.bootstrap.servers=127.0.0.1:1'), commands)
    for command, reason in zip(commands, reasons, strict=True):
        assert reason.startswith(f'starling {command[0]}: no Kafka broker answers at 127.0.0.1:1'), reason


@pytest.mark.parametrize('arguments, named', [
    (['follows'], 'import with one FILE, or export'), (['follows', 'import'], 'import with one FILE'),
    (['follows', 'export', '--wait', '3'], '--wait'), (['follows', 'import', 'a', '--wait', '0'], '--wait 0'),
    *[([command, *arguments], named) for command in USER_COMMANDS for arguments, named in [
        ([], 'one user'), (['5', '6'], 'one user'), (['ada'], 'user ada'), (['5', '--limit', '0'], '--limit 0'),
        (['5', '--limit', '1001'], '--limit 1001'), (['5', '--limit', 'x'], '--limit x'), (['5', '--jsn'], '--jsn')]],
], ids=str)
def test_wrong_usage_ends_with_2_and_names_it(arguments, named):
    done = subprocess.run([build_folder() / 'starling', *arguments], capture_output=True, text=True, timeout=20,
                          env=clean_environment())
    assert done.returncode == 2 and done.stdout == ''
    assert named in done.stderr.splitlines()[0] and f'usage: starling {arguments[0]} ' in done.stderr


def test_help_is_no_failure():
    for command in 'follows', *USER_COMMANDS:
        done = subprocess.run([build_folder() / 'starling', command, '--help'], capture_output=True, text=True, timeout=20,
                              env=clean_environment())
        assert done.returncode == 0 and done.stdout.startswith(f'usage: starling {command} ') and done.stderr == ''
