// Makes the icons of the installed page from public/favicon.svg, in headless Chromium: public/icons/.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const bird = readFileSync(here('public/favicon.svg'), 'utf8');
const ground = '#0e5c63';

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
const page = await browser.newPage();
// Systems cut a maskable icon to any shape: the bird is inside, and its ground reaches all corners.
for (const [name, size, part, colour] of [['icon-192', 192, 1, 'transparent'], ['icon-512', 512, 1, 'transparent'], ['icon-maskable-512', 512, 0.8, ground], ['apple-touch-icon', 180, 1, ground]]) {
    await page.setViewportSize({ width: size, height: size });
    await page.setContent(`<style>body{margin:0;height:100vh;display:grid;place-items:center;background:${colour}}svg{width:${size * part}px;height:${size * part}px}</style>${bird}`);
    await page.screenshot({ path: here(`public/icons/${name}.png`), omitBackground: true });
}
await browser.close();
