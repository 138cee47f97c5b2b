// The page as an app: it can be installed, opens without a network, and keeps nothing that is anybody's own.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OUT, SCREENS, TOKEN, address, becomes, complaints, context, eachTest, isAccessible, open, page, restart, server, state } from './browser.js';

eachTest(({ feed }) => feed.fill(5));

const FAILED = /Failed to load resource|WebSocket connection to/;

/** Opened, and the page is kept from now on. */
async function kept(options) {
    await open(undefined, { ...options, serviceWorkers: 'allow' });
    await state('online');
    await page.waitForSelector('#home > article', { state: 'attached' });
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => navigator.serviceWorker.controller ?? new Promise((resolve) => navigator.serviceWorker.addEventListener('controllerchange', resolve))));
}

for (const [name, options] of Object.entries(SCREENS)) {
    test(`opens without a network on a ${name} screen, says so, and goes on when the server is back`, async () => {
        await kept(options);
        assert.equal(await page.isVisible('#offline'), false);
        server.close();
        await page.reload();
        await page.waitForSelector('#offline:not([hidden])');
        assert.match(await page.textContent('#offline'), /^No connection to the server\./);
        await isAccessible('offline');
        await page.screenshot({ path: `${OUT}offline-${name}.png` });
        await page.evaluate(() => sessionStorage.removeItem('starling.token'));
        await page.reload(); // nobody is signed in
        await page.waitForSelector('#gate:not([hidden])');
        assert.equal(await page.isVisible('#offline'), true);
        if (name === 'phone') await isAccessible('offline and signed out');
        await page.evaluate((token) => sessionStorage.setItem('starling.token', token), TOKEN);
        await restart();
        await page.evaluate(() => dispatchEvent(new Event('online'))); // else it asks every five seconds
        await page.waitForSelector('#state[data-state="online"]');
        assert.equal(await page.isVisible('#offline'), false);
        assert.deepEqual(complaints.filter((text) => !FAILED.test(text)), []);
    });
}

test('what is kept is the page itself: no answer of the API, no token, nothing behind a question mark', async () => {
    await kept();
    await page.goto(`${address}?code=secret&state=secret`);
    await state('online');
    await page.evaluate(() => fetch('/favicon.svg?secret'));
    const all = await page.evaluate(async () => {
        const found = {};
        for (const name of await caches.keys()) {
            const cache = await caches.open(name);
            for (const request of await cache.keys()) found[request.url] = await (await cache.match(request)).text();
        }
        return found;
    });
    const urls = Object.keys(all);
    assert.ok(urls.includes(address) && ['app', 'map', 'style'].every((part) => urls.some((url) => url.startsWith(`${address}assets/${part}-`))), urls.join(' '));
    assert.deepEqual(urls.filter((url) => /\/v1\/|[?#]|secret/.test(url.slice(address.length - 1))), []);
    assert.deepEqual(urls.filter((url) => all[url].includes(TOKEN)), []);
});

test('a browser finds nothing that keeps the page from being installed', async () => {
    await kept();
    const devtools = await context.newCDPSession(page);
    const { errors, data } = await devtools.send('Page.getAppManifest');
    assert.deepEqual(errors, []);
    const { installabilityErrors } = await devtools.send('Page.getInstallabilityErrors');
    assert.deepEqual(installabilityErrors.filter(({ errorId }) => errorId !== 'in-incognito'), []); // as all tabs of tests are
    for (const { src, sizes, type } of JSON.parse(data).icons) {
        const icon = await page.request.get(address + src);
        assert.equal(icon.headers()['content-type'], type);
        if (type !== 'image/png') continue;
        const bytes = await icon.body();
        assert.equal(sizes, `${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`, src);
    }
    await becomes(async () => [await page.locator('link[rel="apple-touch-icon"]').count(), 1]);
});
