// The service worker: it keeps the page itself, so that it opens without a network and can say that there is none. What the server
// answers under /v1/ and /demo/, and whatever has a token, goes by it untouched, and nothing of that is kept.
// FILES: the build says which files make the page, so that each new page has a service worker of its own.

const KEPT = `starling-page-${FILES.filter((file) => file.startsWith('/assets/')).join()}`;
const MAP = '/map.geojson';

self.addEventListener('install', (event) => event.waitUntil(install()));
self.addEventListener('activate', (event) => event.waitUntil(activate()));
self.addEventListener('fetch', (event) => {
    const key = keyOf(event.request);
    if (key) event.respondWith(key.startsWith('/assets/') ? kept(event.request, key) : newest(event, key));
});

async function install() {
    const page = await caches.open(KEPT);
    // One that is not there any more is no reason to keep nothing.
    await Promise.allSettled(FILES.map((file) => page.add(file)));
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

/** A name that stands for its content: as it was kept. */
async function kept(request, key) {
    return (await (await caches.open(KEPT)).match(key)) ?? fetch(request);
}

/** From the server if it can be reached; else as it was kept. The map is no part of the page, and is kept as it comes. */
async function newest(event, key) {
    const page = await caches.open(KEPT);
    try {
        const response = await fetch(event.request);
        if (key === MAP && response.ok && response.type === 'basic') event.waitUntil(page.put(key, response.clone()));
        return response;
    } catch (error) {
        const before = await page.match(key);
        if (before) return before;
        throw error;
    }
}
