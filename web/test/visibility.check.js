// Who sees posts: the switch, requests to follow, and people's pages, in a real browser against the fake server.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NARROW, OUT, PHONE, SCREENS, WIDE, becomes, complaints, eachTest, isAccessible, open, page, server, showFeed, state, tab } from './browser.js';

const CLOSED = 1003; // one of those who have posted
const EVERY = { ...SCREENS, narrow: NARROW };

eachTest(({ feed }) => {
    feed.fill(30);
    feed.closed.add(CLOSED);
    feed.following.delete(CLOSED);
});

const text = (selector) => page.locator(selector).textContent();
/** It stands there to be read; '': it is empty. */
const says = (selector, words) => becomes(async () => [[await text(selector), words === '' || (await page.isVisible(selector))], [words, true]]);
const focused = () => page.evaluate(() => document.activeElement.id || (document.activeElement.dataset.act ?? document.activeElement.tagName));
const listed = (list) => page.$$eval(`#${list} > li`, (rows) => rows.map(({ dataset }) => Number(dataset.user)));
const posted = (user) => server.feed.posts.filter((post) => post.user === user).map(({ id }) => id).reverse();
const shown = () => page.$$eval('#of-person > article', (all) => all.map(({ dataset }) => dataset.post));
const sideways = () => page.evaluate(() => document.documentElement.scrollWidth > innerWidth || document.getElementById('feed-scroll').scrollWidth > document.getElementById('feed-scroll').clientWidth);
/** Buttons of that part that are too small for a finger. */
const small = (part) => page.$$eval(`${part} button`, (all) => all.filter((one) => one.checkVisibility() && one.offsetHeight < 40 && one.className !== 'name').length);
const refused = (text) => /40[34]/.test(text); // the browser says so in its console, whatever the page makes of it

async function opened(options) {
    await open(undefined, options);
    await state('online');
    await showFeed();
    await page.waitForSelector('#home > article');
}

async function find(user) {
    await page.fill('#person', String(user));
    await page.press('#person', 'Enter');
    await page.waitForSelector(`#person-card[data-user="${user}"]`);
}

for (const [name, options] of Object.entries(EVERY)) {
    test(`who sees my posts is said in the settings and where I write, on a ${name} screen`, async () => {
        await opened(options);
        await says('#audience .text', 'Everybody sees it');
        assert.equal(await page.isVisible('#audience-lock'), false);
        await page.click('#me summary');
        await page.waitForSelector('#visibility[data-posts="everybody"]');
        await page.focus('#visibility [value="everybody"]');
        await page.keyboard.press('ArrowRight');
        await page.waitForSelector('#visibility[data-posts="followers"]');
        await says('#visibility-note', 'Only followers whom I accept see my posts and the comments on them. “Everybody” accepts all who have asked.');
        await becomes(async () => [server.feed.visibility, 'followers']);
        await isAccessible('settings');
        await page.locator('#visibility').scrollIntoViewIfNeeded();
        await page.screenshot({ path: `${OUT}visibility-${name}.png` });
        assert.equal(await sideways(), false);

        await page.reload();
        await state('online');
        await showFeed();
        await says('#audience .text', 'Only your followers see it');
        assert.equal(await page.isVisible('#audience-lock'), true);
        await isAccessible('writing for followers');
        await page.screenshot({ path: `${OUT}audience-${name}.png` });
        assert.equal(await page.isChecked('#visibility [value="followers"]'), true);
        assert.deepEqual(complaints, []);
    });
}

test('where the server does not take it, the switch goes back, and nobody is told otherwise', async () => {
    await opened();
    await says('#audience .text', 'Everybody sees it');
    server.feed.fail = { status: 503, code: 'owner_unavailable', detail: 'the owner is being moved', retryAfter: 90 };
    await page.click('#me summary');
    await page.click('#visibility label:has([value="followers"])');
    await says('#problem .text', 'Who sees your posts was not changed. the owner is being moved.');
    assert.equal(await page.getAttribute('#visibility', 'data-posts'), 'everybody');
    assert.equal(await page.isChecked('#visibility [value="everybody"]'), true);
    assert.equal(await text('#audience .text'), 'Everybody sees it');

    await page.click('#sign-out');
    assert.equal(await page.isVisible('#audience'), false);
});

test('as long as the server does not say who sees my posts, the page does not either', async () => {
    server.feed.fail = { status: 503, code: 'owner_unavailable', detail: 'away', retryAfter: 90 };
    await open();
    await state('online');
    assert.deepEqual([await page.isVisible('#audience'), await page.getAttribute('#visibility', 'data-posts')], [false, null]);
    assert.equal(await page.locator('#visibility input:checked').count(), 0);
});

test('a follow is asked for, taken back, asked for again and accepted; then the posts are there', async () => {
    await opened();
    await find(CLOSED);
    await says('#person-closed .text', 'Only followers see Dilnoza Duarte’s posts.');
    await page.waitForSelector('#person-lock');
    assert.deepEqual([await text('#follow'), await page.getAttribute('#follow', 'aria-label')], ['Follow', 'Follow Dilnoza Duarte']);
    await page.focus('#follow');
    await page.keyboard.press('Enter');
    await page.waitForSelector('#follow[data-follow="requested"]');
    assert.deepEqual([await text('#follow'), await page.getAttribute('#follow', 'aria-label')], ['Requested', 'Requested to follow Dilnoza Duarte: take it back']);
    await says('#feed-note .text', 'You have asked to follow Dilnoza Duarte.');
    assert.deepEqual([await focused(), [...server.feed.asking]], ['follow', [CLOSED]]);
    await isAccessible('requested');
    await page.keyboard.press('Enter');
    await page.waitForSelector('#follow[data-follow="none"]');
    await says('#feed-note .text', 'You do not ask to follow Dilnoza Duarte any more.');
    assert.deepEqual([...server.feed.asking], []);

    await page.keyboard.press('Enter');
    await page.waitForSelector('#follow[data-follow="requested"]');
    server.feed.accept(CLOSED);
    server.feed.tell(CLOSED, 'accepted');
    await page.click('#notices summary');
    await says('#notice-list > li:first-child .what', 'Dilnoza Duarte accepted your request to follow');
    await page.click('#notice-list > li:first-child button');
    await page.waitForSelector('#follow[data-follow="following"]');
    assert.deepEqual([await text('#follow'), await page.getAttribute('#follow', 'aria-label')], ['Following', 'Following Dilnoza Duarte: unfollow']);
    await becomes(async () => [await shown(), posted(CLOSED)]);
    assert.equal(await page.isVisible('#person-closed'), false);

    await page.click('#person-name'); // what else may be done is on the card, which knows as much
    await page.waitForSelector('#card-follow[data-follow="following"]');
    await page.click('#card-follow');
    await page.waitForSelector('#card-follow[data-follow="none"]');
    await page.waitForSelector('#follow[data-follow="none"]');
    await becomes(async () => [await shown(), []]);
    assert.equal(await page.isVisible('#feed-end'), false, 'whether there are posts is not said');
    await says('#person-closed .text', 'Only followers see Dilnoza Duarte’s posts.');
    assert.deepEqual(complaints.filter((one) => !refused(one)), []);
});

test('one request says who it is and whether I follow; where the server does not say the latter, there is no button', async () => {
    await opened();
    await page.route('**/v1/users/1001', (route) => route.fulfill({ json: { user: 1001, name: 'Bo Brandt', avatar_url: '', bio: '', url: '' } }), { times: 2 });
    await find(1001);
    await becomes(async () => [await shown(), posted(1001)]);
    assert.equal(await page.isVisible('#follow'), false);
    const told = page.waitForResponse('**/v1/users/1001');
    await page.click('#person-name');
    await told;
    await page.waitForSelector('#card[open][data-user="1001"]');
    assert.equal(await page.isVisible('#card-follow'), false);
    await page.click('#card-close');
    await find(1001);
    await page.waitForSelector('#follow[data-follow="following"]');
    const about = (line) => /^GET \/v1\/(users\/1001|follows.*)$/.test(line);
    assert.deepEqual([server.feed.asked.filter(about), complaints], [['GET /v1/users/1001'], []]);
});

test('why whom I follow was not changed stands beside the button', async () => {
    await opened();
    await find(1020);
    await page.waitForSelector('#follow[data-follow="none"]');
    await page.route('**/v1/follows/1020', (route) => route.fulfill({ status: 409, contentType: 'application/problem+json', json: { code: 'requests_limit', detail: 'the user has as many requests as anybody may' } }));
    await page.click('#follow');
    await page.waitForSelector('#follow-problem:not([hidden])');
    assert.match(await text('#follow-problem'), /was not changed. the user has as many requests as anybody may\.$/);
    await isAccessible('a refusal');
    assert.equal(await page.getAttribute('#follow', 'data-follow'), 'none');
});

for (const [name, options] of Object.entries(EVERY)) {
    test(`requests to follow me are counted on the bell and answered there, on a ${name} screen`, async () => {
        server.feed.handles.set('chen', 1002);
        server.feed.notify(1001);
        for (const user of [1002, 1005, 1016]) server.feed.tell(user, 'request');
        await open(undefined, options);
        await says('#notices summary', 'Notices4 new');
        await becomes(async () => [await text('#notices-announce'), '4 new notices']);
        await page.click('#notices summary');
        await page.waitForSelector('#request-list > li');
        assert.deepEqual(await listed('request-list'), [1002, 1005, 1016]);
        assert.deepEqual([await text('#request-list [data-user="1002"] .who'), await text('#request-list [data-user="1016"] .name')], ['Chen Wei Costa@chen', 'User 1016']);
        await says('#notice-list > li:first-child .what', 'Bo Brandt follows you'); // a request that waits stands above only
        await says('#notice-count', '');
        assert.deepEqual(await page.$$eval('#request-list [data-user="1005"] button:not(.friend)', (all) => all.map((one) => [one.textContent, one.ariaLabel])), [
            ['Accept', 'Accept Fatima Fischer'], ['Refuse', 'Refuse Fatima Fischer'],
        ]);
        await isAccessible('requests');
        await page.screenshot({ path: `${OUT}requests-${name}.png` });
        assert.deepEqual([await sideways(), await small('#requests')], [false, 0]);

        await page.focus('#request-list [data-user="1002"] [data-act="accept"]');
        await page.keyboard.press('Enter');
        await becomes(async () => [await listed('request-list'), [1005, 1016]]);
        assert.deepEqual([[...server.feed.followers], await focused()], [[1002], 'accept'], 'the next one');
        await tab();
        await page.keyboard.press('Enter');
        await becomes(async () => [await listed('request-list'), [1016]]);
        await page.keyboard.press('Enter');
        await page.waitForSelector('#requests', { state: 'hidden' });
        assert.deepEqual([[...server.feed.followers], [...server.feed.requests], await focused()], [[1002], [], 'SUMMARY']);
        assert.deepEqual(await page.$$eval('#notice-list .what', (all) => all.map(({ textContent }) => textContent)), ['Bo Brandt follows you']);
        assert.deepEqual(complaints, []);
    });
}

test('an answer to a request that the server refuses is told, and the request stays', async () => {
    server.feed.tell(1002, 'request');
    await open();
    await says('#notice-count', '1');
    await page.click('#notices summary');
    await page.waitForSelector('#request-list > li');
    server.feed.requests.clear(); // it was taken back meanwhile
    await page.click('#request-list [data-act="accept"]');
    await says('#requests-problem', 'Nothing was changed. the user has not asked to follow.');
    await isAccessible('a request that is gone');
    await page.keyboard.press('Escape');
    await page.click('#notices summary');
    await page.waitForSelector('#requests', { state: 'hidden' });
    await page.waitForSelector('#requests-problem', { state: 'hidden' });
});

test('who asks to follow me is asked when the bell is opened, and not before', async () => {
    const asked = () => server.feed.asked.filter((line) => line === 'GET /v1/followers/requests').length;
    server.feed.visibility = 'followers';
    await open(undefined, { clock: true });
    await says('#audience .text', 'Only your followers see it');
    server.feed.tell(1002, 'request');
    await says('#notice-count', '1');
    await page.clock.fastForward(600_000);
    assert.equal(asked(), 0);
    for (const users of [[1002], [1002, 1003]]) {
        await page.click('#notices summary');
        await becomes(async () => [await listed('request-list'), users]);
        await page.keyboard.press('Escape');
        if (users.length === 1) server.feed.tell(1003, 'request');
    }
    assert.equal(asked(), 2);
});

test('who is blocked is not followed any more', async () => {
    await opened();
    await find(1001);
    await page.waitForSelector('#follow[data-follow="following"]');
    await page.click('#person-name');
    await page.waitForSelector('#card[open][data-user="1001"]');
    await page.click('#card-block');
    await page.click('#card-block');
    await page.waitForSelector('#card[data-state="blocked"]');
    await page.waitForSelector('#follow[data-follow="none"]');
    assert.deepEqual(complaints, []);
});

test('many requests come page by page; who asks is looked at; everybody may follow: nobody asks any more', async () => {
    for (let user = 1000; user < 1045; user += 1) server.feed.tell(user, 'request');
    server.feed.visibility = 'followers';
    await open(undefined, PHONE);
    await says('#notice-count', '45');
    await page.click('#notices summary');
    await says('#notice-count', '');
    await page.click('#more-requests');
    await becomes(async () => [(await listed('request-list')).length, 40]);
    assert.equal(await page.evaluate(() => document.activeElement.closest('li').dataset.user), '1020', 'the first of those who came');
    await page.click('#more-requests');
    await becomes(async () => [(await listed('request-list')).length, 45]);
    assert.equal(await page.isVisible('#more-requests'), false);
    await page.click('#request-list [data-user="1044"] .friend');
    await page.waitForSelector('#person-card[data-user="1044"]');
    assert.equal(await page.isVisible('#request-list'), false);
    await page.click('#me summary');
    await page.click('#visibility label:has([value="everybody"])');
    await becomes(async () => [server.feed.followers.size, 45]);
    await page.click('#notices summary');
    await page.waitForSelector('#no-notices');
    assert.equal(await page.isVisible('#requests'), false);
});

for (const [name, options] of Object.entries(EVERY)) {
    test(`somebody's page has who it is, the posts, and who follows whom, on a ${name} screen`, async () => {
        server.feed.handles.set('ana', 1000);
        server.feed.about.set(1000, { bio: 'Rows at dawn. <b>Bakes</b> rye.\nAsk me about boats.', url: 'https://ana.example/boats' });
        await opened(options);
        await page.click('#home > article[data-user="1000"] .name');
        await page.waitForSelector('#card-follow:not([hidden])');
        await page.screenshot({ path: `${OUT}card-page-${name}.png` });
        await page.click('#card-page');
        await page.waitForSelector('#person-card[data-user="1000"]');
        assert.equal(await page.isVisible('#card'), false);
        await becomes(async () => [await focused(), 'follow']);
        await becomes(async () => [await shown(), posted(1000)]);
        assert.equal(await page.isVisible('#compose'), false);
        assert.deepEqual([await text('#person-name'), await text('#person-card .ago'), await text('#person-page .bio')], ['Ana Abe', '@ana', 'Rows at dawn. <b>Bakes</b> rye.\nAsk me about boats.']);
        assert.equal(await page.getAttribute('#person-page .url a', 'href'), 'https://ana.example/boats');
        assert.equal(await page.isVisible('#person-lock'), false);
        await isAccessible('somebody’s page');
        await page.screenshot({ path: `${OUT}person-${name}.png` });
        assert.deepEqual([await sideways(), await small('#person-page')], [false, 0]);

        await page.click('#person-followers');
        await becomes(async () => [(await listed('person-people')).length, 50]);
        assert.equal(await page.isVisible('#of-person'), false);
        assert.equal(await page.locator('#person-people li').first().locator('button').count(), 1, 'nothing is done with followers of others');
        await page.click('#more-people');
        await becomes(async () => [(await listed('person-people')).length, 53]);
        await isAccessible('followers');
        await page.locator('#person-card').scrollIntoViewIfNeeded();
        await page.screenshot({ path: `${OUT}followers-${name}.png` });
        assert.equal(await sideways(), false);
        await page.click('#person-people [data-user="1003"] .friend');
        await page.waitForSelector(`#person-card[data-user="${CLOSED}"]`);
        await page.waitForSelector('#person-closed');
        await isAccessible('somebody’s page that is closed to me');
        await page.screenshot({ path: `${OUT}person-closed-${name}.png` });
        await page.click('#person-close');
        await page.waitForSelector('#home');
        assert.deepEqual([await focused(), await page.isVisible('#compose'), await page.isVisible('#person-page')], ['show-home', true, false]);
        assert.deepEqual(complaints.filter((one) => !refused(one)), []);
    });
}

test('by keys alone: somebody’s page in order, and the tabs of its lists', async () => {
    await opened(WIDE);
    await find(1001);
    await becomes(async () => [await shown(), posted(1001)]);
    await page.focus('#find');
    const order = [];
    for (let i = 0; i < 7; i += 1) order.push(await tab());
    assert.deepEqual(order, ['follow', 'person-close', 'person-name', 'person-posts', 'person-followers', 'person-following', 'of-person']);
    await page.focus('#person-following');
    await page.keyboard.press('Enter');
    await becomes(async () => [await listed('person-people'), [...server.feed.following].sort((a, b) => a - b)]);
    assert.equal(await page.getAttribute('#person-following', 'aria-pressed'), 'true');
    await tab();
    await page.keyboard.press('Enter');
    await page.waitForSelector('#person-card[data-user="1000"]');
    await becomes(async () => [await focused(), 'follow']);
});

test('my page: my followers, of whom one goes after a question, and that followers alone see my posts', async () => {
    for (const user of [1001, 1002]) server.feed.followers.add(user);
    server.feed.visibility = 'followers';
    server.feed.publish(42, 'Mine');
    await opened();
    await page.click('#show-mine');
    await page.waitForSelector('#person-card[data-user="42"]');
    assert.deepEqual([await text('#person-name'), await text('#person-card .ago'), await page.isVisible('#follow'), await page.isVisible('#compose')], ['Mira Starling', 'This is you.', false, true]);
    await page.waitForSelector('#person-lock');
    assert.equal(await page.locator('#person-lock').getAttribute('aria-label'), 'Only followers see these posts');
    await page.waitForSelector('#mine > article');
    await page.click('#person-followers');
    await becomes(async () => [await listed('person-people'), [1001, 1002]]);
    await says('#person-followers', '2 followers');
    assert.equal(await page.isVisible('#mine'), false);
    await page.focus('#person-people [data-user="1001"] [data-act="remove"]');
    await page.keyboard.press('Enter');
    assert.equal(await text('#person-people [data-user="1001"] [data-act="remove"]'), 'Really?');
    assert.equal(await page.getAttribute('#person-people [data-user="1001"] [data-act="remove"]', 'aria-label'), 'Really? Remove Bo Brandt from your followers');
    assert.deepEqual([...server.feed.followers], [1001, 1002]);
    await isAccessible('my followers');
    await page.screenshot({ path: `${OUT}my-followers.png` });
    await tab(); // on to somebody else: the question is taken back
    assert.equal(await text('#person-people [data-user="1001"] [data-act="remove"]'), 'Remove');
    await page.focus('#person-people [data-user="1001"] [data-act="remove"]');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    await becomes(async () => [await listed('person-people'), [1002]]);
    assert.deepEqual([[...server.feed.followers], await focused()], [[1002], 'remove']);
    await says('#person-followers', '1 follower');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    await says('#no-people', 'Nobody follows here yet.');
    assert.equal(await focused(), 'person-followers');
    await isAccessible('no followers');
    await page.click('#person-posts');
    await page.waitForSelector('#mine > article');
    await page.click('#show-home');
    assert.equal(await page.isVisible('#person-page'), false);
    assert.deepEqual(complaints, []);
});

test('posts of somebody that cannot be read are asked for by hand', async () => {
    await opened();
    await page.route('**/v1/users/1001/posts*', (route) => route.fulfill({ status: 404, contentType: 'application/problem+json', json: { code: 'no_owner', detail: 'nobody has them' } }), { times: 1 });
    await find(1001);
    await says('#older-problem', 'Older posts could not be read. nobody has them.');
    await isAccessible('no posts');
    await page.click('#older');
    await becomes(async () => [await shown(), posted(1001)]);
    assert.equal(await page.isVisible('#older-problem'), false);
});

test('people who cannot be read: says why. Signed out: nobody is left', async () => {
    await opened();
    await find(1001);
    server.feed.fail = { status: 503, code: 'owner_unavailable', detail: 'away', retryAfter: 90 };
    await page.click('#person-followers');
    await says('#people-problem', 'These people cannot be read. away.');
    await isAccessible('no people');
    await page.click('#me summary');
    await page.click('#sign-out');
    assert.equal(await page.locator('#person-page').getAttribute('hidden'), '');
    assert.deepEqual([await listed('person-people'), await listed('request-list')], [[], []]);
});
