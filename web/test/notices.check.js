// Notices, in a real browser against the fake server.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NARROW, OUT, PHONE, SCREENS, another, becomes, complaints, eachTest, isAccessible, open, openNotice, page, server, state } from './browser.js';

eachTest(({ feed }) => feed.fill(30));

const counts = (text) => becomes(async () => [await page.textContent('#notices summary'), text]);
const listed = () => page.$$eval('#notice-list > li', (all) => all.map(({ dataset }) => dataset.notice));
const asked = () => server.feed.asked.filter((line) => /notices|followers\/requests/.test(line));
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

test('new ones are counted at once until they are read, and shown with who and what', async () => {
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
    const before = asked();
    server.feed.notify(1002);
    await counts(`${NONE}1 new`);
    await page.clock.fastForward(600_000);
    assert.deepEqual(asked(), before, 'nothing is asked for before the bell is opened');
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
    await counts(`${NONE}50 new`);
    await page.focus('#notices summary');
    await page.keyboard.press('Enter');
    await counts(NONE);
    for (const count of [40, 50]) {
        await page.focus('#older-notices');
        await page.keyboard.press('Enter');
        await becomes(async () => [await listed(), told().slice(0, count)]);
        assert.equal(await page.evaluate(() => document.activeElement.closest('li').dataset.notice), told()[count === 40 ? 20 : 40]);
    }
    assert.equal(await page.isVisible('#older-notices'), false);
    assert.deepEqual(await fresh(), told(), 'they were unread, all of them');
    await page.keyboard.press('Escape');
    await becomes(async () => [await focused(), 'notices']);
});

test('what is read in another tab is read here, also where that tab has taken the connection', async () => {
    server.feed.notify(1000);
    await open();
    await counts(`${NONE}1 new`);
    let other = await another();
    await other.waitForSelector('#state[data-state="online"]');
    await other.click('#notices summary');
    await counts(NONE);
    await other.close();

    server.hangUp(4001);
    await state('closed');
    other = await another();
    server.feed.notify(1001);
    await counts(`${NONE}1 new`);
    await other.click('#notices summary');
    await counts(NONE);
    assert.deepEqual(complaints, []);
});

test('many of a kind are one, which another takes the place of; likes lead to what is liked', async () => {
    const [post, other] = server.feed.posts.slice(-2);
    server.feed.gather('like', [1001, 1000, 1002], 14, post.id);
    server.feed.gather('follow', [1003, 1004], 2);
    await open();
    await counts(`${NONE}2 new`);
    const said = () => page.$$eval('#notice-list .what', (all) => all.map(({ textContent }) => textContent));
    const [follows, likes] = ['Dilnoza Duarte and Emeka Eriksen follow you', 'Bo Brandt, Ana Abe and 12 others like your post'];
    await page.click('#notices summary');
    await becomes(async () => [await said(), [follows, likes]]);
    assert.equal(server.feed.asked.filter((line) => line.startsWith('GET /v1/users')).length, 2, 'of me, and of all of them at once');
    server.feed.gather('like', [1005, 1001, 1000], 15, post.id);
    await counts(`${NONE}1 new`);
    assert.deepEqual(await said(), [follows, likes], 'not under the finger of who reads');
    await page.keyboard.press('Escape');
    server.feed.gather('like', [1005], 1, other.id, '7');
    await page.click('#notices summary');
    await becomes(async () => [await said(), ['Fatima Fischer likes your comment', 'Fatima Fischer, Bo Brandt and 13 others like your post', follows]]);
    assert.deepEqual([(await fresh()).length, await listed()], [2, told()]);
    await page.click('#notice-list > li:nth-child(2) button');
    await page.waitForSelector(`#linked-post > article[data-post="${post.id}"]`);
});

test('arrivals and departures say who, or that it was me, and where', async () => {
    server.feed.place('left', 42, 'Work');
    server.feed.place('arrived', 1000, 'Home <b>');
    server.feed.place('left', 1000, 'Home <b>');
    server.feed.place('arrived', 42, 'Work');
    await open();
    await counts(`${NONE}4 new`);
    await page.click('#notices summary');
    await becomes(async () => [
        await page.$$eval('#notice-list .what', (all) => all.map(({ textContent }) => textContent)),
        ['You arrived at Work', 'Ana Abe left Home <b>', 'Ana Abe arrived at Home <b>', 'You left Work'],
    ]);
    await page.click('#notice-list > li:nth-child(2) button');
    await page.waitForSelector('#person-card[data-user="1000"]');
});

test('without a connection they are read when the bell is opened, and what could not be marked stays unread', async () => {
    server.away = true;
    server.feed.notify(1000);
    await open();
    await state('waiting');
    await counts(NONE);
    await page.route('**/v1/notices/read', (route) => route.abort());
    await page.click('#notices summary');
    await counts(`${NONE}1 new`);
    await becomes(async () => [await fresh(), told()]);
    await page.keyboard.press('Escape');
    await page.unroute('**/v1/notices/read');
    await page.click('#notices summary');
    await counts(NONE);
    assert.equal(server.feed.unread, 0);
});

test('which kinds ring, and which are told devices, is chosen; the others are counted only', async () => {
    server.feed.preferences.accepted = { live: true, push: false };
    await open();
    await state('online');
    const boxes = () => page.$$eval('#told-kinds input', (all) => Object.fromEntries(all.map(({ name, checked }) => [name, checked])));
    const all = Object.fromEntries(['follow', 'request', 'accepted', 'mention', 'reply', 'like', 'approach', 'arrived', 'left'].flatMap((kind) => [[`${kind}-live`, true], [`${kind}-push`, kind !== 'accepted']]));
    await page.click('#me > summary');
    assert.deepEqual(asked(), [], 'nobody has asked for them');
    await page.click('#told summary');
    await becomes(async () => [await boxes(), all]);
    await page.getByRole('checkbox', { name: 'New followers: Bell' }).click();
    await page.getByRole('checkbox', { name: 'Accepted requests: Device' }).click();
    await page.getByRole('checkbox', { name: 'Friends who come near: Device' }).click();
    await becomes(async () => [['follow', 'accepted', 'approach'].map((kind) => server.feed.preferences[kind]), [{ live: false, push: true }, { live: true, push: true }, { live: true, push: false }]]);
    await isAccessible('how I am told');

    server.feed.fail = { status: 503, code: 'owner_unavailable', detail: 'the owner is being moved' };
    await page.clock.install();
    await page.getByRole('checkbox', { name: 'Likes: Device' }).click();
    await page.clock.runFor(40_000);
    await becomes(async () => [await page.textContent('#told-problem'), 'How you are told was not changed. the owner is being moved.']);
    server.feed.fail = null;
    await page.keyboard.press('Escape');
    await page.click('#me > summary');
    assert.equal(await page.isVisible('#told-kinds'), false);
    await page.click('#told summary');
    await becomes(async () => [await boxes(), { ...all, 'follow-live': false, 'accepted-push': true, 'approach-push': false }]);
    await page.waitForSelector('#told-problem', { state: 'hidden' });

    server.feed.notify(1000);
    await counts(`${NONE}1 new`);
    await page.clock.runFor(10_000);
    assert.equal(await page.textContent('#notices-announce'), '');
    server.feed.notify(1001, server.feed.posts.at(-1).id);
    await counts(`${NONE}2 new`);
    await page.clock.runFor(10_000);
    await becomes(async () => [await page.textContent('#notices-announce'), '2 new notices']);
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
        server.feed.gather('like', [1001, 1000, 1002], 1014, server.feed.posts.at(-2).id);
        server.feed.notify(1002, server.feed.posts.at(-1).id);
        await open(undefined, options);
        await counts(`${NONE}5 new`);
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
        await page.click('#me > summary');
        await page.click('#told summary');
        await page.waitForSelector('#told-kinds input:enabled');
        await page.locator('#told-kinds').evaluate((kinds) => kinds.scrollIntoView({ block: 'center' }));
        await page.screenshot({ path: `${OUT}told-${name}.png` });
        assert.equal(await page.$eval('#me .panel', (panel) => panel.scrollWidth > panel.clientWidth), false);
        await isAccessible('how I am told');
        assert.deepEqual(complaints, []);
    });
}
