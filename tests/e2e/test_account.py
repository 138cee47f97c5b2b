"""A user's account as a whole: everything that is kept is exported. Covers ingest/account/account.c, ingest/account/export.c and cli/export.c."""
import base64
import json
import time

import pytest

from harness.belongings import KINDS, TOLD, Belongings
from harness.commenting import Commenting
from harness.feed import Feed
from harness.http import pages_of
from harness.waiting import eventually


@pytest.fixture(scope='module')
def everything(make_module_cluster):
    return make_module_cluster(settings={'ingest:ingest.outcome.wait.ms': 8000}).start(feeds=1, comments=1, places=1, moderators=1)


@pytest.fixture(scope='module')
def ada(everything):
    return Belongings(everything, range(5001, 5006))


def test_everything_is_exported_once_on_pages_of_any_size(ada):
    whole = ada.exported(limit=1000)
    assert tuple(whole) == KINDS
    ada.check(whole)
    for limit in 1, 2:
        assert ada.exported(limit) == whole


def test_the_command_exports_the_same(ada):
    printed = ada.printed()
    decision, = printed.pop('decisions')
    assert decision.pop('time') > 1_700_000_000_000
    assert decision == {'what': 'report', 'mine': True, 'subject': ada.subject, 'comment': ada.others['id'], 'reason': 'it is rude', 'until': None}
    assert printed == {kind: items for kind, items in ada.exported().items() if items}
    assert list(ada.printed('--kinds', 'posts,history')) == ['posts', 'history']


def test_likes_are_exported_on_pages_of_any_size(everything, users):
    user, author = users(2)
    commenting = Commenting(everything)
    feed = Feed(everything)
    subjects = [f'post:{feed.post(author, str(n))["id"]}' for n in range(6)]
    written = {subject: [commenting.write(subject, author, f'{n}', owner=author)['id'] for n in range(3)] for subject in subjects}
    liked = {(subject, comment) for subject in subjects for comment in written[subject][:2]}
    for subject, comment in liked:
        commenting.like(subject, user, comment)
    for subject in subjects[:4]:
        commenting.like_post(subject, user, author)
        liked.add((subject, None))
    for limit in 1, 3, 100:
        pages = [page for page in iter_pages(everything.http(user), after='likes', limit=limit) if page['kind'] == 'likes']
        assert all(len(page['items']) <= limit for page in pages)
        found = [(like['subject'], like['comment']) for page in pages for like in page['items']]
        assert set(found) == liked and len(found) == len(liked)
    printed = everything.starling('export', user, '--kinds', 'likes').stdout.splitlines()
    assert {(line['item']['subject'], line['item']['comment']) for line in map(json.loads, printed)} == liked and len(printed) == len(liked)


def test_decisions_of_moderators_are_exported_without_who_made_them(everything, users):
    user, author, moderator, other = users(4)
    commenting, feed = Commenting(everything), Feed(everything)
    subject = f'post:{feed.post(author, "x")["id"]}'
    made = commenting.write(subject, user, 'rude', owner=author)
    commenting.http(other).ok('POST', f'{commenting.path(subject)}/{made["id"]}/report', json={'reason': 'who said this'})
    commenting.moderate(subject, made['id'], 'hidden', moderator)
    everything.http(moderator, scope='moderator').ok('PUT', f'/v1/moderation/bans/{user}', json={'reason': 'noise'})

    def decisions(of):
        lines = everything.starling('export', of, '--kinds', 'decisions').stdout.splitlines()
        assert all(str(moderator) not in line and (of == other or 'who said this' not in line) for line in lines)
        return sorted((item['what'], item['mine'], item['subject'], item['until']) for item in (json.loads(line)['item'] for line in lines))

    assert decisions(user) == [('ban', False, f'user:{user}', None), ('hide', False, subject, None)]
    assert decisions(other) == [('report', True, subject, None)]
    assert decisions(author) == []


def test_the_end_of_sharing_is_exported(everything, user):
    until = int(time.time() * 1000) + 3_600_000
    everything.http(user).ok('PUT', '/v1/sharing', json={'mode': 'friends', 'until': until, 'details': True})
    eventually(lambda: next(iter_pages(everything.http(user)))['items'][0]['until'] == until, what='the gateway follows')
    line, = everything.starling('export', user, '--kinds', 'account').stdout.splitlines()
    item = json.loads(line)['item']
    assert (item['sharing'], item['until'], item['details']) == ('friends', until, True)


def test_an_export_begins_where_it_is_told(ada):
    http = ada.http(ada.user)
    page = http.ok('GET', '/v1/export', params={'after': 'comments'})
    assert (page['kind'], len(page['items']), page['next']) == ('comments', 1, 'edits')
    assert [http.ok('GET', '/v1/export', params={'after': after})['next'] for after in ('likes', 'likes.2', 'likes.3', 'reports.3')] == [
        'likes.1', 'likes.3', 'reports', 'history']
    assert http.ok('GET', '/v1/export', params={'after': 'posts', 'limit': 2})['next'] == f'posts.{ada.posts[1]["id"]}'
    for after in ('', 'account', 'post', 'posts.', 'posts.&', 'posts.x', 'history.1', 'friends.a', 'posts.1&user=5', 'likes.', 'likes.4',
                  'likes.x', 'likes.1.', 'likes.1x', 'likes.1.x'):
        http.refused('GET', '/v1/export', 400, 'bad_query', params={'after': after})
    assert http.get('/v1/export', params={'limit': 1001}).status_code == 400


def test_cursors_of_exports_say_nothing_about_others(everything, users):
    """Reactions are looked through row by row; where a page stopped is another user's row."""
    user, author, stranger = users(3)
    commenting = Commenting(everything)
    subject = f'post:{Feed(everything).post(author, "liked")["id"]}'
    for comment in [commenting.write(subject, author, str(n), owner=author)['id'] for n in range(3)]:
        commenting.like(subject, user, comment)
    http = everything.http(user)
    pages = [page['next'] for page in iter_pages(http, 'likes', limit=1) if page['next']]
    cursors = [after for after in pages if after.count('.') == 2]
    assert len(cursors) >= 2, 'the three likes lie in one partition'
    for after in cursors:
        kind, partition, sealed = after.split('.')
        assert subject.encode().hex() not in after
        assert subject.encode().hex().encode() not in base64.urlsafe_b64decode(sealed + '=' * (-len(sealed) % 4))
        everything.http(stranger).refused('GET', '/v1/export', 400, 'bad_query', params={'after': after})
        changed = ('B' if sealed[0] == 'A' else 'A') + sealed[1:]
        assert http.get('/v1/export', params={'after': f'{kind}.{partition}.{changed}'}).status_code == 400
    for made_up in 'likes.0.72', 'likes.0.63', f'likes.0.72{b"post:".hex()}':
        assert http.get('/v1/export', params={'after': made_up}).status_code == 400


def test_who_has_nothing_exports_nothing(everything, user):
    pages = list(iter_pages(everything.http(user)))
    assert list(dict.fromkeys(page['kind'] for page in pages)) == list(KINDS)
    assert pages[0]['items'] == [{'user': user, 'name': None, 'avatar_url': None, 'bio': None, 'url': None, 'sharing': 'off', 'until': None,
                                  'details': False, 'nearby_muted': [], 'handle': None, 'visibility': 'everybody',
                                  'notices': {'read': None, 'preferences': TOLD}}]
    assert not any(page['items'] for page in pages[1:])


def iter_pages(http, after=None, limit=100):
    return pages_of(lambda after=after: http.ok('GET', '/v1/export', params={'limit': limit, **({'after': after} if after else {})}))


def test_the_command_says_what_is_wrong(everything):
    for arguments in ('x',), ('5', '--kinds', 'post'), ('5', '--kinds', 'posts,'), ():
        done = everything.starling('export', *arguments, check=False)
        assert done.returncode == 2 and done.stderr.startswith('starling export: '), done
