"""Moderation of posts over the HTTP API: bans."""
import itertools

import pytest

from harness.feed import Feed
from harness.http import problem
from harness.waiting import eventually, now_ms


@pytest.fixture(scope='module')
def cluster(make_module_cluster):
    return make_module_cluster(settings={'ingest:ingest.outcome.wait.ms': 8000, 'comments:comments.user.rate': 0}).start(
        ingests=2, feeds=2, comments=1, moderators=1)


@pytest.fixture
def feed(cluster):
    return Feed(cluster)


def moderator(cluster):
    return cluster.http(9, scope='moderator')


def decided(call):
    """The answer of the call, made until it is decided."""
    def answered():
        response = call()
        return [] if response.status_code in (202, 503) else [response]

    response, = eventually(answered, 30)
    return response


def test_a_ban_counts_for_posts_edits_and_likes(cluster, feed, users):
    ada, ben = users(2)
    keys = (f'banned-{ada}-{number}' for number in itertools.count())
    mine, its = feed.post(ada, 'mine'), feed.post(ben, 'of somebody else')
    path, where, http = f'/v1/posts/{mine["id"]}', f'/v1/moderation/bans/{ada}', cluster.http(ada)

    def post(key):
        return decided(lambda: http.post('/v1/posts', json={'text': 'again', 'key': key}))

    moderator(cluster).ok('PUT', where, json={'reason': 'spam'})
    eventually(lambda: post(next(keys)).status_code == 403, what='the ban is known')
    key = next(keys)
    problem(post(key), 403, 'banned')
    problem(post(key), 403, 'banned')
    problem(decided(lambda: http.put(path, json={'text': 'changed', 'version': 1})), 403, 'banned')
    problem(decided(lambda: http.put(f'/v1/posts/{its["id"]}/like')), 403, 'banned')
    edited = feed.edit(9, mine, 'by a moderator', scope='moderator')  # who is not banned
    assert http.ok('GET', path)['text'] == 'by a moderator' and edited['version'] == 2
    feed.delete(ada, mine['id'])
    assert moderator(cluster).delete(where).status_code == 204
    eventually(lambda: post(key).status_code == 201, what='the ban is lifted, and the same key makes the post')
    moderator(cluster).ok('PUT', where, json={'reason': 'a second', 'until': now_ms() + 2000})
    eventually(lambda: post(next(keys)).status_code == 403)
    eventually(lambda: post(next(keys)).status_code == 201, what='the ban is over')
