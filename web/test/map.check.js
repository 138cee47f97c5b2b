// The ground under the friends, in a real browser: a map drawn from GeoJSON, tiles of a server, a grid.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { HERE, OUT, PHONE, SCREENS, WIDE, address, becomes, complaints, eachTest, isAccessible, open, page, server, state } from './browser.js';


eachTest();

const square = (half, properties, middle = [HERE.lng, HERE.lat]) => ({
    type: 'Feature',
    properties,
    geometry: {
        type: 'Polygon',
        coordinates: [[[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]].map(([x, y]) => [middle[0] + x * half, middle[1] + y * half])],
    },
});
const street = (lat, highway) => ({
    type: 'Feature',
    properties: { highway },
    geometry: { type: 'LineString', coordinates: [[HERE.lng - 0.3, lat], [HERE.lng + 0.3, lat]] },
});
const TOWN = {
    type: 'FeatureCollection',
    features: [
        square(0.3, { landuse: 'residential' }),
        square(0.02, { leisure: 'park', name: 'Swan Park' }, [HERE.lng - 0.05, HERE.lat]),
        square(0.02, { natural: 'water' }, [HERE.lng + 0.05, HERE.lat]),
        street(HERE.lat + 0.03, 'primary'),
        street(HERE.lat - 0.03, 'residential'),
        { type: 'Feature', properties: { place: 'suburb', name: 'Old Town' }, geometry: { type: 'Point', coordinates: [HERE.lng, HERE.lat + 0.02] } },
        { type: 'Feature', properties: null, geometry: null },
    ],
};

/** Whether the ground is under every part of the map. @param {string} selector of its layer */
const covers = (selector) =>
    page.evaluate((layer) => {
        const room = document.getElementById('map').getBoundingClientRect();
        const tiles = [...document.querySelectorAll(`${layer} .leaflet-tile`)].map((tile) => tile.getBoundingClientRect());
        for (let x = room.left + 1; x < room.right; x += 20) {
            for (let y = room.top + 1; y < room.bottom; y += 20) {
                if (!tiles.some((tile) => tile.left <= x && x <= tile.right && tile.top <= y && y <= tile.bottom)) return `${x}, ${y} is bare`;
            }
        }
        return 'all';
    }, selector);

/** Which of the map's colours are on its tiles. */
const colours = () =>
    page.evaluate(() => {
        const style = getComputedStyle(document.getElementById('map'));
        const pixel = document.createElement('canvas').getContext('2d');
        const bytes = (context, x, y) => context.getImageData(x, y, 1, 1).data.slice(0, 3).join();
        const names = new Map(['built', 'park', 'water', 'main'].map((name) => {
            pixel.fillStyle = style.getPropertyValue(`--map-${name}`);
            pixel.fillRect(0, 0, 1, 1);
            return [bytes(pixel, 0, 0), name];
        }));
        const seen = new Set();
        for (const tile of document.querySelectorAll('.drawn-map canvas')) {
            const { data } = tile.getContext('2d').getImageData(0, 0, tile.width, tile.height);
            for (let i = 0; i < data.length; i += 4) {
                const name = names.get(`${data[i]},${data[i + 1]},${data[i + 2]}`);
                if (name) seen.add(name);
            }
        }
        return [...seen].sort();
    });

for (const [name, options] of Object.entries(SCREENS)) {
    test(`streets, water and parks are drawn on a ${name} screen, light and dark, and wherever the map is moved`, async () => {
        server.map = TOWN;
        server.attribution = 'Drawn by [Ada & Ben](https://maps.example/licence) <b>';
        await open(undefined, options);
        await state('online');
        await page.waitForSelector('.drawn-map canvas');
        const all = ['built', 'main', 'park', 'water'];
        await becomes(async () => [await colours(), all]);
        assert.equal(await page.textContent('.leaflet-control-attribution'), 'Drawn by Ada & Ben <b>');
        assert.equal(await page.getAttribute('.leaflet-control-attribution a', 'href'), 'https://maps.example/licence');
        assert.equal(await page.locator('.grid-labels').count(), 0);
        const over = await page.evaluate(() => {
            const boxes = [...document.querySelectorAll('#map-buttons button, .leaflet-control-zoom, .leaflet-control-scale, .leaflet-control-attribution')]
                .map((one) => [one.id || one.className, one.getBoundingClientRect()]);
            return boxes.flatMap(([a, p], i) => boxes.slice(i + 1)
                .filter(([, q]) => p.left < q.right && q.left < p.right && p.top < q.bottom && q.top < p.bottom).map(([b]) => `${a} and ${b}`));
        });
        assert.deepEqual(over, [], 'nothing lies on anything else');
        await isAccessible('a drawn map'); // which leaves it dark
        await becomes(async () => [await colours(), all]);
        await page.screenshot({ path: `${OUT}map-${name}.png` });
        const box = await page.locator('#map').boundingBox();
        await page.mouse.move(box.x + 60, box.y + 60);
        await page.mouse.down();
        await page.mouse.move(box.x + 200, box.y + 160, { steps: 4 });
        await page.mouse.up();
        await becomes(async () => [await covers('.drawn-map'), 'all']);
        await page.focus('#map');
        await page.keyboard.press('-');
        await becomes(async () => [await covers('.drawn-map'), 'all']);
        assert.deepEqual(complaints, []);
    });
}

/** A server of tiles, which are green. asked: the requests. */
async function tileServer(asked) {
    const green = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkmPH/PwAEZwJtt1dBgwAAAABJRU5ErkJggg==', 'base64');
    const tiles = createServer((request, response) => {
        asked.push(request);
        response.writeHead(200, { 'content-type': 'image/png' }).end(green);
    });
    await new Promise((resolve) => tiles.listen(0, '127.0.0.1', resolve));
    return { tiles, origin: `http://127.0.0.1:${tiles.address().port}` };
}

test('tiles come from the server that the settings name, and images from no other one', async () => {
    const [asked, others] = [[], []];
    const { tiles, origin } = await tileServer(asked);
    const { tiles: other, origin: elsewhere } = await tileServer(others);
    try {
        server.map = TOWN; // tiles come first
        server.tiles = `${origin}/tiles/{z}/{x}/{y}.png`;
        server.attribution = '[Tiles](https://tiles.example/) for all';
        await open(undefined, WIDE);
        await state('online');
        await becomes(async () => [await covers('.leaflet-tile-pane'), 'all']);
        await page.waitForFunction(() => [...document.querySelectorAll('img.leaflet-tile')].every(({ naturalWidth }) => naturalWidth > 0));
        assert.equal(await page.locator('.grid-labels').count(), 0);
        assert.equal(await page.textContent('.leaflet-control-attribution'), 'Tiles for all');
        assert.ok(asked.length > 4 && asked.every(({ url }) => /^\/tiles\/\d+\/\d+\/\d+\.png$/.test(url)), asked[0]?.url);
        assert.deepEqual([...new Set(asked.map(({ headers }) => headers.referer))], [address], 'which site, and no more');
        await isAccessible('tiles');
        await page.screenshot({ path: `${OUT}tiles.png` });
        const blocked = await page.evaluate((url) => {
            const violation = new Promise((resolve) => document.addEventListener('securitypolicyviolation', (event) => resolve(event.blockedURI), { once: true }));
            document.body.append(Object.assign(new Image(), { src: url }));
            return violation;
        }, `${elsewhere}/1.png`);
        assert.equal(blocked, `${elsewhere}/1.png`);
        assert.equal(others.length, 0);
        const expected = new RegExp(`^request to ${origin}/tiles/|violates the following Content Security Policy directive|request to ${elsewhere}`);
        assert.deepEqual(complaints.filter((text) => !expected.test(text)), []);
    } finally {
        for (const one of [tiles, other]) {
            one.closeAllConnections();
            one.close();
        }
    }
});

test('a map that cannot be read leaves the grid', async () => {
    server.map = 'no map';
    await open();
    await state('online');
    await page.waitForSelector('.grid-labels span');
    await becomes(async () => [await covers('.leaflet-tile-pane'), 'all']);
    assert.deepEqual(complaints, []);
});

for (const ground of ['grid', 'map']) {
    test(`the ${ground} is drawn where the map grows`, async () => {
        if (ground === 'map') server.map = TOWN;
        await open(undefined, { viewport: { width: 800, height: 500 } });
        await state('online');
        const layer = ground === 'map' ? '.drawn-map' : '.leaflet-tile-pane';
        await becomes(async () => [await covers(layer), 'all']);
        for (const size of [{ width: 1090, height: 1300 }, { width: 1091, height: 1301 }, { width: 2000, height: 1300 }]) {
            await page.setViewportSize(size);
            await becomes(async () => [await covers(layer), 'all']);
        }
        // The map is not shown at all for a while.
        await page.setViewportSize(PHONE.viewport);
        await page.click('#tab-feed');
        await page.setViewportSize({ width: 1090, height: 1200 });
        await page.click('#tab-map');
        await becomes(async () => [await covers(layer), 'all']);
        await page.click('#tab-feed');
        await page.setViewportSize({ width: 2000, height: 1300 });
        await becomes(async () => [await covers(layer), 'all']);
        assert.deepEqual(complaints, []);
    });
}

/** Where the middle of the friend's marker is. */
const middleOf = (user) =>
    page.$eval(`.face[data-user="${user}"]`, (face) => {
        const { x, y, width, height } = face.getBoundingClientRect();
        return [x + width / 2, y + height / 2];
    });
const onTop = (point) => page.evaluate(([x, y]) => document.elementFromPoint(x, y)?.dataset.user, point);
const east = (metres) => ({ lat: HERE.lat, lng: HERE.lng + metres / 85_200 });

test('friends who lie on each other are one marker with their number, which opens', async () => {
    server.friends.clear();
    const time = Date.now();
    for (const [user, place] of [[1, east(2000)], [2, east(2020)], [3, east(2040)], [4, east(-3000)]]) server.friends.set(user, { name: `Friend ${user}`, ...place, time });
    await open(undefined, WIDE);
    await becomes(async () => [await page.$$eval('.face', (faces) => faces.map(({ dataset }) => [dataset.user, dataset.also])), [['1', '2 3'], ['4', '']]]);
    assert.deepEqual(await page.$$eval('.badge', (badges) => badges.map(({ textContent }) => textContent)), ['3', '']);
    await isAccessible('a cluster');
    await page.hover('.face[data-user="1"]');
    await page.waitForFunction(() => /^Friend 1, .*, and 2 others$/.test(document.querySelector('.friend-tip')?.textContent));
    await page.click('#list li[data-user="3"] button'); // who is picked stands alone
    await becomes(async () => [await page.$$eval('.face', (faces) => faces.map(({ dataset }) => `${dataset.user}:${dataset.also}`).sort()), ['1:2', '3:', '4:']]);
    await page.focus('#map');
    await page.keyboard.press('Escape');
    await page.waitForSelector('.face[data-also="2 3"]');
    await page.mouse.click(...(await middleOf(1))); // and opens as the map comes nearer
    await page.waitForFunction(() => ['1', '2', '3'].every((user) => document.querySelector(`.face[data-user="${user}"][data-also=""]`)));
    assert.deepEqual(complaints, []);
});

test('friends at one and the same place are picked in turn', async () => {
    server.friends.clear();
    for (const user of [1, 2, 3]) server.friends.set(user, { name: `Friend ${user}`, ...east(2000), time: Date.now() });
    await open(undefined, WIDE);
    await page.waitForSelector('.face[data-also="2 3"]');
    for (const user of ['1', '2', '3', '1']) {
        await page.mouse.click(...(await middleOf(await page.$eval('.face', (face) => face.dataset.user))));
        await page.waitForSelector(`#list li.selected[data-user="${user}"]`);
        await becomes(async () => [await onTop(await middleOf(user)), user]);
    }
});

test('my marker never hides a friend: it is a ring around one who is where I am', async () => {
    server.friends.clear();
    server.friends.set(1, { name: 'Ana', ...HERE, time: Date.now() });
    await open(undefined, WIDE);
    await page.waitForSelector('.me-marker.shared');
    assert.equal(await onTop(await middleOf(1)), '1');
    await becomes(async () => { // the map may still be on its way to its first view
        const ring = await page.locator('.me-marker span').boundingBox();
        const middle = [ring.x + ring.width / 2, ring.y + ring.height / 2];
        const centred = (await middleOf(1)).every((pixel, i) => Math.abs(pixel - middle[i]) <= 2);
        return [{ seen: ring.width > 40, centred }, { seen: true, centred: true }];
    });
    await page.screenshot({ path: `${OUT}shared-place.png` });
    Object.assign(server.friends.get(1), east(2000), { time: Date.now() });
    server.flush();
    await page.waitForSelector('.me-marker:not(.shared)');
    assert.deepEqual(complaints, []);
});

for (const [name, options] of Object.entries(SCREENS)) {
    test(`where I was in the last 24 hours is a line on a ${name} screen, until I have seen enough`, async () => {
        const now = Date.now();
        server.history = Array.from({ length: 150 }, (_, i) => ({ ...east(20 * i), time: now - (150 - i) * 60_000, accuracy: null, received: now }));
        server.history.unshift({ ...east(-4000), time: now - 26 * 3_600_000 });
        server.historyPage = 60;
        await open(undefined, options);
        await state('online');
        await page.click('#trail');
        await page.waitForFunction(() => /^The last 24 hours: 3\.0 km$/.test(document.getElementById('trail-note').textContent));
        assert.equal(await page.getAttribute('#trail', 'aria-pressed'), 'true');
        await page.waitForSelector('path.trail', { state: 'attached' });
        const dots = await page.locator('.trail-dot').count();
        assert.ok(dots === 3 || dots === 4, `${dots} full hours`);
        await isAccessible('the trail');
        await page.screenshot({ path: `${OUT}trail-${name}.png` });
        await page.click('#trail');
        assert.equal(await page.isVisible('#trail-note'), false);
        assert.equal(await page.locator('path.trail').count(), 0);
        server.history = [];
        await page.click('#trail');
        await page.waitForFunction(() => /^Nothing is stored/.test(document.getElementById('trail-note').textContent));
        await page.click('#me summary');
        await page.click('#sign-out');
        assert.equal(await page.getAttribute('#trail', 'aria-pressed'), 'false');
        assert.deepEqual(complaints, []);
    });
}
