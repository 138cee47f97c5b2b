"""StarlingApi of the clients against the real daemons: one suite for all of them. tests/protocol/README.md says how they
are called."""
import contextlib
import re
import subprocess

import pytest

from harness.broker import REPOSITORY
from harness.doors import DOORS, Door, Refused
from harness.driven import Driven
from harness.geo import HOME, at, distance_m
from harness.ports import free_port
from harness.waiting import eventually, now_ms


@pytest.fixture(scope='module')
def world(make_module_cluster):
    return make_module_cluster(settings={'ingest:ingest.outcome.wait.ms': 8000, 'router:discover.delay.s': 1,
                                         'router:discover.user.rate': 0}).start(feeds=1, comments=1, places=1, moderators=1)


@pytest.fixture(params=sorted(DOORS))
def people(request, world, users):
    """Three users of the client, and what they are called by it."""
    ids = users(3)
    with contextlib.ExitStack() as stack:
        yield [(str(user), stack.enter_context(Door(request.param, world.http_url, world.token(user)))) for user in ids]


def refused(call, *arguments, **options):
    with pytest.raises(Refused) as raised:
        call(*arguments, **options)
    return raised.value


def test_friends_are_asked_for_accepted_named_and_blocked(people):
    (ada, a), (ben, b), (cleo, c) = people
    assert refused(a, 'getProfile').kind == 'NotFound'
    assert a('setProfile', name='Ada Ö', avatarUrl='https://example.org/ada.png')['avatarUrl'] == 'https://example.org/ada.png'
    assert a('addFriend', ben)['state'] == 'requested'
    eventually(lambda: [(one['user'], one['name'], one['state']) for one in b('getFriends', state='invited')['items']] == [
        (ada, 'Ada Ö', 'invited')], what='the invitation, by name')
    assert b('addFriend', ada)['state'] == 'friends'
    c('addFriend', ada), a('addFriend', cleo)
    eventually(lambda: sorted(one['user'] for one in a.all('getFriends', limit=1)) == sorted([ben, cleo], key=int), what='both friends')
    assert a('removeFriend', cleo)['state'] == 'none'
    assert a('block', cleo)['state'] == 'blocked'
    eventually(lambda: [one['user'] for one in a.all('getFriends', state='all')] == [ben, cleo], what='a friend and a block')
    assert a('unblock', cleo)['state'] == 'none'
    assert refused(a, 'addFriend', ada).code == 'same_user'


def test_places_are_shared_reported_found_and_kept(people):
    (ada, a), (ben, b), _ = people
    a('addFriend', ben), b('addFriend', ada)
    assert a('getSharing') == {'mode': 'off', 'until': None, 'details': False}
    here, there = ({'lat': lat, 'lng': lng} for lat, lng in (HOME, at(300)))
    error = refused(a, 'report', [here])
    assert (error.kind, error.code) == ('Forbidden', 'sharing_off')
    ends = now_ms() + 3_600_000
    assert a('setSharing', 'friends', ends) == {'mode': 'friends', 'until': ends, 'details': False}
    b('setProfile', name='Ben'), b('setSharing', 'friends')
    earlier, now = now_ms() - 60_000, now_ms()
    assert a('report', [{**here, 'time': earlier}, {**here, 'time': now, 'accuracy': 12}]) == {'accepted': 2, 'sharingOff': 0, 'refused': []}
    b('report', [there])

    def near():
        page = a('getNearby', since=now)
        return [(one['user'], one['name'], round(one['distance'])) for one in page['items']], page['time']

    eventually(lambda: near() == ([(ben, 'Ben', 300)], now), what='the friend, by name')
    eventually(lambda: a('getAudience') == {'mode': 'friends', 'visible': True, 'items': [{'user': ben, 'near': True}], 'next': None},
               what='the audience')
    eventually(lambda: [(one['time'], one['accuracy']) for one in a.all('getHistory', limit=1)] == [(earlier, None), (now, 12)],
               what='the history')
    assert re.search('lng is (missing|NaN)', refused(a, 'report', [{'lat': 1, 'lng': None}]).message)  # numbers of Java are never missing
    for bad in {'lat': '39.98', 'lng': 1}, {'lat': 91, 'lng': 1}:
        error = refused(a, 'report', [bad])
        assert (error.kind, 'lat is ' in error.message) == ('InvalidPosition', True)
    told = a('report', [here, {**here, 'time': ends}])
    assert (told['accepted'], [one['time'] for one in told['refused']]) == (1, [ends])


def test_friends_are_told_what_phones_say(people):
    (ada, a), (ben, b), _ = people
    a('addFriend', ben), b('addFriend', ada)
    said = {'battery': 0.5, 'charging': True, 'speed': 1.5, 'course': 270.5, 'activity': 'walking', 'verticalAccuracy': 3}
    b('setSharing', 'friends')
    assert a('setSharing', 'friends', None, True)['details'] is True
    eventually(lambda: a('getSharing')['details'], what='the gateway knows')

    def told():
        for api in a, b:
            api('report', [{'lat': HOME[0], 'lng': HOME[1], 'accuracy': 12, **said}])
        return [{name: one.get(name) for name in (*said, 'accuracy')} for one in b('getNearby')['items']]

    eventually(lambda: told() == [{**said, 'accuracy': 12}], what='what the phone says')
    assert not [name for one in a('getNearby')['items'] for name in said if one.get(name) is not None]
    history = eventually(lambda: b.all('getHistory'), what='the history')
    assert {name: history[-1].get(name) for name in said} == said


def test_a_link_shows_the_place_to_whoever_has_it(people):
    (_, a), (_, b), _ = people
    ends = now_ms() + 3_600_000
    assert (refused(a, 'createLink', until=ends).code, refused(a, 'createLink', until=1).code) == ('not_sharing', 'bad_until')
    a('setProfile', name='Ada'), a('setSharing', 'friends')
    a('report', [{'lat': HOME[0], 'lng': HOME[1]}])
    exact, rounded = a('createLink', until=ends), a('createLink', until=ends, rounded=True)
    assert [(link['id'], link['until'], link['rounded']) for link in a.all('getLinks', limit=1)] == [(exact['id'], ends, False), (rounded['id'], ends, True)]
    eventually(lambda: b('getLinkPlace', exact['url'])['name'] == 'Ada' and b('getLinkPlace', exact['url'])['time'], what='her place')
    place, about = (b('getLinkPlace', link) for link in (exact['url'], rounded['url'].split('#')[1]))
    assert (round(place['lat'], 6), round(place['lng'], 6), place['until']) == (*(round(degrees, 6) for degrees in HOME), ends)
    assert 0 < distance_m(*HOME, about['lat'], about['lng']) < 1000
    error = refused(b, 'endLink', exact['id'])
    assert (error.kind, error.code) == ('NotFound', 'no_link')
    a('endLink', exact['id'])
    error = refused(b, 'getLinkPlace', exact['url'])
    assert (error.kind, error.status, error.code) == ('BadRequest', 410, 'link_over')
    assert [link['id'] for link in a('getLinks')['items']] == [rounded['id']]
    a('setSharing', 'off')
    eventually(lambda: refused(b, 'getLinkPlace', rounded['url']).code == 'link_over')
    assert refused(b, 'getLinkPlace', 'x' * 60).code == 'no_link'


def test_places_of_mine_and_who_is_told_of_them(people):
    (ada, a), (ben, b), _ = people
    a('addFriend', ben), b('addFriend', ada)
    a('setSharing', 'friends'), b('setSharing', 'friends')
    here = {'lat': round(HOME[0], 7), 'lng': round(HOME[1], 7)}
    home = a('setPlace', 'home', name='Home', radiusM=100, tell=[ben], **here)
    assert home == {'id': 'home', 'name': 'Home', 'radiusM': 100, 'tell': [ben], **here}
    assert a('setPlace', 'work', name='Work', lat=1.5, lng=2, radiusM=50_000, tell='me')['tell'] == 'me'
    assert [place['id'] for place in a.all('getPlaces', limit=1)] == ['home', 'work'] and a('getPlace', 'home') == home
    a('report', [{'lat': HOME[0], 'lng': HOME[1]}])
    event, = eventually(lambda: a.all('getPlaceEvents', limit=1), what='she has arrived')
    assert (event['place'], event['name'], event['what']) == ('home', 'Home', 'arrived') and abs(event['time'] - now_ms()) < 60_000
    assert a('getPlaceEvents', to=event['time'])['items'] == [] and event['number'] > 0
    notice, = eventually(lambda: [one for one in b('getNotices')['items'] if one['what'] == 'arrived'], what='he is told')
    assert (notice['user'], notice['place'], notice['time']) == (ada, 'Home', event['time'])
    assert (refused(b, 'getPlace', 'home').kind, refused(b, 'getPlace', 'home').code) == ('NotFound', 'no_place')
    assert refused(a, 'setPlace', 'home', name='', radiusM=100, tell='me', **here).code == 'bad_place'
    a('deletePlace', 'home')
    assert refused(a, 'deletePlace', 'home').code == 'no_place' and [place['id'] for place in a('getPlaces')['items']] == ['work']


def test_friends_are_muted_and_see_only_about_where_one_is(people):
    (ada, a), (ben, b), (cleo, _) = people
    assert refused(a, 'roundFor', cleo).code == 'not_friends'
    a('addFriend', ben), b('addFriend', ada)
    assert a('roundFor', ben) is True
    eventually(lambda: [one['rounded'] for one in a('getFriends')['items']] == [True], what='the choice')
    for door, place in (a, HOME), (b, HOME):
        door('setSharing', 'friends')
        door('report', [{'lat': place[0], 'lng': place[1]}])
    eventually(lambda: [(one['user'], one['rounded']) for one in b('getNearby')['items']] == [(ada, True)], what='the rounded place')
    assert [one['rounded'] for one in a('getNearby')['items']] == [False]
    assert a('exactFor', ben) is False
    assert (a('muteNearby', ben), a('mute', ben), a('unmute', ben)) == (True, True, False)
    eventually(lambda: a('mutesNearby', ben) and [one['user'] for one in a.all('getNearbyMutes', limit=1)] == [ben], what='the mute')
    eventually(lambda: a('getNearby')['items'] == [], what='a list without the friend')
    assert a('unmuteNearby', ben) is False
    eventually(lambda: not a('mutesNearby', ben), what='no mute')


def test_posts_comments_and_strangers(people):
    (ada, a), (ben, b), _ = people
    posts = [a('createPost', text=f'post {n}', key=f'key-{n}')['id'] for n in range(3)]
    assert a('createPost', text='post 1', key='key-1')['id'] == posts[1]  # the same key is the same post
    assert b('follow', ada) is True
    eventually(lambda: [one['id'] for one in b.all('getFeed', limit=2)] == posts[::-1], what='the timeline')
    times = [a('getPost', post)['time'] for post in posts]
    ends = {'from': times[1], 'to': times[2]}
    assert [one['id'] for one in b.all('getFeed', limit=1, **ends)] == [post for post, time in zip(posts, times) if times[1] <= time < times[2]][::-1]
    assert (b('likePost', posts[0]), a('likePost', posts[0]), a('unlikePost', posts[0])) == (1, 2, 1)
    assert [one['user'] for one in a.all('getLikes', posts[0], limit=1)] == [ben]
    assert [(one['likes'], one['liked']) for api in (a, b) for one in [api('getPost', posts[0])]] == [(1, False), (1, True)]
    subject = f'post:{posts[0]}'
    said = b('postComment', subject, text='Well said', key='k')
    assert b('postComment', subject, text='Well said', key='k')['id'] == said['id'] and a('likeComment', subject, said['id']) == 1
    eventually(lambda: [(one['id'], one['subject']) for one in b.all('getCommentsOf', ben)] == [(said['id'], subject)], what='own comments')
    reply = a('postComment', subject, text='Thanks', replyTo=said['id'])['id']
    answers = [b('postComment', subject, text=f'answer {n}', replyTo=reply)['id'] for n in range(3)]
    assert [one['id'] for one in a.all('getAnswers', subject, reply, limit=2)] == answers
    assert refused(a, 'getCommentsOf', ben).kind == 'Forbidden'
    assert [one['text'] for one in a.all('getComments', subject)] == ['Well said']
    assert [(one['what'], one['user']) for one in a.all('getNotices', limit=1)][:1] == [('reply', ben)]
    for api in a, b:
        api('setSharing', 'public')
        api('report', [{'lat': HOME[0], 'lng': HOME[1]}])
    eventually(lambda: ben in [one['user'] for one in a.all('getStrangers', limit=1)], 30, what='the stranger')


def test_comments_are_read_pinned_reported_and_deleted(people):
    (ada, a), (ben, b), _ = people
    post = a('createPost', text='for comments', media=['https://example.org/p.png'])
    assert post['media'] == ['https://example.org/p.png']
    subject = f'post:{post["id"]}'
    roots = [b('postComment', subject, text=f'root {n}')['id'] for n in range(3)]
    replies = [a('postComment', subject, text=f'reply {n}', replyTo=roots[1])['id'] for n in range(3)]
    assert [one['id'] for one in b.all('getReplies', subject, roots[1], limit=2)] == replies
    assert (b('likeComment', subject, replies[0]), a('likeComment', subject, roots[0]), a('unlikeComment', subject, roots[0])) == (1, 1, 0)
    assert [one['liked'] for one in b('getReplies', subject, roots[1], liked=True)['items']] == [True, False, False]
    assert (b('getComment', subject, replies[0], liked=True)['liked'], a('getComment', subject, replies[0])['liked']) == (True, None)
    around = a('getCommentAround', subject, replies[1], around=1)
    assert (around['item']['id'], around['root']['id'], [one['id'] for one in around['around']]) == (replies[1], roots[1], replies[::2])
    assert a('pinComment', subject, roots[2]) is True and refused(b, 'pinComment', subject, roots[2]).kind == 'Forbidden'
    page = b('getComments', subject, sort='newest', replies=1, limit=2, liked=True)
    assert [(one['id'], [reply['id'] for reply in one['replies']], one['liked']) for one in page['items']] == [
        (roots[2], [], False), (roots[1], replies[:1], False)]
    assert (page['total'], page['owner'], [one['id'] for one in page['pinned']], page['closed']) == (6, ada, [roots[2]], False)
    assert [one['id'] for one in b.all('getComments', subject, limit=1)] == roots
    assert a('unpinComment', subject, roots[2]) is False
    for call, arguments in ('reportComment', [subject, roots[0]]), ('reportPost', [post['id']]), ('reportUser', [ben]):
        assert a(call, *arguments, 'spam') is None
        assert refused(a, call, *arguments, '').code == 'bad_reason'
    assert b('deleteComment', subject, roots[0]) is None
    assert (gone := b('getComment', subject, roots[0]))['state'] == 'deleted' and gone['text'] is None
    assert a('deletePost', post['id']) is None
    eventually(lambda: a('getPosts', ada)['items'] == [], what='no post')
    for bad in '..', '../me':
        assert 'not an id' in refused(a, 'getPost', bad).message and 'not an id' in refused(a, 'deleteComment', subject, bad).message
    assert 'not a subject' in refused(a, 'getComments', 'post').message
    assert a('request', 'GET', '/v1/sharing')['mode'] == 'off'


def test_lists_have_names_and_handles(people):
    (ada, a), (ben, b), (cleo, c) = people
    handle = f'ben_{ben}'
    b('setProfile', name='Ben', bio='Sails', url='https://b.example'), b('setHandle', handle)
    wanted = [(ben, 'Ben', handle), (cleo, None, None)]

    def told(items):
        return [(one['user'], one['name'], one.get('handle')) for one in items]

    eventually(lambda: told(a('getUsers', [ben, cleo])) == wanted, what='two users')
    for api, user in (b, ben), (c, cleo):
        assert api('follow', ada) is True and a('follow', user) is True and api('addFriend', ada) and a('addFriend', user)
    for call, arguments in ('getFollowers', [ada]), ('getFollowing', [ada]), ('getFriends', []):
        eventually(lambda: told(a.all(call, *arguments, limit=1)) == wanted, what=call)
    eventually(lambda: c('follow', ben) and told(a.all('getKnownFollowers', ben, limit=1)) == wanted[1:], what='whom I know')
    assert c('addFriend', ben) and b('addFriend', cleo)
    eventually(lambda: told(a.all('getMutualFriends', ben, limit=1)) == wanted[1:], what='a friend of both')
    assert a('getMutualFriends', ben)['total'] == 1 and refused(a, 'getMutualFriends', ada).code == 'same_user'
    for call in 'getUser', 'getProfileOf':
        shown = a(call, ben)
        assert (shown['name'], shown['bio'], shown['url']) == ('Ben', 'Sails', 'https://b.example')
    assert a('follows', ada, ben) is True and a('follows', ben, cleo) is False
    assert a('dropHandle') is None and b('dropHandle') is None
    eventually(lambda: refused(a, 'getUserByHandle', handle).code == 'no_handle', what='no handle')
    assert str(a('getMe')) == ada and a('getExternals', [ben]) == {}
    error = refused(a, 'getUsers', [ben] * 101)
    assert (error.kind, error.code) == ('BadRequest', 'bad_query')


def test_posts_and_comments_are_edited(people):
    (ada, a), (ben, b), _ = people
    a('setProfile', name='Ada')
    post = a('createPost', text='one')
    assert (post['version'], post['edited']) == (1, None)
    edited = a('editPost', post['id'], text='two', version=1)
    assert (edited['text'], edited['version'], edited['edited'] is not None) == ('two', 2, True)
    assert refused(a, 'editPost', post['id'], text='three', version=1).code == 'old_version'
    assert refused(b, 'editPost', post['id'], text='three', version=2).kind == 'Forbidden'
    eventually(lambda: [(one['version'], one['text'], one['user']) for one in b.all('getPostEdits', post['id'], limit=1)] == [
        (2, 'two', ada), (1, 'one', ada)], what='both versions')
    subject = f'post:{post["id"]}'
    said = b('postComment', subject, text='one')
    changed = b('editComment', subject, said['id'], text='two', version=1)
    assert (changed['text'], changed['version']) == ('two', 2)
    assert refused(b, 'editComment', subject, said['id'], text='three', version=1).kind == 'Conflict'
    eventually(lambda: [(one['version'], one['text'], one['user']) for one in a.all('getCommentEdits', subject, said['id'])] == [
        (2, 'two', ben), (1, 'one', ben)], what='both versions')
    assert [(one['text'], one['version']) for one in a.all('getComments', subject)] == [('two', 2)]


def test_followers_are_accepted_declined_and_removed(people):
    (ada, a), (ben, b), (_, c) = people
    post = a('createPost', text='for some')
    a('setHandle', 'ada_of_followers' + ada)

    def closed(door, call='getPost', of=post['id'], code='no_post'):
        try:
            assert door(call, of)
            return False
        except Refused as refusal:
            assert refusal.code == code
            return True

    assert (a('getVisibility'), a('setVisibility', 'followers'), a('getVisibility')) == ('everybody', 'followers', 'followers')
    for door in b, c:
        assert door('follow', ada) is False
    assert [one['user'] for one in b.all('getMyRequests', limit=1)] == [ada]
    assert b('getUser', ada)['follow'] == c('getUserByHandle', 'ada_of_followers' + ada)['follow'] == 'requested'
    eventually(lambda: closed(b), 10, what='the post is not for everybody any more')
    assert [one['user'] for one in a.all('getFollowRequests', limit=1)] == sorted((ben, people[2][0]), key=int)
    assert a('acceptFollower', ben) is True
    a('removeFollower', people[2][0])
    assert a('getFollowRequests')['items'] == [] and refused(a, 'acceptFollower', people[2][0]).code == 'no_request'
    assert b('getUser', ada)['follow'] == 'following' and c('getUser', ada)['follow'] is None
    eventually(lambda: not closed(b), what='the post is for who is accepted')
    a('removeFollower', ben)
    assert b('getUser', ada)['follow'] is None
    eventually(lambda: closed(b), 10, what='the post is not for who follows no longer')
    eventually(lambda: closed(b, 'getPosts', ada, 'followers_only'), 10, what='nor are the others')
    assert (b('follow', ada), b('unfollow', ada), b('getMyRequests')['items']) == (False, False, [])


def test_notices_are_counted_marked_as_read_and_chosen(people):
    (ada, a), (ben, b), (cleo, c) = people
    post = a('createPost', text='to be liked')['id']
    for api in b, c:
        api('likePost', post)
    eventually(lambda: [(one['what'], one['post'], one['comment'], one['user'], one['count'], one['users']) for one in a('getNotices')['items']] == [
        ('like', post, None, cleo, 2, [cleo, ben])], what='the likes, as one')
    assert a('setVisibility', 'followers') == 'followers' and not b('follow', ada)
    eventually(lambda: next((one['what'], one['user'], one['count'], one['users']) for one in a.all('getNotices', limit=1)) == (
        'request', ben, 1, [ben]), what='the request')
    page = a('getNotices', limit=1)
    assert (page['unread'], len(page['items'])) == (2, 1)
    assert a('markNoticesRead', page['items'][0]['id']) == a('getNotices')['unread'] == 0
    assert a('acceptFollower', ben)
    eventually(lambda: [(one['what'], one['user']) for one in b('getNotices')['items']] == [('accepted', ada)], what='the acceptance')
    told = a('getNoticePreferences')
    assert set(told) == {'follow', 'request', 'accepted', 'mention', 'reply', 'like', 'approach', 'arrived', 'left'}
    assert told['like'] != {'live': False, 'push': True}
    assert a('setNoticePreferences', {'like': {'live': False, 'push': True}}) == {**told, 'like': {'live': False, 'push': True}}
    assert a('getNoticePreferences')['like'] == {'live': False, 'push': True}
    assert refused(a, 'markNoticesRead', 'x').code == 'bad_until'
    assert refused(a, 'likePost', f'{post}/like').kind in ('TypeError', 'ValueError', 'IllegalArgumentException')


def test_devices_are_listed_and_ended(world, people):
    (ada, a), (_, b), _ = people
    with world.phone(int(ada)) as phone:
        phone.send({'type': 'hello', 'token': phone.token, 'device': 'Pixel 9'})
        session = phone.expect('welcome')['session']
        device, = eventually(lambda: a('getDevices', session), what='the session is listed')
        assert abs(device.pop('since') - now_ms()) < 60_000
        assert device == {'id': session, 'device': 'Pixel 9', 'current': True}
        assert refused(b, 'endDevice', session).kind == 'NotFound'
        assert phone.closed() is None
        assert a('endDevice', session) is None
        assert phone.wait_closed() == 4001
        eventually(lambda: a('getDevices', session) == [], what='it is gone')


def test_everything_is_exported_and_forgotten(people):
    (ada, a), (ben, b), _ = people
    a('setProfile', name='Ada')
    a('addFriend', ben), b('addFriend', ada)
    post = a('createPost', text='gone soon')['id']
    eventually(lambda: [(one['kind'], one.get('user')) for one in a.all('getExport', limit=1)] == [
        ('account', ada), ('friends', ben), ('posts', ada)], what='the export')
    removed = a('forgetMe')
    assert (removed['profile'], removed['friends'], removed['posts']) == (1, 1, 1)
    assert refused(b, 'getProfileOf', ada).code == 'no_profile' and refused(b, 'getPost', post).kind == 'NotFound'
    assert b('getFriends')['items'] == []


@pytest.mark.parametrize('kind', sorted(DOORS))
def test_what_is_wrong_has_a_name(world, user, kind):
    for token, name, code in ((world.token(user, ttl=-60), 'TokenExpired', 'token_expired'), ('x.y.z', 'TokenRefused', 'bad_token')):
        with Door(kind, world.http_url, token) as api:
            error = refused(api, 'getFriends')
            assert (error.kind, error.code, error.status) == (name, code, 401)
    with Door(kind, f'http://127.0.0.1:{free_port()}', world.token(user), patience_s=0) as api:
        error = refused(api, 'setProfile', name='Ada')
        assert (error.kind, error.why, error.status) == ('Unreachable', 'refused', 0)
    with Door(kind, world.http_url.replace('http:', 'https:'), world.token(user)) as api:
        assert refused(api, 'getFriends').why == 'tls'
    with Door(kind, world.http_url, world.token(user)) as api:
        assert refused(api, 'getFriends', state='foes').kind == 'BadRequest'


# connections that could not be made, and the recipe of docs/CLIENTS.md for phones


@pytest.fixture(scope='module')
def authority(tmp_path_factory):
    """The folder of what the recipe's commands make, for 127.0.0.1."""
    folder = tmp_path_factory.mktemp('recipe')
    recipe, = re.findall(r'```sh\n(HOST=.*?)```', (REPOSITORY / 'docs/CLIENTS.md').read_text(), re.DOTALL)
    done = subprocess.run(['sh', '-e', '-c', recipe.replace('192.168.1.20', '127.0.0.1')], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0 and 'server.pem: OK' in done.stdout, done.stdout + done.stderr
    return folder / 'run/tls'


@pytest.fixture(scope='module')
def secure(world, authority):
    """host:port of an edge with the recipe's certificate."""
    address = f'127.0.0.1:{free_port()}'
    world.add('fanout', settings={'edge.listen': address, 'edge.tls.certificate.file': authority / 'server.pem',
                                  'edge.tls.key.file': authority / 'server.key'})
    return address


@pytest.mark.parametrize('kind', sorted(DOORS))
def test_a_client_that_trusts_the_recipes_authority_connects(world, user, kind, authority, secure):
    trusted = {'NODE_EXTRA_CA_CERTS': str(authority / 'authority.pem'), 'SSL_CERT_FILE': str(authority / 'authority.pem')}
    with Driven(kind, f'wss://{secure}/', world.token(user), *HOME, environment=trusted) as client:
        client.wait_state('online')


@pytest.mark.parametrize('kind', sorted(DOORS))
def test_a_connection_that_cannot_be_made_says_why(world, user, kind, secure):
    plain = world.fanouts[0].settings['edge.listen']
    for url, error in ((f'wss://{secure}/', 'CertificateRefused'), (f'ws://{secure}/', 'TlsMismatch'), (f'wss://{plain}/', 'TlsMismatch'),
                       (world.http_url.replace('http:', 'ws:'), 'NotAnEdge'), (f'ws://127.0.0.1:{free_port()}/', 'ConnectionRefused')):
        with Driven(kind, url, world.token(user), *HOME) as client:
            client.wait_state('waiting')
            told = next(event for event in client.said('state') if event['state'] == 'waiting')
            assert (told['error'], told['code'], told['retry_in_s'] is not None) == (error, 1006, True), url
