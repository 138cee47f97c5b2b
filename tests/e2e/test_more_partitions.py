"""Topics with more partitions: refused where somebody added them to a running system, and made by the migration that docs/OPERATIONS.md
describes, after which everybody sees what they saw before."""
import itertools
import json
import re
import time

import pytest

from harness.commenting import Commenting
from harness.feed import Feed
from harness.geo import at
from harness.http import problem
from harness.records import partition_of, user_key
from harness.thread_watcher import ThreadWatcher
from harness.waiting import eventually

PEOPLE = 16
SITES = 24  # so many subjects that added partitions always move some from where their records are, four at least
SETTINGS = {'feed:feed.push.max': 5}  # everybody follows the first one, whose posts are hot; the others have fewer followers
DAEMONS = {'fanouts': 1, 'feeds': 2, 'comments': 1, 'moderators': 1}
ACTED_ON = range(11, 15)  # authors whose older posts are acted on after a migration, with which they have moved
FOR_FOLLOWERS = 14


@pytest.fixture
def people(users):
    """Those of ACTED_ON move away from where the ids of their first posts say that these are."""
    found = []
    while len(found) < PEOPLE:
        user, = users(1)
        first, *later = (partition_of(user_key(user), partitions) for partitions in (4, 8, 12))
        if len(found) not in ACTED_ON or first not in later:
            found.append(user)
    return found


class World:
    """People who use all products; what they see of it."""

    def __init__(self, cluster, people):
        self.people, self.feed, self.comments = people, Feed(cluster), Commenting(cluster)
        self.move(cluster)

    def move(self, cluster):
        """From now on they ask another cluster."""
        self.cluster = self.feed.cluster = self.comments.cluster = cluster

    def populate(self):
        people, feed, comments = self.people, self.feed, self.comments
        self.cluster.share(*people)
        self.cluster.befriend(*itertools.pairwise(people))
        for number, user in enumerate(people):
            self.cluster.http(user).ok('PUT', '/v1/profile', json={'name': f'Person {number}'})
            for other in {(number + 1) % PEOPLE, (number + 5) % PEOPLE, 0} - {number}:
                feed.follow(user, people[other])
        self.handle = f'handle_{people[0]}'
        eventually(lambda: self.cluster.http(people[0]).put('/v1/handle', json={'handle': self.handle}).status_code == 200)
        self.cluster.http(people[1]).ok('PUT', f'/v1/blocks/{people[9]}')
        eventually(lambda: self.cluster.http(people[FOR_FOLLOWERS]).put('/v1/visibility', json={'posts': 'followers'}).status_code == 200, 30)
        self.posts, self.versions, self.hidden_posts = [], {}, set()
        for number, user in enumerate(people):
            for _ in range(6 if number == ACTED_ON[0] else 2):
                post = feed.post(user, f'of {user} to @{self.handle}')
                self.posts.append((user, post['id']))
                self.versions[post['id']] = post['version']
            self.edit(*self.posts[-1])
        _, self.gone = self.posts.pop()
        feed.delete(people[-1], self.gone)
        for number in ACTED_ON:
            self.decide(*self.posts_of(number)[0], 'hidden')
        self.subjects = [f'post:{post}' for _, post in self.posts[:6]] + ['site:one', 'site:two', *(f'site:{number}' for number in range(SITES))]
        for subject in self.subjects[6:]:
            comments.register(subject, owner=people[0])
        for number, subject in enumerate(self.subjects):
            owner = people[number // 2] if number < 6 else people[0]
            made = comments.write(subject, people[3], 'first', owner=owner)
            comments.write(subject, people[4], 'an answer', reply_to=made['id'])
            comments.like(subject, people[5], made['id'])
            if number < 6:
                comments.like_post(subject, people[6], owner)
        self.hidden = comments.write('site:one', people[6], 'rude')
        comments.moderate('site:one', self.hidden['id'], 'hidden', people[0])
        for number, user in enumerate(people):
            assert self.cluster.report_http(user, *at(10 * number)).ok

    # what is done to a post whose author may have moved away from where its id says that it is

    def posts_of(self, number):
        return [(user, post) for user, post in self.posts if user == self.people[number]]

    def edit(self, user, post):
        made = self.feed.edit(user, {'id': post, 'version': self.versions[post]}, f'version {self.versions[post] + 1} of {post}')
        self.versions[post] = made['version']

    def decide(self, user, post, state):
        """As a moderator does. A post that is hidden is on nobody's page."""
        def decided():
            response = self.cluster.http(self.people[0], scope='moderator').put(
                f'/v1/moderation/posts/{post}', json={'state': state, 'reason': 'because'})
            assert response.status_code in (200, 202, 503), response.text
            return response.status_code == 200 and response.json()

        assert eventually(decided, 30)['state'] == state
        shown = set(self.feed.posts[user]) - {int(post)} | ({int(post)} if state == 'visible' else set())
        self.feed.posts[user] = sorted(shown)
        self.hidden_posts = self.hidden_posts - {post} | ({post} if state == 'hidden' else set())

    def may_see(self, reader, author, post) -> bool:
        blocked = {reader, author} == {self.people[1], self.people[9]}
        for_followers = author == self.people[FOR_FOLLOWERS] and author not in self.feed.following[reader] | {reader}
        return post not in self.hidden_posts and not blocked and not for_followers

    def post(self, reader, author, post):
        """The post, or the word that there is none, whichever is right."""
        response = self.cluster.http(reader).get(f'/v1/posts/{post}')
        assert response.status_code == (200 if self.may_see(reader, author, post) else 404), f'{reader} {author} {response.text}'
        return response.json()

    def edits(self, author, post):
        if not self.may_see(author, author, post):
            problem(self.cluster.http(author).get(f'/v1/posts/{post}/edits'), 404, 'no_post')
            return None
        items = self.cluster.http(author).items(f'/v1/posts/{post}/edits')
        assert [item['version'] for item in items] == list(range(self.versions[post], 0, -1))
        return items

    def searched(self, author):
        """As moderators find them."""
        items = self.cluster.http(9, scope='moderator').items('/v1/moderation/posts', user=author)
        return {item['id']: (item['text'], item['version'], item['state'], item['reports']) for item in items if item['state'] != 'deleted'}

    def act_on_old_posts(self):
        """A thread of its own, likes, edits, reports, and what moderators decide. The person before an author follows the author."""
        for number in ACTED_ON:
            (user, hidden), (_, post) = self.posts_of(number)[:2]
            reader, subject, reports = self.people[number - 1], f'post:{post}', self.searched(user)[post][3]
            self.comments.write(subject, reader, 'under an old one', owner=user)
            self.comments.like_post(subject, reader, user)
            assert reader in [item['user'] for item in self.cluster.http(reader).items(f'/v1/posts/{post}/likes')]
            assert eventually(lambda: self.cluster.http(reader).post(f'/v1/posts/{post}/report', json={'reason': 'rude'}).json(), 30) == {'reported': True}
            with ThreadWatcher(self.cluster, reader, subject) as watcher:
                def told():
                    made = self.comments.write(subject, reader, 'is it told?')
                    time.sleep(0.2)  # a frame is sent within some ms, or not at all
                    return any(item['id'] == made['id'] for frame in watcher.told() for item in frame['items'])
                eventually(told, 30, what='a comment comes live')
            self.comments.check(subject, user=reader)
            self.edit(user, post)
            self.decide(user, hidden, 'visible')
            self.decide(user, post, 'hidden')
            for _, each in self.posts_of(number):
                eventually(lambda each=each: self.post(reader, user, each) and (self.edits(user, each) or True))
            eventually(lambda: problem(self.cluster.http(reader).get(self.comments.path(subject)), 404, 'no_post'))
            eventually(lambda: self.searched(user)[post][1:] == (self.versions[post], 'hidden', max(reports, 1)), what='it is found')
            self.decide(user, post, 'visible')
            eventually(lambda: self.post(reader, user, post)['text'] == f'version {self.versions[post]} of {post}')
            eventually(lambda: self.edits(user, post))
            self.decide(user, hidden, 'hidden')

    def delete_old_posts(self):
        """Of the two that are deleted, no text stays: neither in the author's partition nor where the id says that the post is."""
        *_, (user, one), (_, other) = self.posts_of(ACTED_ON[0])
        for post in one, other:
            self.edit(user, post)
        self.decide(user, one, 'hidden')
        self.decide(user, one, 'deleted')
        self.feed.delete(user, other)
        texts = {(m.partition, m.key): m.value for m in self.cluster.topics.read('post-texts')}
        for post in one, other:
            eventually(lambda post=post: problem(self.cluster.http(user).get(f'/v1/posts/{post}'), 404, 'no_post'))
            left = {place: value for place, value in texts.items() if place[1][8:16] == user_key(int(post))}
            assert len({partition for partition, _ in left}) == 2 and not any(left.values())
            self.posts.remove((user, post))

    def seen(self):
        def of(user):
            http = self.cluster.http(user)
            home = http.ok('GET', '/v1/feed', params={'limit': 50})
            assert home['complete']
            return {'friends': sorted(self.cluster.friends_of(user)), 'user': http.ok('GET', f'/v1/users/{user}'),
                    'home': [item['id'] for item in home['items']], 'sharing': http.ok('GET', '/v1/sharing'),
                    'notices': http.ok('GET', '/v1/notices', params={'limit': 200})['items'],
                    'posts': [self.post(user, author, post) for author, post in self.posts],
                    'gone': http.get(f'/v1/posts/{self.gone}').status_code,
                    'history': [json.loads(line) for line in self.cluster.starling('history', user).stdout.splitlines()]}

        def log():
            return sorted((json.loads(line)['key'][:2] for line in
                           self.cluster.starling('replay', 'moderation-log').stdout.splitlines()), key=str)

        return {'people': {user: of(user) for user in self.people}, 'log': log(),
                'edits': [self.edits(author, post) for author, post in self.posts],
                'searched': [self.searched(user) for user in self.people],
                'handle': self.cluster.http(self.people[2]).ok('GET', f'/v1/handles/{self.handle}')}

    def check(self):
        for subject in self.subjects:
            self.comments.check(subject)
        for user in self.people:
            self.feed.wait_home(user)

    def settled(self):
        """What everybody sees, when all of it has arrived."""
        self.check()
        eventually(lambda: all(of['history'] for of in self.seen()['people'].values()), 60, every=1)
        return self.seen()

    def go_on(self):
        """New posts and comments, beside the old ones and under them; and deletions of old ones. Their ids are new."""
        people, feed, comments = self.people, self.feed, self.comments
        self.act_on_old_posts()
        self.delete_old_posts()
        old = {post for _, post in self.posts} | {self.gone}
        newer = [feed.post(user, f'another one of {user}')['id'] for user in people for _ in range(2)]
        assert len(set(newer) | old) == len(newer) + len(old)
        made = []
        for subject in self.subjects:
            made.append(comments.write(subject, people[7], 'later')['id'])
            comments.like(subject, people[8], made[-1])
        known = [int(comment) for thread in self.comments.threads.subjects.values() for comment in thread.comments]
        assert len(known) == len(set(known)), 'an id came twice'
        for user, post in self.posts[6:14]:  # those before have threads
            feed.delete(user, post)
            eventually(lambda post=post: self.cluster.http(people[-1]).get(f'/v1/posts/{post}').status_code == 404)
        del self.posts[6:14]
        state = 'visible' if comments.threads.subjects['site:one'].comments[int(self.hidden['id'])].state == 'hidden' else 'hidden'
        comments.moderate('site:one', self.hidden['id'], state, people[0])
        self.check()
        phones = [self.cluster.online(user, *at(10 * number)) for number, user in enumerate(people[:3])]
        phones[1].wait_screen({people[0], people[2]})


def copied_to(before, after, *options):
    """The documented commands: topics under a new prefix, and everything into them."""
    after.create_topics()
    return before.starling('replay', '--into', after.prefix, '--partitions', after.partitions,
                           '--delivery-partitions', after.delivery_partitions, *options)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_migration_to_more_partitions_shows_nothing(make_cluster, people):
    before = make_cluster(partitions=4, settings=SETTINGS).start(**DAEMONS)
    world = World(before, people)
    world.populate()
    wanted = world.settled()
    assert any(of['home'] for of in wanted['people'].values()) and wanted['log']
    assert before.topics.latest('hot-posts')  # the first one's
    before.stop()

    after = make_cluster(partitions=8, settings=SETTINGS)
    done = copied_to(before, after)
    assert 'left out' not in done.stdout, done.stdout
    assert before.starling('replay', '--into', after.prefix, '--partitions', 8, check=False).returncode == 1  # has records
    after.start(**DAEMONS, topics=False)
    world.move(after)
    eventually(lambda: world.seen() == wanted, 60, every=1)
    world.go_on()
    wanted = world.settled()
    after.stop()

    # And once more: posts now lie where their authors are, and where their ids say.
    last = make_cluster(partitions=12, settings=SETTINGS)
    assert 'left out' not in copied_to(after, last).stdout
    last.start(**DAEMONS, topics=False)
    world.move(last)
    eventually(lambda: world.seen() == wanted, 60, every=1)
    world.go_on()
    dead = [letter for topic in ('posts', 'post-texts', 'comments', 'names', 'friendships')
            for cluster in (after, last) for letter in cluster.topics.read(f'{topic}.dlq')]
    assert not dead


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_partitions_that_somebody_added_are_refused_until_the_migration(make_cluster, people):
    before = make_cluster(partitions=4, settings=SETTINGS).start(**DAEMONS)
    world = World(before, people)
    world.populate()
    wanted = world.settled()
    running = before.routers[0]
    for name in re.findall(rf'^{re.escape(before.prefix)}(\S+) +4 partitions$', before.create_topics().stdout, re.MULTILINE):
        if name != 'deliveries':
            before.topics.grow(name, 8)
    for daemon in before.daemons:
        assert daemon.wait() == 1, daemon.name  # by itself, within seconds
    assert 'More partitions' in running.log()
    for daemon in before.daemons:
        daemon.start(wait=False)
        assert daemon.wait() == 1, daemon.name
        assert 'their records were placed among 4' in daemon.log(), daemon.name

    checked = before.starling('topics', 'check', check=False)
    assert checked.returncode == 1 and 'placed among 4' in checked.stdout
    after = make_cluster(partitions=8, settings=SETTINGS)
    assert 'left out' not in copied_to(before, after, '--placed-among', 4).stdout
    after.start(**DAEMONS, topics=False)
    world.move(after)
    eventually(lambda: world.seen() == wanted, 60, every=1)
    world.go_on()


def test_wrong_usage(make_cluster):
    cluster = make_cluster(partitions=4, settings=SETTINGS)
    cluster.create_topics()
    for wrong in (['--partitions', 8], ['--into', 'x.', '--placed-among', 4], ['--into', 'x.', '--partitions', 8, '--speed', 1],
                  ['--into', 'x.', '--partitions', 1025], ['--into', 'x.', '--partitions', 8, '--to', 1]):
        assert cluster.starling('replay', *wrong, check=False).returncode == 2, wrong
    for options, reason in ((['friend-commands', '--partitions', 8], 'belongs to its partitions'),
                            (['--partitions', 3], 'there may only be more')):
        refused = cluster.starling('replay', '--into', f'{cluster.prefix}more.', *options, check=False)
        assert refused.returncode == 1 and reason in refused.stderr
