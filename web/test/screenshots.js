// Makes the README's pictures of the page: docs/screenshot-feed.png and -thread.png, with invented people.

import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { FakeServer, fakeToken } from './fake-server.js';

const DOCS = fileURLToPath(new URL('../../docs/', import.meta.url));

let seed = 20;
const random = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
const server = new FakeServer({ count: 34, random });
server.feed.fill(64);
server.feed.notify(1003);
server.feed.notify(1007, server.feed.posts.at(-1).id);
const discussed = server.feed.timeline[2];
server.comments.discuss(discussed.id);
server.feed.posts.at(-2).media = ['https://photos.example/roof.jpg'];
const address = await server.listen();
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });

async function picture(name, options, act) {
    const page = await (await browser.newContext({ locale: 'en-IE', ...options })).newPage();
    await page.goto(`${address}#token=${fakeToken(42)}&at=39.9847,116.3184`);
    await page.waitForSelector('#state[data-state="online"]');
    await page.waitForSelector('#list > li');
    await act(page);
    await page.waitForSelector('#home > article');
    server.feed.publish(1004, 'The lindens are in bloom, and the whole street smells of them.');
    await page.waitForSelector('#news:not([hidden])');
    await page.mouse.move(0, 0);
    await page.waitForTimeout(600); // markers and tiles are in their places
    await page.screenshot({ path: `${DOCS}${name}.png` });
}

await picture('screenshot-feed', { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true, deviceScaleFactor: 1.5 }, (page) =>
    page.click('#tab-feed'),
);
await picture('screenshot-thread', { viewport: { width: 390, height: 1000 }, hasTouch: true, isMobile: true, deviceScaleFactor: 1.5 }, async (page) => {
    await page.click('#tab-feed');
    await page.click(`article[data-post="${discussed.id}"] .thread-toggle`);
    await page.waitForSelector('.comment');
    await page.$eval(`article[data-post="${discussed.id}"]`, (article) => (document.getElementById('feed-scroll').scrollTop += article.getBoundingClientRect().top - 220));
});
await browser.close();
server.close();
process.exit(0);
