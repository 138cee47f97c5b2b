"""Notices as the clients for Java, JavaScript and Python are told them, against a real edge: each once, and what is unread everywhere.
tests/protocol/README.md says how a client takes part."""
import pytest

from harness.driven import DRIVERS, Driven
from harness.feed import Feed
from harness.waiting import eventually


@pytest.fixture(scope='module')
def feed(make_module_cluster):
    return Feed(make_module_cluster(settings={'ingest:ingest.outcome.wait.ms': 8000, 'fanout:edge.drain.s': 1}).start(
        routers=0, sinks=0, feeds=1))


@pytest.fixture(params=sorted(DRIVERS))
def kind(request):
    return request.param


def watch(feed, kind, user) -> Driven:
    """A client without a position that watches."""
    client = Driven(kind, feed.cluster.ws_url, feed.cluster.token(user), None, None)
    client.do('watch_notices')
    return client


def items(client) -> list:
    return [item for event in client.said('notices') for item in event['items']]


def wait_unread(client, unread, timeout=30.0):
    eventually(lambda: [event['unread'] for event in client.said('notices')][-1:] == [unread], timeout, what=f'{unread} unread')


def test_each_is_told_once_through_an_edge_that_dies_and_read_everywhere(feed, kind, users):
    me, ben, cleo, dora = users(4)
    feed.follow(ben, me)
    eventually(lambda: feed.http(me).ok('GET', '/v1/notices')['unread'] == 1)
    edge = feed.cluster.fanouts[0]
    with watch(feed, kind, me) as phone, watch(feed, kind, me) as tablet:
        for client in phone, tablet:
            wait_unread(client, 1)
            first, = client.said('notices')
            assert first['first'] and [item[1:] for item in first['items']] == [['follow', str(ben), 1, [str(ben)]]]
        feed.follow(cleo, me)
        for client in phone, tablet:
            eventually(lambda client=client: items(client)[-1][1:] == ['follow', str(cleo), 2, [str(cleo), str(ben)]], what='they are one')
            assert not client.said('notices')[-1]['first']
        assert feed.http(me).ok('PUT', '/v1/notices/read', json={'until': items(phone)[-1][0]}) == {'unread': 0}
        for client in phone, tablet:
            wait_unread(client, 0)
        phone.do('unwatch_notices')
        said, mark = len(phone.said('notices')), tablet.mark()
        edge.kill()
        tablet.wait_state('waiting', since=mark)
        mark = tablet.mark()
        edge.start()
        tablet.wait_state('online', since=mark, timeout=60)
        feed.follow(dora, me)
        eventually(lambda: items(tablet)[-1][1:] == ['follow', str(dora), 3, [str(dora), str(cleo), str(ben)]], 60, what='the third one')
        wait_unread(tablet, 1)
        ids = [item[0] for item in items(tablet)]
        assert len(ids) == len(set(ids)) == 3 and len(phone.said('notices')) == said
        assert tablet.said('error') == []
        tablet.do('unwatch_notices')
