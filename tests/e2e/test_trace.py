"""Traces: one request is followed through every record and process to the screen; the spans go to a collector, and `starling trace` reads the
records. Covers cli/traces.c and lib/service/traces.c."""
import json
import secrets
import time

import pytest

from harness.collector import Collector
from harness.commenting import Commenting
from harness.feed import Feed
from harness.geo import HOME, at
from harness.ports import free_port
from harness.thread_watcher import ThreadWatcher
from harness.waiting import eventually
from harness.watcher import Watcher

KINDS = {'publish': 4, 'process': 5}


@pytest.fixture(scope='module')
def collector():
    with Collector() as collector:
        yield collector


@pytest.fixture(scope='module')
def cluster(make_module_cluster, collector):
    return make_module_cluster(settings={'otlp.url': collector.url, 'otlp.headers': 'x-key=abc', 'trace.max.per.s': 1000,
                                         'ingest:ingest.outcome.wait.ms': 8000, 'feed:feed.push.max': 1,
                                         }).start(feeds=2, comments=1)


@pytest.fixture(scope='module')
def feed(cluster):
    return Feed(cluster)


class Traced:
    """Begins a trace, as an app with tracing does."""

    def __init__(self):
        self.trace, self.span = secrets.token_hex(16), secrets.token_hex(8)
        self.headers = {'traceparent': f'00-{self.trace}-{self.span}-01'}


def check(spans, cluster, traced):
    """A tree whose times are in order, with what OpenTelemetry says of Kafka's records."""
    known = {span.span: span for span in spans}
    assert len(known) == len(spans)
    assert [span.parent for span in spans if span.parent not in known] == [traced.span]
    for span in spans:
        assert span.start <= span.end, span
        parent = known.get(span.parent)
        assert not parent or span.start >= parent.start, (span, parent)
        what, _, how = span.name.rpartition(' ')
        if how in KINDS:
            assert span.kind == KINDS[how] and what.startswith(cluster.prefix)
            assert span.attributes['messaging.system'] == 'kafka'
            assert span.attributes['messaging.destination.name'] == what
            assert span.attributes['messaging.operation.name'] == how
            assert int(span.attributes['messaging.kafka.offset']) >= 0
            assert int(span.attributes['messaging.destination.partition.id']) >= 0
        if how == 'process':
            assert parent.name == f'{what} publish'
            assert parent.attributes['messaging.kafka.offset'] == span.attributes['messaging.kafka.offset']
    return {span.name.removeprefix(cluster.prefix) for span in spans}


def names(cluster, *topics):
    return {f'{cluster.prefix}{topic} {how}' for topic in topics for how in KINDS}


def test_a_report_is_followed_to_the_screen(cluster, collector, users):
    ada, ben = users(2)
    cluster.acquaint(ada, ben)
    with cluster.online(ada, *HOME) as a, cluster.online(ben, *at(1_000)) as b:
        a.wait_screen({ben})
        b.wait_screen({ada})
        traced = Traced()
        lat, lng = at(400)
        answer = cluster.http(ben).post('/v1/locations', headers=traced.headers,
                                        json={'lat': lat, 'lng': lng, 'time': int(time.time() * 1000) + 1000})
        assert answer.ok, answer.text
        a.wait_item(ben, lambda item: item['distance_m'] < 401)
        spans = collector.wait(traced.trace, {'POST /v1/locations', 'nearby frame', *names(cluster, 'locations', 'deliveries')},
                               traced.span)
    check(spans, cluster, traced)
    services = {(span.name.removeprefix(cluster.prefix), span.service) for span in spans}
    assert {('POST /v1/locations', 'starling-ingest'), ('locations process', 'starling-router'),
            ('locations process', 'starling-history-sink'), ('deliveries process', 'starling-fanout'),
            ('nearby frame', 'starling-fanout')} <= services
    server, = [span for span in spans if span.name == 'POST /v1/locations']
    assert (server.kind, server.attributes['http.response.status_code']) == (2, str(answer.status_code))
    assert any(headers.get('x-key') == 'abc' for headers in collector.headers)
    assert 'lat' not in json.dumps([span.attributes for span in spans])


def wait_live(feed, watcher, author):
    def told():
        post = feed.post(author, 'do you watch?')
        eventually(lambda: int(post['id']) in watcher.shown(20), 30)
        return post['id'] in watcher.told

    eventually(told, 60)


@pytest.mark.parametrize('followers, way', [(1, 'timelines'), (2, 'hot-posts')], ids=['pushed', 'hot'])
def test_a_post_is_followed_to_the_screen(cluster, feed, collector, users, followers, way):
    ben, ada, *others = users(1 + followers)
    for follower in (ada, *others):
        feed.follow(follower, ben)
    feed.wait_home(ada)
    with Watcher(feed, ada) as watcher:
        wait_live(feed, watcher, ben)
        traced = Traced()
        post = feed.http(ben).ok('POST', '/v1/posts', headers=traced.headers, json={'text': 'is this slow?', 'key': 'traced'})
        watcher.phone.expect('posts', where=lambda frame: post['id'] in [item['id'] for item in frame['items']])
        spans = collector.wait(traced.trace, {'POST /v1/posts', 'transaction', 'feed frame',
                                              *names(cluster, 'post-commands', 'posts', way, 'deliveries')}, traced.span)
    check(spans, cluster, traced)
    assert 'is this slow' not in json.dumps([[span.name, span.attributes] for span in spans])
    # The command reads the same from the records.
    line, = cluster.starling('trace', traced.trace, '--json').stdout.splitlines()
    told = json.loads(line)
    assert told['trace'] == traced.trace
    topics = [record['topic'] for record in told['records']]
    order = [topics.index(topic) for topic in ('post-commands', 'posts', way, 'deliveries')]
    assert order == sorted(order)
    assert {record['span'] for record in told['records']} <= {span.span for span in spans}
    text = cluster.starling('trace', traced.headers['traceparent']).stdout
    assert traced.trace in text and ' post-commands ' in text


def test_a_comment_is_followed_to_the_screen(cluster, collector, users):
    owner, ada, ben = users(3)
    comments = Commenting(cluster)
    subject = comments.new_subject(owner)
    comments.write(subject, ada, 'before')
    with ThreadWatcher(cluster, ada, subject) as watcher:
        def live():
            made = comments.write(subject, ben, 'do you watch?')
            eventually(lambda: int(made['id']) in watcher.thread(), 30)
            return any(item['id'] == made['id'] for frame in watcher.told() for item in frame['items'])

        eventually(live, 60)
        traced = Traced()
        answer = cluster.http(ben).post(comments.path(subject), headers=traced.headers, json={'text': 'is it?', 'key': 'traced'})
        assert answer.status_code == 201, answer.text
        watcher.phone.expect('comments', where=lambda frame: answer.json()['id'] in [item['id'] for item in frame['items']])
        spans = collector.wait(traced.trace, {'transaction', 'comments frame',
                                              *names(cluster, 'comment-commands', 'comments', 'deliveries')}, traced.span)
    check(spans, cluster, traced)


def test_what_nobody_traces_has_no_headers(cluster, ada):
    cluster.share(ada)
    with cluster.online(ada, *HOME) as phone:
        phone.report(*at(10))
        assert cluster.http(ada).post('/v1/locations', headers={'traceparent': '00-nonsense'},
                                      json={'lat': 1, 'lng': 2, 'time': int(time.time() * 1000)}).ok
        not_sampled = f'00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-00'
        assert cluster.http(ada).post('/v1/locations', headers={'traceparent': not_sampled},
                                      json={'lat': 1, 'lng': 2, 'time': int(time.time() * 1000)}).ok
        eventually(lambda: len(mine(cluster, ada)) >= 4)
    assert [message.headers for message in mine(cluster, ada) if message.headers] == []
    assert cluster.starling('trace', secrets.token_hex(16), check=False).returncode == 1


def mine(cluster, user):
    return [message for message in cluster.topics.read('locations') if message.key == user.to_bytes(8, 'big')]


def test_one_record_in_n_is_traced_and_a_collector_that_is_away_slows_nothing(make_cluster, users):
    ada, ben = users(2)
    cluster = make_cluster(settings={'otlp.url': f'http://127.0.0.1:{free_port()}/v1/traces', 'trace.every': 2,
                                     'trace.max.per.s': 1000, 'fanout:edge.min.report.ms': 0}).start(sinks=0)
    cluster.acquaint(ada, ben)
    with cluster.online(ada, *HOME) as a, cluster.online(ben, *at(1_000)) as b:
        a.wait_screen({ben})
        for n in range(40):
            b.report(*at(900 - n))
            if n % 10 == 9:
                a.wait_item(ben, lambda item: item['distance_m'] < 900.5 - n, timeout=10)
        edge = cluster.fanouts[0]
        eventually(lambda: edge.total('starling_trace_posts_failed_total') > 0)
        assert edge.total('starling_trace_spans_total') > 0
    traced = [message for message in cluster.topics.read('locations') if message.headers]
    everything = len(cluster.topics.read('locations'))
    assert everything / 2 - 2 <= len(traced) <= everything / 2 + 2
    latest = [json.loads(line) for line in cluster.starling('trace', '--latest', 3, '--json').stdout.splitlines()]
    assert len(latest) == 3
    assert [trace['timestamp'] for trace in latest] == sorted(trace['timestamp'] for trace in latest)
    assert all(trace['records'][0]['topic'] == 'locations' for trace in latest)
    for daemon in cluster.daemons:
        begun = time.monotonic()
        assert daemon.stop() == 0
        assert time.monotonic() - begun < 20
