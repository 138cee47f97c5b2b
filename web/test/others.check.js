// The pages beside the page, in a real browser: signing in with a provider, and the moderators' page.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeToken } from './fake-server.js';
import { NARROW, OUT, SCREENS, address, becomes, complaints, eachTest, isAccessible, open, page, tab } from './browser.js';

eachTest();

const comment = (id, state, more = {}) => ({ id, subject: 'post:7', user: 1000, name: 'Ana Abe', time: 1_785_500_000_000, state, text: `Comment ${id}`, reports: 0, ...more });
const PAGE = {
    items: [comment('5', 'held', { reports: 2 }), comment('4', 'visible', { reports: 1, text: 'x'.repeat(900) }), comment('3', 'hidden', { name: null }), comment('2', 'deleted', { text: null })],
    next: '2',
};
const sideways = () => page.evaluate(() => document.documentElement.scrollWidth > innerWidth);

/** Signed in as a moderator; search answers what is given. */
async function moderating(options, status, answer) {
    await open('moderation.html', options);
    await page.fill('#token', fakeToken(1));
    await page.click('#sign-in-form button');
    await page.waitForSelector('#search-form:not([hidden])');
    await page.route('**/v1/moderation/comments**', (route) => route.fulfill({ status, json: route.request().method() === 'PUT' ? { state: 'hidden' } : answer }));
}

for (const [name, options] of Object.entries({ ...SCREENS, narrow: NARROW })) {
    test(`the moderators' page fits a ${name} screen, and axe-core finds nothing`, async () => {
        await open('moderation.html', options);
        await page.waitForSelector('#sign-in-form:not([hidden])');
        await isAccessible('signing in');
        assert.equal(await sideways(), false);
        await page.context().close();
        await moderating(options, 200, PAGE);
        await page.click('#search-form button');
        await page.waitForSelector('#found > article:nth-child(4)');
        await page.click('[data-comment="4"] .decide button:has-text("Hide")');
        await becomes(async () => [await page.textContent('[data-comment="4"] .outcome'), 'Say why, first.']);
        await isAccessible('what was found');
        assert.equal(await sideways(), false);
        await page.screenshot({ path: `${OUT}moderation-${name}.png` });
        assert.deepEqual(complaints, []);
    });

    test(`the way to a provider fits a ${name} screen, and axe-core finds nothing`, async () => {
        await open('', options);
        await page.route('**/v1/config', () => {}); // no answer: what is seen stays
        await page.goto(`${address}signin.html`, { waitUntil: 'commit' });
        await page.waitForFunction(() => document.querySelector('#signing-in p')?.textContent !== '');
        await isAccessible('on the way');
        assert.equal(await sideways(), false);
    });
}

test("the moderators' page by keys alone: a search, and a decision with its reason", async () => {
    await moderating(SCREENS.wide, 200, { ...PAGE, items: PAGE.items.slice(1, 2) });
    await page.focus('#text');
    const order = [];
    for (let i = 0; i < 4; i += 1) order.push(await tab());
    assert.deepEqual(order, ['user', 'type', 'subject', 'state']);
    await page.focus('#text');
    await page.keyboard.press('Enter');
    await page.waitForSelector('#found > article');
    await page.focus('#search-form button');
    await tab();
    await page.keyboard.type('rude');
    await tab();
    await page.keyboard.press('Enter');
    await becomes(async () => [await page.textContent('[data-comment="4"] .outcome'), 'It is hidden now.']);
    await isAccessible('a decision');
});

test("the moderators' page says what the server refuses", async () => {
    await moderating(SCREENS.wide, 400, { code: 'no_words', detail: 'There are no words to search for.' });
    await page.click('#search-form button');
    await page.waitForSelector('#problem:not([hidden])');
    await isAccessible('a problem');
});
