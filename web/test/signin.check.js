// Signing in without a token, in a real browser against the fake server.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeToken } from './fake-server.js';
import { OUT, SCREENS, TOKEN, becomes, complaints, eachTest, isAccessible, open, page, server, state, tab } from './browser.js';

eachTest();

const people = () => [
    { user: 42, name: 'Mira Starling', friends: 53, token: fakeToken(42) },
    ...Array.from({ length: 11 }, (_, i) => ({ user: 50 + i, name: `Ada ${i} <b>`, friends: i, token: fakeToken(50 + i) })),
];

for (const [name, options] of Object.entries(SCREENS)) {
    test(`in a demonstration, somebody is whom they pick, on a ${name} screen`, async () => {
        server.people = people();
        await open('', options);
        await page.waitForSelector('#people button');
        assert.equal(await page.textContent('#people [data-user="50"] .who'), 'Ada 0 <b>0 friends');
        await isAccessible('picking somebody');
        await page.screenshot({ path: `${OUT}people-${name}.png` });
        const wide = await page.evaluate(() => document.getElementById('gate').scrollWidth > innerWidth);
        assert.equal(wide, false, 'nothing to scroll sideways');
        await page.click('#people [data-user="42"]');
        await state('online');
        await page.waitForFunction(() => document.getElementById('my-name').textContent === 'Mira Starling');
        assert.deepEqual(complaints, []);
    });
}

test('by keys alone: people, token, place, signing in, language', async () => {
    server.people = people().slice(0, 2);
    await open('');
    await page.waitForSelector('#people button');
    await page.focus('#people button');
    const order = [];
    for (let i = 0; i < 7; i += 1) order.push(await tab());
    assert.deepEqual(order, ['people-list', 'token', 'start', 'start-here', 'sign-in', 'sign-in-form', 'sign-in-form']);
    await page.focus('#people [data-user="50"]');
    await page.keyboard.press('Enter');
    await state('online');
});

test('a link of a demonstration asks first, and whoever it makes somebody else is not reported where they were', async () => {
    server.people = people();
    await open();
    await state('online');
    await page.fill('#text', 'What Mira writes');
    const link = (hash) => page.evaluate((to) => (location.hash = to), hash);
    await link(`#token=${fakeToken(50)}`);
    await page.waitForFunction(() => /sign in as Ada 0 <b>\./.test(document.getElementById('ask-words').textContent));
    await isAccessible('asking');
    await page.screenshot({ path: `${OUT}asking.png` });
    await page.click('#ask-no');
    await page.waitForSelector('#gate', { state: 'hidden' });
    assert.equal(await page.evaluate(() => sessionStorage.getItem('starling.token')), TOKEN);
    const before = server.reports.length;
    await link(`#token=${fakeToken(50)}`);
    await page.click('#ask-yes');
    await page.waitForFunction(() => document.getElementById('state').dataset.state === 'online' && sessionStorage.getItem('starling.user') === '50');
    await becomes(async () => [server.reports.length > before, true]);
    for (const { lat, lng } of server.reports.slice(before)) assert.deepEqual([lat, lng], [52.52, 13.405]);
    assert.equal(await page.inputValue('#text'), '');
    await link(`#token=${fakeToken(51)}&at=1,2`);
    await page.click('#ask-yes');
    await becomes(async () => [(({ lat, lng }) => [lat, lng])(server.reports.at(-1)), [1, 2]]);
    assert.deepEqual(complaints, []);
});

test('without a demonstration nobody is offered, and nobody is asked for', async () => {
    await open('');
    await page.waitForSelector('#gate:not([hidden])');
    assert.equal(await page.isVisible('#people'), false);
    assert.deepEqual(complaints, []);
});

test('the people of a demonstration are read anew when the sheet comes back', async () => {
    server.people = [{ user: 42, name: 'Mira', friends: 1, token: fakeToken(42, Date.now() - 1000) }];
    await open('', { serviceWorkers: 'allow' });
    await page.click('#people [data-user="42"]');
    await page.waitForFunction(() => /expired/.test(document.getElementById('gate-problem').textContent));
    server.people = people();
    await page.click('#people [data-user="42"]'); // the old token again: the sheet reads the new ones
    await becomes(async () => [await page.locator('#people button').count(), 12]);
    await page.click('#people [data-user="42"]');
    await state('online');
    // Their tokens are not kept for when there is no network.
    await page.evaluate(() => navigator.serviceWorker.ready);
    await page.reload();
    await state('online');
    await page.click('#me summary');
    await page.click('#sign-out');
    await page.waitForSelector('#people button');
    const kept = await page.evaluate(async () => {
        const caught = await Promise.all((await caches.keys()).map(async (name) => (await caches.open(name)).keys()));
        return caught.flat().map(({ url }) => new URL(url).pathname);
    });
    assert.ok(kept.some((path) => path.startsWith('/assets/app-')) && !kept.some((path) => path.startsWith('/demo/')), kept.join(' '));
});

test('where there is a provider, it comes first, and a token is for those who have one', async () => {
    server.oidc = { issuer: 'https://id.example', client_id: 'starling', scope: 'openid' };
    await open('');
    await page.waitForSelector('#provider');
    assert.equal(await page.textContent('#provider'), 'Sign in with id.example');
    assert.equal(await page.isVisible('#token'), false);
    assert.equal(await page.evaluate(() => document.activeElement.id), 'provider');
    await isAccessible('signing in with a provider');
    await page.screenshot({ path: `${OUT}provider.png` });
    await tab();
    await page.keyboard.press('Enter');
    await page.fill('#token', fakeToken(42));
    await page.click('#sign-in');
    await state('online');
    await page.evaluate((other) => (location.hash = `#at=1,2&token=${other}`), fakeToken(43));
    await page.waitForFunction(() => location.hash === '');
    assert.equal(await page.evaluate(() => sessionStorage.getItem('starling.token')), fakeToken(42), 'a link signs in nobody else');
    assert.deepEqual(complaints, []);
});
