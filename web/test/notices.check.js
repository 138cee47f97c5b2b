// Notices, in a real browser against the fake server.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NARROW, OUT, PHONE, SCREENS, becomes, complaints, eachTest, isAccessible, open, openNotice, page, server, state } from './browser.js';

eachTest(({ feed }) => feed.fill(30));

const counts = (text) => becomes(async () => [await page.textContent('#notices summary'), text]);
const listed = () => page.$$eval('#notice-list > li', (all) => all.map(({ dataset }) => dataset.notice));
const told = () => server.feed.notices.map(({ id }) => id);
const fresh = () => page.$$eval('#notice-list > li.new', (all) => all.map(({ dataset }) => dataset.notice));
const focused = () => page.evaluate(() => (document.activeElement.id || document.activeElement.closest('[id]')?.id) ?? '');
const NONE = 'Notices';
/** Something in the header is over something else, or beyond the screen. */
const crowded = () =>
    page.$$eval('#top > *', (all) => {
        const boxes = all.map((one) => one.getBoundingClientRect()).filter(({ width }) => width > 1); // not what is only spoken
        return boxes.some((one, i) => one.right > innerWidth || (i > 0 && one.left < boxes[i - 1].right));
    });

test('new ones are counted until they are seen, on this device, and shown with who and what', async () => {
    const post = server.feed.posts.at(-4);
    server.feed.people.set(1001, 'Bo <b>Abe</b>');
    server.feed.notify(1000);
    server.feed.notify(1001, post.id);
    await open(undefined, { clock: true });
    await counts(`${NONE}2 new`);
    await page.click('#notices summary');
    await becomes(async () => [
        await page.$$eval('#notice-list .what', (all) => all.map(({ textContent }) => textContent)),
        ['Bo <b>Abe</b> mentions you', 'Ana Abe follows you'],
    ]);
    await counts(NONE);
    assert.deepEqual([await fresh(), told()], [told(), await listed()]);

    await becomes(async () => [await page.textContent('#notice-list > li:first-child .text'), post.text]);
    await page.click('#notice-list > li:first-child button');
    await page.waitForSelector(`#linked-post > article[data-post="${post.id}"]`);
    assert.equal(await page.isVisible('#notice-list'), false);
    server.feed.notify(1002);
    await page.clock.fastForward(60_000);
    await counts(`${NONE}1 new`);
    await becomes(async () => [await page.textContent('#notices-announce'), '1 new notice']);
    await page.click('#notices summary');
    await becomes(async () => [await fresh(), told().slice(0, 1)]);
    await page.reload();
    await state('online');
    await page.click('#notices summary');
    await becomes(async () => [await listed(), told()]);
    assert.deepEqual(await fresh(), []);
    assert.deepEqual(complaints, []);
});

test('a new follower leads to who it is, and can be followed', async () => {
    server.feed.notify(1020);
    await open(undefined, PHONE);
    await state('online');
    await openNotice();
    await page.waitForSelector('#person-card[data-user="1020"]');
    await becomes(async () => [await focused(), 'follow']);
    await page.keyboard.press('Enter');
    await page.waitForSelector('#follow[data-follow="following"]');
    assert.equal(await page.isVisible('#notice-list'), false);
});

test('older ones by hand, with the focus on the first of them', async () => {
    for (let i = 0; i < 50; i += 1) server.feed.notify(1000 + i);
    await open();
    await counts(`${NONE}20+ new`);
    await page.focus('#notices summary');
    await page.keyboard.press('Enter');
    for (const count of [40, 50]) {
        await page.focus('#older-notices');
        await page.keyboard.press('Enter');
        await becomes(async () => [await listed(), told().slice(0, count)]);
        assert.equal(await page.evaluate(() => document.activeElement.closest('li').dataset.notice), told()[count === 40 ? 20 : 40]);
    }
    assert.equal(await page.isVisible('#older-notices'), false);
    await page.keyboard.press('Escape');
    await becomes(async () => [await focused(), 'notices']);
});

test('says why they cannot be read, that a post is deleted, and that there are none. Signed out: nothing is left', async () => {
    await open();
    await state('online');
    await page.click('#notices summary');
    await page.waitForSelector('#no-notices');
    server.feed.notify(1000, '7');
    server.feed.fail = { status: 503, code: 'owner_unavailable', detail: 'the owner is being moved' };
    await page.keyboard.press('Escape');
    await page.click('#notices summary');
    await becomes(async () => [await page.textContent('#notices-problem'), 'Your notices cannot be read. the owner is being moved.']);
    server.feed.fail = null;
    await page.keyboard.press('Escape');
    await page.click('#notices summary');
    await becomes(async () => [await page.textContent('#notice-list .text'), 'This post cannot be seen any more.']);
    assert.equal(await page.isVisible('#notices-problem'), false);
    await page.click('#notice-list > li button');
    await becomes(async () => [await page.textContent('#linked-gone'), 'This post cannot be seen any more.']);
    await isAccessible('a deleted post');
    await page.click('#notices summary');
    await page.click('#me summary');
    assert.equal(await page.isVisible('#notice-list'), false, 'one panel at a time');
    await page.click('#sign-out');
    assert.deepEqual(await listed(), []);
});

for (const [name, options] of Object.entries({ ...SCREENS, narrow: NARROW })) {
    test(`fits a ${name} screen, and axe-core finds nothing`, async () => {
        for (const user of [1003, 1016, 1005]) server.feed.notify(user);
        server.feed.notify(1002, server.feed.posts.at(-1).id);
        await open(undefined, options);
        await counts(`${NONE}4 new`);
        assert.equal(await crowded(), false);
        await isAccessible('closed');
        await page.click('#notices summary');
        await page.waitForSelector('#notice-list > li.new');
        await becomes(async () => [await page.textContent('#notice-list > li:first-child .text'), server.feed.posts.at(-1).text]);
        await becomes(async () => [await page.$$eval('#notice-list .what', (all) => all.some(({ textContent }) => /^User 100/.test(textContent))), false]);
        const sizes = await page.evaluate(() => {
            const { left, right, bottom } = document.querySelector('#notices .panel').getBoundingClientRect();
            return {
                outside: left < 0 || right > innerWidth || bottom > innerHeight || document.documentElement.scrollWidth > innerWidth,
                small: [...document.querySelectorAll('#notices button, #notices summary')].filter((one) => one.checkVisibility() && one.offsetHeight < 40).length,
            };
        });
        assert.deepEqual(sizes, { outside: false, small: 0 });
        await isAccessible('open');
        await page.screenshot({ path: `${OUT}notices-${name}.png` });
        assert.deepEqual(complaints, []);
    });
}
