"""Home timelines as the clients for Java, JavaScript and Python keep them, against a real edge: what each shows is the timeline
that the posts and follows make. tests/protocol/README.md says how a client takes part."""
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
    cluster = feed.cluster
    client = Driven(kind, cluster.ws_url, cluster.token(user), None, None, api=cluster.http_url)
    client.do('watch_feed')
    return client


def came_live(client) -> list:
    """The ids of posts that the edge told, not a page."""
    return [post for event in client.said('feed') if event['cause'] == 'posts' for post in event['came']]


def wait_live(client, feed, reader, author):
    """Until a post comes in a frame: the reader's owner hears of a watch by Kafka, and posts before that come with a page."""
    def told():
        post = feed.post(author, 'do you watch?')
        client.wait_posts(lambda: feed.expected(reader))
        return post['id'] in came_live(client)

    eventually(told, 60)


def test_posts_deletions_and_follows_reach_the_list(feed, kind, users):
    me, ben, cleo = users(3)
    feed.http(ben).ok('PUT', '/v1/profile', json={'name': 'Ben Ö'})
    feed.follow(me, ben)
    first = feed.post(ben, 'before')
    feed.wait_home(me)
    with watch(feed, kind, me) as client:
        client.wait_posts(lambda: feed.expected(me))
        client.wait_state('online')
        wait_live(client, feed, me, ben)
        said = feed.post(ben, 'Grüße 😀')
        client.wait_posts(lambda: feed.expected(me))
        eventually(lambda: client.said('feed')[-1]['list'][0] == [said['id'], str(ben), 'Ben Ö', 'Grüße 😀', False],
                   what='the post is whole')
        for number in range(5):
            feed.post(ben, f'post {number}')
        feed.delete(ben, first['id'])
        client.wait_posts(lambda: feed.expected(me))
        for number in range(25):
            feed.post(cleo, f'of cleo {number}')
        feed.follow(me, cleo)
        client.wait_posts(lambda: feed.expected(me))
        client.do('older')
        eventually(lambda: len(client.posts) == len(feed.expected(me)), what='older posts are listed')
        assert client.posts == feed.expected(me) and not client.said('feed')[-1]['has_more']
        feed.mute(me, cleo)
        client.wait_posts(lambda: feed.expected(me))
        feed.unmute(me, cleo)
        client.wait_posts(lambda: feed.expected(me))
        feed.unfollow(me, cleo)
        client.wait_posts(lambda: feed.expected(me))
        assert client.said('feed_error') == [] and client.said('error') == []
        came = came_live(client)
        assert len(came) == len(set(came)) and said['id'] in came
        client.do('unwatch_feed')


def test_what_was_posted_while_the_edge_or_the_owner_was_away(feed, kind, users):
    me, ben = users(2)
    feed.follow(me, ben)
    feed.post(ben, 'before')
    feed.wait_home(me)
    edge, owner = feed.cluster.fanouts[0], feed.cluster.feeds[0]
    with watch(feed, kind, me) as client:
        client.wait_posts(lambda: feed.expected(me))
        mark = client.mark()
        client.wait_state('online')
        edge.kill()
        client.wait_state('waiting', since=mark)
        feed.post(ben, 'while the edge was away')
        mark = client.mark()
        edge.start()
        client.wait_state('online', since=mark, timeout=60)
        client.wait_posts(lambda: feed.expected(me), timeout=60)
        owner.kill()
        owner.start()
        feed.post(ben, 'after the owner was away', timeout=60)
        client.wait_posts(lambda: feed.expected(me), timeout=200)
