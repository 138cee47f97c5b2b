// Friends and their cards, in a real browser against the fake server.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HERE, OUT, SCREENS, TOKEN, address, becomes, complaints, eachTest, isAccessible, open, page, server, state, tab } from './browser.js';


eachTest((made) => {
    made.friendships = new Map([
        [1000, { name: 'Ana Abe', handle: 'ana', state: 'friends', since: Date.now() - 3 * 86_400_000 }],
        [1003, { name: 'Dilnoza <b>', state: 'invited', since: Date.now() - 7_200_000 }],
        [1004, { name: '', state: 'requested', since: 0 }],
        [1005, { name: 'Fatima', state: 'blocked', since: 0 }],
    ]);
});

const states = () => Object.fromEntries([...server.friendships].map(([user, one]) => [user, one.state]));
const shown = () => page.$$eval('#friend-lists li', (rows) => rows.map((row) => [row.closest('ol').dataset.state, row.dataset.user, row.querySelector('.name').textContent]));

async function opened(options) {
    await open(undefined, options);
    await state('online');
    await page.waitForFunction(() => document.getElementById('friend-count').textContent === '1');
    await page.click('#friends summary');
    await page.waitForSelector('#friend-lists li');
}

for (const [name, options] of Object.entries(SCREENS)) {
    test(`friends, requests and blocks, on a ${name} screen`, async () => {
        await opened(options);
        assert.deepEqual(await shown(), [['invited', '1003', 'Dilnoza <b>'], ['friends', '1000', 'Ana Abe'], ['requested', '1004', 'User 1004'], ['blocked', '1005', 'Fatima']]);
        await isAccessible('friends');
        await page.screenshot({ path: `${OUT}friends-${name}.png` });
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
        await page.click('[data-user="1003"] [data-act="befriend"]');
        await becomes(async () => [states()[1003], 'friends']);
        await page.click('[data-user="1004"] [data-act="part"]');
        await page.click('[data-user="1005"] [data-act="unblock"]');
        await becomes(async () => [await shown(), [['friends', '1000', 'Ana Abe'], ['friends', '1003', 'Dilnoza <b>']]]);
        assert.equal(await page.textContent('#friend-count'), '');
        await page.click('#friend-lists [data-user="1000"] .friend');
        await page.waitForSelector('#card[open]');
        assert.match(await page.textContent('#card-since'), /^friends since /);
        assert.equal(await page.textContent('#card-handle'), '@ana');
        await isAccessible('a card');
        await page.screenshot({ path: `${OUT}card-${name}.png` });
        assert.deepEqual(complaints, []);
    });
}

test('somebody is found by handle, asked, blocked after a question, and let go', async () => {
    server.feed.handles.set('ada', 1007);
    server.feed.about.set(1007, { bio: 'Climbs', url: 'https://ada.example' });
    await opened();
    await page.fill('#friend', 'nobody_here');
    await page.click('#find-friend');
    await page.waitForFunction(() => /Nobody is called @nobody_here/.test(document.getElementById('friends-problem').textContent));
    await page.fill('#friend', '@Ada');
    await page.click('#find-friend');
    await page.waitForSelector('#card[data-user="1007"][data-state="none"]');
    await page.waitForSelector('#card-url a[href="https://ada.example"]');
    assert.equal(await page.textContent('#card-bio'), 'Climbs');
    await isAccessible('a card with a bio');
    await page.click('#card-befriend');
    await page.waitForSelector('#card[data-state="requested"]');
    await page.click('#card-block');
    assert.equal(await page.textContent('#card-block'), 'Really?');
    assert.equal(states()[1007], 'requested');
    await page.click('#card-block');
    await page.waitForSelector('#card[data-state="blocked"]');
    await page.click('#card-unblock');
    await page.waitForSelector('#card[data-state="none"]');
    await page.click('#card-mute');
    await page.waitForSelector('#card-mute[aria-pressed="true"]');
    await page.keyboard.press('Escape');
    await page.waitForSelector('#card', { state: 'hidden' });
});

test('who is tapped on is shown with how far they are, and it follows them', async () => {
    Object.assign(server.friends.get(1000), HERE, { time: Date.now() });
    await open();
    await state('online');
    await page.click('#list li[data-user="1000"] button');
    await page.waitForSelector('#card[open][data-user="1000"][data-state="friends"]');
    assert.deepEqual([await page.textContent('#card-far'), await page.textContent('#card-handle')], ['0 m away', '@ana']);
    Object.assign(server.friends.get(1000), { lat: HERE.lat + 0.01, time: Date.now() });
    server.flush();
    await page.waitForFunction(() => document.getElementById('card-far').textContent === '1.1 km away');
    await page.click('#card-part');
    await page.click('#card-part');
    await becomes(async () => [states()[1000], undefined]);
});

async function fromPanel(user) {
    await page.$eval('#friends', (panel) => (panel.open = true)); // it closes for a card from the list
    await page.click(`#friend-lists [data-user="${user}"] .friend`);
    await page.waitForSelector(`#card[open][data-user="${user}"]`);
}

test('who is hidden leaves the list until that is taken back, and the card knows of it', async () => {
    Object.assign(server.friends.get(1000), HERE, { time: Date.now() });
    await opened();
    await page.click('#list li[data-user="1000"] button');
    await page.waitForSelector('#card[open][data-user="1000"]');
    await page.click('#card-hide');
    await page.waitForSelector('#card-hide[aria-pressed="true"]');
    await page.waitForSelector('#list li[data-user="1000"]', { state: 'detached' });
    assert.deepEqual([...server.hidden], [1000]);
    await page.click('#card-close');
    await fromPanel(1003);
    await page.waitForSelector('#card-hide', { state: 'hidden' });
    await page.click('#card-close');
    await fromPanel(1000);
    await page.waitForSelector('#card-hide[aria-pressed="true"]');
    await isAccessible('a card of a hidden friend');
    await page.click('#card-hide');
    await page.waitForSelector('#card-hide[aria-pressed="false"]');
    await page.waitForSelector('#list li[data-user="1000"]');
    assert.deepEqual([...server.hidden], []);
    assert.deepEqual(complaints, []);
});

test('a friend may see only about where I am, and so do I', async () => {
    Object.assign(server.friends.get(1000), { ...HERE, rounded: true, time: Date.now() });
    await opened();
    await page.click('#list li[data-user="1000"] button');
    await page.waitForSelector('#card[open][data-user="1000"]');
    await page.waitForFunction(() => document.getElementById('card-far').textContent === 'about 0 m away');
    await page.click('#card-round');
    await page.waitForSelector('#card-round[aria-pressed="true"]');
    assert.equal(server.friendships.get(1000).rounded, true);
    await page.click('#card-close');
    await fromPanel(1000);
    await page.waitForSelector('#card-round[aria-pressed="true"]');
    await isAccessible('a card of a friend who sees me rounded');
    await page.click('#card-round');
    await page.waitForSelector('#card-round[aria-pressed="false"]');
    assert.equal(server.friendships.get(1000).rounded, false);
    assert.deepEqual(complaints, []);
    delete server.friends.get(1000).rounded;
});

test('an invitation leads to the card of who sent it, also through signing in', async () => {
    await open('#friend=1007');
    await page.waitForSelector('#gate:not([hidden])');
    await page.fill('#token', TOKEN);
    await page.click('#sign-in');
    await page.waitForSelector('#card[open][data-user="1007"]');
    assert.equal(await page.evaluate(() => location.href), address);
    await page.click('#card-close');
    await page.click('#friends summary');
    await page.click('#invite');
    await page.waitForFunction(() => document.getElementById('invite-note').textContent !== '');
    assert.deepEqual(complaints.filter((text) => !/clipboard/i.test(text)), []);
});

/** What the link buttons hand to the device, or copy. */
const shared = (way) =>
    page.evaluate((how) => {
        window.shared = [];
        const take = async (what) => void window.shared.push(what);
        Object.defineProperty(navigator, 'share', { configurable: true, value: how === 'share' ? take : undefined });
        Object.defineProperty(navigator, 'clipboard', { configurable: true, value: how === 'nothing' ? undefined : { writeText: take } });
    }, way);

for (const [language, locale, words, invitation] of [
    ['English', 'en-IE', (name) => `${name} is on starling:`, 'Let us be friends on starling:'],
    ['Chinese', 'zh-CN', (name) => `${name}也在 starling：`, '在 starling 上加我为朋友：'],
]) {
    test(`a link goes out with words that make it a message, in ${language}`, async () => {
        await opened({ locale });
        await page.click('#friend-lists [data-user="1000"] .friend');
        await page.waitForSelector('#card[open]');
        const name = await page.textContent('#card-name');
        const url = `${address}#friend=1000`;
        await shared('share');
        await page.click('#card-link');
        await becomes(async () => [await page.evaluate(() => window.shared), [{ text: words(name), url }]]);
        await shared('copy');
        await page.click('#card-link');
        await becomes(async () => [await page.evaluate(() => window.shared), [`${words(name)} ${url}`]]);
        await page.waitForFunction(() => /copied|已复制/.test(document.getElementById('card-note').textContent));
        await shared('nothing');
        await page.click('#card-link');
        await becomes(async () => [await page.textContent('#card-note'), url]);
        await page.click('#card-close');
        await shared('share');
        await page.click('#friends summary');
        await page.click('#invite');
        await becomes(async () => [await page.evaluate(() => window.shared), [{ text: invitation, url: `${address}#friend=42` }]]);
        assert.deepEqual(complaints, []);
    });
}

test('by keys alone: through the panel and the card, in order', async () => {
    await opened();
    await page.focus('#friend');
    const order = [];
    for (let i = 0; i < 6; i += 1) order.push(await tab());
    assert.deepEqual(order, ['find-friend', 'invite', 'people-invited', 'people-invited', 'people-invited', 'people-friends']);
    await page.focus('#friend-lists [data-user="1000"] .friend');
    await page.keyboard.press('Enter');
    await page.waitForSelector('#card[open]');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'card-close');
    await page.waitForSelector('#card-follow:not([hidden])');
    assert.equal(await tab(), 'card-follow');
    await page.keyboard.press('Escape');
    assert.equal(await page.evaluate(() => document.activeElement.closest('li')?.dataset.user), '1000', 'the focus comes back');
});
