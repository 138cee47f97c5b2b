// Signing in with an OpenID Connect provider: authorization code with PKCE (RFC 7636), as a public client. No DOM in here.

const PENDING_KEY = 'starling.oidc'; // what must be known when the provider sends the person back
const TIMEOUT_MS = 15_000;

/** Why nobody is signed in; `code` is the provider's, or ours: state, issuer, nonce, no_token, unreachable. */
export class SignInError extends Error {
    /** @param {string} code @param {string} [message] */
    constructor(code, message = code) {
        super(message);
        this.name = new.target.name;
        this.code = code;
    }
}

/** @typedef {{issuer: string, client_id: string, scope: string}} Settings */
/** @typedef {Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>} Keep */

/**
 * The address at which the provider asks who it is.
 * @param {Settings} settings @param {string} redirectUri where the person comes back to @param {Keep} storage
 */
export async function beginSignIn(settings, redirectUri, storage) {
    const provider = await discover(settings.issuer);
    const pending = { verifier: draw(), state: draw(), nonce: draw() };
    storage.setItem(PENDING_KEY, JSON.stringify(pending));
    const address = new URL(provider.authorization_endpoint);
    const query = {
        response_type: 'code',
        client_id: settings.client_id,
        redirect_uri: redirectUri,
        scope: settings.scope,
        state: pending.state,
        nonce: pending.nonce,
        code_challenge: base64url(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(pending.verifier))),
        code_challenge_method: 'S256',
    };
    for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value);
    return address.href;
}

/**
 * The token for the code that the provider sent along: the access token if it is a plain JWT, else the ID token. (One of RFC 9068, at+jwt, is
 * for the audience of some API, which need not be this server.)
 * @param {Settings} settings @param {string} redirectUri @param {Keep} storage @param {URLSearchParams} answer
 * @returns {Promise<string>}
 */
export async function finishSignIn(settings, redirectUri, storage, answer) {
    const pending = JSON.parse(storage.getItem(PENDING_KEY) ?? '{}');
    storage.removeItem(PENDING_KEY); // a code is used once
    if (!pending.state || answer.get('state') !== pending.state) throw new SignInError('state');
    if (answer.has('iss') && answer.get('iss') !== settings.issuer) throw new SignInError('issuer');
    if (answer.has('error')) throw new SignInError(answer.get('error'), answer.get('error_description') ?? answer.get('error'));
    const provider = await discover(settings.issuer);
    const tokens = await ask(provider.token_endpoint, {
        method: 'POST',
        body: new URLSearchParams({
            grant_type: 'authorization_code',
            code: answer.get('code') ?? '',
            redirect_uri: redirectUri,
            client_id: settings.client_id,
            code_verifier: pending.verifier,
        }),
    });
    const identity = claimsOf(tokens.id_token);
    if (identity && identity.nonce !== pending.nonce) throw new SignInError('nonce');
    const token = [tokens.access_token, tokens.id_token].find((one) => claimsOf(one)?.sub !== undefined && isPlain(one));
    if (token === undefined) throw new SignInError('no_token');
    return token;
}

async function discover(issuer) {
    const provider = await ask(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
    if (provider.issuer !== issuer) throw new SignInError('issuer');
    return provider;
}

async function ask(address, options = {}) {
    let response, answer;
    try {
        response = await fetch(address, { ...options, credentials: 'omit', signal: AbortSignal.timeout(TIMEOUT_MS) });
        answer = await response.json();
    } catch {
        throw new SignInError('unreachable');
    }
    if (!response.ok) throw new SignInError(answer.error ?? 'unreachable', answer.error_description ?? answer.error);
    return answer;
}

/** 256 random bits. */
function draw() {
    return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

function base64url(bytes) {
    const text = String.fromCharCode(...new Uint8Array(bytes));
    return btoa(text).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
}

/** The claims of a JWT; null: it is none. The server verifies it. */
function claimsOf(token) {
    return partOf(token, 1);
}

function isPlain(token) {
    return (partOf(token, 0)?.typ ?? 'JWT').toUpperCase() === 'JWT';
}

function partOf(token, index) {
    try {
        return JSON.parse(atob(token.split('.')[index].replace(/-/g, '+').replace(/_/g, '/')));
    } catch {
        return null;
    }
}
