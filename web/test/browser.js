// The page in headless Chromium against the fake server, for checks: one tab at a time. CHROMIUM names the browser where it
// is not /usr/bin/chromium.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { after, afterEach, before, beforeEach } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import { chromium } from 'playwright-core';
import { FakeServer, fakeToken } from './fake-server.js';

const AXE = readFileSync(new URL('../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
export const OUT = fileURLToPath(new URL('out/', import.meta.url));
export const HERE = { lat: 39.9847, lng: 116.3184 };
export const TOKEN = fakeToken(42);
export const WIDE = { viewport: { width: 1280, height: 800 } };
export const TABLET = { viewport: { width: 820, height: 1180 }, hasTouch: true };
export const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
/** The sizes that everything must fit, by name. */
export const SCREENS = { wide: WIDE, tablet: TABLET, phone: PHONE };
export const NARROW = { ...PHONE, viewport: { width: 320, height: 640 } };

const PATIENCE_MS = 20_000; // a machine that is busy with something else takes seconds to show a page

export let server, address, context, page, complaints;
let browser;

/** Makes a server for each test of the file; prepare may change it. @param {(server: FakeServer) => void} [prepare] */
export function eachTest(prepare = () => {}) {
    before(async () => {
        mkdirSync(OUT, { recursive: true });
        browser = await chromium.launch({
            executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
            args: ['--no-sandbox'],
        });
    });
    after(() => browser.close());
    beforeEach(async () => {
        let seed = 7;
        const random = () => {
            seed = (seed * 1103515245 + 12345) % 2147483648;
            return seed / 2147483648;
        };
        server = new FakeServer({ random });
        prepare(server);
        address = await server.listen();
    });
    afterEach(async () => {
        await context.close();
        server.close();
    });
}

/** Another server in the place of the one that was closed. */
export async function restart() {
    const { port } = server;
    server = new FakeServer();
    await server.listen(port);
}

/** The page at that address, or, without one, signed in as the owner of the token. luck: what Math.random says, always; clock: time can be moved on (page.clock). The rest is Playwright's. */
export async function open(hash, { luck, clock, token = TOKEN, ...options } = {}) {
    context = await browser.newContext({ viewport: { width: 1200, height: 760 }, locale: 'en-IE', serviceWorkers: 'block', ...options });
    page = await context.newPage();
    if (luck !== undefined) await page.addInitScript((value) => (Math.random = () => value), luck);
    if (clock) await page.clock.install();
    complaints = [];
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => {
        if (message.type() === 'error') complaints.push(message.text());
    });
    page.on('request', (request) => {
        if (!request.url().startsWith(address)) complaints.push(`request to ${request.url()}`);
    });
    if (hash === undefined) await page.addInitScript(signInOnce, [token, `${HERE.lat}, ${HERE.lng}`]);
    await page.goto(address + (hash ?? ''));
}

/** Another tab of the same browser, signed in as the first one is. */
export async function another() {
    const other = await context.newPage();
    await other.addInitScript(signInOnce, [TOKEN, `${HERE.lat}, ${HERE.lng}`]);
    await other.goto(address);
    return other;
}

/** Not again when the page is loaded again. */
function signInOnce([token, place]) {
    if (window.name === 'signed in') return;
    window.name = 'signed in';
    Object.assign(sessionStorage, { 'starling.token': token, 'starling.place': place });
}

/** Presses what is behind the menu of an element. @param {string} within @param {string} [label] */
export async function rarely(within, label = '') {
    await page.click(`${within} .menu summary`);
    await page.locator(`${within} .menu button`, { hasText: label }).click();
}

/** The tab is signed in there when the page is loaded next. */
export const keep = (token, { lat, lng }) => page.evaluate((kept) => Object.assign(sessionStorage, kept), { 'starling.token': token, 'starling.place': `${lat}, ${lng}` });

export const state = (value) => page.waitForSelector(`#state[data-state="${value}"]`);

/** Brings the feed to the front where map and feed are two tabs. */
export async function showFeed() {
    if (await page.isVisible('#tab-feed')) await page.click('#tab-feed');
}

/** Waits until both are the same. @template T @param {() => Promise<[T, T]>} pair what there is, and what there must be */
export async function becomes(pair) {
    for (const end = Date.now() + PATIENCE_MS; ; await sleep(50)) {
        const [is, expected] = await pair();
        if (isDeepStrictEqual(is, expected)) return;
        if (Date.now() > end) assert.deepEqual(is, expected);
    }
}

/** Presses Tab. @returns {Promise<string>} the id of what has the focus then, or of the list that it is in, or that its ring is missing */
export async function tab() {
    await page.keyboard.press('Tab');
    return page.evaluate(() => {
        const { activeElement: at } = document;
        const ring = getComputedStyle(at);
        if (ring.outlineStyle === 'none' || parseFloat(ring.outlineWidth) < 2) return `${at.outerHTML} has no ring`;
        return at.id || at.closest('[id], li')?.id || at.closest('li')?.parentElement.id || at.tagName;
    });
}

/** Opens the newest notice by keys alone, once it is listed. */
export async function openNotice() {
    await page.focus('#notices summary');
    await page.keyboard.press('Enter');
    await page.waitForSelector('#notice-list > li');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
}

/** Asserts that axe-core finds no fault with the page as it is now, light and dark. */
export async function isAccessible(when) {
    if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(AXE);
    for (const colorScheme of ['light', 'dark']) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        const found = await page.evaluate(async () => {
            const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
            return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('; ')}`);
        });
        assert.deepEqual(found, [], `${when}, ${colorScheme}`);
    }
}
