// Errors have the class of what was wrong.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as starling from '../index.js';
import { StarlingApi, StarlingClient } from '../index.js';
import { causeOf, connectionEnded, notConnected } from '../src/errors.js';
import { FakeClock, FakeSocket } from './fakes.js';

/** What a request throws when that is the answer; null: nobody answers. */
async function thrown(answer) {
    const fetch = async () => {
        if (answer === null) throw new TypeError('fetch failed');
        const [status, body, headers] = answer;
        return new Response(typeof body === 'string' ? body : JSON.stringify(body), { status, headers });
    };
    const api = new starling.StarlingApi({ url: 'http://host', token: 't', fetch });
    return api.request('GET', '/v1/friends').then(() => assert.fail('it was answered'), (error) => error);
}

test('an answer has its class, and all members of the problem', async () => {
    for (const [status, code, name] of [
        [400, 'bad_query', 'BadRequest'], [413, 'body_too_large', 'BadRequest'], [401, 'bad_token', 'TokenRefused'],
        [401, 'token_expired', 'TokenExpired'], [403, 'gateways_only', 'Forbidden'], [404, 'no_profile', 'NotFound'],
        [409, 'handle_taken', 'Conflict'], [429, 'too_many_writes', 'TooManyRequests'], [500, 'refused', 'ServerUnavailable'],
        [503, 'owner_unavailable', 'ServerUnavailable'],
    ]) {
        const problem = { type: `urn:starling:${code}`, title: 'No', status, detail: 'because', code };
        const error = await thrown([status, problem, { 'retry-after': '7' }]);
        assert.equal(error.constructor, starling[name]);
        assert.ok(error instanceof starling.ApiError);
        assert.deepEqual([error.name, error.status, error.code, error.message, error.retryAfterMs], [name, status, code, 'because', 7000]);
        assert.deepEqual({ ...error.problem, status: Number(error.problem.status) }, problem);
        assert.equal(error.passing, status === 429 || status === 503);
    }
});

test('what something between us answers has its class, too', async () => {
    const error = await thrown([502, '<html>bad gateway</html>']);
    assert.equal(error.constructor, starling.ServerUnavailable);
    assert.deepEqual([error.code, error.problem, error.retryAfterMs], ['unknown', {}, null]);
});

test('nobody answers: unreachable', async () => {
    const error = await thrown(null);
    assert.equal(error.constructor, starling.Unreachable);
    assert.deepEqual([error.status, error.passing], [0, true]);
});

test('an end of a connection has its class', () => {
    for (const [code, reason, name] of [
        [1006, '', 'ConnectionLost'], [1008, 'bad_token', 'ConnectionTokenRefused'], [1008, '', 'ConnectionTokenRefused'],
        [1008, 'token_expired', 'ConnectionTokenExpired'], [1008, 'no_hello', 'ProtocolBroken'], [1009, '', 'ProtocolBroken'],
        [1012, 'draining', 'ServerRestarting'], [1013, '', 'ServerOverloaded'], [4001, 'connected elsewhere', 'ConnectedElsewhere'],
        [4002, '', 'TooSlow'], [4003, '', 'ConnectionTokenExpired'], [4999, 'x', 'ConnectionEnded'],
    ]) {
        const error = connectionEnded(code, reason);
        assert.equal(error.constructor, starling[name]);
        assert.ok(error instanceof starling.ConnectionEnded && error.message);
        assert.deepEqual([error.code, error.reason, error.name], [code, reason, name]);
    }
});

test('why no answer came is said where it is known', async () => {
    for (const [error, why, message] of [
        [{ cause: { code: 'ECONNREFUSED' } }, 'refused', /^Nobody listens at http:/], // as Node's fetch says it
        [{ cause: { errors: [{ code: 'ECONNREFUSED' }, {}] } }, 'refused', /listens/], // of a host with two addresses
        [{ cause: { code: 'ENOTFOUND' } }, 'unknown_host', /host is not known/],
        [{ cause: { code: 'SELF_SIGNED_CERT_IN_CHAIN' } }, 'certificate', /not trusted/],
        [{ cause: { code: 'ERR_SSL_WRONG_VERSION_NUMBER' } }, 'tls', /does not speak/],
        [{ cause: { code: 'UND_ERR_SOCKET' } }, null, /cannot be reached/], // it may have died over the question
        [new TypeError('Failed to fetch'), null, /cannot be reached/], // as browsers say all of them
    ]) {
        const api = new starling.StarlingApi({ url: 'http://host', token: 't', fetch: () => Promise.reject(error) });
        await assert.rejects(api.getProfile(), (thrown) => {
            assert.ok(thrown instanceof starling.Unreachable && thrown.passing && thrown.cause === error);
            assert.deepEqual([thrown.code, thrown.why], ['unreachable', why]);
            return message.test(thrown.message);
        });
    }
});

test('why a connection could not be made is said where it is known', () => {
    for (const [url, error, name, message] of [
        ['ws://h/', { error: { code: 'ECONNREFUSED' } }, 'ConnectionRefused', /Nobody listens at ws:\/\/h\//],
        ['wss://h/', { error: { code: 'EPROTO', message: 'wrong version number' } }, 'TlsMismatch', /speak ws:, not wss:/],
        ['ws://h/', { message: 'socket hang up' }, 'TlsMismatch', /speak wss:, not ws:/],
        ['wss://h/', { error: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' } }, 'CertificateRefused', /not trusted/],
        ['ws://h/', { message: 'Unexpected server response: 404' }, 'NotAnEdge', /HTTP API/],
        ['ws://h/', { error: { code: 'ENOTFOUND' } }, 'NotConnected', /host/],
        ['ws://h/', { message: 'Received network error or non-101 status code.' }, 'NotConnected', /nobody listens/],
    ]) {
        const ended = notConnected(url, error);
        assert.equal(ended.constructor, starling[name], String(ended));
        assert.ok(ended instanceof starling.ConnectionLost);
        assert.deepEqual([ended.code, ended.reason, ended.retries], [1006, '', true]);
        assert.match(ended.message, message);
    }
    const loop = {};
    loop.cause = loop;
    assert.equal(causeOf(loop), null);
});

/** A client whose sockets the test plays, and the states that it tells. */
function playing() {
    FakeSocket.all = [];
    const client = new starling.StarlingClient({ url: 'ws://h/', token: 't', WebSocket: FakeSocket, clock: new FakeClock(), random: () => 0 });
    const states = [];
    client.on('state', (event) => states.push(event));
    client.connect();
    return { client, states };
}

test('a client tells what ended its connection, and whether it tries again', () => {
    for (const [end, name, retries, state] of [
        [(socket) => (socket.onerror({ error: { code: 'ECONNREFUSED' } }), socket.hangUp(1006)), 'ConnectionRefused', true, 'waiting'],
        [(socket) => socket.hangUp(1006), 'NotConnected', true, 'waiting'],
        [(socket) => (socket.accept(), socket.hangUp(1006)), 'ConnectionLost', true, 'waiting'],
        [(socket) => (socket.accept(), socket.onerror({ error: { code: 'ECONNRESET' } }), socket.hangUp(1006)), 'ConnectionLost', true, 'waiting'],
        [(socket) => (socket.accept(), socket.hangUp(1012, 'draining')), 'ServerRestarting', true, 'waiting'],
        [(socket) => (socket.accept(), socket.hangUp(4001, 'elsewhere')), 'ConnectedElsewhere', false, 'closed'],
        [(socket) => (socket.accept(), socket.hangUp(1008, 'bad_token')), 'ConnectionTokenRefused', false, 'closed'],
    ]) {
        const { client, states } = playing();
        end(FakeSocket.last);
        const last = states.at(-1);
        assert.deepEqual([last.error.constructor.name, last.error.retries, last.state, last.retryAt !== undefined], [name, retries, state, retries]);
        client.close();
    }
});

test('a client without a WebSocket says so at once', () => {
    const before = globalThis.WebSocket;
    delete globalThis.WebSocket;
    try {
        const client = new starling.StarlingClient({ url: 'ws://h/', token: 't' });
        assert.throws(() => client.connect(), (error) => error instanceof starling.NoWebSocket && /Node before 22/.test(error.message));
        assert.equal(client.state, 'idle');
    } finally {
        if (before) globalThis.WebSocket = before;
    }
});

test('a position that is none says what is wrong', () => {
    const { client } = playing();
    for (const [position, message] of [
        [undefined, /lat is missing/], [{ lat: 1 }, /lng is missing/], [{ lat: null, lng: 1 }, /lat is missing/],
        [{ lat: '39.98', lng: 1 }, /lat is the string "39.98", and must be a number/], [{ lat: 1, lng: 5n }, /lng is the bigint "5"/],
        [{ lat: -91, lng: 1 }, /lat is -91, and must be from -90 to 90/], [{ lat: 1, lng: NaN }, /lng is NaN/],
    ]) {
        assert.throws(() => client.move(position), (error) => {
            return error instanceof starling.InvalidPosition && error instanceof RangeError && message.test(error.message);
        });
    }
    assert.equal(client.position, null);
    assert.throws(() => new starling.StarlingClient({ url: 'ws://h/', token: 't', position: { lat: 1 } }), starling.InvalidPosition);
    client.close();
});

test('an address that is none is a TypeError at once', () => {
    for (const url of [undefined, null, 8080]) {
        assert.throws(() => new StarlingApi({ url, token: 't' }), TypeError);
        assert.throws(() => new StarlingClient({ url, token: 't' }), TypeError);
    }
    new StarlingApi({ token: 't' }); // the page's own origin
});

test("a browser's refused origin says so, once", async () => {
    globalThis.location = new URL('https://app.example/');
    const asked = [];
    let there = true;
    const fetch = async (url, { mode }) => {
        asked.push(`${mode ?? 'cors'} ${url}`);
        if (mode === 'no-cors' && there) return {};
        throw new TypeError('Failed to fetch');
    };
    try {
        const api = new StarlingApi({ url: 'https://api.example', token: 't', fetch, patienceMs: 0 });
        const error = await api.follow('7').catch((thrown) => thrown);
        assert.deepEqual([error.why, error.passing, error.constructor.name], ['origin', false, 'Unreachable']);
        assert.match(error.message, /ingest\.cors\.origins/);
        assert.deepEqual(asked, ['cors https://api.example/v1/follows/7', 'no-cors https://api.example']);
        there = false;
        assert.deepEqual(await api.follow('7').catch(({ why, passing }) => [why, passing]), [null, true]);
        asked.length = 0;
        await new StarlingApi({ token: 't', fetch, patienceMs: 0 }).follow('7').catch(() => {});
        assert.equal(asked.length, 1, 'the own origin is allowed');
    } finally {
        delete globalThis.location;
    }
});
