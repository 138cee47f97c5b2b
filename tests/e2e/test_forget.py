"""Users who are forgotten: nothing of them is left, wherever one looks. Covers cli/forget.c, ingest/account/erasing.c,
ingest/account/erasing_commands.c, lib/kafka/keeping.c and lib/kafka/records.c."""
import calendar
import json
import shutil
import time

import pytest

from harness.belongings import TOLD, Belongings
from harness.meanwhile import meanwhile
from harness.records import decode
from harness.waiting import eventually
from test_history import read_file

NOTHING = {'profile', 'sharing', 'handle', 'friends', 'following', 'followers', 'requests', 'muted', 'posts', 'comments', 'likes', 'notices',
           'places', 'devices', 'history'}


@pytest.fixture(scope='module')
def everything(make_module_cluster):
    return make_module_cluster(settings={'ingest:ingest.outcome.wait.ms': 2000, 'history-sink:history.roll.s': 1}).start(
        feeds=1, comments=1, places=1, moderators=1)


def forget(http):
    """Until nothing is left; the last answer."""
    def forgotten():
        answer = http.delete('/v1/me')
        assert answer.status_code in (200, 202, 503), answer.text
        if answer.status_code == 202:
            assert answer.headers['Location'] == '/v1/me' and answer.json()['state'] == 'forgetting'
        return answer.status_code == 200 and answer.json()

    return eventually(forgotten, 60, what='the user is forgotten')


def newest(cluster, topic):
    """Key -> value, as a compacted topic keeps it."""
    return {m.key: m.value for m in cluster.topics.read(topic)}


def check_gone(some):
    """What anybody can still see of the user."""
    cluster, user = some.cluster, some.user
    kinds = {kind: items for kind, items in some.exported().items() if kind not in ('account', 'comments', 'reports')}
    assert not any(kinds.values()), kinds
    # Of comments the place in the thread stays, and reports count for moderators.
    assert [(report['subject'], report['what']) for report in some.exported()['reports']] == [(f'post:{some.theirs["id"]}', 'report')]
    eventually(lambda: [(c['text'], c['state']) for c in some.exported()['comments']] == [(None, 'deleted')], what='the search follows')
    assert some.exported()['account'] == [{'user': user, 'name': None, 'avatar_url': None, 'bio': None, 'url': None, 'sharing': 'off', 'until': None,
                                          'details': False, 'nearby_muted': [], 'handle': None, 'visibility': 'everybody',
                                          'notices': {'read': None, 'preferences': TOLD}}]
    assert cluster.http(some.fan).get(f'/v1/profiles/{user}').status_code == 404
    assert cluster.http(some.fan).get(f'/v1/handles/{some.handle}').status_code == 404
    assert cluster.http(some.fan).ok('GET', f'/v1/users/{some.fan}/following')['items'] == []
    assert cluster.http(some.fan).ok('GET', f'/v1/users/{some.idol}/followers')['items'] == []
    assert cluster.http(some.friend).ok('GET', '/v1/friends', params={'state': 'all'})['items'] == []
    assert cluster.http(some.stranger).ok('GET', '/v1/friends', params={'state': 'all'})['items'] == []
    for post in some.posts:
        assert cluster.http(some.fan).get(f'/v1/posts/{post["id"]}').status_code == 404
    thread = cluster.http(some.fan).ok('GET', f'/v1/comments/post/{some.theirs["id"]}')
    gone, = thread['items']
    assert (gone['id'], gone['text'], gone['state'], gone['floor']) == (some.comment['id'], None, 'deleted', 1)
    reply, = gone['replies']
    assert (reply['text'], reply['likes'], thread['likes']) == ('another one', 0, 0)
    assert cluster.http(some.fan).ok('GET', f'/v1/posts/{some.theirs["id"]}/likes') == {'items': [], 'next': None}
    eventually(lambda: some.found(f'zanzibar{user}') == [], what='moderators find it no longer')


def test_a_user_is_forgotten_everywhere(everything, users):
    some = Belongings(everything, users(5))
    with everything.online(some.friend, *some.places[0]) as phone, everything.online(some.user, *some.places[0]):
        phone.wait_screen({some.user})
        report = forget(some.http(some.user))
        phone.wait_screen(set())
    rows, later = report['removed'].pop('history'), report.pop('later')
    assert rows >= 3  # the phone's JOIN and what it reported, too
    assert {name: round((by / 1000 - time.time()) / 3600) for name, by in later.items()} == {
        'history_files': 1, 'topics': 14 * 24, 'dead_letters': 185}
    assert report == {'user': some.user, 'state': 'forgotten', 'at': None, 'removed': {
        'profile': 1, 'sharing': 1, 'handle': 1, 'friends': 2, 'following': 1, 'followers': 1, 'requests': 2, 'muted': 2, 'posts': 3,
        'comments': 1, 'likes': 2, 'notices': 4, 'places': 1, 'devices': 1}}
    check_gone(some)
    check_topics(some)
    check_history(some)
    assert set(forget(some.http(some.user))['removed'].values()) == {0}
    # The number is not blocked: somebody new may have it, and begins with nothing.
    some.http(some.user).ok('PUT', '/v1/profile', json={'name': 'Ada again'})
    assert some.http(some.user).post('/v1/locations', json={'lat': 1, 'lng': 1, 'time': 1}).json()['code'] == 'sharing_off'


def check_history(some):
    """Of the user nothing, of the friend everything: by HTTP, by the command, in the files, and when all that is left are the files."""
    cluster = some.cluster
    of_friend = cluster.http(some.friend).ok('GET', '/v1/history')['items']
    assert of_friend

    def answers(user):
        return [json.loads(line) for line in cluster.starling('history', user).stdout.splitlines()]

    assert answers(some.user) == [] and len(answers(some.friend)) == len(of_friend)
    eventually(lambda: users_of_files(cluster).isdisjoint({some.user}), 30, what='no file has the user')
    assert some.friend in users_of_files(cluster)
    sink, = cluster.sinks
    assert sink.stop() == 0
    shutil.rmtree(sink.settings['data.dir'])
    sink.start()
    eventually(lambda: cluster.http(some.friend).get('/v1/history').status_code == 200, what='the sink is found')
    assert cluster.http(some.user).ok('GET', '/v1/history')['items'] == []
    assert cluster.http(some.friend).ok('GET', '/v1/history')['items'] == of_friend


def users_of_files(cluster):
    return {row['user'] for path in cluster.history.rglob('*.avro') if not path.name.startswith('.') for row in read_file(path)[0]}


def check_topics(some):
    """What compaction leaves."""
    cluster, key = some.cluster, some.user.to_bytes(8, 'big')
    assert newest(cluster, 'profiles')[key] is None and newest(cluster, 'sharing')[key] is None
    for topic in 'friendships', 'follows', 'notices', 'post-texts':
        mine = [value for k, value in newest(cluster, topic).items() if k.startswith(key)]
        assert mine and set(mine) == {None}, topic
    assert decode(newest(cluster, 'names')[key])['handle'] == ''
    comment = some.subject.encode() + b'\0' + int(some.comment['id']).to_bytes(8, 'big')
    assert decode(newest(cluster, 'comment-texts')[comment])['text'] == ''
    wide = decode(newest(cluster, 'comments-wide')[comment])
    assert (wide['text'], wide['name']) == ('', '')
    liked = some.subject.encode() + b'\0' + int(some.others['id']).to_bytes(8, 'big') + key
    reaction = decode(newest(cluster, 'reactions')[liked])
    assert (reaction['likes'], reaction['reported']) == (False, True)
    assert newest(cluster, 'reactions')[some.subject.encode() + b'\0' + bytes(8) + key] is None


def stuck_at_comments(some):
    """The erasure is begun, and comments are not reached."""
    answer = some.http(some.user).delete('/v1/me')
    assert (answer.status_code, answer.json()['at']) == (202, 'comments')
    return answer.json()['removed']


def test_it_waits_for_an_owner_who_is_away(everything, users):
    some = Belongings(everything, users(5))
    comments, = everything.of('comments')
    comments.pause()
    try:
        removed = stuck_at_comments(some)
        assert (removed['posts'], removed['comments']) == (3, 0)
    finally:
        comments.resume()
    assert forget(some.http(some.user))['removed']['comments'] == 1
    check_gone(some)


def test_it_goes_on_after_the_gateway_was_killed(everything, users):
    some = Belongings(everything, users(5))
    comments, = everything.of('comments')
    comments.pause()
    try:
        stuck_at_comments(some)
        everything.ingest.kill()
    finally:
        comments.resume()
    everything.ingest.start()
    removed = forget(some.http(some.user))['removed']
    assert (removed['posts'], removed['comments'], removed['likes']) == (0, 1, 2)
    check_gone(some)


def test_who_has_nothing_is_forgotten_at_once(everything, user):
    report = forget(everything.http(user))
    assert set(report['removed']) == NOTHING and set(report['removed'].values()) == {0}


def test_who_had_switched_sharing_off_leaves_no_record_of_it(everything, user):
    everything.share(user, mode='off')
    assert newest(everything, 'sharing')[user.to_bytes(8, 'big')] is not None
    forget(everything.http(user))
    assert newest(everything, 'sharing')[user.to_bytes(8, 'big')] is None


def test_who_is_followed_again_and_again_is_forgotten_all_the_same(everything, users):
    """Things that others make go in each pass, but do not keep the erasure from its end."""
    user, *fans = users(4)
    everything.http(user).ok('PUT', '/v1/profile', json={'name': 'Ada'})
    with meanwhile([fans], lambda fans: [everything.http(fan).put(f'/v1/follows/{user}') for fan in fans]):
        forget(everything.http(user))


def test_the_command_says_what_went_and_when_topics_follow(everything, users):
    some = Belongings(everything, users(5), reports=1, posts=1)
    text = everything.starling('forget', some.user, '--http', everything.http_url).stdout
    counts = dict(line.rsplit(maxsplit=1) for line in text.split('\n\n')[0].splitlines())
    counts.pop('dead letters')
    assert set(counts) == NOTHING and (counts['posts'], counts['friends'], counts['history']) == ('1', '2', '1')
    check_gone(some)
    rows = {line.split()[0].removeprefix(everything.prefix): line.split()[1:] for line in text.split('\n\n')[1].splitlines()[1:]}
    day, now = 86400, time.time()
    for topic, days in ('post-texts', 14), ('post-commands', 1.1), ('locations', 1.1), ('post-texts.dlq', 7.7), ('comment-watches', 2):
        by = time.strptime(rows[topic][0], '%Y-%m-%dT%H:%M:%SZ')
        assert abs(calendar.timegm(by) - now - days * day) < 120, topic
    by = time.strptime(rows['history.dir'][0], '%Y-%m-%dT%H:%M:%SZ')
    assert abs(calendar.timegm(by) - now - 3600) < 120 and rows['history.dir'][1] == 'rewritten'
    assert {'posts', 'names', 'notices', 'comments-wide', 'bans'} <= set(rows)
    for arguments in ('x',), (), ('5', '--wait', '0'):
        done = everything.starling('forget', *arguments, check=False)
        assert done.returncode == 2 and done.stderr.startswith('starling forget: '), done
