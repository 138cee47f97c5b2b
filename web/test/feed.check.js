// The feed, in a real browser against the fake server.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OUT, PHONE, SCREENS, WIDE, becomes, complaints, eachTest, isAccessible, open, page, rarely, server, showFeed, state, tab } from './browser.js';

eachTest(({ feed }) => feed.fill(70));

const ids = (feed = 'home') => page.$$eval(`#${feed} > article`, (articles) => articles.map(({ dataset }) => dataset.post));
const focused = () => page.evaluate(() => document.activeElement.dataset.post ?? document.activeElement.id);
const home = () => server.feed.timeline.map(({ id }) => id);
const shows = (selector, pattern) =>
    page.waitForFunction(([css, source]) => {
        const element = document.querySelector(css);
        return element?.checkVisibility() && new RegExp(source).test(element.textContent);
    }, [selector, pattern.source]);

/** Opened, and the first page is there. */
async function opened(options) {
    await open(undefined, options);
    await state('online');
    await showFeed();
    await page.waitForSelector('#home > article');
}

/** The newest so many of the timeline at least, each once, in order. */
const showsHome = (count, skip = 0) =>
    becomes(async () => {
        const shown = await ids();
        return [shown, home().slice(skip, skip + Math.max(count, shown.length))];
    });

test('pages down without end, and says where it begins', async () => {
    await opened();
    await showsHome(20);
    for (let shown = 0; shown < 70; shown = (await ids()).length) {
        await page.evaluate(() => document.getElementById('older').scrollIntoView());
        await page.waitForFunction((before) => document.querySelectorAll('#home > article').length > before || document.getElementById('older').hidden, shown);
    }
    await showsHome(70);
    await shows('#feed-end', /begins/);
    assert.equal(await page.isVisible('#older'), false);
    const places = await page.$$eval('#home > article', (all) => all.map((one) => `${one.ariaPosInSet}/${one.ariaSetSize}`));
    assert.deepEqual([places[0], places[69]], ['1/70', '70/70']);
    assert.deepEqual(complaints, []);
});

test('pages down, too, for a reader who is back at the end before the posts that came are drawn', async () => {
    await opened();
    await showsHome(20);
    await page.evaluate(() => {
        const toTheEnd = () => document.getElementById('older').scrollIntoView();
        // In the task in which the posts came, so before the next frame, but after all that the page does in it.
        const afterThePage = async () => {
            for (let i = 0; i < 100; i += 1) await null;
            toTheEnd();
        };
        new MutationObserver(afterThePage).observe(document.getElementById('home'), { childList: true });
        toTheEnd();
    });
    await showsHome(70);
});

test('my own posts are read, too, when they are chosen while older ones of others are on their way', async () => {
    await opened();
    await showsHome(20);
    const asked = new Promise((resolve) => page.route('**/v1/feed?*after=*', resolve, { times: 1 }));
    await page.evaluate(() => document.getElementById('older').scrollIntoView());
    const held = await asked;
    await page.click('#show-mine');
    await held.continue();
    await shows('#feed-end', /not posted anything/);
});

test('new posts are announced, and wait until they are asked for', async () => {
    await opened();
    await showsHome(20);
    await page.evaluate(() => (document.getElementById('feed-scroll').scrollTop = 900));
    const place = () => page.$eval('#home > article:nth-child(8)', (one) => Math.round(one.getBoundingClientRect().top));
    const before = await place();
    for (let i = 0; i < 3; i += 1) server.feed.publish(1000, `News ${i}`);
    await shows('#news', /^3 new posts$/);
    assert.equal(await place(), before, 'nothing moves under the finger');
    await showsHome(20, 3);
    await shows('#feed-announce', /new post/);
    await page.click('#news');
    await showsHome(23);
    await becomes(async () => [await focused(), home()[0]]); // the newest one has the focus
    assert.equal(await page.isVisible('#news'), false);
    assert.equal(await page.$eval('#home > article .text', (text) => text.textContent), 'News 2');
});

test('a deleted post goes, an unavailable one is filled in later', async () => {
    const away = server.feed.posts.at(-2);
    away.away = true;
    await opened();
    await showsHome(20);
    const article = `article[data-post="${away.id}"]`;
    assert.match(await page.textContent(`${article} .text`), /cannot be shown/);
    server.feed.remove(home()[0]);
    await showsHome(19);
    away.away = false;
    await page.waitForFunction(([css, text]) => document.querySelector(`${css} .text`).textContent === text, [article, away.text]);
    assert.equal(await page.locator(`${article}.unavailable`).count(), 0);
});

test('the feed survives a lost connection, and has what was posted meanwhile', async () => {
    await opened();
    await showsHome(20);
    server.hangUp(1012, 60_000);
    await state('waiting');
    server.feed.publish(1001, 'While you were away');
    await page.click('#retry');
    await state('online');
    await shows('#news', /^1 new post$/);
    await page.click('#news');
    await showsHome(21);
});

test('a post is written, counted in code points, found among my own and deleted', async () => {
    await opened();
    assert.equal(await page.textContent('#count'), '0 / 2,000');
    assert.equal(await page.getAttribute('#post', 'aria-disabled'), 'true');
    await page.fill('#text', '😀'.repeat(2001));
    assert.equal(await page.textContent('#count'), '1 character too many');
    await page.keyboard.press('Control+Enter');
    await page.fill('#text', 'Hello <b>world</b> 😀\n\nSecond line');
    assert.equal(await page.textContent('#count'), '33 / 2,000');
    await page.focus('#text');
    await page.keyboard.press('Control+Enter');
    await shows('#feed-note', /Posted/);
    assert.equal(await page.inputValue('#text'), '');
    assert.deepEqual(server.feed.asked.filter((line) => line.startsWith('POST')), ['POST /v1/posts'], 'the long one was not sent');

    await page.click('#show-mine');
    await shows('#mine > article:first-child .text', /Hello <b>world<\/b>/);
    assert.equal(await page.locator('#mine article b').count(), 0);
    await rarely('#mine article .actions', 'Delete');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Keep');
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate(() => document.activeElement.tagName), 'SUMMARY');
    await rarely('#mine article .actions', 'Delete');
    await page.click('#mine article .danger');
    await shows('#feed-end', /not posted anything/);
    assert.equal(server.feed.posts.filter(({ user }) => user === 42).length, 0);
    assert.deepEqual(complaints, []);
});

test('my post can be edited; all see that it was, and what it said', async () => {
    const others = server.feed.timeline[0];
    const mine = server.feed.publish(42, 'A tpyo');
    await opened();
    await page.click('#show-mine');
    await shows('#mine > article .text', /^A tpyo$/);
    await rarely('#mine article .actions', 'Edit');
    await page.fill('#mine article textarea', 'A typo');
    await page.keyboard.press('Control+Enter');
    await shows('#feed-note', /The new text is there/);
    await shows('#mine > article .text', /^A typo$/);
    await page.click('#mine article .edited');
    await shows('#mine article .edits p', /^A tpyo$/);
    await isAccessible('an edited post');
    await page.screenshot({ path: `${OUT}edited-post.png` });

    await rarely('#mine article .actions', 'Edit');
    server.feed.edit(mine, { text: 'Edited on my phone', version: 2 });
    await page.fill('#mine article textarea', 'Edited here');
    await page.keyboard.press('Control+Enter');
    await shows('#mine article .problem', /edited elsewhere meanwhile/);
    assert.equal(mine.text, 'Edited on my phone');

    await page.click('#show-home');
    const listed = `#home > article[data-post="${others.id}"]`;
    await shows(`${listed} .text`, /./);
    server.feed.edit(others, { text: 'Of another’s hand', version: 1 });
    await shows(`${listed} .text`, /^Of another’s hand$/);
    await shows(`${listed} .edited`, /^edited$/);
    assert.deepEqual(complaints.filter((one) => !one.includes('409')), []);
});

test('a post whose answers are lost is one post, over a reload, too', async () => {
    server.feed.fail = { status: 500, code: 'write_refused', detail: 'Kafka does not want this record' };
    await open();
    await state('online');
    await page.fill('#text', 'Only once');
    await page.click('#post');
    await shows('#compose-problem', /Not posted. Kafka does not want/);
    server.feed.fail = null;
    server.feed.loseAnswers = 1;
    await page.reload();
    await state('online');
    assert.equal(await page.inputValue('#text'), 'Only once');
    await page.click('#post');
    await shows('#feed-note', /Posted/);
    assert.equal(server.feed.asked.filter((line) => line === 'POST /v1/posts').length, 3);
    assert.equal(server.feed.posts.filter(({ text }) => text === 'Only once').length, 1);
});

test('follows and unfollows: from a post with a way back, and by number', async () => {
    await opened();
    await showsHome(20);
    const author = Number(await page.getAttribute('#home > article:first-child', 'data-user'));
    await rarely('#home > article:first-child .actions');
    await shows('#feed-note', /do not follow .* any more/);
    assert.equal(server.feed.following.has(author), false);
    await showsHome(17);
    assert.equal(await page.locator(`#home > article[data-user="${author}"]`).count(), 0);
    await page.click('#feed-undo');
    await shows('#feed-note', /You follow .* now/);
    await page.waitForSelector('#news:not([hidden])');
    await page.click('#news');
    await showsHome(20);

    await page.fill('#person', 'a b');
    await page.click('#find');
    await shows('#person-problem', /is a number/);
    await page.fill('#person', '@nobody');
    await page.click('#find');
    await shows('#person-problem', /Nobody is called @nobody/);
    server.feed.handles.set('ines', 1020);
    server.feed.about.set(1020, { bio: 'Bakes <b>bread</b>', url: 'https://ines.example/?a=1' });
    await page.fill('#person', 'Ines');
    await page.click('#find');
    await shows('#person-card', /@ines/);
    await shows('#person-followers', /^31 followers$/);
    assert.equal(await page.textContent('#person-page .bio'), 'Bakes <b>bread</b>');
    assert.equal(await page.getAttribute('#person-page .url a', 'href'), 'https://ines.example/?a=1');
    await page.fill('#person', '1020');
    await page.press('#person', 'Enter');
    await becomes(async () => [await page.$$eval('#person-lists button', (all) => all.map(({ textContent }) => textContent)), ['0 posts', '31 followers', 'follows 12']]);
    await shows('#feed-end', /Nothing is posted here yet/);
    assert.equal(await page.isVisible('#person-known'), false);
    const [known, other] = [...server.feed.following].sort((a, b) => a - b);
    server.feed.known = new Set([known, other]);
    await page.click('#find');
    await shows('#person-known', /^Followed by .+ and .+, whom you follow$/);
    await page.click('#person-known');
    await becomes(async () => [await page.$$eval('#person-people > li', (all) => all.map(({ dataset }) => Number(dataset.user))), [known, other]]);
    assert.equal(await page.isVisible('#person-mutual'), false);
    const friends = [...server.feed.people.keys()].sort((a, b) => a - b).filter((user) => user !== 1020).slice(0, 4);
    for (const [count, text] of [[1, /^1 mutual friend: [^,]+$/], [3, /^3 mutual friends: [^,]+, [^,]+ and [^,]+$/], [4, /^4 mutual friends: [^,]+, [^,]+ and 2 others$/]]) {
        server.feed.mutual = new Set(friends.slice(0, count));
        await page.click('#find');
        await shows('#person-mutual', text);
    }
    await page.click('#person-mutual');
    await becomes(async () => [await page.$$eval('#person-people > li', (all) => all.map(({ dataset }) => Number(dataset.user))), friends]);
    assert.match(await page.getAttribute('#person-people', 'aria-label'), /^4 mutual friends/);
    await page.click('#person-posts');
    await page.click('#follow[data-follow="none"]');
    await page.waitForSelector('#follow[data-follow="following"]');
    assert.equal(server.feed.following.has(1020), true);
    await page.click('#follow');
    await page.waitForSelector('#follow[data-follow="none"]');
    await page.fill('#person', '42');
    await page.click('#find');
    await shows('#person-card', /This is you/);
    assert.equal(await page.isVisible('#follow'), false);
});

test('errors stand in front, with a way on', async () => {
    await opened();
    await showsHome(20);
    server.feed.fail = { status: 503, code: 'owner_unavailable', detail: 'the owner is being moved', retryAfter: 90 };
    server.feed.changed(() => server.feed.posts.pop());
    await shows('#feed-problem', /the owner is being moved. Trying again in \d\d s\./);
    await shows('#feed-announce', /cannot be read/);
    assert.equal((await ids()).length >= 20, true, 'the list stays');
    server.feed.fail = null;
    await page.focus('#feed-retry');
    await page.keyboard.press('Enter');
    await page.waitForSelector('#feed-problem', { state: 'hidden' });
    await becomes(async () => [await focused(), 'show-home']); // the focus is not lost with the button

    server.feed.fail = { status: 401, code: 'token_expired', detail: 'the token has expired' };
    server.feed.changed(() => server.feed.posts.pop());
    await shows('#feed-problem', /does not accept your token/);
    await page.waitForSelector('#gate:not([hidden])');
    assert.match(await page.textContent('#gate-problem'), /has expired/);
    await page.click('#cancel');
    server.feed.fail = null;
    await page.click('#feed-retry');
    await page.waitForSelector('#gate:not([hidden])');
    await page.fill('#token', await page.evaluate(() => sessionStorage.getItem('starling.token')));
    await page.click('#sign-in');
    await page.waitForSelector('#feed-problem', { state: 'hidden' });
});

test('older posts that cannot be read are asked for by hand', async () => {
    await opened();
    await showsHome(20);
    server.feed.fail = { status: 503, code: 'owner_unavailable', detail: 'away' };
    await page.evaluate(() => document.getElementById('older').scrollIntoView());
    await shows('#older-problem', /Older posts could not be read. away\./);
    server.feed.fail = null;
    const before = (await ids()).length;
    await page.click('#older');
    await showsHome(before + 20);
    assert.equal(await page.isVisible('#older-problem'), false);
});

test('the posts of a day', async () => {
    await opened();
    const DAY_MS = 86_400_000;
    const posts = server.feed.posts;
    for (const [i, post] of posts.entries()) post.time = Date.now() - (i < 10 ? 4 : 3) * DAY_MS;
    const dayOf = (time) => new Date(time - new Date(time).getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
    for (const [ago, first, last] of [[4, 0, 10], [3, 10, posts.length]]) {
        await page.fill('#day', dayOf(Date.now() - ago * DAY_MS));
        const expected = posts.slice(first, last).map(({ id }) => id).reverse();
        await becomes(async () => [(await ids('of-day')).slice(0, 20), expected.slice(0, 20)]);
    }
    await isAccessible('a day');
    await page.screenshot({ path: `${OUT}day.png` });
    await page.fill('#day', dayOf(Date.now() - 9 * DAY_MS));
    await shows('#feed-end', /None of those whom you follow/);
    await page.click('#show-home');
    assert.equal(await page.inputValue('#day'), '');
    await showsHome(20);
});

test('a timeline that is being gathered fills by itself, and is not announced', async () => {
    const { posts } = server.feed;
    server.feed.complete = false;
    server.feed.posts = [];
    await open();
    await shows('#feed-end', /being gathered/);
    server.feed.changed(() => Object.assign(server.feed, { posts, complete: true }));
    await showsHome(20);
    assert.equal(await page.isVisible('#news'), false);
});

test('nobody followed, nothing posted: says so. Signed out: nothing is left', async () => {
    server.feed.following.clear();
    await open();
    await shows('#feed-end', /Follow somebody/);
    await page.click('#show-mine');
    await shows('#feed-end', /not posted anything/);
    await page.fill('#text', 'A draft');
    await page.click('#me summary');
    await page.click('#sign-out');
    assert.equal(await page.inputValue('#text'), '');
    assert.equal(await page.evaluate(() => sessionStorage.length), 0, 'not even the place');
});

test('on a phone: two tabs, by touch and by keys, with the number of new posts', async () => {
    await open(undefined, PHONE);
    await state('online');
    await page.waitForSelector('#list > li');
    await page.waitForSelector('#home > article', { state: 'attached' }); // what comes from now on is new
    assert.equal(await page.isVisible('#feed-side'), false);
    server.feed.publish(1000, 'News');
    await page.waitForFunction(() => document.getElementById('tab-news').textContent === '1');
    assert.equal(await page.textContent('#tab-feed'), 'Feed 1 new post');
    await page.focus('#tab-map');
    await page.keyboard.press('ArrowRight');
    await becomes(async () => [await focused(), 'tab-feed']);
    assert.equal(await page.isVisible('#map'), false);
    await showsHome(20, 1);
    await page.tap('#tab-map');
    await page.waitForSelector('.face');
    assert.ok((await page.locator('#map').boundingBox()).height > 180);
});

for (const [name, options] of Object.entries({ ...SCREENS, between: { viewport: { width: 900, height: 700 } } })) {
    test(`fits a ${name} screen, and axe-core finds nothing whatever is shown`, async () => {
        server.feed.posts.at(-1).media = ['https://img.example/7/a.jpg', 'javascript:alert(1)', 'http://[', 'http://other.example/b'];
        server.feed.posts.at(-2).away = true;
        server.feed.posts.at(-3).text = `${'x'.repeat(1500)}\n${'long '.repeat(90)}`;
        await open(undefined, options);
        await state('online');
        await showFeed();
        await page.waitForSelector('#home > article');
        const sizes = await page.evaluate(() => ({
            page: document.documentElement.scrollWidth,
            screen: innerWidth,
            side: document.getElementById('feed-scroll').scrollWidth - document.getElementById('feed-scroll').clientWidth,
            small: [...document.querySelectorAll('#feed-side button, #tabs button')].filter((one) => one.checkVisibility() && one.offsetHeight < 40).length,
            both: document.getElementById('map').checkVisibility(),
        }));
        assert.deepEqual({ ...sizes, page: 0, screen: 0 }, { page: 0, screen: 0, side: 0, small: 0, both: name === 'wide' });
        assert.ok(sizes.page <= sizes.screen, 'nothing to scroll sideways');
        assert.deepEqual(await page.$$eval('article a', (links) => links.map(({ host }) => host)), ['img.example', 'other.example']);
        await isAccessible('posts');
        await page.fill('#text', 'x'.repeat(2005));
        await page.fill('#person', '1020');
        await page.click('#find');
        await page.waitForSelector('#person-page:not([hidden])');
        await isAccessible('somebody’s page');
        await page.click('#show-home');
        server.feed.publish(1000, 'News');
        await page.waitForSelector('#news:not([hidden])');
        await rarely('#home > article:nth-child(2) .actions');
        await page.waitForSelector('#feed-note:not([hidden])');
        await isAccessible('everything at once');
        await page.screenshot({ path: `${OUT}feed-${name}.png` });
        server.feed.fail = { status: 503, code: 'owner_unavailable', detail: 'away', retryAfter: 60 };
        server.feed.changed(() => server.feed.posts.pop());
        await page.waitForSelector('#feed-problem:not([hidden])');
        await page.fill('#person', 'x');
        await page.click('#find');
        await isAccessible('problems');
        server.feed.fail = null;
        await page.click('#feed-retry');
        await page.click('#show-mine');
        await shows('#feed-end', /not posted anything/);
        await isAccessible('no posts of mine');
    });
}

test('my own post stands in the timeline at once, links are links, and an author’s name opens the card, from where one follows', async () => {
    await opened(WIDE);
    await showsHome(20);
    await page.fill('#text', 'See https://example.org/a?b=1, not javascript:alert(1) \u202egnp.exe');
    await page.click('#post');
    const mine = '#home > article:first-child';
    await page.waitForSelector(`${mine}[data-user="42"]`);
    assert.deepEqual(
        await page.$$eval(`${mine} .text a`, (all) => all.map(({ href, rel, target }) => [href, rel, target])),
        [['https://example.org/a?b=1', 'noopener nofollow ugc', '_blank']],
    );
    assert.equal(await page.textContent(`${mine} .text`), 'See https://example.org/a?b=1, not javascript:alert(1) gnp.exe');
    await rarely(mine, 'Delete');
    await page.click(`${mine} .danger`);
    await page.waitForSelector(`${mine}[data-user="42"]`, { state: 'detached' });

    const author = await page.getAttribute(mine, 'data-user');
    await page.click(`${mine} .name`);
    await page.waitForSelector(`#card[open][data-user="${author}"]`);
    await page.click('#card-follow[data-follow="following"]');
    await page.waitForSelector('#card-follow[data-follow="none"]');
    assert.equal(server.feed.following.has(Number(author)), false);
    await isAccessible('a card');
    await page.screenshot({ path: `${OUT}card-follow.png` });
    await page.click('#card-close');

    const before = server.feed.asked.length;
    await page.fill('#person', 'chen');
    await page.waitForSelector('#person-found > li');
    assert.deepEqual(server.feed.asked.slice(before), ['GET /v1/users/42/following']);
    assert.ok((await page.$$eval('#person-found .name', (all) => all.map(({ textContent }) => textContent))).every((name) => /^Chen/.test(name)));
    await isAccessible('people found');
    await page.screenshot({ path: `${OUT}found.png` });
    await page.click('#person-found button');
    await page.waitForSelector('#person-page:not([hidden])');
    assert.match(await page.textContent('#person-card .name'), /^Chen Wei/);
    assert.deepEqual(complaints, []);
});

test('what is kept of me comes as a file, and I am erased after a question', async () => {
    await opened(WIDE);
    const asked = [];
    await page.route('**/v1/export**', (route) => route.fulfill({ json: { kind: 'sharing', items: [{ mode: 'off' }], next: null } }));
    await page.route((url) => url.pathname === '/v1/me', (route) => asked.push(route.request().method()) && route.fulfill({ status: 200, json: { state: 'done' } }));
    await page.click('#me summary');
    await isAccessible('settings');
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('#export')]);
    assert.equal(download.suggestedFilename(), 'starling.jsonl');
    await page.click('#erase');
    assert.deepEqual([await page.textContent('#erase'), asked], ['Delete everything for good?', []]);
    await page.click('#erase');
    await page.waitForSelector('#gate:not([hidden])');
    assert.equal(await page.evaluate(() => sessionStorage.length), 0);
});

test('by keys alone: everything is reached in order, and posts by Page Down', async () => {
    await opened(WIDE);
    await showsHome(20);
    await page.waitForSelector('#more');
    await page.focus('#more');
    const order = [];
    for (let i = 0; i < 22; i += 1) order.push(await tab());
    assert.deepEqual(order, ['show-around', 'show-home', 'show-mine', ...Array(4).fill('day'), 'text', 'post', 'person', 'find', 'home', 'name-1', 'home', 'home', 'home', 'home', 'name-2', 'home', 'home', 'home', 'home']);
    const [first, second, third, fourth] = home();
    await becomes(async () => [await focused(), third]);
    await page.keyboard.press('PageDown');
    await becomes(async () => [await focused(), fourth]);
    await page.keyboard.press('PageUp');
    await page.keyboard.press('PageUp');
    await becomes(async () => [await focused(), second]);
    server.feed.remove(second);
    await page.waitForSelector(`article[data-post="${second}"]`, { state: 'detached' });
    await becomes(async () => [await focused(), third]); // the next one has the focus of one that went
    await page.keyboard.press('Control+End');
    await becomes(async () => [await focused(), 'older']);
    await page.keyboard.press('PageUp');
    await page.focus(`article[data-post="${first}"]`);
    await page.keyboard.press('Control+Home');
    await becomes(async () => [await focused(), 'text']);
});
