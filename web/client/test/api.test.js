import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { ApiError, drawKey } from '../index.js';
import { FakeHttp } from './fake-http.js';
import { comment, item } from './feed-server.js';

let http, asked, api;

beforeEach(() => {
    http = new FakeHttp();
    ({ asked, api } = http);
});

const soon = (promise) => http.soon(promise);

test('reads pages with cursors, and ids that a double does not hold', async () => {
    http.answers = [
        [200, `{"items":[${JSON.stringify(item(5)).replace('"user":7', '"user":9007199254740993')}],"next":"5","complete":true,"version":"v"}`],
        [200, '{"items":[{"user":9223372036854775807,"name":"Ada","avatar_url":"","handle":"ada"},' +
            '{"user":3,"name":null,"avatar_url":null,"handle":null}],"next":9223372036854775807,"total":31}'],
        [200, { items: [{ ...item(4), comments: 2, likes: 3, liked: true }, { id: '3', user: 7, time: 3, unavailable: true }], next: null }],
    ];
    const page = await api.getFeed({ from: 1, to: 8, after: '9', limit: 50 });
    assert.equal(asked[0].url, 'http://host:8080/v1/feed?from=1&to=8&after=9&limit=50');
    assert.equal(asked[0].authorization, 'Bearer jwt1');
    assert.deepEqual([page.items[0].user, page.next, page.complete, page.version], ['9007199254740993', '5', true, 'v']);
    assert.deepEqual(await api.getFollowing('7'), { items: [
        { user: '9223372036854775807', name: 'Ada', avatarUrl: null, handle: 'ada' },
        { user: '3', name: null, avatarUrl: null, handle: undefined }], next: '9223372036854775807', total: 31 });
    const { items, next } = await api.getPosts('7', { from: 1, to: 9 });
    assert.equal(asked[2].url, 'http://host:8080/v1/users/7/posts?from=1&to=9');
    assert.deepEqual(items.map(({ comments, likes, liked }) => [comments, likes, liked]), [[2, 3, true], [null, null, null]]);
    assert.deepEqual([items[0].text, items[1].text, items[1].unavailable, next], ['post 4', null, true, null]);
});

test('a post is said again under the same key until it is answered 201', async () => {
    http.answers = [null, [202, { key: 'x' }], [503, { code: 'owner_unavailable', detail: 'moved' }, { 'retry-after': '2' }], [201, item(8)]];
    const made = await soon(api.createPost({ text: 'Good morning', media: ['https://img.example/a.jpg'] }));
    assert.equal(made.id, '8');
    assert.equal(asked.length, 4);
    assert.equal(new Set(asked.map(({ body }) => body.key)).size, 1);
    assert.match(asked[0].body.key, /^[ -~]{10,64}$/);
    assert.deepEqual(asked[3].body, { text: 'Good morning', media: ['https://img.example/a.jpg'], key: asked[0].body.key });
});

test('a post is liked, and no longer, until that is decided; and who likes it', async () => {
    http.answers = [
        [202, { state: 'pending' }], [200, { likes: 3, liked: true }], [200, { likes: 2, liked: false }],
        [200, { items: [{ user: 7, name: 'Ada', avatar_url: '', handle: 'ada' }, { user: 9, name: null, avatar_url: null, handle: null }], next: 9 }],
    ];
    assert.deepEqual([await soon(api.likePost('8')), await api.unlikePost('8')], [3, 2]);
    const users = [{ user: '7', name: 'Ada', avatarUrl: null, handle: 'ada' }, { user: '9', name: null, avatarUrl: null, handle: undefined }];
    assert.deepEqual(await api.getLikes('8', { after: '3', limit: 2 }), { items: users, next: '9' });
    const paths = asked.map(({ method, url }) => `${method} ${new URL(url).pathname}${new URL(url).search}`);
    const like = 'PUT /v1/posts/8/like';
    assert.deepEqual(paths, [like, like, 'DELETE /v1/posts/8/like', 'GET /v1/posts/8/likes?after=3&limit=2']);
});

test('an id cannot choose another request', async () => {
    for (const wrong of ['5/like', '5/', '/5', '', '%2e', '../me', '.', '..', '7/../../me', '..%2fme', '%2e%2e/me', '7?x=1', '7#x', '7 8', '7\n', '\\..\\me']) {
        for (const answer of [api.unfollow(wrong), api.getPost(wrong), api.likePost(wrong), api.getFollowers(wrong), api.deleteComment('post:5', wrong)]) {
            await assert.rejects(answer, TypeError, wrong);
        }
    }
    assert.equal(asked.length, 0);
});

test('what the server refuses is not said again', async () => {
    http.answers = [[400, { code: 'bad_text', detail: 'too long' }]];
    await assert.rejects(api.createPost({ text: 'x', key: 'k' }), { status: 400, code: 'bad_text', message: 'too long', passing: false });
    http.answers = [[409, { code: 'following_limit', title: 'Conflict' }]];
    await assert.rejects(api.follow('8'), { status: 409, code: 'following_limit', message: 'Conflict' });
    http.answers = [[502, '<html>']];
    await assert.rejects(api.getPost('8'), { status: 502, code: 'unknown', message: 'The server answered 502.', passing: true });
    assert.equal(asked.length, 3);
});

test('a write that is not decided within its patience fails as not decided', async () => {
    http.answers = Array(50).fill([202, { user: 8, state: 'pending' }]);
    await assert.rejects(soon(api.follow('8')), (error) => error instanceof ApiError && error.status === 202 && error.code === 'pending');
    assert.ok(asked.length > 3 && asked.length < 20);
});

test('follows, mutes, deletions', async () => {
    http.answers = [[200, { user: 8, following: true }], [200, { user: 8, following: false }], [200, { user: 8, muted: true }],
        [200, { user: 8, muted: true }], [200, { user: 8, muted: false }], [200, { user: 8, state: 'friends', rounded: true }],
        [200, { user: 8, state: 'friends', rounded: false }], [204]];
    assert.equal(await api.follow('8'), true);
    assert.equal(await api.unfollow('8'), false);
    assert.equal(await api.mute('8'), true);
    assert.equal(await api.muteNearby('8'), true);
    assert.equal(await api.unmuteNearby('8'), false);
    assert.equal(await api.roundFor('8'), true);
    assert.equal(await api.exactFor('8'), false);
    assert.equal(await api.deletePost('5'), undefined);
    assert.deepEqual(asked.map(({ method, url }) => `${method} ${url.slice(16)}`), [
        'PUT /v1/follows/8', 'DELETE /v1/follows/8', 'PUT /v1/mutes/8', 'PUT /v1/nearby/mutes/8', 'DELETE /v1/nearby/mutes/8',
        'PUT /v1/friends/8/rounded', 'DELETE /v1/friends/8/rounded', 'DELETE /v1/posts/5',
    ]);
});

test('who sees my posts, and who has asked to', async () => {
    http.answers = [[200, { posts: 'everybody' }], [200, { posts: 'followers' }], [200, { user: 8, name: 'Ben', avatar_url: '', bio: '', url: '', follow: 'requested' }],
        [200, { items: [{ user: 9 }], next: null, total: 1 }], [200, { items: [{ user: 8, name: 'Ben', avatar_url: '', handle: 'ben' }], next: null, total: 1 }],
        [200, { user: 8, follower: true }], [204]];
    assert.equal(await api.getVisibility(), 'everybody');
    assert.equal(await api.setVisibility('followers'), 'followers');
    assert.equal((await api.getUser('8')).follow, 'requested');
    assert.deepEqual((await api.getMyRequests({ limit: 5 })).items.map(({ user }) => user), ['9']);
    assert.deepEqual((await api.getFollowRequests({ limit: 5 })).items.map(({ user }) => user), ['8']);
    assert.equal(await api.acceptFollower('8'), true);
    await api.removeFollower('8');
    assert.deepEqual(asked.map(({ method, url }) => `${method} ${url.slice(16)}`), [
        'GET /v1/visibility', 'PUT /v1/visibility', 'GET /v1/users/8', 'GET /v1/follows/requests?limit=5', 'GET /v1/followers/requests?limit=5',
        'PUT /v1/followers/8', 'DELETE /v1/followers/8',
    ]);
});

test('whom I mute nearby is a list', async () => {
    http.answers = [[200, { items: [{ user: 8 }], next: 8 }]];
    const { items, next } = await api.getNearbyMutes({ limit: 1 });
    assert.deepEqual([items.map(({ user }) => user), next, asked[0].url.slice(16)], [['8'], '8', '/v1/nearby/mutes?limit=1']);
});

test('whether I mute somebody nearby is one question', async () => {
    http.answers = [[200, { items: [{ user: 8 }], next: 8 }], [200, { items: [{ user: 9 }], next: null }], [200, { items: [], next: null }]];
    assert.deepEqual([await api.mutesNearby('8'), await api.mutesNearby('8'), await api.mutesNearby('8')], [true, false, false]);
    assert.deepEqual(asked.map(({ url }) => url.slice(16)), Array(3).fill('GET /v1/nearby/mutes?after=7&limit=1'.slice(4)));
});

test('whether somebody follows somebody is one question', async () => {
    http.answers = [[200, { items: [{ user: 8 }], next: 8, total: 3 }], [200, { items: [{ user: 9 }], next: 9, total: 3 }], [200, { items: [], next: null, total: 0 }]];
    assert.deepEqual([await api.follows('7', '8'), await api.follows('7', '8'), await api.follows('7', '0')], [true, false, false]);
    assert.deepEqual(asked.map(({ url }) => url.split('?')[1]), ['after=7&limit=1', 'after=7&limit=1', 'limit=1']);
});

test('a user without a profile or counts', async () => {
    http.answers = [[200, { user: 7, name: null, avatar_url: null }], [200, { user: 7, name: 'Ada', avatar_url: '', bio: 'Hi', url: 'https://a', followers: 3, following: 2, posts: 1 }]];
    assert.deepEqual(await api.getUser('7'), { user: '7', name: null, avatarUrl: null, bio: null, url: null, handle: undefined, followers: undefined, following: undefined, posts: undefined, follow: undefined });
    assert.deepEqual(await api.getUser('7'), { user: '7', name: 'Ada', avatarUrl: null, bio: 'Hi', url: 'https://a', handle: undefined, followers: 3, following: 2, posts: 1, follow: undefined });
});

test('handles', async () => {
    http.answers = [[200, { user: 7, name: 'Ada', avatar_url: '', handle: 'ada' }], [202, {}], [200, { user: 7, handle: 'ada' }], [204],
        [200, { items: [{ user: 8, name: 'Ben', avatar_url: '', handle: 'ben' }, { user: 7, name: null, avatar_url: null, handle: null }] }],
        [200, { user: 7, external: 'auth0|a' }], [200, { users: [{ user: 7, external: 'auth0|a' }] }], [200, { users: [{ user: 7, external: 'auth0|a' }] }]];
    assert.deepEqual([(await api.getUserByHandle('@Ada')).handle, await soon(api.setHandle('Ada')), await api.dropHandle()], ['ada', 'ada', undefined]);
    assert.deepEqual((await api.getUsers(['8', '7'])).map(({ user, name, handle }) => [user, name, handle]), [['8', 'Ben', 'ben'], ['7', null, undefined]]);
    assert.deepEqual([await api.getMe(), await api.getExternals(['7', '8']), await api.getUsersByExternals(['auth0|a', 'b'])], ['7', { 7: 'auth0|a' }, { 'auth0|a': '7' }]);
    assert.deepEqual(asked.map(({ method, url }) => `${method} ${url.slice(16)}`), [
        'GET /v1/handles/Ada', 'PUT /v1/handle', 'PUT /v1/handle', 'DELETE /v1/handle', 'GET /v1/users?ids=8%2C7',
        'GET /v1/me', 'GET /v1/externals?users=7%2C8', 'GET /v1/externals?externals=auth0%7Ca%2Cb',
    ]);
    assert.deepEqual(asked[1].body, { handle: 'Ada' });
});

test('notices: who does what, and where', async () => {
    http.answers = [[200, '{"items":[{"id":"9.2.907","what":"mention","user":9223372036854775807,"subject":"post:907","comment":null,"time":9},' +
        '{"id":"8.3.5","what":"reply","user":7,"subject":"post:907","comment":"5","time":8},' +
        '{"id":"7.1.7","what":"follow","user":7,"subject":null,"comment":null,"time":7,"count":14,"users":[7,9223372036854775807,8]},' +
        '{"id":"6.8.5","what":"arrived","user":7,"subject":null,"comment":null,"place":"Home","time":6}],"next":"6.8.5","unread":2}'],
    [200, { items: [], next: null, unread: 0 }]];
    assert.deepEqual(await api.getNotices({ limit: 4 }), {
        items: [
            { id: '9.2.907', what: 'mention', user: '9223372036854775807', post: '907', comment: null, place: null, time: 9, count: 1, users: ['9223372036854775807'] },
            { id: '8.3.5', what: 'reply', user: '7', post: '907', comment: '5', place: null, time: 8, count: 1, users: ['7'] },
            { id: '7.1.7', what: 'follow', user: '7', post: null, comment: null, place: null, time: 7, count: 14, users: ['7', '9223372036854775807', '8'] },
            { id: '6.8.5', what: 'arrived', user: '7', post: null, comment: null, place: 'Home', time: 6, count: 1, users: ['7'] },
        ],
        next: '6.8.5',
        unread: 2,
    });
    assert.deepEqual(await api.getNotices({ after: '6.8.5' }), { items: [], next: null, unread: 0 });
    assert.deepEqual(asked.map(({ url }) => url.slice(16)), ['/v1/notices?limit=4', '/v1/notices?after=6.8.5']);
});

test('what is read of notices, and how they are told', async () => {
    const preferences = { like: { live: true, push: false } };
    http.answers = [[202, { state: 'pending' }], [200, { unread: 3 }], [200, preferences], [200, preferences]];
    assert.deepEqual([await soon(api.markNoticesRead('9.2.907')), await api.getNoticePreferences(), await api.setNoticePreferences(preferences)], [3, preferences, preferences]);
    assert.deepEqual(asked.map(({ method, url, body }) => [method, url.slice(16), body]), [
        ['PUT', '/v1/notices/read', { until: '9.2.907' }],
        ['PUT', '/v1/notices/read', { until: '9.2.907' }],
        ['GET', '/v1/notices/preferences', undefined],
        ['PUT', '/v1/notices/preferences', preferences],
    ]);
});

test('strangers nearby are read, whatever their numbers and names', async () => {
    const cell = { height: 0.5, width: 1 };
    http.answers = [[200, '{"items":[{"user":9223372036854775807,"name":"","avatar_url":"","lat":1.5,"lng":2,"distance_m":12.5,"time":300000},' +
        '{"user":7,"name":"Ada","avatar_url":"https://e.org/a","lat":1.5,"lng":2,"distance_m":12.5,"time":300000}],' +
        '"next":"1-125-7","cell":{"height":0.5,"width":1}}'], [200, { items: [], next: null, cell }], [200, { items: [], next: null }]];
    const where = { lat: 1.5, lng: 2, distance: 12.5, time: 300000 };
    assert.deepEqual(await api.getStrangers({ limit: 2 }), {
        items: [{ user: '9223372036854775807', name: null, avatarUrl: null, ...where }, { user: '7', name: 'Ada', avatarUrl: 'https://e.org/a', ...where }],
        next: '1-125-7', cell,
    });
    assert.deepEqual(await api.getStrangers({ after: '1-125-7' }), { items: [], next: null, cell });
    await assert.rejects(api.getStrangers(), { code: 'bad_answer' });
    assert.deepEqual(asked.map(({ url }) => url.slice(16)), ['/v1/discover?limit=2', '/v1/discover?after=1-125-7', '/v1/discover']);
});

test('comments: pages with replies, 304 while nothing is new, and one with its surroundings', async () => {
    const deleted = { ...comment(2), text: null, state: 'deleted' };
    http.answers = [
        [200, { items: [{ ...comment(1), replies: [comment(3, { root: '1', reply_to: '1', liked: true })], reply_count: 4 }, deleted, { id: '9' }],
            next: 'c', total: 6, version: 12, closed: false, owner: 42, pinned: [comment(1)] }, { etag: 'W/"12.3.42"' }],
        [304],
        [200, { items: [], next: null, total: 0, version: 0, closed: true, owner: null, pinned: [] }],
        [200, { items: [comment(4, { root: '1', reply_to: '3' })], next: null }],
        [200, { items: [comment(4, { root: '1', reply_to: '3' })], next: null }],
        [200, comment(4)],
        [200, { item: comment(4, { root: '1', reply_to: '3' }), root: comment(1), around: [comment(3)] }],
    ];
    const page = await api.getComments('post:7', { sort: 'heat', after: null, limit: 20, liked: true });
    const [first, second] = page.items;
    assert.deepEqual([page.items.length, page.next, page.total, page.version, page.closed, page.owner, page.etag], [2, 'c', 6, '12', false, '42', 'W/"12.3.42"']);
    assert.deepEqual([first.text, first.floor, first.root, first.liked, first.replyCount, first.replies[0].liked, first.replies[0].replyTo],
        ['comment 1', 1, null, null, 4, true, '1']);
    assert.deepEqual([second.state, second.text, page.pinned[0].id], ['deleted', null, '1']);
    assert.equal(await api.getComments('post:7', { sort: 'heat', limit: 20, liked: true }, page.etag), null);
    assert.equal(asked[1].etag, 'W/"12.3.42"');
    const empty = await api.getComments('post:7');
    assert.deepEqual([empty.owner, empty.closed, empty.etag, asked[2].etag], [null, true, null, undefined]);
    assert.equal((await api.getReplies('post:7', '1', { after: 'd', liked: true })).items[0].replyTo, '3');
    assert.equal((await api.getAnswers('post:7', '3', { limit: 5 })).items[0].replyTo, '3');
    assert.equal((await api.getComment('post:7', '4')).id, '4');
    const { item: found, root, around } = await api.getCommentAround('post:7', '4', { around: 5 });
    assert.deepEqual([found.id, root.id, around.map(({ id }) => id)], ['4', '1', ['3']]);
    assert.deepEqual(asked.map(({ url }) => url.slice(16)), [
        '/v1/comments/post/7?sort=heat&limit=20&liked=true', '/v1/comments/post/7?sort=heat&limit=20&liked=true', '/v1/comments/post/7',
        '/v1/comments/post/7/1/replies?after=d&liked=true', '/v1/comments/post/7/3/answers?limit=5', '/v1/comments/post/7/4', '/v1/comments/post/7/4?around=5',
    ]);
    await assert.rejects(api.getComments('post/7'), RangeError);
    await assert.rejects(api.getComments('post:..'), RangeError);
});

test('comments: a comment is said again under the same key until it is decided, a report is safe with 202', async () => {
    http.answers = [[202, { key: 'k', location: '/v1/x' }], [429, { code: 'too_many_writes' }, { 'retry-after': '2' }], [201, comment(8, { root: '1' })],
        [202, { state: 'pending' }], [204], [200, { likes: 3 }], [202, { state: 'pending' }], [200, { likes: 2 }],
        [200, { pinned: true }], [200, { pinned: false }], [503, {}], [202, { reported: true }]];
    assert.equal((await soon(api.postComment('post:7', { text: 'Well said', replyTo: '1', key: 'k' }))).id, '8');
    assert.deepEqual(asked.slice(0, 3).map(({ body }) => body), Array(3).fill({ text: 'Well said', reply_to: '1', key: 'k' }));
    assert.equal(await soon(api.deleteComment('post:7', '8')), undefined);
    assert.deepEqual([await api.likeComment('post:7', '8'), await soon(api.unlikeComment('post:7', '8'))], [3, 2]);
    assert.deepEqual([await api.pinComment('post:7', '8'), await api.unpinComment('post:7', '8')], [true, false]);
    await soon(api.reportComment('post:7', '8', 'Spam'));
    assert.deepEqual(asked.slice(3).map(({ method, url }) => `${method} ${url.slice(35)}`), [
        'DELETE /8', 'DELETE /8', 'PUT /8/like', 'DELETE /8/like', 'DELETE /8/like', 'PUT /8/pin', 'DELETE /8/pin', 'POST /8/report', 'POST /8/report',
    ]);
    assert.deepEqual(asked.at(-1).body, { reason: 'Spam' });
    http.answers = [[202, { reported: true }], [202, { state: 'pending' }]];
    await api.reportPost('5', 'Spam');
    await api.reportUser('7', 'Rude');
    assert.deepEqual(asked.slice(-2).map(({ method, url, body }) => [method, url.slice(url.indexOf('/v1/')), body]), [
        ['POST', '/v1/posts/5/report', { reason: 'Spam' }], ['POST', '/v1/users/7/report', { reason: 'Rude' }],
    ]);
    http.answers = [[409, { code: 'subject_closed', detail: 'closed' }]];
    await assert.rejects(api.postComment('post:7', { text: 'x' }), { code: 'subject_closed', passing: false });
});

test('keys differ', () => {
    assert.equal(new Set(Array.from({ length: 1000 }, drawKey)).size, 1000);
});
