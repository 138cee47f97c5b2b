// Map and list of near friends, in a real browser against the fake server.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { destination } from '../client/index.js';
import { fakeToken } from './fake-server.js';
import { HERE, OUT, SCREENS, TOKEN, address, becomes, complaints, context, eachTest, isAccessible, keep, open, page, restart, server, state, tab } from './browser.js';

eachTest();

const rows = () =>
    page.$$eval('#list > li', (items) => items.map((li) => ({ user: li.dataset.user, distance: li.dataset.distance })));
/** The users on the map, by a marker or behind one. */
const onMap = () => page.$$eval('.face', (faces) => faces.flatMap(({ dataset: { user, also } }) => [user, ...also.split(' ').filter(Boolean)]));
const place = () => page.$eval('#map', ({ dataset }) => ({ lat: Number(dataset.lat), lng: Number(dataset.lng) }));

/** The page shows what the server holds for where the page says I am: the nearest, in order, to the centimetre. */
async function showsTheTruth(count) {
    await becomes(async () => {
        const near = server.near(await place());
        const truth = near.slice(0, count).map(({ user, distance_m: distance }) => `${user} ${distance.toFixed(2)}`);
        const shown = (await rows()).map(({ user, distance }) => `${user} ${distance}`);
        const total = await page.textContent('#total');
        return [{ total, shown }, { total: String(near.length), shown: truth }];
    });
    assert.equal((await rows()).length, count);
    await page.waitForSelector('.face', { state: 'attached' }); // the map comes after the first friend
}

test('signs in by hand, and says what is wrong with a token', async () => {
    await open('');
    await page.waitForSelector('#gate:not([hidden])');
    assert.equal(await page.inputValue('#start'), '52.52000, 13.40500'); // where the simulated city is
    await page.fill('#token', 'nonsense');
    await page.click('#sign-in');
    assert.match(await page.textContent('#gate-problem'), /no token/);

    server.refuse = true;
    await page.fill('#token', TOKEN);
    await page.click('#sign-in');
    await page.waitForFunction(() => /not accept/.test(document.getElementById('gate-problem').textContent)); // by HTTP or by the socket
    await page.waitForFunction(() => document.getElementById('state').dataset.reason === 'token');

    server.refuse = false;
    await page.fill('#start', '39.9900, 116.3200');
    await page.click('#sign-in');
    await state('online');
    assert.deepEqual(await place(), { lat: 39.99, lng: 116.32 });
    await page.waitForFunction(() => document.getElementById('my-name').textContent === 'Mira Starling');
    await page.reload();
    await state('online'); // this tab remembers
    await page.click('#me summary');
    await page.click('#sign-out');
    await page.waitForSelector('#gate:not([hidden])');
    assert.equal(await page.evaluate(() => sessionStorage.getItem('starling.token')), null);
    assert.equal(await page.evaluate(() => sessionStorage.getItem('starling.place')), null, 'nor does the place stay');
    assert.equal(await page.inputValue('#start'), '52.52000, 13.40500');
    assert.equal((await rows()).length, 0);
    await becomes(async () => [server.sessions, 0]);
});

test('a link signs nobody in and moves nobody, and leaves the address bar', async () => {
    await open(`#token=${fakeToken(43)}&at=1,2`);
    await page.waitForSelector('#gate:not([hidden])');
    assert.equal(await page.isVisible('#ask'), false);
    assert.deepEqual([await page.evaluate(() => location.href), server.sessions], [address, 0]);
    await keep(TOKEN, HERE);
    await page.reload();
    await state('online');
    for (const hash of ['#at=1,2', `#token=${fakeToken(43)}&at=1,2`]) {
        await page.evaluate((to) => (location.hash = to), hash);
        await becomes(async () => [await page.evaluate(() => location.href), address]);
        assert.deepEqual(await place(), HERE);
        assert.equal(await page.evaluate(() => sessionStorage.getItem('starling.token')), TOKEN);
    }
});

test('shows the nearest twenty, then more to the last, with focus kept on the way', async () => {
    await open();
    await showsTheTruth(20);
    await page.focus('#more');
    await page.keyboard.press('Enter');
    await showsTheTruth(40);
    await page.keyboard.press('Enter');
    await showsTheTruth(53);
    await page.waitForSelector('#more', { state: 'hidden' });
    assert.equal(
        await page.evaluate(() => document.activeElement.closest('li').dataset.user),
        (await rows())[40].user,
    );
    await becomes(async () => [(await onMap()).length, 53]);
    assert.deepEqual(complaints, []);
});

test('friends move, come and go; who is silent turns grey, then disappears', async () => {
    await open();
    await showsTheTruth(20);
    server.walk(300);
    await becomes(async () => [(await onMap()).length, Number(await page.textContent('#total'))]);
    await showsTheTruth(20);

    const [nearest, next] = await rows();
    server.friends.get(Number(nearest.user)).time = Date.now() - 130_000;
    server.friends.get(Number(next.user)).time = Date.now() - 598_000;
    server.flush();
    await page.waitForSelector(`#list li.stale[data-user="${nearest.user}"]`);
    await page.click(`#list li[data-user="${nearest.user}"] button`); // who is picked has a marker of their own
    assert.equal(await page.locator(`.face.stale[data-user="${nearest.user}"]`).count(), 1);
    await page.waitForSelector(`#list li[data-user="${next.user}"]`, { state: 'detached', timeout: 6000 });

    server.friends.delete(Number(nearest.user));
    server.flush();
    await page.waitForSelector(`#list li[data-user="${nearest.user}"]`, { state: 'detached' });
    assert.equal((await onMap()).includes(nearest.user), false);
});

test('I move by click, drag, keys and by number, and every distance follows', async () => {
    await open();
    await showsTheTruth(20);
    const box = await page.locator('#map').boundingBox();
    const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 };

    const moved = async (act) => {
        const before = await place();
        await act();
        await page.waitForFunction(
            ({ lat, lng }) => Number(document.getElementById('map').dataset.lat) !== lat ||
                Number(document.getElementById('map').dataset.lng) !== lng,
            before,
        );
        await showsTheTruth(20);
        return { before, now: await place() };
    };
    const clicked = await moved(() => page.mouse.click(middle.x + 60, middle.y + 100));
    assert.ok(clicked.now.lat < clicked.before.lat && clicked.now.lng > clicked.before.lng);

    const dragged = await moved(async () => {
        await page.mouse.move(middle.x + 60, middle.y + 100);
        await page.mouse.down();
        await page.mouse.move(middle.x + 30, middle.y + 30, { steps: 5 });
        await page.mouse.up();
    });
    assert.ok(dragged.now.lat > dragged.before.lat && dragged.now.lng < dragged.before.lng);

    await page.focus('#map');
    const small = await moved(() => page.keyboard.press('ArrowUp'));
    const large = await moved(() => page.keyboard.press('Shift+ArrowUp'));
    assert.ok(small.now.lat > small.before.lat && small.now.lng === small.before.lng);
    assert.ok(large.now.lat - large.before.lat > 3 * (small.now.lat - small.before.lat));

    await page.click('#me summary');
    await page.fill('#place', '39.98, 116.30');
    const typed = await moved(() => page.click('#go'));
    assert.deepEqual(typed.now, { lat: 39.98, lng: 116.3 });

    await becomes(async () => [server.reports.at(-1).lng, 116.3]);
    assert.deepEqual(complaints, []);
});

test('wanders, and follows the device', async () => {
    await open(undefined, { permissions: ['geolocation'], geolocation: { latitude: 39.97, longitude: 116.31, accuracy: 9 } });
    await showsTheTruth(20);
    await page.click('#wander');
    await page.waitForFunction(({ lat }) => Number(document.getElementById('map').dataset.lat) !== lat, HERE);
    assert.equal(await page.getAttribute('#wander', 'aria-pressed'), 'true');
    await page.click('#locate');
    await page.waitForFunction(() => document.getElementById('map').dataset.lat === '39.97');
    assert.equal(await page.getAttribute('#wander', 'aria-pressed'), 'false');
    assert.equal(await page.getAttribute('#locate', 'aria-pressed'), 'true');
    const box = await page.locator('#map').boundingBox();
    await page.mouse.click(box.x + box.width / 2, box.y + 30); // I say otherwise
    assert.equal(await page.getAttribute('#locate', 'aria-pressed'), 'false');
});

test('the list and its length survive a crashed edge, and a planned close', async () => {
    await open();
    await showsTheTruth(20);
    await page.click('#more');
    await showsTheTruth(40);
    server.away = true;
    server.crash();
    await state('waiting');
    assert.equal(await page.isVisible('#banner'), true);
    assert.equal((await rows()).length, 40);
    server.away = false;
    await state('online');
    await showsTheTruth(40);
    assert.equal(await page.isVisible('#banner'), false);

    server.hangUp(1012, 60_000);
    await state('waiting');
    await page.waitForFunction(() => /again in \d\d s/.test(document.querySelector('#banner .text').textContent));
    await page.screenshot({ path: `${OUT}reconnecting.png` });
    await page.click('#retry');
    await state('online');
    await showsTheTruth(40);
});

test('while the server is away the banner stays, attempt after attempt', async () => {
    await open();
    await showsTheTruth(20);
    const shown = await page.evaluateHandle(() => {
        const seen = { banner: [], attempts: 0 };
        const banner = document.getElementById('banner');
        const pill = document.getElementById('state');
        new MutationObserver(() => {
            // Hiding what is hidden is a mutation, too.
            if ((seen.banner.at(-1) ?? false) !== !banner.hidden) seen.banner.push(!banner.hidden);
        }).observe(banner, { attributeFilter: ['hidden'] });
        new MutationObserver((changes) => {
            seen.attempts += changes.filter(({ oldValue }) => oldValue === 'connecting').length;
        }).observe(pill, { attributeFilter: ['data-state'], attributeOldValue: true });
        return seen;
    });
    server.close();
    await page.waitForFunction((seen) => seen.attempts >= 3, shown);
    await state('waiting');
    await restart();
    await page.$eval('#retry', (button) => button.click()); // it may be gone: the page tries by itself, too
    await state('online');
    assert.deepEqual((await shown.jsonValue()).banner, [true, false]);
});

test('ended from another device: says so and does not come back by itself', async () => {
    await open();
    await state('online');
    server.hangUp(4001);
    await state('closed');
    assert.match(await page.textContent('#banner'), /signed out from another one/);
    await page.waitForTimeout(1500);
    assert.equal(server.sessions, 0);
    await page.click('#retry');
    await state('online');
});

test('two tabs are both live; one signs the other out', async () => {
    await open();
    await state('online');
    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.evaluate((token) => sessionStorage.setItem('starling.token', token), TOKEN);
    await other.reload();
    await other.waitForSelector('#state[data-state="online"]', { state: 'attached' });
    await state('online');
    assert.equal(server.sessions, 2);
    await page.click('#me summary');
    await page.click('#devices-summary');
    await page.waitForFunction(() => document.querySelectorAll('#device-list li').length === 2);
    const rows = await page.$$eval('#device-list li', (all) => all.map((row) => [row.querySelector('.small').textContent, row.querySelector('button') !== null]));
    assert.match(rows[0][0], /^since /);
    assert.deepEqual([rows[0][1], rows[1]], [true, ['This one', false]]);
    assert.match(await page.textContent('#device-list li'), /^Chrome – /);
    await page.click('#device-list button');
    await page.waitForFunction(() => document.querySelectorAll('#device-list li').length === 1);
    await other.waitForSelector('#state[data-state="closed"]', { state: 'attached' });
    assert.match(await other.textContent('#banner'), /signed out from another one/);
    assert.equal(server.sessions, 1);
    await state('online');
    await other.click('#retry');
    await other.waitForSelector('#state[data-state="online"]', { state: 'attached' });
    assert.equal(server.sessions, 2);
    await other.close();
    assert.deepEqual(complaints.filter((text) => !/40[14]/.test(text)), []);
});

test('a token that has expired before is not even tried, and says so in front', async () => {
    await open(undefined, { token: fakeToken(42, Date.now() - 1000) });
    await page.waitForSelector('#gate:not([hidden])');
    assert.match(await page.textContent('#gate-problem'), /expired/);
    assert.deepEqual([server.reports.length, await page.evaluate(() => sessionStorage.getItem('starling.token'))], [0, null]);
    await page.fill('#token', TOKEN);
    await page.click('#sign-in');
    await state('online');
    assert.deepEqual(complaints, []);
});

test('an expired token asks for a new one and goes on', async () => {
    await open();
    await showsTheTruth(20);
    server.hangUp(4003);
    await page.waitForSelector('#gate:not([hidden])');
    assert.match(await page.textContent('#gate-problem'), /expired/);
    await page.fill('#token', TOKEN);
    await page.click('#sign-in');
    await state('online');
    await showsTheTruth(20);
});

test('says when the device is offline, and is back at once with the network', async () => {
    await open();
    await state('online');
    await context.setOffline(true);
    await page.waitForFunction(() => /offline/.test(document.querySelector('#banner .text').textContent), null, { timeout: 2000 });
    assert.equal(await page.textContent('#state .text'), 'Offline');
    await context.setOffline(false);
    await state('online');
    await page.waitForSelector('#banner', { state: 'hidden' });
});

test('who sees me: off empties the list, friends fills it, a refusal is told and undone', async () => {
    await open();
    await showsTheTruth(20);
    await page.click('#me summary');
    await page.waitForSelector('#sharing[data-mode="friends"]');
    await page.click('#sharing label:has([value="off"])');
    await page.waitForSelector('#empty:not([hidden])');
    assert.equal(server.mode, 'off');
    assert.equal(await page.isDisabled('#tell-details'), true);
    assert.match(await page.textContent('#empty'), /Nobody sees you/);
    await page.keyboard.press('Escape');
    await page.click('#share-friends'); // the switch is where it is said, too
    await showsTheTruth(20);
    assert.equal(await page.isVisible('#share-friends'), false);
    await page.click('#me summary');
    await page.click('#sharing label:has([value="off"])');
    await page.waitForSelector('#share-friends');
    await isAccessible('opted out');
    await page.focus('#sharing [value="off"]');
    await page.keyboard.press('ArrowRight');
    await showsTheTruth(20);

    const begun = Date.now();
    await page.selectOption('#until', 'hour');
    await becomes(async () => [server.until !== undefined, true]);
    assert.match(await page.textContent('#ends'), /^until \d\d:\d\d$/);
    assert.equal(server.mode, 'friends');
    assert.ok(server.until >= begun + 3_590_000 && server.until <= Date.now() + 3_610_000, String(server.until));
    await page.click('label:has(#tell-details)');
    await becomes(async () => [server.details, true]);
    assert.ok(server.until > begun, 'the end is as it was');
    await page.click('#sharing label:has([value="public"])');
    await becomes(async () => [server.mode, 'public']);
    assert.equal(server.details, true);
    await page.click('#sharing label:has([value="friends"])');
    await becomes(async () => [server.mode, 'friends']);
    await page.selectOption('#until', '');
    await becomes(async () => [server.until, undefined]);
    assert.equal(await page.textContent('#ends'), '');
    assert.equal(await page.isChecked('#tell-details'), true);
    await page.click('label:has(#tell-details)');
    await becomes(async () => [server.details, undefined]);

    server.refuse = true;
    await page.click('#sharing label:has([value="public"])');
    await page.waitForSelector('#problem:not([hidden])');
    assert.match(await page.textContent('#problem'), /The token is not valid/);
    assert.equal(await page.getAttribute('#sharing', 'data-mode'), 'friends');
    assert.equal(await page.isChecked('#sharing [value="friends"]'), true);
});

test('what friends tell beside their places: on the map and on their cards, as long as they do', async () => {
    await open();
    await showsTheTruth(20);
    const [user, friend] = [...server.friends].reduce((a, b) => (a[1].lat > b[1].lat ? a : b)); // beside the others
    const said = { accuracy: 200, battery: 0.57, charging: true, speed_mps: 1.5, activity: 'walking' };
    const tells = (details) => {
        Object.assign(friend, { details, time: Date.now(), ...destination(HERE, 0, 900) });
        server.flush();
    };
    tells(said);
    await page.waitForSelector('path.accuracy');
    const { width } = await page.locator('path.accuracy').boundingBox();
    assert.ok(width > 10, String(width));
    await page.evaluate((who) => document.dispatchEvent(new CustomEvent('card', { detail: { user: who, name: 'Somebody' } })), String(user));
    await becomes(async () => [await page.textContent('#card-details'), 'within 200 m · walking · 5 km/h · battery 57%, charging']);
    await isAccessible('a card with details');
    tells({});
    await becomes(async () => [await page.locator('path.accuracy').count(), 0]);
    await becomes(async () => [await page.textContent('#card-details'), '']);
    assert.deepEqual(complaints, []);
});

test('people around: their cells and a list, for who is public, and gone at once when that ends', async () => {
    const centre = { lat: 39.9682617, lng: 116.3012695 };
    const stranger = (user, name, north) => ({
        user, name, avatar_url: '', lat: centre.lat + north * 0.0439453, lng: centre.lng, distance_m: 2345.6 + 4886 * north, time: Date.now() - 400_000,
    });
    server.strangers = [stranger(7, 'Ada <b>', 0), stranger(8, '', 0), stranger(9, 'Eve', 1)];
    await open();
    await showsTheTruth(20);
    assert.equal(server.asked, 0);
    await page.click('#show-around');
    await page.waitForFunction(() => /Only who is seen by everybody/.test(document.getElementById('around-note').textContent));
    await page.waitForTimeout(1200);
    assert.equal(server.asked, 0, 'nobody is asked for before I share with everybody');
    server.unheard = 1;
    await page.click('#share-everybody');
    const list = () => page.$$eval('#around-list > li', (items) => items.map((li) => [li.dataset.user, li.querySelector('.name').textContent, li.querySelector('.where').textContent]));
    await becomes(async () => [await list(), [['7', 'Ada <b>', 'about 2.3 km'], ['8', 'User 8', 'about 2.3 km'], ['9', 'Eve', 'about 7.2 km']]]);
    assert.match(await page.textContent('#around-list li .ago'), /6 min ago/);
    assert.equal(await page.locator('path.cell').count(), 2);
    assert.deepEqual(await page.$$eval('.cell-count', (counts) => counts.map(({ textContent }) => textContent)), ['2', '1']);
    await isAccessible('people around');
    await page.screenshot({ path: `${OUT}around.png` });
    assert.equal(server.asked, 2, 'asked again when the edge had not heard yet, and then not before half a minute is over');
    assert.equal(await page.isVisible('#problem'), false);

    server.strangersStop(7);
    await becomes(async () => [(await list()).map(([user]) => user), ['8', '9']]);
    assert.deepEqual(await page.$$eval('.cell-count', (counts) => counts.map(({ textContent }) => textContent)), ['1', '1']);
    server.strangersStop(8, 9);
    await page.waitForFunction(() => /Nobody around/.test(document.getElementById('around-note').textContent));
    assert.deepEqual([await list(), await page.locator('path.cell').count()], [[], 0]);
    assert.equal(server.asked, 2, 'who stops is gone without a question');

    server.strangers = [stranger(7, 'Ada <b>', 0), stranger(8, '', 0), stranger(9, 'Eve', 1)];
    server.crash();
    await becomes(async () => [(await list()).length, 3]); // asked anew on the new connection
    await page.reload(); // the tab remembers that they are shown
    await becomes(async () => [(await list()).length, 3]);
    await page.click('#me summary');
    await page.click('#sharing label:has([value="friends"])');
    await becomes(async () => [[(await list()).length, await page.locator('path.cell').count()], [0, 0]]);
    await page.keyboard.press('Escape');
    await page.click('#show-around');
    await page.waitForSelector('#around-note', { state: 'hidden' });
    assert.equal(await page.getAttribute('#show-around', 'aria-pressed'), 'false');
    assert.deepEqual(complaints, []);
});

test('my name, bio and web page can be changed', async () => {
    await open();
    await page.waitForFunction(() => document.getElementById('name').value === 'Mira Starling');
    await page.click('#me summary');
    await page.fill('#name', 'Mira <b>Ng</b>');
    await page.click('#save-profile');
    await page.waitForFunction(() => document.getElementById('my-name').textContent === 'Mira <b>Ng</b>');
    assert.deepEqual(server.profile, { name: 'Mira <b>Ng</b>' });
    await page.fill('#bio', ' Sails\nand <i>sings</i> ');
    await page.fill('#url', 'javascript:alert(1)');
    await page.click('#save-profile');
    assert.equal(await page.$eval('#url', (field) => field.checkValidity()), false);
    await page.fill('#url', 'https://mira.example/');
    await page.click('#save-profile');
    await becomes(async () => [server.profile, { name: 'Mira <b>Ng</b>', bio: 'Sails\nand <i>sings</i>', url: 'https://mira.example/' }]);
    await page.reload();
    await page.waitForFunction(() => document.getElementById('bio').value === 'Sails\nand <i>sings</i>');
    await page.click('#me summary');
    await page.keyboard.press('Escape');
    assert.equal(await page.isVisible('#name'), false);
});

test('my handle can be chosen, changed and given up', async () => {
    server.feed.handles.set('ada', 1000);
    server.feed.handles.set('mira', 42);
    await open();
    await page.waitForFunction(() => document.getElementById('handle').value === 'mira');
    await page.click('#me summary');
    const save = async (handle) => {
        await page.fill('#handle', handle);
        await page.click('#save-handle');
    };
    await save('Ada');
    await page.waitForFunction(() => /Somebody else is called @ada/.test(document.getElementById('problem').textContent));
    await save('a b');
    await page.waitForFunction(() => /3 to 30 letters/.test(document.getElementById('problem').textContent));
    await save('@Mira_7');
    await page.waitForFunction(() => document.getElementById('handle').value === 'mira_7');
    assert.equal(await page.isVisible('#problem'), false);
    await save('');
    await page.waitForSelector('#problem', { state: 'hidden' });
    await becomes(async () => [[...server.feed.handles], [['ada', 1000]]]);
});

test('a name is text, never markup', async () => {
    server.friends.get(1000).name = '<img src=x onerror=alert(1)>';
    Object.assign(server.friends.get(1000), HERE);
    await open();
    await showsTheTruth(20);
    assert.equal(await page.textContent('#list li:first-child .name'), '<img src=x onerror=alert(1)>');
    await page.click('#list li:first-child button');
    await page.waitForSelector('.friend-tip');
    assert.equal(await page.locator('#list img, .friend-tip img').count(), 0);
    assert.deepEqual(complaints, []);
});

test('whoever is picked is on top of those who are at the same place', async () => {
    const there = { lat: HERE.lat + 0.01, lng: HERE.lng };
    for (const id of [1000, 1001, 1002]) Object.assign(server.friends.get(id), there);
    await open();
    await showsTheTruth(20);
    for (const id of [1001, 1000, 1002]) {
        await page.click(`#list li[data-user="${id}"] button`);
        server.flush(); // and stays there
        await page.waitForFunction((user) => {
            const face = document.querySelector(`.face[data-user="${user}"]`);
            if (!face) return false;
            const { x, y, width, height } = face.getBoundingClientRect();
            return document.elementFromPoint(x + width / 2, y + height / 2)?.dataset.user === String(user);
        }, id);
        assert.match(await page.textContent('.friend-tip'), /, 1\.1 km$/);
    }
});

/** What is spoken from now on, and when, as it comes. */
const listen = () =>
    page.evaluateHandle(() => {
        const said = [];
        const region = document.getElementById('announce');
        const hear = () => said.push({ text: region.textContent, at: performance.now() });
        new MutationObserver(hear).observe(region, { childList: true });
        return said;
    });

test('what is spoken: the connection, and comings in one sentence, not every move', async () => {
    await open();
    await showsTheTruth(20);
    const spoken = await listen();
    for (let i = 0; i < 3; i += 1) {
        server.friends.set(2000 + i, { name: `New ${i}`, ...HERE, time: Date.now(), heading: 0 });
        server.walk(1);
    }
    await page.waitForFunction((said) => said.length > 0, spoken, { timeout: 15_000 });
    await page.waitForTimeout(500);
    const said = await spoken.jsonValue();
    assert.equal(said.length, 1);
    assert.match(said[0].text, / others are near$/);
});

test('what is spoken politely waits its time behind what mattered more', async () => {
    await open();
    await showsTheTruth(20); // 'Connected' was said
    const spoken = await listen();
    server.friends.set(2000, { name: 'New', ...HERE, time: Date.now(), heading: 0 });
    server.flush();
    await page.waitForTimeout(4000);
    server.hangUp(4001);
    await page.waitForFunction((said) => said.length === 2, spoken, { timeout: 20_000 });
    const [lost, came] = await spoken.jsonValue();
    assert.match(lost.text, /signed out from another one/);
    assert.match(came.text, /is near$/);
    assert.ok(came.at - lost.at >= 9990, `${came.at - lost.at} ms later`);
});

test('who is not connected for two seconds hears it, however often it was tried meanwhile', async () => {
    await open(undefined, { luck: 0.03 }); // of a minute, the longest there is, less than two seconds
    await state('online');
    const spoken = await listen();
    server.close();
    await page.waitForFunction((said) => said.length > 0, spoken, { timeout: 20_000 });
    assert.equal((await spoken.jsonValue())[0].text, 'Not connected');
});

for (const [name, options] of Object.entries(SCREENS)) {
    test(`axe-core finds nothing on a ${name} screen, whatever is shown`, async () => {
        const [ana] = server.friends.values();
        Object.assign(ana, HERE, { time: Date.now() - 130_000 });
        await open('', options);
        await page.waitForSelector('#gate:not([hidden])');
        await page.fill('#token', 'nonsense');
        await page.click('#sign-in');
        await page.waitForSelector('#gate-problem:not([hidden])');
        await isAccessible('signing in');
        await page.fill('#token', TOKEN);
        await page.fill('#start', `${HERE.lat}, ${HERE.lng}`);
        await page.click('#sign-in');
        await showsTheTruth(20);
        await page.waitForSelector('#list li.stale:first-child');
        await page.click('#list li:first-child button');
        await isAccessible('the list');
        await page.screenshot({ path: `${OUT}list-${name}.png` });
        await page.click('#me summary');
        await isAccessible('my panel');
        await page.screenshot({ path: `${OUT}panel-${name}.png` });
        server.refuse = true;
        await page.click('#sharing label:has([value="public"])');
        await page.waitForSelector('#problem:not([hidden])');
        await page.waitForSelector('#gate:not([hidden])');
        await isAccessible('a token that is refused later');
        await page.click('#cancel');
        server.refuse = false;
        server.hangUp(1012, 60_000);
        await state('waiting');
        await page.waitForSelector('main.old');
        await isAccessible('connection lost');
        await page.screenshot({ path: `${OUT}lost-${name}.png` });
        await page.click('#retry');
        await state('online');
        server.hangUp(4001);
        await state('closed');
        await isAccessible('ended from another device');
        assert.deepEqual(complaints.filter((text) => !/status of 401/.test(text)), []);
    });

    test(`the keyboard reaches everything on a ${name} screen, in the order it is read`, async () => {
        await open(undefined, options);
        await showsTheTruth(20);
        await page.evaluate(() => document.activeElement.blur());
        const order = [];
        for (let i = 0; i < 60 && order.at(-1) !== 'more'; i += 1) {
            order.push(await tab());
        }
        const once = order.filter((id, i) => id !== order[i - 1]);
        const tabs = name === 'wide' ? [] : ['tab-map'];
        assert.deepEqual(once, ['notices', 'friends', 'me', ...tabs, 'map', 'wander', 'trail', 'locate', 'centre', 'list', 'more'], order.join(' '));
        assert.equal(order.filter((id) => id === 'list').length, 20);

        await page.focus('#me summary');
        await page.keyboard.press('Enter');
        const inside = [];
        for (let i = 0; i < 24; i += 1) {
            await page.keyboard.press('Tab');
            inside.push(await page.evaluate(() => document.activeElement.id || document.activeElement.name));
        }
        assert.deepEqual(inside, ['name', 'bio', 'url', 'save-profile', 'handle', 'save-handle', 'sharing', 'until', 'tell-details', 'links-summary', 'places-summary', 'visibility', 'told-summary', 'devices-summary', 'place', 'go', ...Array(2).fill('language'), ...Array(2).fill('units'), 'export', 'erase', 'new-token', 'sign-out']);
        await page.keyboard.press('Escape');
        assert.equal(await page.evaluate(() => document.activeElement.closest('#me') !== null), true);

        server.hangUp(4001);
        await state('closed');
        await page.focus('#retry');
        await page.keyboard.press('Enter');
        await state('online');
        await page.waitForSelector('#banner', { state: 'hidden' });
        const kept = await page.evaluate(() => document.activeElement.id);
        assert.equal(kept, 'map', 'the focus is not lost with the button');
    });
}

for (const [name, options] of Object.entries({
    wide: { viewport: { width: 1200, height: 760 } },
    dark: { viewport: { width: 1200, height: 760 }, colorScheme: 'dark' },
    phone: { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true },
})) {
    test(`fits a ${name} screen`, async () => {
        await open(undefined, options);
        await showsTheTruth(20);
        // The circle fills the map.
        await page.waitForFunction(() => {
            const { clientHeight, clientWidth } = document.getElementById('map');
            const { height } = document.querySelector('path.radius').getBoundingClientRect();
            return height > 0.8 * Math.min(clientHeight, clientWidth) && height <= Math.min(clientHeight, clientWidth);
        });
        await page.screenshot({ path: `${OUT}${name}.png` });
        const sizes = await page.evaluate(() => ({
            page: document.documentElement.scrollWidth,
            screen: innerWidth,
            map: Math.min(document.getElementById('map').clientHeight, document.getElementById('map').clientWidth),
            list: document.querySelector('.scroll').clientHeight,
            small: [...document.querySelectorAll('#app button, #app summary')].filter(
                (button) => button.checkVisibility() && button.offsetHeight < 40,
            ).length,
        }));
        assert.ok(sizes.page <= sizes.screen, 'nothing to scroll sideways');
        assert.ok(sizes.map >= 180 && sizes.list >= 240, JSON.stringify(sizes));
        assert.equal(sizes.small, 0, 'every button is large enough for a thumb');
        await page.click('#me summary');
        await page.click('#sharing label:has([value="public"])');
        await page.waitForSelector('#sharing[data-mode="public"]');
        assert.deepEqual(complaints, []);
    });
}
