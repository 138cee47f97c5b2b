// Makes the README's pictures of the page, docs/images/page*.webp, of a city that runs:
//
//     npm run screenshots -- 'http://127.0.0.1:8080/#token=...&at=52.52,13.405'      (the address that ./dev up prints)
//
// FOLDER in the second argument: where they go instead.

import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const [address, folder = fileURLToPath(new URL('../../docs/images/', import.meta.url))] = process.argv.slice(2);
if (!address?.includes('#token=')) {
    console.error("usage: npm run screenshots -- 'ADDRESS#token=...&at=LAT,LNG' [FOLDER]");
    process.exit(2);
}
const WIDE = { viewport: { width: 1280, height: 800 } };
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, deviceScaleFactor: 1.4 };
const PICTURES = {
    page: WIDE,
    'page-dark': { ...WIDE, colorScheme: 'dark' },
    'page-phone': PHONE,
    'page-feed': PHONE,
    'page-thread': PHONE,
};
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });

/** Playwright writes no WebP, but the browser does. @param {Buffer} png */
async function webp(png) {
    const page = await browser.newPage();
    const url = await page.evaluate(async (source) => {
        const image = new Image();
        image.src = source;
        await image.decode();
        const canvas = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height });
        canvas.getContext('2d').drawImage(image, 0, 0);
        return canvas.toDataURL('image/webp', 0.85);
    }, `data:image/png;base64,${png.toString('base64')}`);
    await page.close();
    return Buffer.from(url.slice(url.indexOf(',') + 1), 'base64');
}

/** Of the first post that has comments. */
async function openThread(page) {
    const toggle = page.locator('.thread-toggle', { hasText: /^\d/ }).first();
    const post = page.locator('#home > article', { has: toggle }).first();
    await toggle.click();
    await post.locator('.comment-text').first().waitFor();
    await post.evaluate((element) => element.scrollIntoView());
}

for (const [name, options] of Object.entries(PICTURES)) {
    const context = await browser.newContext({ locale: 'en-IE', serviceWorkers: 'block', ...options });
    const page = await context.newPage();
    await page.goto(address);
    await page.click('#ask-yes');
    await page.waitForSelector('#state[data-state="online"]');
    await page.waitForSelector('#list > li');
    await page.waitForSelector('#home > article', { state: 'attached' });
    if (name === 'page-feed' || name === 'page-thread') await page.click('#tab-feed');
    if (name === 'page-thread') await openThread(page);
    await page.mouse.move(0, 0); // over nothing that changes under it
    await page.waitForTimeout(3000); // markers, map and pictures are in their places
    writeFileSync(`${folder}/${name}.webp`, await webp(await page.screenshot()));
    await context.close();
}
await browser.close();
