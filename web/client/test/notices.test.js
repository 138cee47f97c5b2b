import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { StarlingClient } from '../index.js';
import { FakeClock, FakeSocket } from './fakes.js';

let clock, client, changes;

beforeEach(() => {
    FakeSocket.all = [];
    clock = new FakeClock();
    client = new StarlingClient({ url: 'ws://edge/', token: 'jwt', WebSocket: FakeSocket, clock, random: () => 1 });
    client.connect();
    changes = [];
});

function welcome() {
    FakeSocket.last.accept();
    FakeSocket.last.say({ type: 'welcome', user: 42, server_time: clock.now(), radius_m: 8000, report_every_s: 30, inactive_after_s: 600 });
}

function watch() {
    const notices = client.watchNotices();
    notices.on('change', ({ unread, items, first }) => changes.push([unread, items.map(({ id }) => id), first]));
    return notices;
}

const said = (type) => FakeSocket.last.frames(type);
const say = (unread, ...items) => FakeSocket.last.say({ type: 'notices', unread, items });
const notice = (time, more = {}) => ({ id: `${time}.1.7`, what: 'follow', user: 7, subject: null, comment: null, time, ...more });

test('it watches on each connection, and tells each new one once', () => {
    const notices = watch();
    assert.deepEqual([notices.unread, said('watch')], [null, []]);
    welcome();
    assert.deepEqual(said('watch'), [{ type: 'watch', what: 'notices' }]);
    say(1, notice(2), notice(1));
    say(2, notice(3));
    say(0);
    client.reconnect();
    welcome();
    assert.deepEqual(said('watch'), [{ type: 'watch', what: 'notices' }]);
    say(1, notice(4), notice(3), notice(2));
    assert.deepEqual(changes, [[1, ['2.1.7', '1.1.7'], true], [2, ['3.1.7'], false], [0, [], false], [1, ['4.1.7'], false]]);
    assert.equal(notices.unread, 1);
});

test('many of a kind say how many there are', () => {
    welcome();
    client.watchNotices().on('change', ({ items }) => changes.push(...items));
    say(1, notice(2, { what: 'like', subject: 'post:5', count: 14, users: [7, 8, 9] }));
    assert.deepEqual(changes, [{ id: '2.1.7', what: 'like', user: '7', post: '5', comment: null, place: null, time: 2, count: 14, users: ['7', '8', '9'] }]);
});

test('one at a time, until it is closed', () => {
    welcome();
    const [before, notices] = [watch(), watch()];
    assert.equal(said('unwatch').length, 1, 'the first one');
    assert.equal(said('watch').length, 2);
    before.close();
    say(1, notice(1));
    assert.deepEqual([before.unread, changes.length], [null, 1]);
    notices.close();
    notices.close();
    assert.equal(said('unwatch').length, 2);
    say(2, notice(2));
    client.reconnect();
    welcome();
    assert.deepEqual([changes.length, said('watch')], [1, []]);
});

test('what is no notice changes nothing', () => {
    const errors = [];
    client.on('error', ({ code }) => errors.push(code));
    welcome();
    const notices = watch();
    FakeSocket.last.say({ type: 'notices', unread: 1, items: 7 });
    say(1, null, 7, notice(1));
    assert.deepEqual([errors, changes, notices.unread], [['bad_frame'], [[1, ['1.1.7'], true]], 1]);
});

test('those that were told long ago are forgotten', () => {
    welcome();
    watch();
    for (let time = 1; time <= 2000; time += 1) say(1, notice(time));
    client.reconnect();
    welcome();
    say(1, ...Array.from({ length: 20 }, (_, i) => notice(2000 - i)));
    assert.deepEqual(changes.at(-1)[1], []);
    say(1, notice(1));
    assert.deepEqual(changes.at(-1)[1], ['1.1.7']);
});
