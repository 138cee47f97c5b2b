"""A restored backup: daemons with empty disks, on copies of the topics that docs/OPERATIONS.md names, answer as those before them did."""
import re

from harness.broker import REPOSITORY
from harness.commenting import Commenting
from harness.feed import Feed
from harness.waiting import eventually


def topics_to_copy():
    """As the page has them."""
    page = (REPOSITORY / 'docs/OPERATIONS.md').read_text()
    words, = re.findall(r'^( +friendships [a-z\s-]+ comments-wide audit)$', page, re.MULTILINE)
    return words.split()


def test_the_page_names_every_topic_of_state():
    definitions = (REPOSITORY / 'lib/event/topics.def').read_text()
    state = set(re.findall(r'^TOPIC\(\w+, "([\w-]+)", \w+, COMPACTED,', definitions, re.MULTILINE))
    assert len(state) > 20 and state - set(topics_to_copy()) == {
        'command-offsets', 'feed-offsets', 'comment-offsets', 'feed-watches', 'comment-watches', 'devices', 'links', 'place-offsets'}


def seen(cluster, people, subject):
    """Friends, profiles, feeds and threads, as people see them."""
    def of(user):
        http = cluster.http(user)
        home = http.ok('GET', '/v1/feed', params={'limit': 50})
        assert home['complete']
        return {'friends': cluster.friends_of(user), 'home': home['items'], 'user': http.ok('GET', f'/v1/users/{user}'),
                'sharing': http.ok('GET', '/v1/sharing'), 'visibility': http.ok('GET', '/v1/visibility'),
                'thread': http.ok('GET', Commenting.path(subject))['items']}

    return {user: of(user) for user in people}


def test_daemons_on_copies_of_the_topics_answer_as_before(make_cluster, users):
    before = make_cluster().start(fanouts=0, sinks=0, feeds=1, comments=1)
    ada, ben, eva = people = users(3)
    before.share(ada, ben)
    before.befriend((ada, ben), (ben, eva))
    before.http(ada).ok('PUT', '/v1/profile', json={'name': 'Ada'})
    eventually(lambda: before.http(eva).put('/v1/visibility', json={'posts': 'followers'}).status_code == 200, 30)
    feed, comments = Feed(before), Commenting(before)
    feed.follow(ben, ada)
    feed.follow(eva, ada)
    feed.follow(eva, ben)
    post = feed.post(ada, 'a post')
    feed.delete(ben, feed.post(ben, 'regretted')['id'])
    subject = f'post:{post["id"]}'
    made = comments.write(subject, ben, 'Well said', owner=ada)
    comments.write(subject, ada, 'Thanks', reply_to=made['id'])
    comments.like(subject, eva, made['id'])
    wanted = eventually(lambda: (all := seen(before, people, subject)) and all[eva]['user'] and all)
    assert [item['id'] for item in wanted[ben]['home']] == [post['id']]
    for daemon in before.daemons:
        daemon.stop()

    after = make_cluster()
    after.create_topics()
    before.topics.copy_to(after.topics, *topics_to_copy())
    after.start(fanouts=0, sinks=0, feeds=1, comments=1, topics=False)
    eventually(lambda: seen(after, people, subject) == wanted, 30)
    feed = Feed(after)
    newer = feed.post(ben, 'another post')
    assert int(newer['id']) > int(post['id'])
    eventually(lambda: [item['id'] for item in after.http(eva).ok('GET', '/v1/feed')['items']] == [newer['id'], post['id']])
