import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { StarlingClient } from '../index.js';
import { FakeClock, FakeSocket } from './fakes.js';

let clock, client, thread, changes, stales;

beforeEach(() => {
    FakeSocket.all = [];
    clock = new FakeClock();
    client = new StarlingClient({ url: 'ws://edge/', token: 'jwt', WebSocket: FakeSocket, clock, random: () => 1 });
    client.connect();
    welcome();
    thread = client.watchComments('post:1');
    changes = [];
    stales = [];
    thread.on('change', (change) => changes.push(change));
    thread.on('stale', ({ version }) => stales.push(version));
});

function welcome() {
    FakeSocket.last.accept();
    FakeSocket.last.say({
        type: 'welcome', user: 42, server_time: clock.now(), radius_m: 8000, report_every_s: 30, inactive_after_s: 600,
    });
}

const watches = () => FakeSocket.last.frames('watch');
const watch = (version, subject = 'post:1') => ({ type: 'watch', what: 'comments', subject, version });
const comment = (id) => ({
    id, user: 7, name: 'Ben', avatar_url: '', text: 'hello', time: 1, floor: 1, root: null, reply_to: null, likes: 0,
    reply_count: 0, replies: [], state: 'visible',
});

function say(since, version, more = {}) {
    const nothing = { total: 1, likes: 9, sampled: false, items: [], gone: [], counters: [] };
    FakeSocket.last.say({ type: 'comments', subject: 'post:1', since, version, ...nothing, ...more });
}

function stale(version, afterMs = 0, subject = 'post:1') {
    FakeSocket.last.say({ type: 'stale', what: 'comments', subject, version, after_ms: afterMs });
}

test('it watches with the version that was read, on each connection', () => {
    assert.deepEqual(watches(), []);
    thread.read('7');
    assert.deepEqual(watches(), [watch(7)]);
    client.reconnect();
    welcome();
    assert.deepEqual(watches(), [watch(7)]);
});

test('changes from our version on, or from before it, are passed on', () => {
    thread.read(7);
    say(7, 9, { items: [comment('5')], gone: ['4'], counters: [{ id: '3', likes: 2, reply_count: 1 }], total: 4 });
    const [{ items, ...rest }] = changes;
    assert.deepEqual(items.map(({ id, text, name }) => [id, text, name]), [['5', 'hello', 'Ben']]);
    assert.deepEqual(rest, { total: 4, likes: 9, sampled: false, gone: ['4'], counters: [{ id: '3', likes: 2, replyCount: 1 }] });
    say(8, 11); // happens twice, in part
    say(8, 11);
    assert.equal(changes.length, 2);
    assert.equal(thread.version, 11);
    say(13, 14);
    clock.advance(1);
    assert.deepEqual(stales, [14]);
    assert.equal(changes.length, 2);
});

test('what is gone is told at once, also when changes before it are missing', () => {
    thread.read(7);
    const hidden = { ...comment('4'), text: null, state: 'hidden' };
    const counters = [{ id: '3', likes: 2, reply_count: 1 }];
    stale(9, 5000);
    say(9, 10, { items: [comment('5'), hidden], gone: ['4'], counters, total: 4 });
    const [{ items, ...rest }] = changes;
    assert.deepEqual(items.map(({ id, text, state }) => [id, text, state]), [['4', null, 'hidden']]);
    assert.deepEqual(rest, { total: 4, likes: 9, sampled: true, gone: ['4'], counters: [] });
    assert.equal(thread.version, 7);
    say(10, 11, { items: [comment('6')] });
    assert.equal(changes.length, 1);
    clock.advance(5000);
    assert.deepEqual(stales, [11]);
});

test('a sampled frame is for every page, and no page has its version', () => {
    thread.read(7);
    say(50, 60, { sampled: true, total: 99 });
    assert.deepEqual([changes[0].sampled, changes[0].total, thread.version], [true, 99, 7]);
    assert.deepEqual(stales, []);
});

test('a page that is told to be stale is read when it is time, and again while it is older', () => {
    thread.read(7);
    stale(9, 200);
    clock.advance(199);
    assert.deepEqual(stales, []);
    clock.advance(1);
    assert.deepEqual(stales, [9]);
    thread.read(8); // a copy
    clock.advance(500);
    thread.read(8);
    clock.advance(999);
    assert.deepEqual(stales, [9, 9]);
    clock.advance(1);
    thread.read(12);
    clock.advance(60_000);
    assert.deepEqual(stales, [9, 9, 9]);
    stale(12);
    clock.advance(1000);
    assert.equal(stales.length, 3);
});

test('subjects are apart, and one that is closed is not watched any more', () => {
    const other = client.watchComments('post:2');
    thread.read(1);
    other.read(2);
    thread.close();
    assert.deepEqual(FakeSocket.last.frames('unwatch'), [{ type: 'unwatch', what: 'comments', subject: 'post:1' }]);
    say(1, 2);
    stale(5);
    stale(6, 0, 'post:2');
    clock.advance(10);
    assert.deepEqual([changes, stales], [[], []]);
    client.reconnect();
    welcome();
    assert.deepEqual(watches(), [watch(2, 'post:2')]);
    assert.throws(() => client.watchComments('no subject'), RangeError);
});
