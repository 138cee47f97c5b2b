// Errors have the class of what was wrong.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as starling from '../index.js';
import { connectionEnded } from '../src/errors.js';

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
