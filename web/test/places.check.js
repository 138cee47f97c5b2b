// My places: drawn on the map, listed and deleted in the settings, and who is told.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HERE, NARROW, OUT, SCREENS, becomes, complaints, eachTest, isAccessible, open, page, server, state, tab } from './browser.js';

eachTest();

const EVERY = { ...SCREENS, narrow: NARROW };
const HOME = { id: 'home', name: 'Home', lat: HERE.lat, lng: HERE.lng, radius_m: 300, tell: 'me' };
const sideways = () => page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
const says = (selector, expected) => becomes(async () => [await page.textContent(selector), expected]);
const circles = () => page.locator('#map path.place-circle').count();
const known = () => complaints.filter((text) => !/status of (409|503)/.test(text)); // the browser says so in its console, whatever the page makes of it

async function settings(options) {
    await open(undefined, options);
    await state('online');
    await page.click('#me > summary');
    await page.click('#places > summary');
}

async function draw() {
    await page.click('#place-new');
    await page.waitForSelector('#map path.place-circle.drawn');
}

for (const [name, options] of Object.entries(EVERY)) {
    test(`a place is drawn, changed and deleted on a ${name} screen`, async () => {
        server.friendships.set(1000, { name: 'Ana Abe', state: 'friends', since: 1 });
        server.friendships.set(1001, { name: 'Bo', state: 'invited', since: 1 });
        server.friendships.set(1002, { name: 'Cem', state: 'friends', since: 1 });
        await settings(options);
        await draw();
        assert.equal(await page.isVisible('#me .panel'), false);
        const { width, height } = await page.locator('#map').boundingBox();
        await page.click('#map', { position: { x: width / 4, y: height / 3 } }); // not me, but the place is moved
        await page.fill('#draft-name', ' Home ');
        await page.fill('#draft-radius', '250');
        await page.selectOption('#draft-tell', 'users');
        await page.getByRole('checkbox', { name: 'Cem' }).check();
        assert.deepEqual(await page.$$eval('#draft-people .text', (all) => all.map(({ textContent }) => textContent)), ['Ana Abe', 'Cem']);
        await isAccessible('the form of a place');
        assert.equal(await sideways(), false);
        await page.screenshot({ path: `${OUT}place-${name}.png` });
        await page.click('#draft-save');
        await becomes(async () => [server.places.map(({ name: called, radius_m, tell }) => [called, radius_m, tell]), [['Home', 250, [1002]]]]);
        const [{ id, lat, lng }] = server.places;
        assert.match(id, /^[0-9a-f]{16}$/);
        assert.ok(lat > HERE.lat && lng < HERE.lng, `${lat}, ${lng}`);
        assert.equal(await page.getAttribute('#map', 'data-lat'), String(HERE.lat));
        await becomes(async () => [[await circles(), await page.isVisible('#draft')], [1, false]]);

        await page.click('#me > summary');
        await page.click('#places > summary');
        await says('#place-list > li .small', '250 m around; 1 friend is told');
        await isAccessible('places');
        assert.equal(await sideways(), false);
        await page.click('#place-list button:has-text("Change")');
        assert.deepEqual([await page.inputValue('#draft-name'), await page.isChecked('#draft-people input[value="1002"]')], ['Home', true]);
        await page.selectOption('#draft-tell', 'friends');
        await page.fill('#draft-radius', '60000'); // refused by the field, and the circle stays
        await page.click('#draft-save');
        assert.deepEqual(server.places[0].tell, [1002]);
        await page.fill('#draft-radius', '500');
        await page.click('#draft-save');
        await becomes(async () => [server.places, [{ id, name: 'Home', lat, lng, radius_m: 500, tell: 'friends' }]]);
        await page.click('#me > summary');
        await page.click('#places > summary');
        await says('#place-list > li .small', '500 m around; my friends are told');
        await page.click('#place-list button:has-text("Delete")');
        await becomes(async () => [[server.places.length, await page.locator('#place-list > li').count(), await circles()], [0, 0, 0]]);
        await becomes(async () => [await page.evaluate(() => document.activeElement.id), 'places-summary']);
        assert.deepEqual(complaints, []);
    });
}

test('its edge is dragged, and drawing it is given up by Escape', async () => {
    server.places = [HOME];
    await settings();
    await becomes(async () => [await circles(), 1]);
    await page.click('#place-list button:has-text("Change")');
    const edge = await page.locator('.place-edge').boundingBox();
    const from = { x: edge.x + edge.width / 2, y: edge.y + edge.height / 2 };
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(from.x + 60, from.y, { steps: 5 });
    await page.mouse.up();
    const radius = Number(await page.inputValue('#draft-radius'));
    assert.ok(radius > 320 && radius < 50_000, String(radius));
    await page.focus('#draft-name');
    await page.keyboard.press('Escape');
    await becomes(async () => [[await page.isVisible('#draft'), await circles(), await page.locator('.place-edge').count()], [false, 1, 0]]);
    assert.deepEqual(server.places, [HOME]);
    assert.deepEqual(complaints, []);
});

test('a place is drawn by keys alone', async () => {
    await settings();
    await page.focus('#place-new');
    await page.keyboard.press('Enter');
    await page.waitForSelector('#map path.place-circle.drawn');
    await becomes(async () => [await page.evaluate(() => document.activeElement.id), 'draft-name']);
    await page.keyboard.type('Gym');
    const order = [];
    for (let i = 0; i < 4; i += 1) order.push(await tab());
    assert.deepEqual(order, ['draft-radius', 'draft-tell', 'draft-cancel', 'draft-save']);
    await page.focus('#map');
    await page.keyboard.press('Shift+ArrowUp');
    assert.equal(await page.getAttribute('#map', 'data-lat'), String(HERE.lat));
    await page.focus('#draft-save');
    await page.keyboard.press('Enter');
    await becomes(async () => [server.places.map(({ name, lat }) => [name, lat > HERE.lat]), [['Gym', true]]]);
    await becomes(async () => [await page.evaluate(() => document.activeElement.id), 'map']);
});

test('my places are on the map from the beginning, and gone when I sign out', async () => {
    server.places = [HOME, { ...HOME, id: 'w', name: 'Work', radius_m: 1000 }];
    await open();
    await state('online');
    await becomes(async () => [await circles(), 2]);
    await page.click('#me > summary');
    await page.click('#sign-out');
    await becomes(async () => [[await circles(), await page.locator('#place-list > li').count()], [0, 0]]);
    assert.doesNotMatch(await page.content(), /Work/);
});

test('who has as many as anybody may learns that, and nothing is lost', async () => {
    server.placesMost = 0;
    await settings();
    await draw();
    await page.fill('#draft-name', 'Home');
    await page.click('#draft-save');
    await says('#draft-problem', 'You have as many places as anybody may.');
    assert.equal(await page.inputValue('#draft-name'), 'Home');
    await isAccessible('no more places');
    server.placesMost = 50;
    await page.click('#draft-save');
    await becomes(async () => [server.places.length, 1]);
    assert.deepEqual(known(), []);
});
