import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { ConnectedElsewhere, ConnectionTokenRefused, StarlingClient } from '../index.js';
import { FakeClock, FakeSocket, HERE, item } from './fakes.js';

let clock, client, states, errors, changes;

beforeEach(() => {
    FakeSocket.all = [];
    clock = new FakeClock();
    make();
});

function make(options = {}) {
    client = new StarlingClient({
        url: 'ws://edge/',
        token: 'jwt',
        position: HERE,
        WebSocket: FakeSocket,
        clock,
        random: () => 0.5,
        ...options,
    });
    states = [];
    errors = [];
    changes = [];
    client.on('state', (event) => states.push(event));
    client.on('error', (event) => errors.push(event));
    client.on('change', (event) => changes.push(event));
}

const welcome = (more = {}) => ({
    type: 'welcome',
    user: 42,
    server_time: clock.now(),
    radius_m: 8046.72,
    report_every_s: 30,
    inactive_after_s: 600,
    ...more,
});

const page = (from, to, total, next) => ({
    type: 'nearby',
    total,
    items: Array.from({ length: to - from }, (_, i) => item(from + i, (from + i) * 10, clock.now())),
    next,
});

function online(first = page(0, 5, 5, null), hello = {}) {
    client.connect();
    FakeSocket.last.accept();
    FakeSocket.last.say(welcome(hello));
    FakeSocket.last.say(first);
    return FakeSocket.last;
}

/** Promises have had their turn. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

test('connects with the subprotocol, says hello, is welcomed, has the list', () => {
    client.connect();
    const socket = FakeSocket.last;
    assert.equal(socket.url, 'ws://edge/');
    assert.deepEqual(socket.protocols, ['starling.v1']);
    assert.deepEqual(socket.sent, [], 'not before it is open');
    socket.accept();
    assert.deepEqual(socket.frames('hello'), [{ type: 'hello', token: 'jwt', ...HERE, time: clock.now() }]);
    assert.equal(client.state, 'connecting');
    socket.say(welcome());
    assert.equal(client.state, 'online');
    assert.equal(client.welcome.user, '42');
    socket.say(page(0, 5, 5, null));
    assert.equal(client.list.length, 5);
    assert.equal(client.total, 5);
    client.connect();
    assert.equal(FakeSocket.all.length, 1, 'connecting again while online does nothing');
});

test('more asks once, merges the answer and goes to the end', () => {
    const socket = online(page(0, 20, 50, 'c1'));
    assert.equal(socket.frames('more').length, 0);
    client.more();
    assert.deepEqual(socket.frames('more'), [{ type: 'more', after: 'c1' }]);
    socket.say(page(20, 40, 50, 'c2'));
    assert.equal(client.list.length, 40);
    client.more();
    socket.say(page(40, 50, 50, null));
    assert.equal(client.list.length, 50);
    assert.equal(client.hasMore, false);
    client.more();
    assert.equal(socket.frames('more').length, 2);
});

test('prefetch: the other pages come at leisure and the list stays at twenty', () => {
    make({ prefetch: true });
    const socket = online(page(0, 20, 50, 'c1'));
    assert.equal(socket.frames('more').length, 0);
    clock.advance(250);
    assert.deepEqual(socket.frames('more'), [{ type: 'more', after: 'c1' }]);
    clock.advance(1000);
    assert.equal(socket.frames('more').length, 1, 'one at a time');
    socket.say(page(20, 40, 50, 'c2'));
    clock.advance(250);
    socket.say(page(40, 50, 50, null));
    clock.advance(5000);
    assert.equal(socket.frames('more').length, 2);
    assert.equal(client.list.length, 20);
    assert.equal(client.known.length, 50);
    client.more();
    assert.equal(client.list.length, 40);
    assert.equal(socket.frames('more').length, 2, 'known already');
});

test('prefetch stops at a page that does not come, until somebody wants more', () => {
    make({ prefetch: true });
    const socket = online(page(0, 20, 50, 'c1'));
    clock.advance(250 + 10_000);
    socket.say({ type: 'update', near: [item(3, 3, clock.now())] });
    clock.advance(5000);
    assert.equal(socket.frames('more').length, 1);
    client.more();
    assert.equal(socket.frames('more').length, 2);
});

test('a page that does not come, or is refused, does not block the next wish', () => {
    const socket = online(page(0, 20, 50, 'c1'));
    client.more();
    clock.advance(10_000);
    client.more();
    assert.equal(socket.frames('more').length, 2);
    socket.say({ type: 'error', code: 'bad_cursor', message: 'unknown cursor' });
    client.more();
    assert.equal(socket.frames('more').length, 3);
    assert.deepEqual(errors, [{ code: 'bad_cursor', message: 'unknown cursor' }]);
});

test('updates say who came and who went', () => {
    const socket = online();
    socket.say({ type: 'update', near: [item(9, 5, clock.now()), item(1, 15, clock.now())], gone: [2] });
    const { cause, came, gone } = changes.at(-1);
    assert.equal(cause, 'update');
    assert.deepEqual(came.map((friend) => friend.user), ['9']);
    assert.deepEqual(gone, ['2']);
    assert.deepEqual(client.list.map((friend) => friend.user), ['0', '9', '1', '3', '4']);
});

test('reports every report_every_s, at the place of the last move', () => {
    const socket = online(undefined, { report_every_s: 10 });
    clock.advance(9_999);
    assert.equal(socket.frames('location').length, 0);
    clock.advance(1);
    clock.advance(10_000);
    const reports = socket.frames('location');
    assert.equal(reports.length, 2);
    assert.equal(reports[1].time - reports[0].time, 10_000);
    assert.equal(reports[0].lat, HERE.lat);
});

test('a move is reported at once, then at most once a second with the latest place, and restarts the period', () => {
    const socket = online();
    clock.advance(5000);
    client.move({ lat: 40, lng: 116, accuracy: 12, battery: 0.25 });
    assert.equal(socket.frames('location').length, 1);
    assert.equal(socket.frames('location')[0].accuracy, 12);
    assert.equal(socket.frames('location')[0].battery, 0.25);
    for (let i = 1; i <= 9; i += 1) {
        clock.advance(100);
        client.move({ lat: 40 + i / 1000, lng: 116 });
    }
    assert.equal(socket.frames('location').length, 1);
    clock.advance(100);
    assert.equal(socket.frames('location').length, 2);
    assert.equal(socket.frames('location')[1].lat, 40.009);
    clock.advance(29_999);
    assert.equal(socket.frames('location').length, 2);
    clock.advance(1);
    assert.equal(socket.frames('location').length, 3);
});

test('a move changes the distances at once, without a word from the server', () => {
    online();
    client.move({ lat: HERE.lat + 40 / 111195.0797, lng: HERE.lng });
    assert.deepEqual(client.list.map((friend) => friend.user), ['4', '3', '2', '1', '0']);
    assert.equal(changes.at(-1).cause, 'move');
});

test('says the device, and on a new connection the session before', () => {
    make({ device: 'Pixel 9' });
    client.connect();
    FakeSocket.last.accept();
    assert.equal(FakeSocket.last.frames('hello')[0].device, 'Pixel 9');
    assert.ok(!('before' in FakeSocket.last.frames('hello')[0]));
    FakeSocket.last.say(welcome({ session: '3709219523476521057' }));
    assert.equal(client.welcome.session, '3709219523476521057');
    client.renew('jwt2');
    assert.ok(!('before' in FakeSocket.last.frames('hello')[1]), 'it is still the same');
    FakeSocket.last.hangUp(1006);
    clock.advance(60_000);
    FakeSocket.last.accept();
    assert.equal(FakeSocket.last.frames('hello')[0].before, '3709219523476521057');
});

test('a move between hello and welcome is not lost', () => {
    client.connect();
    FakeSocket.last.accept();
    client.move({ lat: 41, lng: 117 });
    FakeSocket.last.say(welcome());
    clock.advance(1000);
    assert.equal(FakeSocket.last.frames('location')[0].lat, 41);
});

test('a place that is none is refused, the last one stays', () => {
    online();
    for (const bad of [{ lat: 91, lng: 0 }, { lat: 0, lng: 181 }, { lat: NaN, lng: 0 }, {}]) {
        assert.throws(() => client.move(bad), RangeError);
    }
    assert.deepEqual({ ...client.position }, HERE);
    assert.throws(() => make({ position: { lat: 1 } }), RangeError);
});

test('a slow clock is corrected by the welcome, and the report repeated with the right time', () => {
    const socket = online(undefined, { server_time: clock.now() + 300_000 });
    assert.equal(client.serverNow(), clock.now() + 300_000);
    clock.advance(1000);
    assert.equal(socket.frames('location')[0].time, clock.now() + 300_000);
});

test('a fast clock is corrected, but no report is older than the one before', () => {
    const start = clock.now();
    const socket = online(undefined, { server_time: start - 40_000, report_every_s: 30 });
    clock.advance(1000);
    assert.equal(socket.frames('location')[0].time, start + 1);
    clock.advance(60_000);
    const times = socket.frames('location').map((report) => report.time);
    assert.deepEqual(times, [start + 1, start + 2, start + 21_000]);
});

test('what is known of the clock beforehand is used by the hello', () => {
    make({ clockOffsetMs: -90_000 });
    client.connect();
    FakeSocket.last.accept();
    assert.equal(FakeSocket.last.frames('hello')[0].time, clock.now() - 90_000);
});

test('a silent friend disappears after inactive_after_s, also while the connection is away', () => {
    const socket = online({ ...page(0, 2, 2, null), items: [item(0, 1, clock.now()), item(1, 2, clock.now() - 500_000)] });
    clock.advance(99_999);
    assert.equal(client.list.length, 2);
    clock.advance(1);
    assert.deepEqual(client.list.map((friend) => friend.user), ['0']);
    assert.deepEqual(changes.at(-1), { cause: 'expiry', came: [], gone: ['1'] });
    socket.hangUp(1006);
    clock.advance(500_000);
    assert.equal(client.list.length, 0);
});

test('a lost connection comes back by itself, later each time, and keeps the list meanwhile', () => {
    online().hangUp(1006);
    assert.equal(client.state, 'waiting');
    assert.equal(client.list.length, 5);
    const delays = [];
    for (let i = 0; i < 9; i += 1) {
        const { retryAt } = states.at(-1);
        delays.push(retryAt - clock.now());
        const before = FakeSocket.all.length;
        clock.advance(retryAt - clock.now() - 1);
        assert.equal(FakeSocket.all.length, before);
        clock.advance(1);
        assert.equal(FakeSocket.all.length, before + 1);
        assert.equal(client.state, 'connecting');
        FakeSocket.last.hangUp(1006);
    }
    assert.deepEqual(delays, [500, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000]);
});

test('a connection that held starts the back-off anew; one that broke at once does not', () => {
    const again = () => {
        clock.advance(states.at(-1).retryAt - clock.now());
        FakeSocket.last.accept();
        FakeSocket.last.say(welcome());
        FakeSocket.last.say(page(0, 5, 5, null));
    };
    const delayAfter = () => states.at(-1).retryAt - clock.now();
    online().hangUp(1006);
    again();
    FakeSocket.last.hangUp(1006);
    assert.equal(delayAfter(), 1000);
    again();
    clock.advance(10_000);
    FakeSocket.last.hangUp(1006);
    assert.equal(delayAfter(), 500);
});

test('the first page of the new connection replaces the list', () => {
    online().hangUp(1006);
    clock.advance(500);
    FakeSocket.last.accept();
    FakeSocket.last.say(welcome());
    assert.equal(client.list.length, 5);
    FakeSocket.last.say(page(3, 6, 3, null));
    assert.deepEqual(client.list.map((friend) => friend.user), ['3', '4', '5']);
});

test('a server that is there but never welcomes is given up after ten seconds', () => {
    client.connect();
    const socket = FakeSocket.last;
    socket.accept();
    clock.advance(10_000);
    assert.equal(socket.closedWith, 1000);
    assert.equal(client.state, 'waiting');
});

test('however lucky, it does not knock at once', () => {
    make({ random: () => 0 });
    online().hangUp(1006);
    assert.equal(states.at(-1).retryAt - clock.now(), 100);
});

test('reconnect: the server says when; its close does not bring it forward', () => {
    make({ random: () => 0 });
    const socket = online();
    socket.say({ type: 'reconnect', after_ms: 3000 });
    assert.equal(client.state, 'online');
    clock.advance(1000);
    socket.hangUp(1012);
    assert.equal(client.state, 'waiting');
    assert.equal(states.at(-1).retryAt, clock.now() + 2000);
    clock.advance(1999);
    assert.equal(FakeSocket.all.length, 1);
    clock.advance(1);
    assert.equal(FakeSocket.all.length, 2);
});

test('reconnect: when the server does not close in time, the client moves by itself', () => {
    make({ random: () => 0 });
    const socket = online();
    socket.say({ type: 'reconnect', after_ms: 3000 });
    clock.advance(3000);
    assert.equal(socket.closedWith, 1000);
    assert.equal(FakeSocket.all.length, 2);
    socket.hangUp(1012);
    assert.equal(client.state, 'connecting', 'the old socket has no say any more');
});

test('reconnect: told to come back at once, it lets the server close first', () => {
    const socket = online();
    socket.say({ type: 'reconnect', after_ms: 1 });
    clock.advance(500);
    assert.equal(client.state, 'online');
    socket.hangUp(1012);
    assert.equal(states.at(-1).retryAt, clock.now());
});

test('reconnect: those who are told the same time are kept apart by a tenth of it', () => {
    const socket = online();
    socket.say({ type: 'reconnect', after_ms: 3000 });
    socket.hangUp(1012);
    assert.equal(states.at(-1).retryAt - clock.now(), 3150);
});

test('the delay of one planned close is not used for the next, unplanned one', () => {
    const socket = online();
    socket.say({ type: 'reconnect', after_ms: 8000 });
    socket.hangUp(1012);
    clock.advance(8400);
    FakeSocket.last.hangUp(1006);
    assert.equal(states.at(-1).retryAt - clock.now(), 1000);
});

test('overloaded: a longer rest, or what the server says', () => {
    client.connect();
    FakeSocket.last.accept();
    FakeSocket.last.hangUp(1013);
    assert.equal(states.at(-1).retryAt - clock.now(), 7500);
    clock.advance(7500);
    FakeSocket.last.accept();
    FakeSocket.last.say({ type: 'reconnect', after_ms: 20_000 });
    FakeSocket.last.hangUp(1013);
    assert.equal(states.at(-1).retryAt - clock.now(), 21_000);
});

test('connected elsewhere: stays away until asked', () => {
    online().hangUp(4001);
    const { error, ...told } = states.at(-1);
    assert.deepEqual(told, { state: 'closed', reason: 'elsewhere', code: 4001 });
    assert.ok(error instanceof ConnectedElsewhere && error.code === 4001);
    clock.advance(3_600_000);
    client.reconnect();
    assert.equal(FakeSocket.all.length, 1);
    client.connect();
    assert.equal(FakeSocket.all.length, 2);
});

test('a bad or an expired token ends it until there is a new one', () => {
    for (const [code, reason] of [[1008, 'token'], [4003, 'expired']]) {
        clock = new FakeClock();
        make();
        online().hangUp(code);
        const { error, ...told } = states.at(-1);
        assert.deepEqual(told, { state: 'closed', reason, code });
        assert.ok(error instanceof ConnectionTokenRefused && error.code === code);
        const sockets = FakeSocket.all.length;
        clock.advance(60_000);
        assert.equal(FakeSocket.all.length, sockets);
        client.renew('jwt2');
        FakeSocket.last.accept();
        assert.equal(FakeSocket.last.frames('hello')[0].token, 'jwt2');
    }
});

test('a hello with an expired token ends as expired, not as a bad one', () => {
    client.connect();
    FakeSocket.last.accept();
    FakeSocket.last.hangUp(1008, 'token_expired');
    assert.equal(states.at(-1).reason, 'expired');
});

test('check: a connection that ended without a word is made anew, one that lives stays', () => {
    client.check();
    assert.equal(FakeSocket.all.length, 0, 'nothing to check');
    const socket = online();
    client.check();
    client.check();
    assert.equal(socket.frames('hello').length, 2);
    clock.advance(9_999);
    socket.say(welcome());
    clock.advance(60_000);
    assert.equal(client.state, 'online');
    client.check();
    clock.advance(10_000);
    assert.equal(client.state, 'waiting');
    clock.advance(1_000);
    assert.notEqual(FakeSocket.last, socket);
});

test('1008 for what is no fault of the token passes', () => {
    for (const why of ['no_hello', 'too_many_messages', 'bad_message']) {
        clock = new FakeClock();
        make();
        online().hangUp(1008, why);
        assert.equal(states.at(-1).state, 'waiting');
        assert.equal(states.at(-1).code, 1008);
    }
});

/** A token as the real ones look. */
const token = (expMs) => `x.${btoa(JSON.stringify({ sub: '42', exp: expMs / 1000 }))}.y`;

test('a token function is asked for each connection', async () => {
    let asked = 0;
    make({ token: async () => `jwt${(asked += 1)}` });
    client.connect();
    assert.equal(client.state, 'connecting');
    assert.equal(FakeSocket.all.length, 0);
    await settled();
    FakeSocket.last.accept();
    assert.equal(FakeSocket.last.frames('hello')[0].token, 'jwt1');
    FakeSocket.last.hangUp(1006);
    clock.advance(500);
    await settled();
    FakeSocket.last.accept();
    assert.equal(FakeSocket.last.frames('hello')[0].token, 'jwt2');
});

test('a token function renews on the open connection before the token ends', async () => {
    let asked = 0;
    make({ token: () => ((asked += 1), token(clock.now() + 600_000)) });
    client.connect();
    await settled();
    const socket = FakeSocket.last;
    socket.accept();
    socket.say(welcome());
    socket.say(page(0, 5, 5, null));
    clock.advance(539_999);
    assert.equal(asked, 1);
    clock.advance(1);
    await settled();
    assert.equal(asked, 2);
    assert.equal(socket.frames('hello').length, 2);
    assert.equal(socket.frames('hello')[1].token, token(clock.now() + 600_000));
    socket.say(welcome());
    clock.advance(540_000);
    await settled();
    assert.equal(asked, 3);
    assert.equal(FakeSocket.all.length, 1);
});

test('a token function whose token is refused is asked once more, not for ever', async () => {
    for (const code of [1008, 4003]) {
        clock = new FakeClock();
        FakeSocket.all = [];
        let asked = 0;
        make({ token: () => `jwt${(asked += 1)}` });
        client.connect();
        for (let i = 1; i <= 2; i += 1) {
            await settled();
            FakeSocket.last.accept();
            assert.equal(FakeSocket.last.frames('hello')[0].token, `jwt${i}`);
            FakeSocket.last.hangUp(code);
            clock.advance(2000);
        }
        clock.advance(60_000);
        await settled();
        assert.equal(client.state, 'closed');
        assert.equal(asked, 2);
    }
});

test('a token function that fails, or never answers, is asked again later', async () => {
    const answers = [() => Promise.reject(new Error('no network')), () => new Promise(() => {}), () => 'jwt'];
    make({ token: () => answers.shift()() });
    client.connect();
    await settled();
    assert.equal(client.state, 'waiting');
    assert.deepEqual(errors, [{ code: 'no_token', message: 'Error: no network' }]);
    clock.advance(500);
    await settled();
    clock.advance(30_000);
    assert.equal(client.state, 'waiting');
    clock.advance(1000);
    await settled();
    FakeSocket.last.accept();
    assert.equal(FakeSocket.last.frames('hello')[0].token, 'jwt');
});

test('a token that comes after close() is of no use', async () => {
    let give;
    make({ token: () => new Promise((resolve) => (give = resolve)) });
    client.connect();
    await settled();
    client.close();
    give('jwt');
    await settled();
    assert.equal(FakeSocket.all.length, 0);
    assert.equal(client.state, 'idle');
    assert.equal(clock.pending, 0);
});

test('when the network is back, the client is, too; not after close()', () => {
    const network = new EventTarget();
    make({ network });
    online().hangUp(1006);
    network.dispatchEvent(new Event('online'));
    assert.equal(FakeSocket.all.length, 2);
    client.close();
    network.dispatchEvent(new Event('online'));
    assert.equal(FakeSocket.all.length, 2);
});

test('a friend who misses four reports is stale until the next', () => {
    const socket = online();
    clock.advance(119_999);
    assert.equal(client.list.some((friend) => friend.stale), false);
    clock.advance(1);
    assert.equal(changes.at(-1).cause, 'stale');
    assert.equal(client.list.every((friend) => friend.stale), true);
    socket.say({ type: 'update', near: [item(1, 15, clock.now())], gone: [] });
    assert.deepEqual(client.list.filter((friend) => !friend.stale).map((friend) => friend.user), ['1']);
    make({ staleAfterMs: 5000 });
    online();
    clock.advance(5000);
    assert.equal(client.list.every((friend) => friend.stale), true);
});

test('renewing on the open connection is a hello that keeps list and paging', () => {
    const socket = online(page(0, 20, 50, 'c1'));
    client.more();
    socket.say(page(20, 40, 50, 'c2'));
    client.renew('jwt2');
    assert.equal(socket.frames('hello')[1].token, 'jwt2');
    assert.ok(socket.frames('hello')[1].time > socket.frames('hello')[0].time);
    socket.say(welcome());
    socket.say(page(0, 20, 50, 'c1'));
    assert.equal(client.list.length, 40);
    assert.deepEqual(states.map(({ state }) => state), ['connecting', 'online']);
});

test('reconnect() on a change of network leaves the old socket and starts at once', () => {
    const socket = online();
    client.reconnect();
    assert.equal(socket.closedWith, 1000);
    assert.equal(FakeSocket.all.length, 2);
    socket.say({ type: 'update', gone: [0, 1, 2] });
    assert.equal(client.list.length, 5, 'the old socket has no say any more');
});

test('close() leaves nothing behind: no timer, no list, no attempt', () => {
    const socket = online(page(0, 20, 50, 'c1'));
    client.more();
    client.close();
    assert.equal(socket.closedWith, 1000);
    assert.equal(clock.pending, 0);
    assert.equal(client.total, 0);
    socket.hangUp(1006);
    assert.equal(client.state, 'idle');
    client.reconnect();
    assert.equal(FakeSocket.all.length, 1);
});

test('frames that are none, and frames of a newer server, do no harm', () => {
    const socket = online();
    for (const text of ['{"type":"festival"}', '{"type":"update"}', '{"type":"reconnect","after_ms":"soon"}', '{}']) {
        socket.say(text);
    }
    assert.deepEqual(errors, []);
    const bad = ['{', '[]', 'null', '7', '""', '', '{"type":"nearby"}', '{"type":"nearby","items":7,"total":1}',
        '{"type":"update","near":{}}', '{"type":"update","gone":"0"}', '{"type":"welcome"}',
        '{"type":"welcome","user":"7"}'];
    for (const text of bad) socket.say(text);
    socket.onmessage({ data: new ArrayBuffer(3) });
    socket.say({ type: 'update', near: [null, 7, {}, { user: 8 }, { user: 8, lat: 'x', lng: 0, time: 0 }], gone: [{}] });
    assert.equal(client.list.length, 5);
    assert.equal(client.state, 'online');
    assert.equal(client.welcome.user, '42');
    assert.deepEqual(errors.map(({ code }) => code), Array(bad.length + 1).fill('bad_frame'));
});

test('an address that is none is told, not tried again', () => {
    make({ url: 'bad' });
    client.connect();
    assert.deepEqual(states, [{ state: 'connecting' }, { state: 'closed', reason: 'url' }]);
    assert.equal(errors[0].code, 'bad_url');
    assert.equal(clock.pending, 0);
});

test('a cursor and users beyond 2^53 keep every digit', () => {
    const socket = online();
    FakeSocket.last.hangUp(1006);
    clock.advance(500);
    FakeSocket.last.accept();
    FakeSocket.last.say(welcome());
    const big = JSON.stringify(page(0, 20, 30, 'CURSOR')).replace('"CURSOR"', '9223372036854775807');
    FakeSocket.last.say(big.replace('"user":7,', '"user":9007199254740993,'));
    client.more();
    assert.ok(FakeSocket.last.sent.includes('{"type":"more","after":9223372036854775807}'));
    assert.ok(client.known.some((friend) => friend.user === '9007199254740993'));
    assert.notEqual(socket, FakeSocket.last);
});

test('a listener can be taken away', () => {
    let heard = 0;
    const stop = client.on('welcome', () => (heard += 1));
    online();
    stop();
    FakeSocket.last.say(welcome());
    assert.equal(heard, 1);
});
