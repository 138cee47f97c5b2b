"""`starling feed USER --follow`: new posts as they come, each once, whoever goes and comes back meanwhile. Covers cli/home_reading.c."""
import contextlib
import json
import signal
import socket

import pytest

from harness.command import Running, fails
from harness.feed import Feed
from test_cli_feed import as_the_owner_says


@pytest.fixture(scope='module')
def feed(make_module_cluster):
    return Feed(make_module_cluster(settings={'ingest:ingest.outcome.wait.ms': 8000}).start(routers=0, sinks=0, feeds=1))


def follow(feed, user, *arguments):
    feed.cluster.starling('status', check=False)  # writes the command's configuration
    return Running(feed.cluster, 'feed', user, '--follow', '--ws', feed.cluster.ws_url, *arguments)


def ids(running):
    return [line.split()[1] for line in running.lines]


def test_new_posts_come_as_lines(feed, users):
    ada, ben, cem = users(3)
    feed.follow(ada, ben)
    old = [feed.post(ben, f'old {number}') for number in range(4)]
    feed.wait_home(ada)
    with follow(feed, ada, '--limit', 3) as running:
        running.wait_line('"old 3"')
        assert ids(running) == [post['id'] for post in old[1:]]
        new = []
        for number in range(5):
            new.append(feed.post(ben, f'new {number}'))
            line = running.wait_line(f'"new {number}"')
            assert line.split()[1:] == [new[-1]['id'], str(ben), '"new', f'{number}"']
        feed.post(cem, 'not followed yet')
        feed.follow(ada, cem)  # which makes the page stale
        running.wait_line('"not followed yet"')
        feed.unfollow(ada, cem)
        feed.wait_home(ada)
        feed.post(cem, 'not followed any more')
        feed.post(ben, 'the last one')
        running.wait_line('"the last one"')
        assert len(set(ids(running))) == len(ids(running)) == 3 + 5 + 2
        assert running.interrupt(signal.SIGTERM) == (0, '')


def test_json_is_as_without_following(feed, users):
    ada, ben = users(2)
    feed.follow(ada, ben)
    posts = [feed.post(ben, 'Grüße, \U0001f30d "quoted"\n\x1b[1m', media=['https://img.example/1'])]
    feed.wait_home(ada)
    with follow(feed, ada, '--json', '--token', feed.cluster.token(ada)) as running:
        running.wait_line(posts[0]['id'])
        posts.append(feed.post(ben, 'two', media=['https://img.example/2']))
        running.wait_line(posts[1]['id'])
        assert [json.loads(line) for line in running.lines] == [as_the_owner_says(post) for post in posts]
        assert running.interrupt()[0] == 0


@pytest.mark.slow
def test_nothing_is_missed_while_processes_are_away(make_cluster, users):
    feed = Feed(make_cluster(settings={'ingest:ingest.outcome.wait.ms': 8000}).start(routers=0, sinks=0, feeds=2))
    ada, *authors = users(6)
    for author in authors:
        feed.follow(ada, author)
    feed.post(authors[0], 'first')
    feed.wait_home(ada)
    with follow(feed, ada) as running:
        running.wait_line('"first"')
        for process in [feed.cluster.fanouts[0], *feed.cluster.feeds]:
            process.kill()
            process.start()
            for author in authors:
                feed.post(author, f'{author} after {process.name}', timeout=60)
            for author in authors:
                running.wait_line(f'"{author} after {process.name}"', timeout=60)
        assert len(set(ids(running))) == len(ids(running)) == 1 + 3 * len(authors)
        assert running.interrupt()[0] == 0


def test_it_says_why_it_cannot_follow(feed, users):
    ada, ben = users(2)
    url = feed.cluster.ws_url
    assert 'neither --token nor auth.hs256.key.file' in fails(feed.cluster, 'feed', ada, '--follow', '--ws', url,
                                                               '--set', 'auth.hs256.key.file=')
    assert f'{url}: ' in fails(feed.cluster, 'feed', ada, '--follow', '--ws', url, '--token', 'nonsense')
    assert 'ws://127.0.0.1:1/: no connection' in fails(feed.cluster, 'feed', ada, '--follow', '--ws', 'ws://127.0.0.1:1/')
    assert '--ws http://x: must begin with' in fails(feed.cluster, 'feed', ada, '--follow', '--ws', 'http://x', code=2)
    assert 'unknown option --follow' in fails(feed.cluster, 'posts', ada, '--follow', code=2)
    assert f"the token is user {ben}'s" in fails(
        feed.cluster, 'feed', ada, '--follow', '--ws', url, '--token', feed.cluster.token(ben))
    with contextlib.closing(socket.create_server(('127.0.0.1', 0))) as silent:
        assert 'does not answer' in fails(feed.cluster, 'feed', ada, '--follow', '--ws', f'ws://127.0.0.1:{silent.getsockname()[1]}/')
