"""A user who has something of every kind, and what the others see of it."""
import json

from .commenting import Commenting
from .feed import Feed
from .geo import HOME, at
from .waiting import eventually, now_ms

KINDS = 'account', 'friends', 'links', 'places', 'place-events', 'following', 'followers', 'requesting', 'requested', 'muted', 'posts', 'devices', \
    'notices', 'comments', 'edits', 'likes', 'reports', 'history'
TOLD = {kind: {'live': True, 'push': True} for kind in ('follow', 'mention', 'reply', 'request', 'accepted', 'like', 'approach', 'arrived', 'left')}


class Belongings:
    """
    some = Belongings(cluster, users(5), reports=3)    # builds it all, and waits until all of it can be read
    some.exported() == some.expected()
    """
    PROFILE = {'name': 'Ada "Lovelace"', 'avatar_url': 'https://x.example/ä.png', 'bio': 'Countess\nof "numbers"', 'url': 'https://x.example/ä'}

    def __init__(self, cluster, ids, reports=3, posts=3):
        self.cluster = cluster
        self.user, self.friend, self.fan, self.idol, self.stranger = ids
        self.feed, self.commenting = Feed(cluster), Commenting(cluster)
        self.handle = f'user_{self.user}'
        http = self.http(self.user)
        http.ok('PUT', '/v1/profile', json=self.PROFILE)
        cluster.acquaint(self.user, self.friend)
        http.ok('PUT', f'/v1/blocks/{self.stranger}')
        self.link = http.ok('POST', '/v1/links', json={'until': now_ms() + 3_600_000, 'rounded': True})
        http.ok('PUT', f'/v1/nearby/mutes/{self.friend}')
        self.home = http.ok('PUT', '/v1/places/home', json={'name': 'Home', 'lat': HOME[0], 'lng': HOME[1], 'radius_m': 1000, 'tell': [self.stranger]})
        eventually(lambda: http.put('/v1/handle', json={'handle': self.handle}).status_code == 200, what='the handle is granted')
        self.feed.follow(self.user, self.idol)
        self.feed.follow(self.fan, self.user)
        self.feed._put(self.user, f'/v1/mutes/{self.stranger}', 'muted', True, 30)
        self.posts = [self.feed.post(self.user, f'post {i} of {self.user}') for i in range(posts)]
        self.theirs = self.feed.post(self.idol, f'hello @{self.handle}')
        subject = self.subject = f'post:{self.theirs["id"]}'
        self.comment = self.commenting.write(subject, self.user, f'zanzibar{self.user}', owner=self.idol)
        self.others = self.commenting.write(subject, self.fan, 'another one', reply_to=self.comment['id'], owner=self.idol)
        self.commenting.like(subject, self.user, self.others['id'])
        self.commenting.like_post(subject, self.user, self.idol)
        self.commenting.http(self.user).ok('POST', f'{self.commenting.path(subject)}/{self.others["id"]}/report', json={'reason': 'it is rude'})
        for user, other in (self.user, self.friend), (self.friend, self.user):
            eventually(lambda: self.http(other).put('/v1/visibility', json={'posts': 'followers'}).status_code == 200)
            eventually(lambda: self.http(user).put(f'/v1/follows/{other}').json().get('state') == 'requested')
        self.places = [at(10 * i) for i in range(reports)]
        for i, place in enumerate(self.places):
            cluster.report_http(self.user, *place, time=now_ms() if i == reports - 1 else 1_700_000_000_000 + i)
        cluster.report_http(self.friend, *HOME)
        eventually(lambda: len(http.ok('GET', '/v1/history', params={'limit': 1000})['items']) == reports, what='the history is stored')
        eventually(lambda: http.ok('GET', '/v1/places/events')['items'], what='the user has arrived')
        eventually(lambda: self.found(f'zanzibar{self.user}'), what='the comment is found')
        eventually(lambda: len(http.ok('GET', '/v1/notices')['items']) == 4, what='the notices are there')
        self.read = http.ok('GET', '/v1/notices')['items'][1]['id']
        eventually(lambda: http.put('/v1/notices/read', json={'until': self.read}).json() == {'unread': 1})
        eventually(lambda: http.put('/v1/notices/preferences', json={'like': {'live': True, 'push': False}}).status_code == 200)

    def http(self, user):
        return self.cluster.http(user)

    def found(self, text) -> list:
        """What moderators find."""
        return self.cluster.http(self.stranger, scope='moderator').ok('GET', '/v1/moderation/comments', params={'text': text})['items']

    def pages(self, limit=100):
        return self.http(self.user).pages('/v1/export', limit=limit)

    def exported(self, limit=100) -> dict:
        """Kind -> items."""
        found = {}
        for page in self.pages(limit):
            assert page['user'] == self.user and len(page['items']) <= limit
            found.setdefault(page['kind'], []).extend(page['items'])
        return found

    def printed(self, *arguments) -> dict:
        """The same, by the command."""
        found = {}
        for line in self.cluster.starling('export', self.user, *arguments).stdout.splitlines():
            line = json.loads(line)
            found.setdefault(line['kind'], []).append(line['item'])
        return found

    def check(self, found):
        """Everything is there."""
        assert found['account'] == [{'user': self.user, **self.PROFILE, 'sharing': 'friends',
                                     'until': None, 'details': False, 'nearby_muted': [self.friend], 'handle': self.handle, 'visibility': 'followers',
                                     'notices': {'read': self.read, 'preferences': {**TOLD, 'like': {'live': True, 'push': False}}}}]
        assert [(f['user'], f['state']) for f in found['friends']] == [(self.friend, 'friends'), (self.stranger, 'blocked')]
        assert [(link['id'], link['rounded']) for link in found['links']] == [(self.link['id'], True)]
        assert found['places'] == [self.home] and [(one['place'], one['what']) for one in found['place-events']] == [('home', 'arrived')]
        assert found['following'] == [{'user': self.idol}] and found['followers'] == [{'user': self.fan}]
        assert found['requesting'] == found['requested'] == [{'user': self.friend}]
        assert found['muted'] == [{'user': self.stranger}]
        assert [(p['id'], p['text']) for p in found['posts']] == [(p['id'], p['text']) for p in reversed(self.posts)]
        assert sorted((n['what'], n['user']) for n in found['notices']) == [
            ('follow', self.fan), ('mention', self.idol), ('reply', self.fan), ('request', self.friend)]
        assert [(c['id'], c['text'], c['subject']) for c in found['comments']] == [
            (self.comment['id'], f'zanzibar{self.user}', self.subject)]
        assert found['likes'] == [{'subject': self.subject, 'comment': comment, 'what': 'like'} for comment in (None, self.others['id'])]
        assert found['reports'] == [{'subject': self.subject, 'comment': self.others['id'], 'what': 'report'}]
        assert [(round(r['lat'], 7), round(r['lng'], 7)) for r in found['history']] == [
            (round(lat, 7), round(lng, 7)) for lat, lng in self.places]
