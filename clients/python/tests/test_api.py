"""The HTTP API against a server that the test plays."""
import http.server
import json
import threading

import pytest
from test_client import to_its_end

from starling_client import ApiError, ListedUser, NoticePreference, StarlingApi, draw_key


class Server:
    """answers: (status, JSON or bytes, headers); None: the connection ends without one. asked: (method, path, body, token).
    etags: the If-None-Match of each."""

    def __enter__(self):
        server = self
        self.answers, self.asked, self.etags = [], [], []

        class Handler(http.server.BaseHTTPRequestHandler):
            def handle_one(self):
                body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
                server.asked.append((self.command, self.path, json.loads(body) if body else None, self.headers['Authorization']))
                server.etags.append(self.headers['If-None-Match'])
                answer = server.answers.pop(0)
                if answer is None:
                    return
                status, content, *headers = answer
                content = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                for name, value in (headers[0] if headers else {}).items():
                    self.send_header(name, value)
                self.send_header('Content-Length', str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_PUT = do_POST = do_DELETE = handle_one

            def log_message(self, *_):
                pass

        self._http = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.url = f'http://127.0.0.1:{self._http.server_port}/'
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._http.shutdown()
        self._http.server_close()


def item(number, **more):
    return {'id': str(number), 'user': 7, 'name': 'Ada', 'avatar_url': '', 'text': f'post {number}', 'media': [], 'time': number,
            **more}


def comment(number, **more):
    """As on the wire: a root unless `more` says otherwise."""
    return {'id': str(number), 'user': 7, 'name': 'Ada', 'avatar_url': '', 'text': f'comment {number}', 'time': number,
            'floor': number, 'root': None, 'reply_to': None, 'likes': 0, 'reply_count': 0, 'replies': [], 'state': 'visible', **more}


def with_api(test):
    def run():
        with Server() as server:
            tokens = iter(range(1, 1000))
            to_its_end(test(server, StarlingApi(server.url, lambda: f'jwt{next(tokens)}', patience=1.5, rand=lambda: 0.0)))
    run.__name__ = test.__name__
    return run


@with_api
async def test_reads_pages_with_cursors(server, api):
    server.answers = [
        (200, {'items': [item(5, user=2**53 + 1, comments=3, likes=2, liked=True), item(4), item(3, comments='7')], 'next': '5',
               'complete': True, 'version': 'v'}),
        (200, {'items': [{'user': 2**63 - 1, 'name': 'Ada', 'avatar_url': '', 'handle': 'ada'},
                        {'user': 3, 'name': None, 'avatar_url': None, 'handle': None}], 'next': 2**63 - 1, 'total': 31}),
        (200, {'items': [item(4), {'id': '3', 'user': 7, 'time': 3, 'unavailable': True}, {}], 'next': None})]
    page = await api.get_feed(from_ms=1, to_ms=8, after='9', limit=50)
    assert [(one.comments, one.likes, one.liked) for one in page.items] == [(3, 2, True), (None, None, None), (None, None, None)]
    assert (page.items[0].user, page.next, page.complete, page.version) == (2**53 + 1, '5', True, 'v')
    people = await api.get_following(7)
    assert (people.items, people.next, people.total) == (
        [ListedUser(2**63 - 1, 'Ada', None, 'ada'), ListedUser(3, None, None, None)], 2**63 - 1, 31)
    posts = await api.get_posts(7, from_ms=1, to_ms=9)
    assert [(one.text, one.unavailable) for one in posts.items] == [('post 4', False), (None, True)] and posts.next is None
    assert [path for _, path, *_ in server.asked] == [
        '/v1/feed?from=1&to=8&after=9&limit=50', '/v1/users/7/following', '/v1/users/7/posts?from=1&to=9']
    assert server.asked[1][3] == 'Bearer jwt2'


@with_api
async def test_a_post_is_said_again_under_the_same_key(server, api):
    server.answers = [None, (202, {'key': 'x'}), (503, {'code': 'owner_unavailable', 'detail': 'moved'}), (201, item(8))]
    made = await api.create_post('Good morning', media=['https://img.example/a.jpg'])
    assert made.id == '8' and len(server.asked) == 4
    assert len({asked[2]['key'] for asked in server.asked}) == 1
    assert server.asked[3][2] == {'text': 'Good morning', 'key': server.asked[0][2]['key'], 'media': ['https://img.example/a.jpg']}


@with_api
async def test_a_post_is_liked_until_that_is_decided(server, api):
    server.answers = [(202, {'state': 'pending'}), (200, {'likes': 3, 'liked': True}), (200, {'likes': 2, 'liked': False}),
                      (200, {'items': [{'user': 7, 'name': 'Ada', 'avatar_url': '', 'handle': 'ada'}], 'next': 7})]
    assert [await api.like_post('8'), await api.unlike_post('8')] == [3, 2]
    page = await api.get_likes('8', after=3, limit=1)
    assert (page.items, page.next) == ([ListedUser(7, 'Ada', None, 'ada')], 7)
    assert [' '.join(asked[:2]) for asked in server.asked] == [
        'PUT /v1/posts/8/like', 'PUT /v1/posts/8/like', 'DELETE /v1/posts/8/like', 'GET /v1/posts/8/likes?after=3&limit=1']


@with_api
async def test_an_id_cannot_choose_another_request(server, api):
    for wrong in '5/like', '5/', '/5', '', '%2e', '../me', '.', '..', '7/../../me', '..%2fme', '7?x=1', '7#x', '7 8', '7\n', '\\..\\me':
        for call in api.unfollow, api.get_post, api.like_post, lambda wrong: api.delete_comment('post:5', wrong):
            with pytest.raises(ValueError):
                await call(wrong)
    assert not server.asked


@with_api
async def test_what_is_refused_is_not_said_again(server, api):
    server.answers = [(400, {'code': 'bad_text', 'detail': 'too long'}), (409, {'code': 'following_limit', 'title': 'Conflict'}),
                      (502, b'<html>')]
    for call, status, code, message in ((api.create_post('x', key='k'), 400, 'bad_text', 'too long'),
                                        (api.follow(8), 409, 'following_limit', 'Conflict'),
                                        (api.get_post('8'), 502, 'unknown', 'The server answered 502.')):
        with pytest.raises(ApiError) as raised:
            await call
        assert (raised.value.status, raised.value.code, raised.value.message) == (status, code, message)
        assert raised.value.passing is (status == 502)
    assert len(server.asked) == 3


@with_api
async def test_what_is_not_decided_in_time_or_later_than_that_fails(server, api):
    server.answers = [(202, {'state': 'pending'})] * 30
    with pytest.raises(ApiError) as raised:
        await api.follow(8)
    assert (raised.value.status, raised.value.code) == (202, 'pending') and len(server.asked) > 2
    server.answers = [(503, {'code': 'kafka_unavailable', 'detail': 'x'}, {'Retry-After': '60'})]
    with pytest.raises(ApiError) as raised:
        await api.delete_post('5')
    assert raised.value.retry_after == 60


@with_api
async def test_who_sees_my_posts_and_who_has_asked_to(server, api):
    server.answers = [(200, {'posts': 'everybody'}), (200, {'posts': 'followers'}), (200, {'user': 8, 'follow': 'requested'}),
                      (200, {'items': [{'user': 9}], 'next': None, 'total': 1}), (200, {'items': [{'user': 8}], 'next': None, 'total': 1}),
                      (200, {'items': [{'user': 6}], 'next': 6}), (200, {'user': 8, 'follower': True}),
                      (204, b'')]
    assert [await api.get_visibility(), await api.set_visibility('followers')] == ['everybody', 'followers']
    assert (await api.get_user(8)).follow == 'requested'
    assert [one.user for one in (await api.get_my_requests(limit=5)).items] == [9]
    assert [one.user for one in (await api.get_follow_requests(limit=5)).items] == [8]
    assert [one.user for one in (await api.get_nearby_mutes(limit=1)).items] == [6]
    assert await api.accept_follower(8)
    await api.remove_follower(8)
    assert [f'{method} {path}' for method, path, *_ in server.asked] == [
        'GET /v1/visibility', 'PUT /v1/visibility', 'GET /v1/users/8', 'GET /v1/follows/requests?limit=5',
        'GET /v1/followers/requests?limit=5', 'GET /v1/nearby/mutes?limit=1', 'PUT /v1/followers/8', 'DELETE /v1/followers/8']


@with_api
async def test_follows_mutes_deletions_users(server, api):
    server.answers = [(200, {'user': 8, 'following': True}), (200, {'user': 8, 'following': False}), (200, {'user': 8, 'muted': True}),
                      (200, {'user': 8, 'muted': False}), (200, {'user': 8, 'muted': True}), (200, {'user': 8, 'muted': False}),
                      (200, {'items': [{'user': 8}], 'next': None}), (200, {'items': [], 'next': None}),
                      (200, {'user': 8, 'state': 'friends', 'rounded': True}), (200, {'user': 8, 'state': 'friends', 'rounded': False}),
                      (204, b''), (200, {'items': [{'user': 8}], 'next': 8, 'total': 3}),
                      (200, {'items': [], 'next': None, 'total': 0}), (200, {'user': 7, 'name': None, 'avatar_url': None, 'bio': 'Hi', 'url': ''}),
                      (200, {'items': [], 'next': None, 'total': 0}), (200, {'items': [], 'next': None}),
                      (200, {'items': [{'user': 8}], 'next': 8, 'total': 3}),
                      (200, {'items': [{'user': 8, 'name': 'Ben', 'avatar_url': '', 'handle': 'ben'}, {'user': 7}]})]
    assert [await api.follow(8), await api.unfollow(8), await api.mute(8), await api.unmute(8)] == [True, False, True, False]
    assert [await api.mute_nearby(8), await api.unmute_nearby(8)] == [True, False]
    assert [await api.mutes_nearby(8), await api.mutes_nearby(0)] == [True, False]
    assert [await api.round_for(8), await api.exact_for(8)] == [True, False]
    assert await api.delete_post('5') is None
    assert [await api.follows(7, 8), await api.follows(7, 0)] == [True, False]
    user = await api.get_user(7)
    assert (user.name, user.followers, user.bio, user.url) == (None, None, 'Hi', None)
    assert (await api.get_followers(7, after=3, limit=9)).items == []
    assert (await api.get_known_followers(7, limit=9)).items == []
    mutual = await api.get_mutual_friends(7, after=3, limit=9)
    assert ([one.user for one in mutual.items], mutual.next, mutual.total) == ([8], 8, 3)
    assert [(one.user, one.name, one.handle) for one in await api.get_users([8, 7])] == [(8, 'Ben', 'ben'), (7, None, None)]
    assert [f'{method} {path}' for method, path, *_ in server.asked] == [
        'PUT /v1/follows/8', 'DELETE /v1/follows/8', 'PUT /v1/mutes/8', 'DELETE /v1/mutes/8',
        'PUT /v1/nearby/mutes/8', 'DELETE /v1/nearby/mutes/8',
        'GET /v1/nearby/mutes?after=7&limit=1', 'GET /v1/nearby/mutes?limit=1',
        'PUT /v1/friends/8/rounded', 'DELETE /v1/friends/8/rounded', 'DELETE /v1/posts/5',
        'GET /v1/users/7/following?after=7&limit=1', 'GET /v1/users/7/following?limit=1', 'GET /v1/users/7',
        'GET /v1/users/7/followers?after=3&limit=9', 'GET /v1/users/7/followers/known?limit=9',
        'GET /v1/users/7/mutual-friends?after=3&limit=9', 'GET /v1/users?ids=8%2C7']


@with_api
async def test_texts_of_a_sign_in_provider(server, api):
    known = {'user': 7, 'external': 'auth0|a'}
    server.answers = [(200, known), (200, {'users': [known]}), (200, {'users': [known]})]
    assert [await api.get_me(), await api.get_externals([7, 8]), await api.get_users_by_externals(['auth0|a', 'b'])] == [7, {7: 'auth0|a'}, {'auth0|a': 7}]
    assert [f'{method} {path}' for method, path, *_ in server.asked] == [
        'GET /v1/me', 'GET /v1/externals?users=7%2C8', 'GET /v1/externals?externals=auth0%7Ca%2Cb']


@with_api
async def test_handles(server, api):
    server.answers = [(200, {'user': 7, 'name': 'Ada', 'avatar_url': '', 'handle': 'ada'}), (202, {}),
                      (200, {'user': 7, 'handle': 'ada'}), (204, b'')]
    assert ((await api.get_user_by_handle('@Ada')).handle, await api.set_handle('Ada'), await api.drop_handle()) == ('ada', 'ada', None)
    assert [f'{method} {path}' for method, path, *_ in server.asked] == [
        'GET /v1/handles/Ada', 'PUT /v1/handle', 'PUT /v1/handle', 'DELETE /v1/handle']


@with_api
async def test_comments_are_read(server, api):
    gone = comment(2, text=None, state='deleted')
    server.answers = [
        (200, {'items': [comment(1, replies=[comment(3, root='1', reply_to='1', liked=True)], reply_count=4), gone, {'id': '9'}],
               'next': 'c', 'total': 6, 'version': 12, 'closed': False, 'owner': 42, 'pinned': [comment(1)]}, {'ETag': 'W/"12.3.42"'}),
        (304, b''), (200, {'items': [], 'next': None, 'total': 0, 'version': 0, 'closed': True, 'owner': None, 'pinned': []}),
        (200, {'items': [comment(4, root='1', reply_to='3')], 'next': None}), (200, {'items': [comment(5)], 'next': 'n'}), (200, comment(4)),
        (200, {'item': comment(4, root='1', reply_to='3'), 'root': comment(1), 'around': [comment(3)]})]
    page = await api.get_comments('post:7', sort='heat', limit=20, liked=True)
    assert (page.next, page.total, page.version, page.closed, page.owner, page.etag) == ('c', 6, 12, False, 42, 'W/"12.3.42"')
    first, second = page.items
    assert (first.text, first.liked, first.reply_count, first.replies[0].liked) == ('comment 1', None, 4, True)
    assert (second.state, second.text, page.pinned[0].id) == ('deleted', None, '1')
    assert await api.get_comments('post:7', sort='heat', limit=20, liked=True, etag=page.etag) is None
    assert (await api.get_comments('post:7')).closed and server.etags[:3] == [None, 'W/"12.3.42"', None]
    assert (await api.get_replies('post:7', '1', after='d')).items[0].reply_to == '3'
    assert (await api.get_answers('post:7', '3', limit=5, liked=True)).next == 'n'
    assert (await api.get_comment('post:7', '4')).id == '4'
    found = await api.get_comment_around('post:7', '4', around=5)
    assert (found.item.id, found.root.id, [one.id for one in found.around]) == ('4', '1', ['3'])
    assert [path for _, path, *_ in server.asked] == ['/v1/comments/post/7?sort=heat&limit=20&liked=true'] * 2 + [
        '/v1/comments/post/7', '/v1/comments/post/7/1/replies?after=d', '/v1/comments/post/7/3/answers?limit=5&liked=true',
        '/v1/comments/post/7/4', '/v1/comments/post/7/4?around=5']
    with pytest.raises(ValueError):
        await api.get_comments('post/7')


@with_api
async def test_comments_are_written(server, api):
    server.answers = [(202, {'key': 'k'}), (201, comment(8, root='1')), (204, b''), (200, {'likes': 3}), (200, {'likes': 2}),
                      (200, {'pinned': True}), (200, {'pinned': False}), (503, {}), (202, {'state': 'pending'})]
    assert (await api.post_comment('post:7', 'Well said', reply_to='1', key='k')).root == '1'
    assert [asked[2] for asked in server.asked] == [{'text': 'Well said', 'reply_to': '1', 'key': 'k'}] * 2
    assert await api.delete_comment('post:7', '8') is None
    assert [await api.like_comment('post:7', '8'), await api.unlike_comment('post:7', '8')] == [3, 2]
    assert [await api.pin_comment('post:7', '8'), await api.unpin_comment('post:7', '8')] == [True, False]
    await api.report_comment('post:7', '8', 'Spam')
    assert [f'{method} {path[19:]}' for method, path, *_ in server.asked[2:]] == [
        'DELETE /8', 'PUT /8/like', 'DELETE /8/like', 'PUT /8/pin', 'DELETE /8/pin', 'POST /8/report', 'POST /8/report']
    server.answers = [(202, {'reported': True})] * 2
    await api.report_post('5', 'Spam')
    await api.report_user(7, 'Rude')
    assert [asked[:3] for asked in server.asked[-2:]] == [
        ('POST', '/v1/posts/5/report', {'reason': 'Spam'}), ('POST', '/v1/users/7/report', {'reason': 'Rude'})]
    server.answers = [(409, {'code': 'subject_closed', 'detail': 'closed'})]
    with pytest.raises(ApiError) as raised:
        await api.post_comment('post:7', 'x')
    assert raised.value.code == 'subject_closed'


@with_api
async def test_notices(server, api):
    server.answers = [(200, {'items': [
        {'id': '8.3.5', 'what': 'reply', 'user': 7, 'subject': 'post:907', 'comment': '5', 'time': 8},
        {'id': '7.1.7', 'what': 'follow', 'user': 2**63 - 1, 'subject': None, 'comment': None, 'time': 7, 'count': 14,
         'users': [2**63 - 1, 7, 8]}], 'next': '7.1.7', 'unread': 1})]
    page = await api.get_notices(limit=2)
    assert [(one.what, one.user, one.post, one.comment, one.count, one.users) for one in page.items] == [
        ('reply', 7, '907', '5', 1, (7,)), ('follow', 2**63 - 1, None, None, 14, (2**63 - 1, 7, 8))]
    assert page.next == '7.1.7' and page.unread == 1 and server.asked[0][1] == '/v1/notices?limit=2'


@with_api
async def test_what_is_read_of_notices_and_how_they_are_told(server, api):
    preferences = {'like': {'live': True, 'push': False}}
    server.answers = [(202, {'state': 'pending'}), (200, {'unread': 3}), (200, preferences), (200, preferences)]
    assert await api.mark_notices_read('9.2.907') == 3
    told = await api.get_notice_preferences()
    assert told == await api.set_notice_preferences(told) == {'like': NoticePreference(live=True, push=False)}
    assert [asked[:3] for asked in server.asked] == [
        ('PUT', '/v1/notices/read', {'until': '9.2.907'}), ('PUT', '/v1/notices/read', {'until': '9.2.907'}),
        ('GET', '/v1/notices/preferences', None), ('PUT', '/v1/notices/preferences', preferences)]


@with_api
async def test_strangers(server, api):
    server.answers = [(200, {'items': [
        {'user': 2**63 - 1, 'name': '', 'avatar_url': '', 'lat': 1.5, 'lng': 2, 'distance_m': 12.5, 'time': 300000},
        {'user': 7, 'name': 'Ada', 'avatar_url': 'https://e.org/a', 'lat': 1.5, 'lng': 2, 'distance_m': 12.5, 'time': 300000}],
        'next': '1-125-7', 'cell': {'height': 0.5, 'width': 1}})]
    page = await api.get_strangers(limit=2)
    assert [(one.user, one.name, one.avatar_url, one.lat, one.lng, one.distance, one.time) for one in page.items] == [
        (2**63 - 1, None, None, 1.5, 2, 12.5, 300000), (7, 'Ada', 'https://e.org/a', 1.5, 2, 12.5, 300000)]
    assert (page.next, page.cell_height, page.cell_width) == ('1-125-7', 0.5, 1)
    assert server.asked[0][1] == '/v1/discover?limit=2'


@with_api
async def test_nobody_there(server, api):
    with pytest.raises(ApiError) as raised:
        await StarlingApi('http://127.0.0.1:9', 'jwt').get_post('8')
    assert (raised.value.status, raised.value.code) == (0, 'unreachable')
    with pytest.raises(ValueError):
        StarlingApi('nonsense', 'jwt')
    assert len({draw_key() for _ in range(1000)}) == 1000
