"""A user's account as a whole: everything that is kept is exported."""
import pytest

from harness.belongings import KINDS, Belongings


@pytest.fixture(scope='module')
def everything(make_module_cluster):
    return make_module_cluster(settings={'ingest:ingest.outcome.wait.ms': 8000}).start(feeds=1, comments=1, moderators=1)


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
    assert ada.printed() == {kind: items for kind, items in ada.exported().items() if items}
    assert list(ada.printed('--kinds', 'posts,history')) == ['posts', 'history']


def test_an_export_begins_where_it_is_told(ada):
    http = ada.http(ada.user)
    page = http.ok('GET', '/v1/export', params={'after': 'comments'})
    assert (page['kind'], len(page['items']), page['next']) == ('comments', 1, 'history')
    assert http.ok('GET', '/v1/export', params={'after': 'posts', 'limit': 2})['next'] == f'posts.{ada.posts[1]["id"]}'
    for after in '', 'account', 'post', 'posts.', 'posts.&', 'posts.x', 'history.1', 'friends.a', 'posts.1&user=5':
        answer = http.get('/v1/export', params={'after': after})
        assert (answer.status_code, answer.json()['code']) == (400, 'bad_query'), after
    assert http.get('/v1/export', params={'limit': 1001}).status_code == 400


def test_who_has_nothing_exports_nothing(everything, users):
    user, = users(1)
    pages = list(iter_pages(everything.http(user)))
    assert [page['kind'] for page in pages] == list(KINDS)
    assert pages[0]['items'] == [{'user': user, 'name': None, 'avatar_url': None, 'sharing': 'off', 'handle': None}]
    assert not any(page['items'] for page in pages[1:])


def iter_pages(http):
    after = None
    while True:
        page = http.ok('GET', '/v1/export', params={'after': after} if after else None)
        yield page
        after = page['next']
        if after is None:
            return


def test_the_command_says_what_is_wrong(everything):
    for arguments in ('x',), ('5', '--kinds', 'post'), ('5', '--kinds', 'posts,'), ():
        done = everything.starling('export', *arguments, check=False)
        assert done.returncode == 2 and done.stderr.startswith('starling export: '), done
