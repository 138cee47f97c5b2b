"""A cluster with TLS, passwords and ACLs: `starling topics acls` prints what each program needs, and nothing more than that. Covers
lib/kafka/refusals.c."""
import collections
import json

import pytest
from confluent_kafka.admin import AclOperation, ResourcePatternType, ResourceType

from harness.cluster import KINDS
from harness.commenting import Commenting
from harness.feed import Feed
from harness.geo import HOME, at
from harness.secured import acls_in_line, make_authority
from harness.thread_watcher import ThreadWatcher
from harness.waiting import eventually, now_ms
from harness.watcher import Watcher

RARE = {  # what the others cannot bring about in a minute
    ('User:starling-feed', 'WRITE', 'feed-watches'): 'an edge died, and its watches are forgotten minutes later',
    ('User:starling-comments', 'WRITE', 'comment-watches'): 'the same, of threads',
    ('User:starling-feed', 'WRITE', 'post-commands'): 'a post was deleted a day ago',
    ('User:starling-ingest', 'WRITE', 'notices'): 'a user who has notices is forgotten',
    ('User:starling-ingest', 'WRITE', 'devices'): 'a user with an open session is forgotten',
    ('User:starling-ingest', 'WRITE', 'device-ends'): 'a user ends a session',
    ('User:starling-feed', 'WRITE', 'devices'): 'an edge died, and its sessions are forgotten minutes later',
    ('User:starling-ingest', 'WRITE', 'erasures'): 'a user is forgotten',
    ('User:starling-ingest', 'WRITE', 'place-commands'): 'a user makes a place',
    ('User:starling-ingest', 'WRITE', 'directory-commands'): 'a user whom a sign-in provider knows by a text is forgotten',
    ('User:starling-feed', 'WRITE', 'directory-commands'): 'such a user signs in for the first time',
    ('User:starling-router', 'WRITE', 'friend-commands'): 'somebody has more friends than may be, because two were made at once',
}
PROGRAMS = ['starling', *(f'starling-{kind}' for kind in KINDS)]


def secured_settings(broker) -> dict:
    """Each daemon connects as the user of its own name, and finds the secrets in files."""
    return {f'{kind}:{key}': value for kind in KINDS for key, value in broker.security(f'starling-{kind}').items()}


@pytest.fixture(scope='module')
def secured(make_secured_cluster, secured_broker):
    """One of each daemon, on a broker that has the ACLs which `starling topics acls` printed, and no others."""
    cluster = make_secured_cluster(settings={
        **secured_settings(secured_broker), 'ingest:ingest.outcome.wait.ms': 8000,
        'feed:feed.push.max': 1, 'router:notify.approaches': 'true',  # so that routers read who mutes whom
        'feed:notify.url': 'http://127.0.0.1:1/notices'})
    cluster.command_settings = secured_broker.security('starling')
    lines = cluster.starling('topics', 'acls', '--command-config', secured_broker.command_config).stdout.splitlines()
    secured_broker.add_acls(set().union(*map(acls_in_line, lines)))
    cluster.create_topics()
    return cluster.start(feeds=1, comments=1, places=1, moderators=1, topics=False)


def acls_of(cluster, *programs) -> list[dict]:
    return json.loads(cluster.starling('topics', 'acls', *programs, '--format', 'json').stdout)


# ---- everything works ----

def test_friends_near_see_each_other_and_have_a_past(secured, users):
    ada, ben = users(2)
    secured.acquaint(ada, ben)
    with secured.online(ada, *HOME) as a, secured.online(ben, *at(1_000)) as b:
        a.wait_screen({ben})
        b.wait_screen({ada})
        assert abs(a.screen[ben]['distance_m'] - 1_000) < 0.2
    eventually(lambda: [secured.report_http(ben, *place).raise_for_status() for place in (at(20_000), HOME)]
               and secured.routers[0].total('starling_router_approaches_total'), 20, every=0.5, what='she is to be told that he is near')
    eventually(lambda: secured.http(ben).items('/v1/history', **{'from': 0, 'to': 2**52}), what='a row of history')
    secured.http(ada).ok('PUT', '/v1/profile', json={'name': 'Ada'})
    secured.http(ada).ok('PUT', f'/v1/nearby/mutes/{ben}')
    secured.share(ada, mode='public')
    with secured.online(ada, *HOME) as phone:
        def asked():
            phone.send({'type': 'discover'})
            return phone.expect(('strangers', 'error'))['type'] == 'strangers'

        eventually(asked, what='the router answers the edge')
        secured.http(ada).ok('POST', '/v1/links', json={'until': now_ms() + 60_000})
        secured.share(ada, mode='off')
    eventually(lambda: secured.http(ada).ok('GET', '/v1/links')['items'] == [], what='the router ends her link')
    secured.http(ben).ok('PUT', f'/v1/blocks/{ada}')
    eventually(lambda: 400 <= secured.http(ada).put(f'/v1/follows/{ben}').status_code < 500, what='she may not follow him')


def test_posts_reach_the_pages_of_followers(secured, users):
    ada, ben, cleo = users(3)
    feed = Feed(secured)
    feed.follow(ada, ben)  # one follower: his posts are pushed
    feed.post(ben, 'hello')
    feed.wait_home(ada)
    feed.follow(cleo, ben)  # two: they are looked up
    hot = feed.post(ben, 'hello, everybody')
    feed.wait_home(cleo)
    with Watcher(feed, ada) as watcher:
        feed.post(ben, 'do you watch?')
        eventually(lambda: watcher.shown(20) == feed.expected(ada), what='she sees it')
    feed.delete(ben, hot['id'])
    feed.wait_home(ada)
    feed.mute(cleo, ben)  # a command of its own: follows go another way
    feed.wait_home(cleo)
    eventually(lambda: secured.http(ben).ok('GET', '/v1/notices')['items'], what='he hears of his followers')
    eventually(lambda: secured.http(ben).put('/v1/notices/read', json={'until': '1.1.1'}).status_code == 200, what='what he has read is kept')
    eventually(lambda: secured.http(ada).request('PUT', '/v1/handle', json={'handle': f'ada{ada}'}).status_code == 200,
               what='she has a handle')


def test_comments_are_read_and_found(secured, users):
    author, ada, moderator = users(3)
    comments = Commenting(secured)
    post = Feed(secured).post(author, 'a post')
    subject = f'post:{post["id"]}'
    made = comments.write(subject, ada, 'unheard-of', owner=author)
    Feed(secured).edit(moderator, post, 'an edited post', scope='moderator')
    comments.like(subject, author, made['id'])
    with ThreadWatcher(secured, author, subject) as watcher:
        def live():
            comments.write(subject, ada, 'do you watch?')
            return eventually(watcher.told, 2)

        eventually(live, 30, what='new comments come to him who watches them')
    comments.check(subject)
    eventually(lambda: secured.http(author).ok('GET', '/v1/notices')['items'], what='the author hears of it')
    office = secured.http(moderator, scope='moderator')
    eventually(lambda: [item['id'] for item in office.items('/v1/moderation/comments', text='unheard')] == [made['id']],
               what='the comment is found')
    comments.moderate(subject, made['id'], 'hidden', moderator)
    office.ok('PUT', f'/v1/moderation/bans/{ada}', json={'reason': 'noise'})
    again = {'text': 'a', 'key': 'banned'}
    eventually(lambda: comments.http(ada).post(comments.path(subject), json=again).status_code == 403, what='she may write no more')


def test_the_command_works(secured, users, tmp_path):
    ada, ben = users(2)
    pairs = tmp_path / 'pairs'
    pairs.write_text(f'{ada} {ben}\n')
    secured.starling('graph', 'import', pairs, '--wait', 30)
    assert f'{ada} {ben}' in secured.starling('graph', 'export').stdout
    secured.starling('graph', 'verify')
    status = json.loads(secured.starling('status', '--json', check=False).stdout)
    assert {group['members'] and len(group['members']) for group in status['groups']} == {1}
    assert f'"from":{ada}' in secured.starling('replay', 'friend-commands').stdout.replace(' ', '')
    secured.starling('topics', 'create', '--partitions', secured.partitions, '--delivery-partitions',
                     secured.delivery_partitions, '--min-insync', 1)


def test_the_command_removes_letters(secured, ada):

    def letters():
        return secured.starling('dlq', 'show', 'profiles').stdout.count(f'"key":{ada},')

    secured.topics.produce('profiles', ada, b'\x07no record')
    eventually(lambda: letters() == 3, 30, what="the letters of edge, gateway and comments are there")
    secured.starling('forget', ada, '--http', secured.http_url)
    assert letters() == 0


# ---- with nothing more than is needed ----

def test_the_lines_can_be_run_as_they_are(secured, secured_broker):
    """Kafka's own command makes of them what acls_in_line does: it adds nothing to what is there, and has nothing to say against them."""
    lines = secured.starling('topics', 'acls', 'starling', 'starling-router', '--principal', 'User:CN=%,O=Friends & more',
                             '--command-config', secured_broker.command_config).stdout.splitlines()
    chosen = [line for line in lines if '--operation Create ' in line or '--transactional-id' in line]
    assert len(chosen) == 2
    before, wanted = secured_broker.acls(), set().union(*map(acls_in_line, chosen))
    assert {acl[3] for acl in wanted} == {'User:CN=starling,O=Friends & more', 'User:CN=starling-router,O=Friends & more'}
    for line in chosen:
        secured_broker.run_acls(line)
    assert secured_broker.acls() == before | wanted


def test_records_that_cannot_be_read_are_buried(secured):
    """Once by each program that may bury records of that topic."""
    buried = collections.Counter(acl['name'].removeprefix(secured.prefix).removesuffix('.dlq') for acl in acls_of(secured, *PROGRAMS[1:])
                                 if acl['operation'] == 'Write' and acl['name'].endswith('.dlq'))
    assert len(buried) > 10
    places = {topic: secured.topics.produce(topic, b'no key', b'no record', partition=0) for topic in buried}
    for topic, place in places.items():
        source = {('__connect.errors.partition', b'0'), ('__connect.errors.offset', str(place.offset).encode())}

        def letters():
            return sum(source <= set(letter.headers) for letter in secured.topics.read(topic + '.dlq'))

        eventually(lambda: letters() == buried[topic], 20, every=0.2, what=f'{buried[topic]} letters of {topic}')


def test_every_acl_is_needed_and_none_is_missing(secured, secured_broker):
    """It runs after the others: by then each program has done everything that it may do."""
    acls = {(acl['principal'], acl['operation'].upper(), acl['resource'].replace('-', ''), acl['pattern'], acl['name'])
            for acl in acls_of(secured)}

    def unused():
        used = {(one['principal'], one['operation'].replace('_', ''), one['kind'].lower().replace('_', ''), one['name'])
                for one in secured_broker.decisions()}
        left = []
        for principal, operation, kind, pattern, name in acls:
            fitting = [one[3] for one in used if one[:3] == (principal, operation, kind)]
            fits = name in fitting if pattern == 'literal' else any(one.startswith(name) for one in fitting)
            if not fits and (principal, operation, name.removeprefix(secured.prefix)) not in RARE:
                left.append(f'{principal} {operation} {kind} {name}')
        assert not left, '\n'.join(left)
        return True

    eventually(unused, 20, every=0.5)
    denied = [one for one in secured_broker.decisions() if one['decision'] == 'Denied' and one['principal'][5:] in PROGRAMS]
    assert denied == []


# ---- what happens without ----

def test_a_daemon_says_which_acl_it_lacks(secured, secured_broker):
    """A sink with a user that may do nothing here is given one ACL after the other, and lives on meanwhile. Without Read on
    the topic it has partitions, so it may be ready."""
    lines = secured.starling('topics', 'acls', 'starling-history-sink', '--principal', 'User:nobody').stdout.splitlines()
    needed = set().union(*map(acls_in_line, lines))
    topic, group = secured.topics.name('locations'), secured.group('history-sink')
    secured_broker.add_acls({acl for acl in needed if acl[1] == secured.topics.name('erasures')})  # this is about the other one
    sink = secured.add('history-sink', wait=False, settings=secured_broker.security('nobody'))

    def says(text):
        eventually(lambda: f'no ACL allows {text} ' in sink.log(), 20, what=f'it says: {text}')
        assert sink.alive()

    says(f'Describe on topic {topic}')
    assert not sink.ready()
    principal, host = 'User:nobody', '*'
    secured_broker.add_acls({(ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, principal, host, AclOperation.DESCRIBE)})
    says(f'Read on group {group}')
    assert not sink.ready()
    secured_broker.add_acls({acl for acl in needed if acl[0] == ResourceType.GROUP})
    says(f'Read on topic {topic}')
    secured_broker.add_acls(needed)
    sink.wait_ready()
    assert sink.stop() == 0


def test_a_write_without_its_acl_is_told(secured, secured_broker, user):
    path, body = f'/v1/moderation/bans/{user}', {'reason': 'noise'}
    acl = {one for one in secured_broker.acls() if one[1] == secured.topics.name('bans') and one[3] == 'User:starling-ingest'}
    assert len(acl) == 1
    moderator = secured.http(user, scope='moderator')
    secured_broker.remove_acls(acl)
    eventually(lambda: moderator.put(path, json=body).status_code == 503, what='a ban is refused')
    secured.ingest.wait_for_log(f'no ACL allows Write on topic {secured.topics.name("bans")} ')
    secured_broker.add_acls(acl)
    eventually(lambda: moderator.put(path, json=body).ok, what='a ban is taken')


@pytest.mark.parametrize('wrong', ['password', 'authority'])
def test_a_connection_that_is_refused_says_why(secured, secured_broker, tmp_path, wrong):
    change, reason = {
        'password': ({'kafka.sasl.password.file': secured_broker.password_files['starling-feed']}, 'SASL authentication error'),
        'authority': ({'kafka.ssl.ca.location': make_authority(tmp_path, 'stranger')}, 'certificate could not be verified'),
    }[wrong]
    sink = secured.add('history-sink', wait=False, settings=change)
    done = secured.starling('status', *(word for key, value in change.items() for word in ('--set', f'{key}={value}')), check=False)
    assert done.returncode == 2 and reason in done.stderr, done.stderr
    eventually(lambda: 'Kafka refuses' in sink.log() and reason in sink.log(), 20, what='it says why')
    assert sink.alive() and not sink.ready()
    for password in secured_broker.passwords.values():
        assert password not in sink.log() and password not in done.stderr
    assert sink.restart(**secured_broker.security('starling-history-sink')).stop() == 0
