// Signing in with a provider, as far as it needs neither browser nor provider. tests/e2e/test_page_sign_in.py has both.

import assert from 'node:assert/strict';
import { createHash, webcrypto } from 'node:crypto';
import { beforeEach, test } from 'node:test';
import { beginSignIn, finishSignIn } from '../public/oidc.js';

globalThis.crypto ??= webcrypto; // as browsers and newer versions of node have it

const SETTINGS = { issuer: 'https://id.example', client_id: 'page', scope: 'openid' };
const BACK = 'https://app.example/signin.html';
const jwt = (claims) => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;

let kept, asked, tokens, issuer;
const storage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value), removeItem: (key) => kept.delete(key) };

beforeEach(() => {
    [kept, asked, tokens, issuer] = [new Map(), [], {}, SETTINGS.issuer];
    globalThis.fetch = async (address, { body } = {}) => {
        asked.push([String(address), body && Object.fromEntries(body)]);
        if (address.endsWith('/openid-configuration')) return Response.json({ issuer, authorization_endpoint: 'https://id.example/auth?x=1', token_endpoint: 'https://id.example/token' });
        return Response.json(tokens, { status: tokens.error ? 400 : 200 });
    };
});

/** As the provider sends the person back. */
async function sentBack(more = {}) {
    const { searchParams } = new URL(await beginSignIn(SETTINGS, BACK, storage));
    const answer = new URLSearchParams({ code: 'c0de', state: searchParams.get('state'), ...more });
    return { question: searchParams, finish: () => finishSignIn(SETTINGS, BACK, storage, answer) };
}

test('the code is bound to a secret that only this tab knows, and exchanged once', async () => {
    const { question, finish } = await sentBack();
    assert.deepEqual([question.get('x'), question.get('response_type'), question.get('redirect_uri')], ['1', 'code', BACK]);
    tokens = { access_token: jwt({ sub: '7' }), id_token: jwt({ sub: '7', nonce: question.get('nonce') }) };
    assert.equal(await finish(), tokens.access_token);
    const { code_verifier: verifier, ...rest } = asked.at(-1)[1];
    assert.equal(createHash('sha256').update(verifier).digest('base64url'), question.get('code_challenge'));
    assert.deepEqual(rest, { grant_type: 'authorization_code', code: 'c0de', redirect_uri: BACK, client_id: 'page' });
    await assert.rejects(finish, { code: 'state' });
});

test('an ID token counts where access tokens cannot be read', async () => {
    for (const access of ['opaque', `${Buffer.from('{"typ":"at+jwt"}').toString('base64url')}${jwt({ sub: '7' }).slice(3)}`]) {
        const { question, finish } = await sentBack();
        tokens = { access_token: access, id_token: jwt({ sub: '7', nonce: question.get('nonce') }) };
        assert.equal(await finish(), tokens.id_token);
    }
});

test('what is not an answer to this question is refused, and no code is sent anywhere', async () => {
    for (const [more, code] of [[{ state: 'x' }, 'state'], [{ iss: 'https://evil.example' }, 'issuer'], [{ error: 'access_denied' }, 'access_denied']]) {
        const { finish } = await sentBack(more);
        await assert.rejects(finish, { code });
    }
    assert.ok(asked.every(([address]) => address.endsWith('/openid-configuration')));
    for (const [given, code] of [[{ access_token: 'x' }, 'no_token'], [{ access_token: jwt({ sub: '7' }), id_token: jwt({ nonce: 'other' }) }, 'nonce'], [{ error: 'invalid_grant' }, 'invalid_grant']]) {
        const { finish } = await sentBack();
        tokens = given;
        await assert.rejects(finish, { code });
    }
    issuer = 'https://evil.example';
    await assert.rejects(beginSignIn(SETTINGS, BACK, storage), { code: 'issuer' });
});
