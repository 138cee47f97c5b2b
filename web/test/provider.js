// A real OpenID Connect provider (oidc-provider, certified) for tests: whoever types a number as login is that user. It wants PKCE.
// Options as JSON in the first argument: {port, redirectUri}.

import Provider from 'oidc-provider';

const { port, redirectUri } = JSON.parse(process.argv[2]);
const issuer = `http://127.0.0.1:${port}`;
const provider = new Provider(issuer, {
    clients: [{ client_id: 'starling', token_endpoint_auth_method: 'none', redirect_uris: [redirectUri], grant_types: ['authorization_code'], response_types: ['code'] }],
    pkce: { required: () => true },
    clientBasedCORS: (_ctx, origin) => origin === new URL(redirectUri).origin,
    features: { devInteractions: { enabled: true } },
});
provider.listen(port, '127.0.0.1', () => console.log('ready'));
