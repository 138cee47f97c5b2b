"""What moderators and operators read of people is in the topic `audit` before they read it, and nowhere is what is not. Covers cli/audit.c."""
import getpass
import json
import socket

import pytest

from harness.records import decode, partition_of
from harness.waiting import eventually

SOMEBODY, ANOTHER, MODERATOR = 71, 72, 79


@pytest.fixture(scope='module')
def watched(make_module_cluster):
    return make_module_cluster().start(feeds=1, comments=1, places=1, moderators=1)


class Audit:
    """The entries since it was made."""

    def __init__(self, cluster):
        self.topics, self.partitions = cluster.topics, cluster.partitions
        self.before = len(self.topics.read('audit'))

    def entries(self):
        found = self.topics.read('audit')
        assert all(m.partition == partition_of(m.key, self.partitions) for m in found)
        return sorted((m.key.decode(), *decode(m.value).values()) for m in sorted(found, key=lambda m: m.timestamp)[self.before:])


def test_a_moderators_search_is_on_record(watched):
    audit, moderator = Audit(watched), watched.http(MODERATOR, scope='moderator')
    eventually(lambda: moderator.get('/v1/moderation/comments?limit=0').status_code == 400)
    moderator.ok('GET', '/v1/moderation/comments', params={'text': 'spam & more', 'state': 'held'})
    moderator.ok('GET', '/v1/moderation/comments', params={'user': SOMEBODY, 'limit': 3})
    assert watched.http(SOMEBODY).get('/v1/moderation/comments').status_code == 403
    assert moderator.get('/v1/moderation/comments?state=lost').status_code == 400
    watched.http(SOMEBODY).ok('GET', f'/v1/users/{SOMEBODY}/comments')
    assert audit.entries() == [
        ('comments-wide', 'MODERATOR', MODERATOR, '', '127.0.0.1', 'search', 'limit=20&text=spam%20%26%20more&state=held&from=0&to=9223372036854775807', -1),
        (f'user:{SOMEBODY}', 'MODERATOR', MODERATOR, '', '127.0.0.1', 'search', f'limit=3&user={SOMEBODY}&from=0&to=9223372036854775807', SOMEBODY)]


@pytest.mark.parametrize('command, key, of, about', [
    (('history', SOMEBODY, ANOTHER), 'user', '', (SOMEBODY, ANOTHER)),
    (('export', SOMEBODY, '--kinds', 'account'), 'user', '', (SOMEBODY,)),
    (('feed', SOMEBODY), 'user', '', (SOMEBODY,)),
    (('posts', SOMEBODY), 'user', '', (SOMEBODY,)),
    (('replay', 'locations', '--user', f'{SOMEBODY},{ANOTHER}'), 'user', 'locations', (SOMEBODY, ANOTHER)),
    (('replay', 'bans'), 'bans', 'bans', (-1,)),
    (('comments', 'site:1'), 'site:1', 'site:1', (-1,)),
    (('dlq', 'show', 'locations'), 'locations', 'locations', (-1,)),
    (('graph', 'export'), 'friendships', 'friendships', (-1,)),
], ids=lambda value: value[0] if isinstance(value, tuple) and isinstance(value[0], str) else '')
def test_what_a_command_reads_of_people_is_on_record(watched, command, key, of, about):
    audit = Audit(watched)
    eventually(lambda: watched.starling(*command, check=False).returncode == 0)
    expected = [(f'user:{user}' if key == 'user' else key, 'OPERATOR', -1, getpass.getuser(), socket.gethostname(), command[0], of, user)
                for user in about]
    assert sorted(set(audit.entries())) == sorted(expected)


def test_what_is_said_of_the_daemons_is_no_read(watched):
    audit = Audit(watched)
    watched.starling('status', check=False)
    watched.starling('topics', 'check', check=False)
    assert watched.starling('history', 'nobody', check=False).returncode == 2
    assert audit.entries() == []


def test_the_audit_is_read_by_user_and_by_reader(watched):
    watched.starling('history', SOMEBODY)
    watched.http(MODERATOR, scope='moderator').ok('GET', '/v1/moderation/comments', params={'user': SOMEBODY})
    for user, wanted in (SOMEBODY, {'OPERATOR', 'MODERATOR'}), (MODERATOR, {'MODERATOR'}):
        lines = [json.loads(line) for line in watched.starling('replay', 'audit', '--user', user).stdout.splitlines()]
        assert {line['value']['role'] for line in lines if line['value']['what'] in ('history', 'search')} == wanted


def test_without_a_record_nothing_is_read(watched):
    """The last one here: the topic takes no records any more."""
    moderator = watched.http(MODERATOR, scope='moderator')
    watched.topics.set('audit', 'max.message.bytes', 10)
    done = watched.starling('history', SOMEBODY, check=False)
    assert done.returncode == 1 and done.stdout == '' and 'the record of it cannot be written' in done.stderr, done
    assert moderator.get('/v1/moderation/comments').status_code >= 500
