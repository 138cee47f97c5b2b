// The service worker: it keeps the page itself, so that it opens without a network and can say that there is none. What the server
// answers under /v1/ and /demo/, and whatever has a token, goes by it untouched, and nothing of that is kept.
// FILES: the build says which files make the page, so that each new page has a service worker of its own.
// While no page is to be seen, it shows what the receiver of web.push.url sends.

const KEPT = `starling-page-${FILES.filter((file) => file.startsWith('/assets/')).join()}`;
const MAP = '/map.geojson';

self.addEventListener('install', (event) => event.waitUntil(install()));
self.addEventListener('activate', (event) => event.waitUntil(activate()));
self.addEventListener('fetch', (event) => {
    const key = keyOf(event.request);
    if (key) event.respondWith(key.startsWith('/assets/') ? kept(event.request, key) : newest(event, key));
});

self.addEventListener('push', (event) => event.waitUntil(tell(event.data.json())));
self.addEventListener('notificationclick', (event) => {
    event.notification.close();
    event.waitUntil(open(event.notification.data.opens));
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

/** The pages that are open, but for those of moderators. */
async function pages() {
    const all = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
    return all.filter(({ url }) => new URL(url).pathname === '/');
}

/** The newer one of a tag takes the place of the older one. @param {{title: string, tag: string, lang: string, time: number, opens: object}} message */
async function tell({ title, tag, lang, time, opens }) {
    if ((await pages()).some(({ visibilityState }) => visibilityState === 'visible')) return; // whoever sees a page is told there
    await self.registration.showNotification(title, { tag, lang, timestamp: time, icon: '/icons/icon-192.png', data: { opens } });
}

/** @param {{user?: string, post?: string, comment?: string | null}} opens */
async function open(opens) {
    const [page] = await pages();
    if (!page) {
        const known = Object.entries(opens).filter(([, value]) => value !== null);
        await self.clients.openWindow(`/#${new URLSearchParams(known)}`);
        return;
    }
    page.postMessage({ opens });
    await page.focus();
}
