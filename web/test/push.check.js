// Being told while the page is closed, in a real browser: the switch, and what the service worker makes of a push message. No push service
// can be reached from here, so DevTools delivers.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { OUT, SCREENS, TOKEN, address, becomes, complaints, context, eachTest, isAccessible, open, page, server, state } from './browser.js';

const KEY = 'BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM';
const TELL = { serviceWorkers: 'allow', permissions: ['notifications'] };

let receiver, asked;

before(async () => {
    receiver = createServer(async (request, response) => {
        const chunks = [];
        for await (const chunk of request) chunks.push(chunk);
        response.setHeader('access-control-allow-origin', '*');
        response.setHeader('access-control-allow-headers', 'authorization, content-type');
        response.setHeader('access-control-allow-methods', 'GET, POST, DELETE');
        if (request.method !== 'OPTIONS') asked.push([request.method, request.url, Buffer.concat(chunks).toString(), request.headers.authorization]);
        if (request.url === '/push/key') return response.end(JSON.stringify({ key: KEY }));
        return response.writeHead(204).end();
    });
    await new Promise((resolve) => receiver.listen(0, '127.0.0.1', resolve));
});
after(() => receiver.close());
eachTest((one) => {
    asked = [];
    one.push = `http://127.0.0.1:${receiver.address().port}/push`;
    one.feed.fill(30);
});

/** Signed in, with the service worker at work. */
async function opened(options) {
    await open(undefined, { ...TELL, ...options });
    await state('online');
    await page.waitForSelector('#push-choice:not([hidden])', { state: 'attached' });
}

/** The panel in which the switch is. */
async function openSwitch() {
    await page.click('#me summary');
    await page.click('#told-summary');
}

/** A tab that has nothing to do with the page, which is closed or stays; and what delivers messages, as a push service would. */
async function beside({ closed = true } = {}) {
    const other = await context.newPage();
    await other.goto('about:blank');
    if (closed) await page.close();
    else await other.bringToFront();
    const devtools = await context.newCDPSession(other);
    const registered = new Promise((resolve) => devtools.on('ServiceWorker.workerRegistrationUpdated', ({ registrations: [one] }) => one && resolve(one)));
    await devtools.send('ServiceWorker.enable');
    const { registrationId } = await registered;
    const origin = address.slice(0, -1);
    return { deliver: (message) => devtools.send('ServiceWorker.deliverPushMessage', { origin, registrationId, data: JSON.stringify(message) }) };
}

const worker = () => context.serviceWorkers()[0];
const shown = () => worker().evaluate(async () => (await self.registration.getNotifications()).map(({ title, tag, lang, data }) => ({ title, tag, lang, ...data })));
const message = (title, more) => ({ title, tag: 'a', lang: 'en', time: Date.now(), opens: { user: '1003' }, ...more });
/** The browser itself says this of the receiver at another address, and of what it cannot. */
const unexpected = () => complaints.filter((text) => !/^request to \S+\/push\/|incognito mode/.test(text));
/** A click on the notification of that tag: the browser lets nobody but a person open windows. @returns {Promise<string[]>} what was opened */
const click = (tag) =>
    worker().evaluate(async (wanted) => {
        const [notification] = await self.registration.getNotifications({ tag: wanted });
        const windows = [];
        self.clients.openWindow = async (url) => windows.push(url);
        const event = new self.NotificationEvent('notificationclick', { notification });
        let done;
        event.waitUntil = (promise) => (done = promise);
        self.dispatchEvent(event);
        await done.catch(() => {}); // to the front it may not come either
        return windows;
    }, tag);

test('the page is closed: what comes is shown, the newest of each topic, and opens what it is about', async () => {
    await opened();
    const { deliver } = await beside();
    await deliver(message('Mira follows you'));
    await becomes(async () => [await shown(), [{ title: 'Mira follows you', tag: 'a', lang: 'en', opens: { user: '1003' } }]]);
    await deliver(message('Mira and 2 others follow you'));
    await deliver(message('Mira answers you', { tag: 'b', opens: { post: '5', comment: '77' } }));
    await deliver(message('Mira赞了你的动态', { tag: 'c', lang: 'zh', opens: { post: '5', comment: null } }));
    await becomes(async () => [(await shown()).map(({ title }) => title).sort(), ['Mira and 2 others follow you', 'Mira answers you', 'Mira赞了你的动态']]);
    assert.deepEqual(await click('a'), ['/#user=1003']);
    assert.deepEqual(await click('b'), ['/#post=5&comment=77']);
    assert.deepEqual(await click('c'), ['/#post=5']);
    assert.deepEqual(await shown(), []);
    assert.deepEqual(unexpected(), []);
});

test('whoever sees a page is told there, and a page that is open but not seen is taken to what it is about', async () => {
    await opened();
    const { deliver } = await beside({ closed: false });
    await page.bringToFront();
    await deliver(message('Bo follows you', { tag: 'b' }));
    await worker().evaluate(() => {
        const all = self.clients.matchAll.bind(self.clients);
        // Of a headless browser every tab is seen.
        self.clients.matchAll = async (query) => (await all(query)).map((one) => ({ url: one.url, visibilityState: 'hidden', postMessage: (what) => one.postMessage(what), focus: async () => {} }));
    });
    await deliver(message('Ana follows you'));
    await becomes(async () => [(await shown()).map(({ title }) => title), ['Ana follows you']]);
    assert.deepEqual(await click('a'), []);
    await page.waitForSelector('#person-card[data-user="1003"]', { state: 'attached' });
    assert.deepEqual(unexpected(), []);
});

test('a notification opens what it is about when somebody is signed in', async () => {
    const post = server.feed.posts.at(-4);
    await open(`#post=${post.id}`);
    await page.waitForSelector('#gate:not([hidden])');
    assert.equal(new URL(page.url()).hash, '');
    await page.fill('#token', TOKEN);
    await page.click('#sign-in');
    await page.waitForSelector(`#linked-post > article[data-post="${post.id}"]`);
    await page.evaluate(() => (location.hash = '#user=1003'));
    await page.waitForSelector('#person-card[data-user="1003"]');
});

test('a browser that reaches no push service says so, and the switch stays off', async () => {
    await opened();
    await openSwitch();
    await page.click('.tell');
    await page.waitForFunction(() => document.getElementById('push-note').textContent.startsWith('This browser reaches no push service, so nothing can be told. '));
    assert.equal(await page.isChecked('#push'), false);
    assert.deepEqual(asked, [['GET', '/push/key', '', undefined]]);
    assert.deepEqual(unexpected(), []);
});

test('whoever does not allow notifications is told where to allow them, and nothing is asked', async () => {
    await opened({ permissions: [] });
    await openSwitch();
    await page.evaluate(() => (Notification.requestPermission = async () => 'denied'));
    await page.click('.tell');
    await becomes(async () => [await page.textContent('#push-note'), 'This browser does not let the page show notifications. Its settings for this site say so.']);
    assert.equal(await page.isChecked('#push'), false);
    assert.deepEqual(asked, []);
});

/** As if there was a push service: the browser's subscription is an object of the page's. */
function stub() {
    const made = (key) => {
        const endpoint = `https://push.example/${Math.random()}`;
        return {
            endpoint,
            options: { applicationServerKey: key },
            toJSON: () => ({ endpoint, keys: { p256dh: 'p', auth: 'a' } }),
            unsubscribe: async () => localStorage.removeItem('stub'),
        };
    };
    const raw = (text) => Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (letter) => letter.charCodeAt(0)).buffer;
    PushManager.prototype.getSubscription = async () => (localStorage.getItem('stub') ? made(raw(localStorage.getItem('stub'))) : null);
    PushManager.prototype.subscribe = async ({ applicationServerKey, userVisibleOnly }) => {
        if (!userVisibleOnly) throw new Error('it must show all');
        localStorage.setItem('stub', applicationServerKey);
        return made(raw(applicationServerKey));
    };
}

const methods = () => asked.map(([method]) => method);

test('on, kept, and off again', async () => {
    await opened();
    await page.addInitScript(stub);
    await page.reload();
    await page.waitForSelector('#push-choice:not([hidden])', { state: 'attached' });
    await openSwitch();
    await page.click('.tell');
    await becomes(async () => [await page.textContent('#push-note'), 'You are told here from now on, until you sign out.']);
    assert.deepEqual(methods(), ['GET', 'POST']);
    const [, path, body, authorization] = asked[1];
    const { endpoint, ...rest } = JSON.parse(body);
    assert.deepEqual([path, rest, authorization], ['/push/subscriptions', { keys: { p256dh: 'p', auth: 'a' }, language: 'en' }, `Bearer ${TOKEN}`]);
    assert.match(endpoint, /^https:\/\/push\.example\//);
    await isAccessible('told');

    await page.reload();
    await becomes(async () => [await page.isChecked('#push'), true]);
    await becomes(async () => [methods(), ['GET', 'POST', 'POST']]); // it is used
    await openSwitch();
    await page.click('.tell');
    await becomes(async () => [methods(), ['GET', 'POST', 'POST', 'DELETE']]);
    assert.equal(await page.isChecked('#push'), false);
    assert.equal(await page.evaluate(() => localStorage.getItem('stub')), null);

    await page.click('.tell');
    await becomes(async () => [methods().slice(4), ['GET', 'POST']]);
    await page.click('#sign-out');
    await becomes(async () => [methods().slice(6), ['DELETE']]);
    assert.equal(asked.at(-1)[3], `Bearer ${TOKEN}`);
    assert.equal(await page.evaluate(() => localStorage.getItem('stub')), null);
    assert.deepEqual(unexpected(), []);
});

test('a subscription that another user has left in this browser ends', async () => {
    await opened();
    await page.addInitScript(stub);
    await page.evaluate((key) => Object.assign(localStorage, { stub: key, 'starling.push': '7' }), KEY);
    await page.reload();
    await becomes(async () => [await page.evaluate(() => localStorage.getItem('stub')), null]);
    assert.equal(await page.isChecked('#push'), false);
    assert.deepEqual(asked, []);
});

test('a receiver that is away changes nothing', async () => {
    await opened();
    await page.addInitScript(stub);
    await page.reload();
    await page.waitForSelector('#push-choice:not([hidden])', { state: 'attached' });
    await page.route('**/push/subscriptions', (route) => route.abort());
    await openSwitch();
    await page.click('.tell');
    await becomes(async () => [await page.textContent('#push-note'), 'This was not changed. The server cannot be reached.']);
    assert.equal(await page.isChecked('#push'), false);
});

test('without a receiver there is no switch', async () => {
    server.push = '';
    await open(undefined, TELL);
    await state('online');
    await page.evaluate(() => navigator.serviceWorker.ready);
    assert.equal(await page.locator('#push-choice').getAttribute('hidden'), '');
    assert.deepEqual(complaints, []);
});

for (const [name, options] of Object.entries(SCREENS)) {
    test(`the switch fits a ${name} screen, and axe-core finds nothing`, async () => {
        await opened(options);
        await openSwitch();
        await page.locator('.tell').scrollIntoViewIfNeeded();
        assert.ok((await page.locator('.tell').boundingBox()).height >= 40);
        await isAccessible('the switch');
        await page.screenshot({ path: `${OUT}push-${name}.png` });
    });
}

test('a browser whose push service does not answer says so, too', async () => {
    await opened({ clock: true });
    await page.evaluate(() => (PushManager.prototype.subscribe = () => new Promise(() => (window.subscribing = true))));
    await openSwitch();
    await page.click('.tell');
    await becomes(async () => [await page.textContent('#push-note'), 'Loading…']);
    await page.waitForFunction(() => window.subscribing);
    await page.clock.fastForward(15_000);
    await becomes(async () => [await page.textContent('#push-note'), 'This browser reaches no push service, so nothing can be told.']);
    assert.equal(await page.isChecked('#push'), false);
});
