// Links that show where somebody is: made, listed and ended in the settings, and opened by somebody without an account.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NARROW, OUT, SCREENS, address, becomes, complaints, eachTest, isAccessible, open, page, server, state, tab } from './browser.js';

eachTest();

const EVERY = { ...SCREENS, narrow: NARROW };
const HOUR_MS = 3_600_000;
const sideways = () => page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
const says = (selector, expected) => becomes(async () => [await page.textContent(selector), expected]);
const place = (more = {}) => ({ name: 'Ada', lat: 39.9847, lng: 116.3184, time: Date.now(), until: Date.now() + HOUR_MS, ...more });
const known = () => complaints.filter((text) => !/status of (404|410|503)/.test(text)); // the browser says so in its console, whatever the page makes of it

async function settings(options) {
    await open(undefined, { permissions: ['clipboard-read', 'clipboard-write'], ...options });
    await state('online');
    await page.click('#me summary');
    await page.click('#links > summary');
}

for (const [name, options] of Object.entries(EVERY)) {
    test(`a link is made, listed and ended on a ${name} screen`, async () => {
        server.links = [{ id: '3', until: Date.now() + HOUR_MS, rounded: false, made: Date.now() }];
        await settings(options);
        await page.waitForSelector('#link-list > li');
        await page.selectOption('#link-for', 'hours');
        await page.check('#link-rounded');
        await page.evaluate(() => Object.defineProperty(navigator, 'share', { value: undefined, configurable: true }));
        await page.click('#link-make');
        await becomes(async () => [await page.locator('#link-list > li').count(), 2]);
        const [, { id, until, rounded }] = server.links;
        assert.ok(rounded && Math.abs(until - Date.now() - 8 * HOUR_MS) < 60_000);
        assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `Where I am: ${address}link.html#secret-${id}`);
        await says('#link-made', 'The link is copied.');
        await isAccessible('links');
        assert.equal(await sideways(), false);
        await page.locator('#link-list').scrollIntoViewIfNeeded();
        await page.screenshot({ path: `${OUT}links-${name}.png` });
        await page.click('#link-list > li:first-child button');
        await becomes(async () => [server.links.map((link) => link.id), [id]]);
        await becomes(async () => [await page.locator('#link-list > li').count(), 1]);
        assert.deepEqual(complaints, []);
    });

    test(`whoever has a link sees where somebody is on a ${name} screen, until it has ended`, async () => {
        server.link = [200, place()];
        await open('link.html#secret', options);
        await says('#link-name', 'Ada');
        await page.waitForSelector('#link-map .friend-marker');
        assert.match(await page.textContent('#link-until'), /^until .*\d\d:\d\d$/);
        assert.equal(await page.textContent('#link-seen'), 'just now');
        assert.equal(await page.title(), 'Ada');
        await isAccessible('a place');
        assert.equal(await sideways(), false);
        await page.screenshot({ path: `${OUT}link-${name}.png` });
        server.link = [410, { code: 'link_over', detail: 'this link has ended' }];
        await page.evaluate(() => dispatchEvent(new Event('hashchange')));
        await says('#link-note', 'This link has ended.');
        assert.equal(await page.locator('.friend-marker').count(), 0);
        assert.doesNotMatch(await page.content(), /Ada/); // nothing of it stays
        await isAccessible('an end');
        await page.screenshot({ path: `${OUT}link-over-${name}.png` });
        assert.deepEqual(known(), []);
    });
}

test('a link is made by keys alone', async () => {
    await settings();
    await page.focus('#links > summary');
    const order = [];
    for (let i = 0; i < 3; i += 1) order.push(await tab());
    assert.deepEqual(order, ['link-for', 'link-rounded', 'link-make']);
    await page.keyboard.press('Enter');
    await page.waitForSelector('#link-list > li');
    await page.focus('#link-make');
    await tab();
    await page.keyboard.press('Enter');
    await becomes(async () => [[await page.locator('#link-list > li').count(), await page.evaluate(() => document.activeElement.id)], [0, 'links-summary']]);
});

test('who is seen by nobody learns why there is no link', async () => {
    server.mode = 'off';
    await settings();
    await page.click('#link-make');
    await says('#links-problem', 'Let somebody see you first: a link ends when nobody does.');
    await isAccessible('no link');
    await page.click('#sign-out');
    assert.equal(await page.locator('#link-list > li').count(), 0);
});

test('the place is asked for again, stays while the server is away, and goes at its end by itself', async () => {
    server.link = [200, place()];
    await open('link.html#secret', { clock: true });
    await page.waitForSelector('#link-map .friend-marker');
    server.link = [200, place({ name: 'Ada B', until: Date.now() + 40_000 })];
    await page.clock.runFor(11_000);
    await says('#link-name', 'Ada B');
    server.link = [503, { code: 'owner_unavailable', detail: 'away' }];
    await page.clock.runFor(11_000);
    await says('#link-note', 'No answer from the server. Trying again.');
    assert.equal(await page.locator('.friend-marker').count(), 1);
    await page.clock.runFor(30_000);
    await says('#link-note', 'This link has ended.');
    assert.equal(await page.locator('.friend-marker').count(), 0);
});

test('a link that never was, and a place that is not known', async () => {
    await open('link.html#nothing');
    await says('#link-note', 'There is no such link.');
    assert.deepEqual(await page.evaluate(() => [localStorage.length, sessionStorage.length]), [0, 0]);
    await page.goto(`${address}link.html`);
    await says('#link-note', 'There is no such link.');
    server.link = [200, place({ name: '', lat: null, lng: null, time: null })];
    await page.goto(`${address}link.html#secret`);
    await page.evaluate(() => dispatchEvent(new Event('hashchange')));
    await says('#link-name', 'Somebody');
    await says('#link-note', 'Where that is, is not known just now.');
    assert.equal(await page.isVisible('#link-map'), false);
    await isAccessible('nowhere');
    assert.deepEqual(known(), []);
});
