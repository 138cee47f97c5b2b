// The service worker: it keeps the page itself, so that it opens without a network and can say that there is none. What the server
// answers under /v1/ and /demo/, and whatever has a token, goes by it untouched, and nothing of that is kept.

const KEPT = 'starling-page-1';
const SHELL = 'vendor/shell.json'; // the files of the page, listed when it was built
const SHELL_KEY = '/vendor/shell.json';
const MAP = '/map.geojson';

self.addEventListener('install', (event) => event.waitUntil(install()));
self.addEventListener('activate', (event) => event.waitUntil(activate()));
self.addEventListener('fetch', (event) => {
    const key = keyOf(event.request);
    if (key) event.respondWith(newest(event, key));
});

async function install() {
    const [kept, response] = await Promise.all([caches.open(KEPT), fetch(SHELL, { cache: 'no-cache' })]);
    if (!response.ok) throw new Error(`${SHELL} answered ${response.status}`);
    const files = await response.clone().json();
    await kept.put(SHELL_KEY, response);
    // One that is not there any more is no reason to keep nothing.
    await Promise.allSettled(files.map((file) => kept.add(file)));
    await self.skipWaiting();
}

async function activate() {
    for (const name of await caches.keys()) if (name !== KEPT) await caches.delete(name);
    await self.clients.claim();
}

/** Under which address an answer is kept, if it may be: of pages without what comes behind the path. */
function keyOf(request) {
    const url = new URL(request.url);
    if (request.method !== 'GET' || url.origin !== self.location.origin || request.headers.has('authorization')) return null;
    if (/^\/(v1|registry|demo)\//.test(url.pathname)) return null;
    if (request.mode === 'navigate') return url.pathname;
    return url.search === '' ? url.pathname : null;
}

/** From the server if it can be reached, and kept then; else as it was kept. */
async function newest(event, key) {
    const kept = await caches.open(KEPT);
    try {
        const response = await fetch(event.request);
        if (response.ok && response.type === 'basic' && !response.redirected) event.waitUntil(keep(kept, key, response.clone()));
        return response;
    } catch (error) {
        const before = await kept.match(key);
        if (before) return before;
        throw error;
    }
}

/** Only the page's own files are kept: another program behind the same host may answer with what is somebody's. Neither is an answer
 * that was asked for with more than a path, as that may hold a code of a provider. */
async function keep(kept, key, response) {
    const list = await kept.match(SHELL_KEY);
    const files = list ? await list.json() : [];
    if (new URL(response.url).search === '' && (files.includes(key) || key === MAP)) await kept.put(key, response);
}
