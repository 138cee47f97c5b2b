"""`starling-load simulate` in the feed: people post, follow and read; every page is checked, and one that is wrong is found. Covers cli/setup.c,
tools/load/home_api.c, tools/load/population.c, tools/load/simulate.c, tools/load/simulate_options.c, tools/load/social.c,
tools/load/social_learn.c, tools/load/social_pages.c and tools/load/social_people.c."""
import collections
import contextlib
import csv
import http.client
import json
import re
import struct
import subprocess
import time
import urllib.parse

import pytest

from harness.answering import Answering
from harness.cluster import build_folder
from harness.processes import clean_environment
from harness.truth import Simulation, read_lists
from harness.waiting import eventually

PAGE = 20


class FeedSimulation(Simulation):
    """A city without phones whose pages are checked."""

    def __init__(self, cluster, *arguments, http_url=None):
        super().__init__(cluster, '--no-phones', '--check', '--http', http_url or cluster.http_url, *arguments, settle=0)

    def number(self, what):
        """The last one that it said in front of these words."""
        found = [line for line in self.said().splitlines() if what in line]
        return int(found[-1].split(' ' + what)[0].split()[-1]) if found else 0

    def fail(self, timeout=60):
        assert self.process.wait(timeout) == 1, self.said()
        return self.said()


@pytest.fixture(scope='module')
def cluster(make_module_cluster):
    return make_module_cluster(settings={'ingest:ingest.outcome.wait.ms': 8000}).start(sinks=0, feeds=2)


def newest_pages(cluster):
    """From the topics alone: {reader: ids, newest first}."""
    posts, following = collections.defaultdict(list), collections.defaultdict(list)
    for key, value in cluster.topics.latest('posts').items():
        author, post = struct.unpack('>qq', key)
        if value['state'] == 'LIVE':
            posts[author].append(post)
    for key in cluster.topics.latest('follows'):
        user, direction, other = struct.unpack('>qbq', key)
        if direction == 1:
            following[user].append(other)
    return {user: sorted((post for other in others for post in posts[other]), reverse=True)[:PAGE]
            for user, others in following.items()}


def read_feed(path):
    with open(path) as lines:
        pages = collections.defaultdict(list)
        for row in csv.DictReader(lines):
            pages[int(row['user'])].append(int(row['post']))
    return pages


def test_a_city_posts_follows_and_reads(cluster, tmp_path):
    """Also while a feed process is killed, and another simulation of the same people comes after it."""
    file = tmp_path / 'feed.csv'
    city = '--city', 60, '--posts', 60, '--follows', 15, '--reads', 80, '--feed', file
    first = FeedSimulation(cluster, *city, '--for', 12)
    eventually(lambda: first.number('posts,') > 100, 60)
    cluster.feeds[0].kill()
    cluster.feeds[0].start()
    first.finish(120)
    assert first.number('pages were wrong') == 0
    for what in ('posts,', 'deleted,', 'follows,', 'ended,', 'pages read,'):
        assert first.number(what) > 10, what
    truth = newest_pages(cluster)
    assert len(truth) == 60 and sum(map(len, truth.values())) > 60 * PAGE / 2
    assert read_feed(file) == truth
    texts = [value['text'] for value in cluster.topics.latest('post-texts').values()]
    assert len(set(texts)) > 50 and all(10 < len(text) < 200 for text in texts)

    second = FeedSimulation(cluster, *city, '--no-setup', '--for', 2, '--seed', 2, '--margin', 10)
    second.finish(60)
    assert read_feed(file) == newest_pages(cluster)


def test_people_with_phones_that_hang_up_use_the_feed_too(cluster, tmp_path):
    lists, feed = tmp_path / 'lists.csv', tmp_path / 'feed.csv'
    run = Simulation(cluster, '--city', 40, '--every', 0.5, '--churn', 100, '--http', cluster.http_url, '--posts', 10, '--follows', 2, '--reads', 5,
                     '--check', '--for', 5, '--lists', lists, '--feed', feed)
    run.finish(100)
    lost = int(re.findall(r'(\d+) connections lost', run.said())[-2])  # before the end, when all are closed
    assert 1 <= lost <= 40
    assert 'phones, 40 online' in run.said() and ' 0 pages were wrong' in run.said()
    assert len(read_lists(lists)) > 10 and len(read_feed(feed)) == 40


# ---- wrong pages ----

class Liar(Answering):
    """A gateway in front of the gateway. It spoils items of pages (of home timelines) from the time on that it is told how to."""

    def __init__(self, gateway, spoilt='/v1/feed'):
        self.spoil = None

        def pass_on(method, path, headers, body):
            connection = http.client.HTTPConnection(urllib.parse.urlsplit(gateway).netloc, timeout=30)
            connection.request(method, path, body, {name: headers[name] for name in ('Authorization', 'Content-Type') if name in headers})
            with contextlib.closing(connection):
                answer = connection.getresponse()
                reply = answer.read()
            if self.spoil and answer.status == 200 and path.startswith(spoilt):
                page = json.loads(reply)
                self.spoil(page)
                reply = json.dumps(page).encode()
            return answer.status, reply

        super().__init__(pass_on)


def lose_one(page):
    """None of the newest, which the margin excuses, and none of before this simulation."""
    if len(page['items']) > 10:
        del page['items'][10]


def double_one(page):
    page['items'][:1] *= 2


def swap_two(page):
    if len(page['items']) > 1 and page['items'][0]['user'] != page['items'][1]['user']:
        page['items'][:2] = page['items'][1::-1]


def of_nobody(page):
    """A post that nobody wrote, newer than all others."""
    if page['items']:
        page['items'].insert(0, {**page['items'][0], 'id': str(int(page['items'][0]['id']) + (60_000 << 22))})


@pytest.mark.parametrize('spoil, words', [
    (lose_one, 'is missing'), (double_one, 'twice'), (swap_two, 'out of order'), (of_nobody, 'nobody has made this post')])
def test_a_wrong_page_is_found_while_people_live(cluster, spoil, words):
    liar = Liar(cluster.http_url)
    run = FeedSimulation(cluster, '--city', 30, '--posts', 20, '--reads', 20, '--for', 15, '--margin', 0.5, http_url=liar.url)
    eventually(lambda: run.number('posts,') > 30, 60)
    assert run.number('pages were wrong') == 0
    liar.spoil = spoil
    eventually(lambda: f': {words}\n' in run.said(), 30)
    liar.spoil = None  # all is well in the end, and yet it fails
    said = run.fail()
    assert 'the feed was not as it must be' in said
    assert 'were not as they must be' not in said


def test_a_page_that_stays_wrong_is_found_in_the_end(cluster):
    """Nobody reads but at the end."""
    liar = Liar(cluster.http_url)
    run = FeedSimulation(cluster, '--city', 20, '--posts', 20, '--for', 3, '--patience', 3, http_url=liar.url)
    liar.spoil = lose_one
    said = run.fail()
    assert ': is missing\n' in said and 'people were not as they must be' in said


def test_a_gateway_that_is_not_there_is_named(cluster):
    began = time.monotonic()
    run = FeedSimulation(cluster, '--city', 20, '--posts', 20, '--for', 3, '--patience', 3, http_url='http://127.0.0.1:1')
    assert 'the HTTP API does not answer' in run.fail()
    assert time.monotonic() - began < 50


# ---- wrong usage ----

@pytest.mark.parametrize('arguments, named', [
    ([], 'or --graph FILE with --no-phones'),
    (['--city', '5', '--trace', 'x'], '--trace FILE or --city N'),
    (['--city', '5', '--no-phones'], 'nothing to do'),
    (['--graph', 'x', '--posts', '1'], 'with --no-phones'),
    (['--trace', 'x', '--no-phones', '--posts', '1'], '--trace have phones'),
    (['--city', '5', '--no-phones', '--posts', '1', '--lists', 'x'], '--lists and --settle need phones'),
    (['--city', '5', '--posts', '-1'], '--posts'), (['--city', '5', '--reads', 'x'], '--reads'),
    (['--city', '5', '--posts', '1', '--authors', '1001'], '--authors'),
    (['--city', '5', '--comments', '1'], '--comments need --posts'),
    (['--city', '5', '--posts', '1', '--comments', '1', '--fire', 'x'], '--fire'),
    (['--city', '5', '--check', '--margin', 'x'], '--margin'),
    (['--city', '5', '--check', '--patience', '0'], '--patience'),
    (['--city', '5', '--check', '--http', ','], '--http'),
])
def test_wrong_usage_ends_with_2_and_names_it(tmp_path, arguments, named):
    key = tmp_path / 'key'
    key.write_text('k' * 64)
    done = subprocess.run([build_folder() / 'starling-load', 'simulate', '--set', f'auth.hs256.key.file={key}', *arguments],
                          capture_output=True, text=True, timeout=20, env=clean_environment())
    assert done.returncode == 2 and done.stdout == ''
    assert named in done.stderr.splitlines()[0] and 'usage: starling-load simulate ' in done.stderr
