// Friends, places, profile, sharing and the account over HTTP; and lists that are read to their end.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { Conflict, InvalidPosition, ServerUnavailable, StarlingApi, Undecided } from '../index.js';
import { FakeHttp } from './fake-http.js';

const BIG = '9223372036854775807';
let http, asked, api;

beforeEach(() => {
    http = new FakeHttp();
    ({ asked, api } = http);
});

const requests = () => asked.map(({ method, path }) => `${method} ${path}`);
const collect = async (items) => {
    const found = [];
    for await (const item of items) found.push(item);
    return found;
};

test('friends have names, and states', async () => {
    http.answers = [[200, `{"items":[{"user":${BIG},"name":"Ada","avatar_url":"https://e.org/a","handle":"ada","state":"friends","since":9,"rounded":true},` +
        `{"user":7,"name":"","avatar_url":"","handle":null,"state":"requested","since":0}],"next":7}`]];
    assert.deepEqual(await api.getFriends({ state: 'all', limit: 2 }), {
        items: [
            { user: BIG, name: 'Ada', avatarUrl: 'https://e.org/a', handle: 'ada', state: 'friends', since: 9, rounded: true },
            { user: '7', name: null, avatarUrl: null, handle: undefined, state: 'requested', since: null, rounded: false },
        ],
        next: '7',
    });
    assert.deepEqual(requests(), ['GET /v1/friends?state=all&limit=2']);
});

test('a friendship is asked for, ended and prevented, each until it is decided', async () => {
    http.answers = [[202, { user: 8, state: 'pending' }], [200, { user: 8, state: 'requested' }], [200, { user: 8, state: 'friends', since: 5 }],
        [200, { user: 8, state: 'none' }], [200, { user: 8, state: 'blocked', since: 6 }], [200, { user: 8, state: 'none' }]];
    assert.deepEqual(await http.soon(api.addFriend('8')), { user: '8', state: 'requested', since: null });
    assert.deepEqual(await api.addFriend('8'), { user: '8', state: 'friends', since: 5 });
    assert.deepEqual([(await api.removeFriend('8')).state, (await api.block('8')).state, (await api.unblock('8')).state], ['none', 'blocked', 'none']);
    assert.deepEqual(requests(), [
        'PUT /v1/friends/8', 'PUT /v1/friends/8', 'PUT /v1/friends/8', 'DELETE /v1/friends/8', 'PUT /v1/blocks/8', 'DELETE /v1/blocks/8',
    ]);
});

test('links: made once, listed, read without a token, ended', async () => {
    http.answers = [
        [202, { id: '5', url: '/link.html#abc' }], [200, { items: [{ id: '5', until: 9, rounded: true, made: 2 }], next: null }],
        [200, { name: 'Ada', lat: 1.5, lng: 2, time: 3, until: 9 }], [200, { name: '', lat: null, lng: null, time: null, until: 9 }], [204, ''],
    ];
    assert.deepEqual(await api.createLink({ until: 9 }), { id: '5', url: '/link.html#abc' });
    assert.deepEqual(await api.getLinks(), { items: [{ id: '5', until: 9, rounded: true, made: 2 }], next: null });
    assert.deepEqual(await api.getLinkPlace('https://x.example/link.html#abc'), { name: 'Ada', lat: 1.5, lng: 2, time: 3, until: 9 });
    assert.deepEqual(await api.getLinkPlace('abc'), { name: '', lat: null, lng: null, time: null, until: 9 });
    await api.endLink('5');
    await assert.rejects(api.getLinkPlace('../me'), TypeError);
    assert.deepEqual(requests(), ['POST /v1/links', 'GET /v1/links', 'GET /v1/links/abc/place', 'GET /v1/links/abc/place', 'DELETE /v1/links/5']);
    assert.deepEqual(asked.map(({ authorization }) => authorization !== undefined), [true, true, false, false, true]);
});

test('places of mine: made, changed, listed, deleted, and what happened there', async () => {
    const home = { id: 'home', name: 'Home', lat: 1.5, lng: 2, radius_m: 100, tell: 'friends' };
    const read = { id: 'home', name: 'Home', lat: 1.5, lng: 2, radiusM: 100, tell: 'friends' };
    http.answers = [[202, { id: 'home' }], [200, home], [200, `{"id":"w","name":"Work","lat":1,"lng":2,"radius_m":50,"tell":[${BIG},7]}`],
        [200, { ...home, tell: [] }], [200, { items: [home], next: 'home' }], [200, home], [204, ''],
        [200, { items: [{ number: 3, place: 'home', name: 'Home', what: 'left', time: 9 }], next: 3 }]];
    assert.deepEqual(await http.soon(api.setPlace('home', read)), read);
    assert.deepEqual((await api.setPlace('w', { name: 'Work', lat: 1, lng: 2, radiusM: 50, tell: [BIG, '7'] })).tell, [BIG, '7']);
    assert.deepEqual((await api.setPlace('home', { ...read, tell: [] })).tell, []);
    assert.deepEqual(http.sent.slice(1), [
        '{"name":"Home","lat":1.5,"lng":2,"radius_m":100,"tell":"friends"}', `{"name":"Work","lat":1,"lng":2,"radius_m":50,"tell":[${BIG},7]}`,
        '{"name":"Home","lat":1.5,"lng":2,"radius_m":100,"tell":[]}',
    ]);
    assert.deepEqual(await api.getPlaces({ limit: 1 }), { items: [read], next: 'home' });
    assert.deepEqual(await api.getPlace('home'), read);
    await api.deletePlace('home');
    assert.deepEqual(await api.getPlaceEvents({ from: 1, to: 10 }), { items: [{ number: 3, place: 'home', name: 'Home', what: 'left', time: 9 }], next: '3' });
    await assert.rejects(api.setPlace('home', { ...read, lat: 91 }), InvalidPosition);
    await assert.rejects(api.getPlace('../me'), TypeError);
    assert.deepEqual(requests(), ['PUT /v1/places/home', 'PUT /v1/places/home', 'PUT /v1/places/w', 'PUT /v1/places/home', 'GET /v1/places?limit=1',
        'GET /v1/places/home', 'DELETE /v1/places/home', 'GET /v1/places/events?from=1&to=10']);
});

test('places: of friends, of mine, and who sees me', async () => {
    http.answers = [
        [200, { items: [{ user: 7, name: 'Ada', avatar_url: '', lat: 1.5, lng: 2, time: 9, distance_m: 12.5, rounded: true },
            { user: 8, lat: 1, lng: 2, time: 9, distance_m: 1, accuracy: 4, battery: 0.5 }], next: null, time: 8 }],
        [200, { items: [{ user: 7, near: true }, { user: 8, near: false }], next: 8, mode: 'friends', visible: true }],
        [200, { items: [{ lat: 1, lng: 2, time: 3, accuracy: null, received: 4, speed_mps: 1.5, charging: false, later: 1 }], next: 'c' }],
    ];
    assert.deepEqual(await api.getNearby({ since: 8 }), {
        items: [{ user: '7', name: 'Ada', avatarUrl: null, lat: 1.5, lng: 2, distance: 12.5, time: 9, rounded: true },
            { user: '8', name: null, avatarUrl: null, lat: 1, lng: 2, distance: 1, time: 9, rounded: false, accuracy: 4, battery: 0.5 }], next: null, time: 8,
    });
    assert.deepEqual(await api.getAudience({ after: '3' }), {
        items: [{ user: '7', near: true }, { user: '8', near: false }], next: '8', mode: 'friends', visible: true,
    });
    assert.deepEqual(await api.getHistory({ from: 1, to: 9, limit: 1 }),
        { items: [{ lat: 1, lng: 2, time: 3, accuracy: null, received: 4, speed: 1.5, charging: false }], next: 'c' });
    assert.deepEqual(requests(), ['GET /v1/nearby?since=8', 'GET /v1/audience?after=3', 'GET /v1/history?from=1&to=9&limit=1']);
});

test('a bad report is left out, and the others are taken', async () => {
    const bad = (index) => [400, { code: 'bad_time', detail: `locations[${index}]`, index }];
    http.answers = [bad(1), bad(1), [200, { accepted: 1, sharing_off: 0 }], bad(0), bad(0)];
    const [first, second, third] = [3, 4, 5].map((time) => ({ lat: 1, lng: 2, time }));
    assert.deepEqual(await api.report([first, second, third]), { accepted: 1, sharingOff: 0, refused: [second, third] });
    assert.deepEqual(asked.map(({ body }) => body.locations.map(({ time }) => time)), [[3, 4, 5], [3, 5], [3]]);
    await assert.rejects(api.report([first, second]), { name: 'BadRequest', code: 'bad_time' });
});

test('reports carry their times, the same ones when they are said again', async () => {
    http.answers = [[503, {}, { 'retry-after': '1' }], [200, { accepted: 1, sharing_off: 0 }], [200, { accepted: 2, sharing_off: 1 }]];
    const now = http.clock.now();
    assert.deepEqual(await http.soon(api.report({ lat: 39.98470001, lng: 116 })), { accepted: 1, sharingOff: 0, refused: [] });
    assert.deepEqual(asked.map(({ body }) => body), Array(2).fill({ locations: [{ lat: 39.9847, lng: 116, time: now }] }));
    const reports = [{ lat: 1, lng: 2, time: 3.4, accuracy: 5, battery: 0.5, speed: 2, verticalAccuracy: 3 }, { lat: 1, lng: 2, time: 4 }];
    assert.equal((await api.report(reports)).sharingOff, 1);
    const first = { lat: 1, lng: 2, time: 3, accuracy: 5, battery: 0.5, speed_mps: 2, vertical_accuracy_m: 3 };
    assert.deepEqual(asked[2].body, { locations: [first, { lat: 1, lng: 2, time: 4 }] });
    for (const bad of [{ lat: 1 }, { lat: '1', lng: 2 }, { lat: 91, lng: 2 }, { lat: NaN, lng: 2 }]) await assert.rejects(api.report(bad), InvalidPosition);
    assert.equal(asked.length, 3);
});

test('profile and sharing', async () => {
    http.answers = [
        [200, { user: 7, name: 'Ada', avatar_url: '' }], [200, { user: 8, name: 'Ben', avatar_url: 'https://e.org/b', bio: 'Hi', url: 'https://b' }],
        [503, {}], [200, { user: 7, name: 'Eve', avatar_url: '' }], [200, { user: 7, mode: 'off' }], [200, { user: 7, mode: 'friends', until: 99 }],
    ];
    assert.deepEqual(await api.getProfile(), { user: '7', name: 'Ada', avatarUrl: null, bio: null, url: null });
    assert.deepEqual(await api.getProfileOf('8'), { user: '8', name: 'Ben', avatarUrl: 'https://e.org/b', bio: 'Hi', url: 'https://b' });
    assert.equal((await http.soon(api.setProfile({ name: 'Eve', avatarUrl: null, bio: 'B', url: '' }))).name, 'Eve');
    assert.deepEqual(asked.at(-1).body, { name: 'Eve', bio: 'B' });
    assert.deepEqual(await api.getSharing(), { mode: 'off', until: null, details: false });
    assert.deepEqual(await api.setSharing('friends', 99), { mode: 'friends', until: 99, details: false });
    assert.deepEqual(asked.at(-1).body, { mode: 'friends', until: 99 });
    assert.deepEqual(requests(), ['GET /v1/profile', 'GET /v1/profiles/8', 'PUT /v1/profile', 'PUT /v1/profile', 'GET /v1/sharing', 'PUT /v1/sharing']);
});

test('my own comments know their subjects', async () => {
    const found = { id: '5', user: 7, name: null, avatar_url: null, text: 'x', time: 1, floor: 1, root: null, reply_to: null, likes: 0, reply_count: 0, replies: [], state: 'held', subject: 'post:3' };
    http.answers = [[200, { items: [found], next: '5' }]];
    const { items, next } = await api.getCommentsOf('7', { limit: 1 });
    assert.deepEqual([items[0].subject, items[0].state, next, asked[0].path], ['post:3', 'held', '5', '/v1/users/7/comments?limit=1']);
});

test('a list is read to its end, with the same question, and again where the server cannot', async () => {
    http.answers = [
        [200, { items: [{ user: 1, state: 'invited', since: 1 }], next: 1 }], [503, { code: 'owner_unavailable' }, { 'retry-after': '2' }],
        [200, { items: [], next: 5 }], [200, { items: [{ user: 9, state: 'invited', since: 1 }], next: null }],
    ];
    assert.deepEqual((await http.soon(collect(api.all(api.getFriends({ state: 'invited', limit: 1 }))))).map(({ user }) => user), ['1', '9']);
    assert.deepEqual(requests(), [
        'GET /v1/friends?state=invited&limit=1', 'GET /v1/friends?state=invited&limit=1&after=1',
        'GET /v1/friends?state=invited&limit=1&after=1', 'GET /v1/friends?state=invited&limit=1&after=5',
    ]);
});

test('whom I follow and who follow somebody', async () => {
    http.answers = [[200, { items: [{ user: 3, name: 'Mira', avatar_url: '', handle: 'mira' }], next: 9 }]];
    const { items, next } = await api.getKnownFollowers('7', { limit: 2 });
    assert.deepEqual([items[0].user, items[0].handle, next, ...requests()], ['3', 'mira', '9', 'GET /v1/users/7/followers/known?limit=2']);
    http.answers = [[200, { items: [{ user: 3, name: 'Mira', avatar_url: '', handle: 'mira' }], next: null, total: 1 }]];
    const mutual = await api.getMutualFriends('7', { after: '2', limit: 2 });
    assert.deepEqual([mutual.items[0].name, mutual.total, requests().at(-1)], ['Mira', 1, 'GET /v1/users/7/mutual-friends?after=2&limit=2']);
});

test('a list that cannot be read to its end throws, and one that is left is not read further', async () => {
    http.answers = [[200, { items: [{ user: 1 }, { user: 2 }], next: 2, total: 9 }], [409, { code: 'no_position' }]];
    await assert.rejects(http.soon(collect(api.all(api.getFollowers('7')))), Conflict);
    http.answers = [[503, {}]];
    await assert.rejects(collect(api.all(api.getFollowers('7'))), ServerUnavailable); // the first page is asked for once
    http.answers = [[200, { items: [{ user: 1 }, { user: 2 }], next: 2, total: 9 }]];
    for await (const user of api.all(await api.getFollowers('7'))) {
        assert.equal(user.user, '1');
        break;
    }
    assert.equal(http.answers.length, 0);
    await assert.rejects(collect(api.all({ items: [], next: 'x' })), TypeError);
});

test('an export says of each item what it is', async () => {
    http.answers = [
        [200, { user: 7, kind: 'account', items: [{ user: 7, name: null, sharing: 'off', handle: null }], next: 'friends' }],
        [200, `{"user":7,"kind":"friends","items":[{"user":${BIG},"state":"friends","since":3}],"next":"history"}`],
        [200, { user: 7, kind: 'history', items: [{ lat: 1, lng: 2, time: 3, accuracy: null, received: 4 }], next: null }],
    ];
    const items = await collect(api.all(api.getExport({ limit: 1000 })));
    assert.deepEqual(JSON.parse(JSON.stringify(items)), [
        { kind: 'account', user: '7', name: null, sharing: 'off', handle: null }, { kind: 'friends', user: BIG, state: 'friends', since: 3 },
        { kind: 'history', lat: 1, lng: 2, time: 3, accuracy: null, received: 4 },
    ]);
    assert.equal(asked[2].path, '/v1/export?limit=1000&after=history');
});

test('forgetting is said again, not sooner than the server wants, until nothing is left', async () => {
    const pending = [202, { user: 7, state: 'forgetting', removed: {}, at: 'posts' }, { 'retry-after': '5' }];
    http.answers = [pending, [200, { user: 7, state: 'forgotten', removed: { posts: 3 }, at: null }]];
    const began = http.clock.now();
    assert.deepEqual(await http.soon(api.forgetMe()), { posts: 3 });
    assert.ok(http.clock.now() - began >= 5000);
    http.answers = Array(20).fill(pending);
    await assert.rejects(http.soon(api.forgetMe()), (error) => error instanceof Undecided && error.retryAfterMs === 5000);
    assert.ok(requests().every((request) => request === 'DELETE /v1/me'));
});

test('without an address it is the host that the page came from', async () => {
    let url;
    const own = new StarlingApi({ token: 't', fetch: async (at) => ((url = at), new Response('{"user":7,"mode":"off"}')) });
    await own.getSharing();
    assert.equal(url, '/v1/sharing');
});
