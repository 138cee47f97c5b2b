// The page in Chinese, in a real browser against the fake server: nothing on it is in English.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HERE, OUT, SCREENS, TOKEN, becomes, complaints, eachTest, isAccessible, keep, open, page, server, showFeed, state } from './browser.js';

eachTest(({ feed }) => {
    feed.fill(30);
    feed.notify(1003);
});

const CHINESE = { locale: 'zh-CN' };

/** Every text of the document, shown or not, that has Latin words in it which are no names and not written by users. */
const foreign = () =>
    page.evaluate((people) => {
        const found = [];
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        for (let node; (node = walker.nextNode()); ) if (!node.parentElement.closest('article .text, .name, .avatar, .face, .leaflet-control-scale')) found.push(node.data);
        for (const element of document.querySelectorAll('*')) {
            for (const name of ['aria-label', 'title', 'placeholder', 'alt']) found.push(element.getAttribute(name) ?? '');
        }
        const names = /starling|JSON Web Token|eyJ|@ada|English|Mira Starling|@\w+|°\s[NESW]/g;
        const ours = (text) => people.reduce((rest, name) => rest.replaceAll(name, ''), text).replace(names, '');
        return [...new Set(found)].filter((text) => /[A-Za-z]{2,}/.test(ours(text)));
    }, [...server.friends.values()].map(({ name }) => name).filter(Boolean));

for (const [name, options] of Object.entries(SCREENS)) {
    test(`a browser that asks for Chinese gets it, on a ${name} screen`, async () => {
        await open('', { ...CHINESE, ...options });
        await page.waitForSelector('#gate:not([hidden])');
        assert.deepEqual(await page.evaluate(() => [document.documentElement.lang, document.title.includes('附近')]), ['zh-CN', true]);
        assert.deepEqual(await foreign(), []);
        await isAccessible('signing in');
        await page.screenshot({ path: `${OUT}chinese-gate-${name}.png` });
        await keep(TOKEN, HERE);
        await page.reload();
        await state('online');
        await page.waitForSelector('#list > li');
        assert.match(await page.textContent('#list .distance'), /^\d[\d.]* (米|公里)$/);
        await showFeed();
        await page.waitForSelector('#home > article');
        await page.click('article .thread-toggle');
        await page.waitForSelector('.thread-end:not(:empty)');
        assert.deepEqual(await foreign(), []);
        await page.screenshot({ path: `${OUT}chinese-feed-${name}.png` });
        await page.click('#notices summary');
        await page.waitForSelector('#notice-list > li');
        assert.deepEqual(await foreign(), []);
        await page.click('#me summary');
        await isAccessible('my panel');
        await page.screenshot({ path: `${OUT}chinese-${name}.png` });
        assert.deepEqual(complaints, []);
    });
}

test('language and units are chosen by a button each, and stay', async () => {
    await open(undefined, { locale: 'en-US' });
    await state('online');
    await becomes(async () => [/ (mi|ft)$/.test(await page.textContent('#list .distance')), true]);
    assert.match(await page.textContent('#radius'), /^within 5\.0 mi$/);
    assert.match(await page.textContent('.leaflet-control-scale'), / mi$/);
    await page.click('#me summary');
    await page.click('#me [data-choice="units"] [value="km"]');
    await page.waitForFunction(() => /km$/.test(document.getElementById('radius').textContent));
    await state('online');
    await page.click('#me summary');
    assert.equal(await page.getAttribute('#me [data-choice="units"] [value="km"]', 'aria-pressed'), 'true');
    await page.click('#me [data-choice="language"] [value="zh"]');
    await page.waitForFunction(() => document.documentElement.lang === 'zh-CN' && /公里/.test(document.getElementById('radius').textContent));
    await state('online');
    assert.deepEqual(await page.$$eval('#gate [data-choice="language"] button', (all) => all.map(({ textContent, lang }) => [textContent, lang])), [['English', 'en'], ['中文', 'zh-CN']]);
    assert.deepEqual(complaints, []);
});

test('what the server says is passed on, as its words', async () => {
    await open(undefined, CHINESE);
    await state('online');
    await page.click('#me summary');
    await page.waitForSelector('#sharing[data-mode="friends"]');
    await page.waitForLoadState('networkidle'); // a question that is refused would sign us out
    server.refuse = true;
    await page.click('#sharing label:has([value="public"])');
    await page.waitForFunction(() => document.querySelector('#problem .text').textContent === '谁能看到你没有更改。服务器回答：The token is not valid.');
});
