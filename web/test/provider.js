// A real OpenID Connect provider (oidc-provider, certified) for tests: whoever types a number as login is that user. It wants PKCE.
// A program (client `program`, secret `secret`) gets an access token as a JWT (RFC 9068) for any resource; it names user 42 in a claim.
// Options as JSON in the first argument: {port, redirectUri}.

import Provider from 'oidc-provider';

const { port, redirectUri } = JSON.parse(process.argv[2]);
const issuer = `http://127.0.0.1:${port}`;
const provider = new Provider(issuer, {
    clients: [
        { client_id: 'starling', token_endpoint_auth_method: 'none', redirect_uris: [redirectUri], grant_types: ['authorization_code'], response_types: ['code'] },
        { client_id: 'program', client_secret: 'secret', redirect_uris: [], grant_types: ['client_credentials'], response_types: [] },
    ],
    extraTokenClaims: () => ({ 'https://app.example/user': 42 }),
    pkce: { required: () => true },
    clientBasedCORS: (_ctx, origin) => origin === new URL(redirectUri).origin,
    features: {
        devInteractions: { enabled: true },
        clientCredentials: { enabled: true },
        resourceIndicators: {
            enabled: true,
            getResourceServerInfo: (_ctx, resource) => ({ scope: '', audience: resource, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } }),
        },
    },
});
provider.listen(port, '127.0.0.1', () => console.log('ready'));
