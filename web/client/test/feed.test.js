import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { ApiError, StarlingClient } from '../index.js';
import { FakeClock, FakeSocket } from './fakes.js';
import { FeedServer, item, post, range } from './feed-server.js';

let clock, client, server, feed, changes, errors;

beforeEach(() => {
    FakeSocket.all = [];
    clock = new FakeClock();
    server = new FeedServer();
    server.posts = range(30, 1);
    client = new StarlingClient({ url: 'ws://edge/', token: 'jwt', WebSocket: FakeSocket, clock, random: () => 1 });
});

/** Promises have had their turn. */
const settled = () => new Promise((resolve) => setImmediate(resolve));
const ids = () => feed.list.map(({ id }) => Number(id));
const down = (from, to) => range(from, to).map(({ id }) => Number(id));
const watches = () => FakeSocket.last.frames('watch');

async function advance(ms) {
    clock.advance(ms);
    await settled();
}

function online() {
    client.connect();
    FakeSocket.last.accept();
    FakeSocket.last.say({
        type: 'welcome', user: 42, server_time: clock.now(), radius_m: 8000, report_every_s: 30, inactive_after_s: 600,
    });
    return FakeSocket.last;
}

async function watch() {
    const socket = online();
    feed = client.watchFeed(server);
    changes = [];
    errors = [];
    feed.on('change', (event) => changes.push(event));
    feed.on('error', (event) => errors.push(event));
    await settled();
    return socket;
}

test('a session without a position: hello has none, nothing is reported', () => {
    const socket = online();
    assert.deepEqual(socket.frames('hello'), [{ type: 'hello', token: 'jwt' }]);
    assert.equal(client.position, null);
    clock.advance(60_000);
    assert.deepEqual(socket.frames('location'), []);
    client.move({ lat: 1, lng: 2 });
    assert.equal(socket.frames('location').length, 1);
    assert.deepEqual(client.position, { lat: 1, lng: 2 });
});

test('reads, then watches with the version that it has', async () => {
    await watch();
    assert.deepEqual(watches(), [{ type: 'watch', what: 'feed', version: 'v1' }]);
    assert.deepEqual(ids(), down(30, 11));
    assert.equal(feed.hasMore, true);
    assert.equal(feed.complete, true);
    assert.equal(changes.at(-1).cause, 'page');
});

test('posts that follow our version are put on top, gone ones are taken off', async () => {
    const socket = await watch();
    socket.say({ type: 'posts', since: 'v1', version: 'v2', items: [item(32), item(31)], gone: ['29', '5', '99'] });
    assert.deepEqual(ids(), [32, 31, 30, ...down(28, 11)]);
    assert.deepEqual(changes.at(-1).came.map(({ id }) => id), ['32', '31']);
    assert.deepEqual(changes.at(-1).gone, ['29']);
    socket.say({ type: 'posts', since: 'v2', version: 'v3', items: [item(33)], gone: [] });
    assert.equal(feed.version, 'v3');
    assert.equal(server.asked.length, 1, 'read once');
});

test('posts that do not follow our version: the page is read again', async () => {
    const socket = await watch();
    server.posts = range(33, 1);
    server.version = 'v4';
    socket.say({ type: 'posts', since: 'v3', version: 'v4', items: [item(33)], gone: [] });
    assert.deepEqual(ids(), down(30, 11), 'not put on top of a gap');
    await advance(0);
    assert.deepEqual(ids(), down(33, 1), 'down to the last one listed, and the rest of its page');
    assert.deepEqual(watches().at(-1), { type: 'watch', what: 'feed', version: 'v4' });
});

test('what leads to the version that we have is no news, but for deletions', async () => {
    const socket = await watch();
    socket.say({ type: 'posts', since: 'v0', version: 'v1', items: [item(30)], gone: [] });
    socket.say({ type: 'posts', since: 'v1', version: 'v1', items: [], gone: ['12'] });
    socket.say({ type: 'posts', since: 'v0', version: 'v1', items: [], gone: ['13'] });
    assert.deepEqual(ids(), [...down(30, 14), 11]);
    let release;
    server.held = new Promise((resolve) => (release = resolve));
    feed.refresh();
    socket.say({ type: 'posts', since: 'v1', version: 'v1', items: [], gone: ['14'] });
    release();
    await settled();
    assert.ok(!ids().includes(14));
    await advance(60_000);
    assert.equal(server.asked.length, 2);
});

test('what is said while a page is on its way is applied where it follows the page', async () => {
    const socket = await watch();
    let release;
    server.held = new Promise((resolve) => (release = resolve));
    server.version = 'v3';
    feed.refresh();
    server.posts = range(31, 1);
    for (const [since, version, id] of [['v1', 'v2', 31], ['v2', 'v3', 32], ['v3', 'v4', 33], ['v4', 'v5', 34]]) {
        socket.say({ type: 'posts', since, version, items: [item(id)], gone: [] });
    }
    release();
    await settled();
    assert.equal(feed.version, 'v5');
    assert.deepEqual(ids().slice(0, 3), [34, 33, 30], 'the page, and what came after it');
    await advance(60_000);
    assert.equal(server.asked.length, 2, 'nothing is missing: not read again');
});

test('a gap between the page and what was said meanwhile: read once more', async () => {
    const socket = await watch();
    let release;
    server.held = new Promise((resolve) => (release = resolve));
    server.version = 'v2';
    feed.refresh();
    socket.say({ type: 'posts', since: 'v7', version: 'v8', items: [item(33)], gone: [] });
    release();
    await settled();
    server.version = 'v8';
    server.posts = range(33, 1);
    await advance(1000);
    assert.equal(feed.version, 'v8');
    assert.deepEqual(ids(), down(33, 1));
});

test('stale: read after the delay that was named, and watched again', async () => {
    const socket = await watch();
    server.posts = range(31, 1);
    server.version = 'v2';
    socket.say({ type: 'stale', what: 'feed', version: 'v2', after_ms: 700 });
    await advance(699);
    assert.equal(server.asked.length, 1);
    await advance(1);
    assert.deepEqual(ids(), down(31, 1));
    assert.deepEqual(watches().at(-1), { type: 'watch', what: 'feed', version: 'v2' });
    const read = server.asked.length;
    await advance(600_000);
    assert.equal(server.asked.length, read);
});

test('stale names the page that is on its way: read once', async () => {
    const socket = await watch();
    let release;
    server.held = new Promise((resolve) => (release = resolve));
    server.version = 'v2';
    feed.refresh();
    socket.say({ type: 'stale', what: 'feed', version: 'v2', after_ms: 300 });
    release();
    await settled();
    await advance(60_000);
    assert.equal(server.asked.length, 2);
});

test('stale, and the page is old: read again with growing pauses until it is not', async () => {
    const socket = await watch();
    const at = [];
    socket.say({ type: 'stale', what: 'feed', version: 'v2', after_ms: 100 });
    for (let ms = 0, read = 1; ms < 20_000 && at.length < 5; ms += 100) {
        await advance(100);
        if (server.asked.length === read) continue;
        read = server.asked.length;
        at.push(ms + 100);
        socket.say({ type: 'stale', what: 'feed', version: 'v2', after_ms: 0 }); // the edge, to our `watch`
    }
    assert.deepEqual(at, [100, 1100, 3100, 7100, 15100]);
    server.version = 'v2';
    await advance(16_000);
    const read = server.asked.length;
    assert.equal(feed.version, 'v2');
    await advance(600_000);
    assert.equal(server.asked.length, read);
});

test('stale, and the page never becomes what was named: given up after two minutes, until it is named again', async () => {
    const socket = await watch();
    socket.say({ type: 'stale', what: 'feed', version: 'v2', after_ms: 0 });
    for (let i = 0; i < 3000; i += 1) await advance(100);
    assert.equal(server.asked.length, 1 + 8);
    socket.say({ type: 'stale', what: 'feed', version: 'v2', after_ms: 0 });
    await advance(0);
    assert.equal(server.asked.length, 10);
});

test('stale names what is older than the page: the frame that leads to the page ends it', async () => {
    const socket = await watch();
    socket.say({ type: 'stale', what: 'feed', version: 'v0', after_ms: 0 });
    await advance(0);
    assert.equal(server.asked.length, 2);
    socket.say({ type: 'posts', since: 'v0', version: 'v1', items: [item(30)], gone: [] });
    await advance(600_000);
    assert.equal(server.asked.length, 2);
});

test('stale, and the page is newer than that: it is enough', async () => {
    const socket = await watch();
    server.version = 'v3';
    socket.say({ type: 'stale', what: 'feed', version: 'v2', after_ms: 0 });
    await advance(0);
    assert.equal(feed.version, 'v3');
    await advance(600_000);
    assert.equal(server.asked.length, 2);
});

test('stale names the version that we have: nothing to read', async () => {
    const socket = await watch();
    socket.say({ type: 'stale', what: 'feed', version: 'v1', after_ms: 0 });
    await advance(1000);
    assert.equal(server.asked.length, 1);
});

test('a new connection is told the version that we have, and what it says then is applied', async () => {
    const first = await watch();
    first.say({ type: 'posts', since: 'v1', version: 'v2', items: [item(31)], gone: [] });
    first.hangUp(1006);
    clock.advance(2000);
    const second = FakeSocket.last;
    assert.notEqual(second, first);
    second.accept();
    second.say({ type: 'welcome', user: 42, server_time: clock.now() });
    assert.deepEqual(second.frames('watch'), [{ type: 'watch', what: 'feed', version: 'v2' }]);
    second.say({ type: 'posts', since: 'v2', version: 'v3', items: [item(31), item(32)], gone: [] });
    assert.deepEqual(ids().slice(0, 3), [32, 31, 30], 'each once');
    second.say({ type: 'welcome', user: 42, server_time: clock.now() }); // a renewed token
    assert.equal(second.frames('watch').length, 1);
});

test('older posts come page by page; a re-reading covers all that is listed', async () => {
    server.posts = range(400, 1);
    const socket = await watch();
    await Promise.all([feed.older(), feed.older()]);
    assert.deepEqual(ids(), down(400, 361), 'asked twice at once, read once');
    for (let i = 0; i < 6; i += 1) await feed.older();
    assert.deepEqual(ids(), down(400, 241));
    server.posts = server.posts.filter(({ id }) => id !== '250' && id !== '399');
    server.version = 'v2';
    socket.say({ type: 'stale', what: 'feed', version: 'v2', after_ms: 0 });
    await advance(0);
    await settled();
    assert.deepEqual(server.asked.slice(-2), [{ after: null, limit: 100 }, { after: '300', limit: 59 }]);
    assert.ok(!ids().includes(250) && !ids().includes(399));
    assert.deepEqual(changes.at(-1).gone.sort(), ['250', '399']);
    assert.deepEqual(ids(), server.ids().map(Number).slice(0, ids().length), 'no gap');
});

test('after a long absence the list begins anew, and older posts come when they are asked for', async () => {
    const socket = await watch();
    server.posts = range(5000, 1);
    server.version = 'v2';
    socket.say({ type: 'stale', what: 'feed', version: 'v2', after_ms: 0 });
    await advance(0);
    for (let i = 0; i < 20; i += 1) await settled();
    assert.equal(feed.version, 'v2');
    assert.deepEqual(ids(), down(5000, 5000 - ids().length + 1), 'no gap');
    assert.ok(ids().length >= 220 && ids().length <= 320 && feed.hasMore);
    await feed.older();
    assert.deepEqual(ids(), down(5000, 5000 - ids().length + 1));
});

test('older goes on past a page whose posts are all gone, and ends', async () => {
    await watch();
    server.next = [(page) => ({ ...page, items: [], next: '11' })];
    await feed.older();
    assert.deepEqual(ids(), down(30, 1));
    assert.equal(feed.hasMore, false);
    await feed.older();
    assert.equal(server.asked.length, 3, 'nothing left to ask for');
});

test('a post that is deleted while an older page is on its way does not come with it', async () => {
    const socket = await watch();
    let release;
    server.held = new Promise((resolve) => (release = resolve));
    const older = feed.older();
    socket.say({ type: 'posts', since: 'v1', version: 'v2', items: [], gone: ['7'] });
    release();
    await older;
    assert.deepEqual(ids(), [...down(30, 8), ...down(6, 1)]);
});

test('older that cannot be read is told to whoever asked', async () => {
    await watch();
    server.next = [new ApiError(503, 'owner_unavailable', 'away')];
    await assert.rejects(feed.older(), { code: 'owner_unavailable' });
    await feed.older();
    assert.deepEqual(ids(), down(30, 1));
});

test('a timeline that is just being gathered is read again soon, later each time', async () => {
    server.complete = false;
    server.posts = range(3, 1);
    await watch();
    assert.equal(feed.complete, false);
    await advance(1000);
    assert.equal(server.asked.length, 2);
    await advance(1999);
    assert.equal(server.asked.length, 2);
    server.complete = true;
    server.posts = range(5, 1);
    await advance(1);
    assert.equal(feed.complete, true);
    assert.deepEqual(ids(), down(5, 1));
    await advance(60_000);
    assert.equal(server.asked.length, 3);
});

test('a server that is away is asked again, not before it said; the list stays', async () => {
    const socket = await watch();
    server.next = [new ApiError(503, 'owner_unavailable', 'away', 7000), new ApiError(0, 'unreachable', 'no network')];
    feed.refresh();
    await settled();
    assert.equal(feed.failure.code, 'owner_unavailable');
    assert.equal(feed.retryAt, clock.now() + 7000);
    assert.deepEqual(ids(), down(30, 11));
    socket.say({ type: 'stale', what: 'feed', version: 'v2', after_ms: 0 });
    await advance(6999);
    assert.equal(server.asked.length, 2);
    await advance(1);
    assert.equal(feed.failure.code, 'unreachable');
    server.version = 'v2';
    await advance(60_000);
    assert.equal(feed.failure, null);
    assert.equal(feed.version, 'v2');
    assert.equal(errors.length, 2);
});

test('a refused token is told and not tried again by itself', async () => {
    await watch();
    server.next = [new ApiError(401, 'token_expired', 'expired')];
    feed.refresh();
    await settled();
    assert.equal(feed.failure.status, 401);
    assert.equal(feed.retryAt, null);
    await advance(600_000);
    assert.equal(server.asked.length, 2);
    feed.refresh();
    await settled();
    assert.equal(feed.failure, null);
});

test('unavailable posts are filled in when their owner is back, or go', async () => {
    server.posts = [post(30), post(29, { unavailable: true, text: null }), post(28, { unavailable: true, text: null })];
    await watch();
    await advance(2000);
    assert.deepEqual(server.askedOne, ['29', '28']);
    assert.equal(feed.list[1].unavailable, true);
    server.found = new Map([['29', post(29)], ['28', null]]);
    await advance(4000);
    assert.deepEqual(ids(), [30, 29]);
    assert.equal(feed.list[1].text, 'post 29');
    assert.deepEqual(changes.at(-1), { cause: 'filled', came: [], gone: ['28'] });
    await advance(600_000);
    assert.equal(server.askedOne.length, 4);
});

test('a post that was read is not forgotten when its owner is away later', async () => {
    await watch();
    server.posts = server.posts.map((one) => ({ ...one, text: null, unavailable: true }));
    feed.refresh();
    await settled();
    assert.equal(feed.list[0].text, 'post 30');
});

test('drop takes posts off at once; close ends it', async () => {
    const socket = await watch();
    feed.drop(({ id }) => id === '30');
    assert.deepEqual(ids(), down(29, 11));
    assert.deepEqual(changes.at(-1).gone, ['30']);
    feed.close();
    assert.deepEqual(socket.frames('unwatch'), [{ type: 'unwatch', what: 'feed' }]);
    socket.say({ type: 'posts', since: 'v1', version: 'v2', items: [item(31)], gone: [] });
    socket.say({ type: 'stale', what: 'feed', version: 'v3', after_ms: 0 });
    await advance(60_000);
    assert.deepEqual(ids(), down(29, 11));
    assert.equal(server.asked.length, 1);
});

test('what is no list of posts changes nothing', async () => {
    const socket = await watch();
    socket.say({ type: 'posts', since: 'v1', version: 'v2', items: 7, gone: [] });
    socket.say({ type: 'posts', since: 'v1', version: 'v2', items: [null, 7, {}, { id: 5, user: 1 }, { id: 'x', user: 1 }], gone: [{}, null] });
    assert.deepEqual(ids(), down(30, 11));
    assert.equal(feed.version, 'v2');
});

/** However pages, frames and losses come, a list that the edge has told the newest version is the timeline. */
test('three thousand random steps: the list is always the timeline from the top down', async () => {
    let seed = 11;
    const random = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
    const pick = (count) => Math.floor(random() * count);
    const socket = await watch();
    let next = 31;
    let version = 1;
    let told = 'v1';
    for (let step = 0; step < 3000; step += 1) {
        const kind = pick(10);
        const since = server.version;
        if (kind < 5) {
            const gone = pick(3) === 0 && server.posts.length > 5 ? [server.posts.splice(pick(5), 1)[0].id] : [];
            const items = pick(4) === 0 && gone.length > 0 ? [] : [item(next)];
            if (items.length > 0) server.posts.unshift(post(next));
            next += items.length;
            server.version = `v${(version += 1)}`;
            if (pick(20) === 0) continue; // what is told is lost
            socket.say({ type: 'posts', since: told === since ? since : `lost before ${since}`, version: server.version, items, gone });
            told = server.version;
        } else if (kind === 5) {
            feed.refresh();
        } else if (kind === 6) {
            socket.say({ type: 'stale', what: 'feed', version: server.version, after_ms: pick(50) });
            told = server.version;
        } else if (kind === 7 && pick(10) === 0) {
            await feed.older();
        } else {
            await advance(pick(100));
        }
        if (feed.version === server.version) assert.deepEqual(ids(), server.ids().map(Number).slice(0, ids().length), `step ${step}`);
    }
    socket.say({ type: 'stale', what: 'feed', version: server.version, after_ms: 0 });
    for (let i = 0; i < 20; i += 1) await advance(1000);
    assert.equal(feed.version, server.version);
    assert.deepEqual(ids(), server.ids().map(Number).slice(0, ids().length));
});
