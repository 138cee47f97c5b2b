// The way to the provider, and back from it with a token, which the page itself finds in the storage of the tab.

import { loadConfig } from './config.js';
import { beginSignIn, finishSignIn } from './oidc.js';
import { translatePage } from './preferences.js';
import { PROBLEM_KEY, TOKEN_KEY } from './session.js';
import { t } from './texts.js';

const PROBLEMS = {
    access_denied: 'signInDenied',
    login_required: 'signInDenied',
    state: 'signInStale',
    nonce: 'signInStale',
    invalid_grant: 'signInStale',
    issuer: 'signInForged',
    no_token: 'signInNoToken',
    unreachable: 'signInUnreachable',
};

translatePage();
const { oidc } = await loadConfig();
const answer = new URLSearchParams(location.search);
const here = location.origin + location.pathname;
try {
    if (oidc === null) location.replace('./');
    else if (answer.has('state') || answer.has('error')) {
        history.replaceState(null, '', location.pathname); // the code is nobody's business
        sessionStorage.setItem(TOKEN_KEY, await finishSignIn(oidc, here, sessionStorage, answer));
        location.replace('./');
    } else location.replace(await beginSignIn(oidc, here, sessionStorage));
} catch (error) {
    const key = PROBLEMS[error.code];
    sessionStorage.setItem(PROBLEM_KEY, key ? t(key) : t('signInFailed', { why: error.message }));
    location.replace('./');
}
