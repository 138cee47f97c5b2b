// Threads under posts, in a real browser against the fake server.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NARROW, OUT, PHONE, SCREENS, WIDE, becomes, complaints, eachTest, isAccessible, open, openNotice, page, rarely, server, showFeed, state, tab } from './browser.js';

eachTest(({ feed }) => feed.fill(30));

const newest = () => server.feed.timeline[0].id;
const first = '#home > article:first-child';
const focused = () => page.evaluate(() => document.activeElement.dataset.comment ?? document.activeElement.className);
const roots = () => page.$$eval(`${first} .comments > li > .comment-text`, (all) => all.map(({ textContent }) => textContent));
const texts = (name) => page.$$eval(`.discussion ${name}`, (all) => all.filter((one) => one.checkVisibility()).map(({ textContent }) => textContent));
const shows = (name, expected) => becomes(async () => [await texts(name), expected]);
const button = (id, label) => page.locator(`[data-comment="${id}"] > .comment-acts button`, { hasText: label });

/** Opened, and the comments of the newest post are shown. */
async function opened(options) {
    await open(undefined, options);
    await state('online');
    await showFeed();
    await page.click(`${first} .thread-toggle`);
    await page.waitForSelector(`${first} .thread:not([hidden])`);
}

test('the button says how many there are, and opens them in three orders, page by page', async () => {
    for (let i = 1; i <= 45; i += 1) server.comments.write(newest(), 1000 + i, `Comment ${i}`);
    server.comments.thread(newest()).comments[6].likes.add(1).add(2);
    await open();
    await becomes(async () => [await page.textContent(`${first} .thread-toggle`), '45 comments']);
    await becomes(async () => [await page.textContent('#home > article:nth-child(2) .thread-toggle'), 'Comment']);
    await page.focus(`${first} .thread-toggle`);
    await page.keyboard.press('Enter');
    const upTo = (from, to) => Array.from({ length: Math.abs(to - from) + 1 }, (_, i) => `Comment ${from + (to > from ? i : -i)}`);
    await becomes(async () => [await roots(), upTo(1, 20)]);
    for (const [count, left] of [[40, true], [45, false]]) {
        await page.focus('.more-comments');
        await page.keyboard.press('Enter');
        await becomes(async () => [await roots(), upTo(1, count)]);
        assert.equal(await page.evaluate(() => document.activeElement.querySelector('.comment-text').textContent), `Comment ${count === 40 ? 21 : 41}`);
        assert.equal(await page.isVisible('.more-comments'), left);
    }
    await page.selectOption('.thread select', 'newest');
    await becomes(async () => [await roots(), upTo(45, 26)]);
    await page.selectOption('.thread select', 'heat');
    await becomes(async () => [(await roots())[0], 'Comment 7']);
    await page.click(`${first} .thread-toggle`);
    assert.equal(await page.isVisible('.thread'), false);
    assert.deepEqual(complaints, []);
});

test('replies come three at a time, then more, and say whom they answer', async () => {
    const root = server.comments.write(newest(), 1000, 'Root');
    for (let i = 1; i <= 5; i += 1) server.comments.write(newest(), 1000 + i, `Reply ${i}`, { reply_to: root.id });
    const second = server.comments.thread(newest()).comments[2];
    server.comments.write(newest(), 1009, 'To the second', { reply_to: second.id });
    await opened();
    await shows('.replies .comment-text', ['Reply 1', 'Reply 2', 'Reply 3']);
    await page.click('.more-replies:not([hidden])');
    await shows('.replies .comment-text', ['Reply 1', 'Reply 2', 'Reply 3', 'Reply 4', 'Reply 5', 'To the second']);
    assert.deepEqual((await texts('.replies .to')).filter(Boolean), [`to ${server.feed.people.get(second.user)}`]);
    assert.equal(await page.evaluate(() => document.activeElement.querySelector('.comment-text').textContent), 'Reply 4');
    assert.deepEqual(await texts('.more-replies'), []);
});

test('the answers to a reply are listed alone, then those to one of them', async () => {
    const root = server.comments.write(newest(), 1000, 'Root');
    const reply = server.comments.write(newest(), 1001, 'Reply', { reply_to: root.id });
    for (let i = 1; i <= 4; i += 1) server.comments.write(newest(), 1001 + i, `Beside ${i}`, { reply_to: root.id });
    const answer = server.comments.write(newest(), 1006, 'Answer', { reply_to: reply.id });
    server.comments.write(newest(), 1007, 'Deeper', { reply_to: answer.id });
    await opened();
    await shows('.replies .comment-text', ['Reply', 'Beside 1', 'Beside 2']);
    await page.locator(`[data-comment="${reply.id}"] > .show-answers`, { hasText: '1 answer' }).click();
    await shows('.replies .comment-text', ['Reply', 'Answer']);
    await isAccessible('answers');
    server.comments.write(newest(), 1008, 'Another', { reply_to: reply.id });
    server.comments.write(newest(), 1008, 'Beside 5', { reply_to: root.id });
    await shows('.replies .comment-text', ['Reply', 'Answer', 'Another']);
    await page.click(`[data-comment="${answer.id}"] > .show-answers`);
    await shows('.replies .comment-text', ['Answer', 'Deeper']);
    await page.click('.all-comments');
    await shows('.replies .comment-text', ['Reply', 'Beside 1', 'Beside 2']);
    assert.deepEqual(complaints, []);
});

test('a post is liked by keys: at once, as the server says in the end, and live below an open thread', async () => {
    server.feed.likesOf(newest()).add(7);
    await open();
    await state('online');
    await showFeed();
    const like = page.locator(`${first} .post-acts button[aria-pressed]`);
    const says = (pressed, text) => becomes(async () => [[await like.getAttribute('aria-pressed'), await like.textContent()], [pressed, text]]);
    await says('false', '♥ 1');
    await like.focus();
    await page.keyboard.press('Enter');
    await says('true', '♥ 2');
    assert.match(await like.getAttribute('aria-label'), /^Like the post of .+, 2 likes$/);
    await becomes(async () => [[...server.feed.likesOf(newest())], [7, 42]]);
    await page.reload();
    await showFeed();
    await says('true', '♥ 2');
    await like.focus();
    await page.keyboard.press('Space');
    await says('false', '♥ 1');
    await becomes(async () => [[...server.feed.likesOf(newest())], [7]]);
    await page.click(`${first} .thread-toggle`);
    await becomes(async () => [server.comments.watched, [`post:${newest()}`]]);
    server.comments.likePost(newest(), 8);
    await says('false', '♥ 2');
    await isAccessible('a post that is liked');
    assert.deepEqual(complaints, []);
    server.feed.nextLikes = [{ status: 403, code: 'banned', detail: 'x' }];
    await like.click();
    await becomes(async () => [await texts('> .problem'), ['You may not comment or like any more.']]);
    await says('false', '♥ 2');
});

test('a comment, an answer, a like, and deleting my own', async () => {
    const root = server.comments.write(newest(), 1001, 'Root');
    await opened();
    await shows('.comment-text', ['Root']);
    await page.fill('.thread > .slot textarea', 'Mine <b>x</b>');
    await page.keyboard.press('Control+Enter');
    await shows('.comment-text', ['Root', 'Mine <b>x</b>']);
    await shows('.thread-note', ['Your comment is there.']);
    assert.equal(await page.textContent(`${first} .thread-toggle`), '2 comments');
    const mine = server.comments.thread(newest()).comments[1];

    await button(root.id, 'Reply').click();
    await page.keyboard.type('An answer');
    await page.keyboard.press('Control+Enter');
    await shows('.replies .comment-text', ['An answer']);
    const answer = server.comments.thread(newest()).comments[2];
    assert.deepEqual([answer.root, answer.reply_to], [root.id, root.id]);
    await becomes(async () => [await focused(), answer.id]);

    await button(root.id, '♥').click();
    await page.waitForSelector(`[data-comment="${root.id}"] button[aria-pressed="true"]`);
    assert.deepEqual([[...root.likes], await button(root.id, '♥').textContent()], [[42], '♥ 1']);
    await button(root.id, '♥').click();
    await page.waitForSelector(`[data-comment="${root.id}"] > .comment-acts button[aria-pressed="false"]`);
    assert.equal(root.likes.size, 0);

    assert.equal(await button(root.id, 'Delete').count(), 0, 'somebody else has written it, under somebody else’s post');
    assert.equal(await button(mine.id, 'Report').count(), 0);
    await rarely(`[data-comment="${mine.id}"] > .comment-acts`, 'Delete');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Keep');
    await page.click('.ask .danger');
    await shows('.thread > .comments > li > .comment-text', ['Root', 'This comment is deleted.']);
    assert.equal(mine.state, 'deleted');
    await becomes(async () => [await focused(), mine.id]);
    assert.equal(await page.textContent(`${first} .thread-toggle`), '2 comments');
    assert.deepEqual(complaints, []);
});

test('my comment can be edited; all see that it was, and what it said', async () => {
    const mine = server.comments.write(newest(), 42, 'A tpyo');
    const other = server.comments.write(newest(), 1001, 'Not mine');
    await opened();
    await shows('.comment-text', ['A tpyo', 'Not mine']);
    await shows('.edited', []);
    await page.click(`[data-comment="${other.id}"] .menu summary`);
    assert.equal(await button(other.id, 'Edit').count(), 0);
    await rarely(`[data-comment="${mine.id}"] > .comment-acts`, 'Edit');
    assert.equal(await page.inputValue(`[data-comment="${mine.id}"] textarea`), 'A tpyo');
    await page.fill(`[data-comment="${mine.id}"] textarea`, 'A typo');
    await page.keyboard.press('Control+Enter');
    await shows('.comment-text', ['A typo', 'Not mine']);
    await shows('.thread-note', ['The new text is there.']);
    await shows('.edited', ['edited']);
    await page.click(`[data-comment="${mine.id}"] .edited`);
    await shows('.edits p', ['A tpyo']);
    await isAccessible();

    await rarely(`[data-comment="${mine.id}"] > .comment-acts`, 'Edit');
    server.comments.edit(newest(), mine, 'Edited on my phone');
    await shows('.comment-text', ['Edited on my phone', 'Not mine']);
    await shows('.edits p', []);
    await page.fill(`[data-comment="${mine.id}"] textarea`, 'Edited here');
    await page.keyboard.press('Control+Enter');
    await shows('.comment .line-form .problem', ['The text has been edited elsewhere meanwhile. Look at it, and edit it again.']);
    assert.equal(mine.text, 'Edited on my phone');
    assert.deepEqual(complaints.filter((one) => !one.includes('409')), []);
});

test('deleted, hidden and held comments are shown as such; my own held one with its text', async () => {
    server.comments.write(newest(), 1001, 'Spam', { state: 'hidden' });
    const gone = server.comments.write(newest(), 1002, 'Wrong', { state: 'deleted' });
    server.comments.write(newest(), 1003, 'Late', { state: 'held' });
    const live = server.comments.write(newest(), 1004, 'Was what?', { reply_to: gone.id });
    server.comments.review = true;
    await opened({ clock: true });
    await shows('.thread > .comments > li > .comment-text',
        ['A moderator has hidden this comment.', 'This comment is deleted.', 'This comment waits for a moderator.']);
    await shows('.replies .comment-text', ['Was what?']);
    assert.deepEqual([await button(gone.id, 'Reply').count(), await button(live.id, 'Reply').count()], [0, 1]);
    await page.fill('.thread > .slot textarea', 'Patience');
    await page.keyboard.press('Control+Enter');
    await shows('.thread-note', ['Your comment is there, and is shown to others when a moderator has read it.']);
    const before = server.comments.asked.length;
    await page.clock.fastForward(61_000);
    await becomes(async () => [server.comments.asked.length > before, true]);
    assert.equal((await roots()).at(-1), 'Patience\n(Only you see this, until a moderator has read it.)');
});

test('what happens under a post is shown as it happens, while its thread is open', async () => {
    const one = server.comments.write(newest(), 1001, 'One');
    await opened();
    await shows('.comment-text', ['One']);
    await becomes(async () => [server.comments.watched, [`post:${newest()}`]]);
    const asked = server.comments.asked.length;
    server.comments.write(newest(), 1002, 'Two');
    server.comments.write(newest(), 1002, 'An answer', { reply_to: one.id });
    await shows('.comment-text', ['One', 'An answer', 'Two']);
    server.comments.change(newest(), one, { state: 'hidden' });
    await shows('.comment-text', ['A moderator has hidden this comment.', 'An answer', 'Two']);
    assert.equal(await page.textContent(`${first} .thread-toggle`), '2 comments');
    assert.equal(server.comments.asked.length, asked, 'nothing is read again');
    await page.selectOption('.thread select', 'newest');
    await shows('.comment-text', ['Two', 'A moderator has hidden this comment.', 'An answer']);
    server.comments.write(newest(), 1003, 'Three', { time: Date.now() + 600_000 });
    await shows('.waiting', ['1 new comment']);
    await page.click(`${first} .thread-toggle`);
    await becomes(async () => [server.comments.watched, []]);
});

test('an open thread is read again while it is shown: 304 while nothing is new, changes in place, new ones wait above the newest', async () => {
    const one = server.comments.write(newest(), 1001, 'One');
    await opened({ clock: true });
    await shows('.comment-text', ['One']);
    const passes = async (until) => {
        for (let i = 0; i < 20 && !until(); i += 1) {
            await page.clock.fastForward(20_000);
            await page.waitForTimeout(30);
        }
    };
    await passes(() => server.comments.unchanged > 1);
    assert.ok(server.comments.unchanged > 1);
    server.comments.write(newest(), 1002, 'Two');
    server.comments.change(newest(), one, { state: 'hidden' });
    const asked = server.comments.asked.length;
    await passes(() => server.comments.asked.length > asked + 1);
    await shows('.comment-text', ['A moderator has hidden this comment.', 'Two']);
    assert.equal(await page.textContent(`${first} .thread-toggle`), '1 comment');

    await page.selectOption('.thread select', 'newest');
    await shows('.comment-text', ['Two', 'A moderator has hidden this comment.']);
    server.comments.write(newest(), 1003, 'Three', { time: Date.now() + 600_000 });
    const then = server.comments.asked.length;
    await passes(() => server.comments.asked.length > then + 1);
    await shows('.waiting', ['1 new comment']);
    await shows('.comment-text', ['Two', 'A moderator has hidden this comment.']);
    await page.click('.waiting');
    await shows('.comment-text', ['Three', 'Two', 'A moderator has hidden this comment.']);
    await page.click(`${first} .thread-toggle`);
    const reads = () => server.comments.asked.filter((one) => one.endsWith(newest())).length; // counts of other posts are asked for, too
    const closed = reads();
    await page.clock.fastForward(60_000);
    assert.equal(reads(), closed, 'a closed thread is not read');
});

test('a comment whose answers are lost or late is one comment, over a reload, too', async () => {
    const root = server.comments.write(newest(), 1001, 'Root');
    await opened();
    await page.fill('.thread > .slot textarea', 'Only once');
    server.comments.next = [{ status: 0 }, { status: 500, code: 'write_refused', detail: 'Kafka does not want this record' }];
    await page.keyboard.press('Control+Enter');
    await shows('.line-form .problem', ['Kafka does not want this record.']);
    await button(root.id, 'Reply').click();
    await page.keyboard.type('Half an answer');
    server.comments.next = [{ status: 202 }];
    await page.reload();
    await state('online');
    await page.click(`${first} .thread-toggle`);
    await shows('.comment-text', ['Root', 'Only once']);
    assert.equal(await page.inputValue('.thread > .slot textarea'), 'Only once');
    assert.equal(await page.inputValue(`[data-comment="${root.id}"] textarea`), 'Half an answer');
    await page.focus('.thread > .slot textarea');
    await page.keyboard.press('Control+Enter');
    await shows('.thread-note', ['Your comment is there.']);
    assert.equal(server.comments.thread(newest()).comments.length, 2);
    await page.click('#me summary');
    await page.click('#sign-out');
    assert.equal(await page.evaluate(() => sessionStorage.length), 0, 'not even the place');
});

test('what is refused is said where it was tried, and the text stays', async () => {
    const root = server.comments.write(newest(), 1001, 'Root');
    await opened();
    await shows('.comment-text', ['Root']);
    const tries = async (next, message) => {
        server.comments.next = next;
        await page.focus('.thread > .slot textarea');
        await page.keyboard.press('Control+Enter');
        await shows('.line-form .problem', [message]);
        assert.equal(await page.inputValue('.thread > .slot textarea'), 'Words');
    };
    await page.fill('.thread > .slot textarea', 'Words');
    await tries([{ status: 429, code: 'too_many_writes', detail: 'x', retryAfter: 90 }], 'You write faster than anybody may. Try again in 90 seconds.');
    await tries([{ status: 403, code: 'banned', detail: 'x' }], 'You may not comment or like any more.');
    server.comments.thread(newest()).closed = true;
    await tries([], 'No more comments can be written here.');
    server.comments.thread(newest()).closed = false;
    server.comments.next = [{ status: 409, code: 'comment_not_visible', detail: 'x' }];
    await button(root.id, '♥').click();
    await shows('.comment > .problem', ['This comment is not shown any more.']);
    server.comments.blocks.add(1001);
    await button(root.id, 'Reply').click();
    await page.keyboard.type('Hello');
    await page.keyboard.press('Control+Enter');
    await shows('.comment .line-form .problem', ['You cannot answer here, as one of you has blocked the other.']);
    await page.keyboard.press('Escape');
    await becomes(async () => [await focused(), root.id]);
    await rarely(`[data-comment="${root.id}"] > .comment-acts`, 'Report');
    await page.keyboard.type('Rude');
    await page.keyboard.press('Control+Enter');
    await shows('.thread-note', ['Thank you. The moderators will look at it.']);
    assert.deepEqual(server.comments.reports, [{ comment: root.id, reason: 'Rude' }]);
});

test('a number that comes with the post is not asked for', async () => {
    const post = newest();
    server.feed.counts.set(post, 7);
    await open();
    await becomes(async () => [await page.textContent(`${first} .thread-toggle`), '7 comments']);
    await becomes(async () => [await page.textContent('#home > article:nth-child(2) .thread-toggle'), 'Comment']);
    assert.deepEqual(server.comments.asked.filter((line) => line.includes(post)), []);
});

test('a closed thread is read, and not written', async () => {
    server.comments.write(newest(), 1001, 'Root');
    server.comments.thread(newest()).closed = true;
    await opened();
    await shows('.thread-end', ['No more comments can be written here.']);
    await shows('.comment-acts > *', ['♥', '⋯Report']);
    assert.equal(await page.isVisible('.thread textarea'), false);
});

for (const [status, code] of [[404, 'no_such_path'], [503, 'owner_unavailable']]) {
    test(`a server without comments (${status}): the button says so, and the feed is as ever`, async () => {
        server.comments.fail = { status, code, detail: 'x' };
        await open();
        await state('online');
        await becomes(async () => [await page.textContent(`${first} .thread-toggle`), 'Comments are not available']);
        await page.click(`${first} .thread-toggle`);
        await becomes(async () => [await page.getAttribute(`${first} .thread-toggle`, 'aria-expanded'), 'false']);
        server.feed.publish(1000, 'News');
        await page.click('#news');
        await becomes(async () => [await page.textContent(`${first} > .text`), 'News']);
        if (status === 404) assert.equal(server.comments.asked.filter((line) => line.startsWith('GET')).length, 2, 'once for all posts, and by hand');
        server.comments.fail = null;
        await page.click(`${first} .thread-toggle`);
        await shows('.thread-end', ['Nobody has commented yet.']);
        assert.deepEqual(complaints.filter((text) => !text.includes(`status of ${status}`)), []);
    });
}

test('an open thread that cannot be read stays as it was, and says why', async () => {
    server.comments.write(newest(), 1001, 'Root');
    await opened({ clock: true });
    await shows('.comment-text', ['Root']);
    server.comments.fail = { status: 503, code: 'owner_unavailable', detail: 'the owner is being moved' };
    await page.clock.fastForward(61_000);
    await shows('.thread > .problem', ['The comments cannot be read. the owner is being moved.']);
    await shows('.comment-text', ['Root']);
    server.comments.fail = null;
    await page.clock.fastForward(11_000);
    await shows('.thread > .problem', []);
});

test('a notice of a reply leads to it, among those around it, and from there to all comments', async () => {
    const post = server.feed.posts[2].id; // not among the first twenty
    const roots = Array.from({ length: 5 }, (_, i) => server.comments.write(post, 1001, `Root ${i}`));
    for (let i = 0; i < 12; i += 1) server.comments.write(post, 1002, `Reply ${i}`, { reply_to: roots[3].id });
    const reply = server.comments.thread(post).comments.at(-4);
    server.feed.notify(1002, post, reply.id);
    await open(undefined, PHONE);
    await state('online');
    await openNotice();
    await page.waitForSelector('#linked .comment.target');
    await becomes(async () => [await focused(), reply.id]);
    assert.equal(await page.isVisible('#notices .panel'), false);
    assert.deepEqual(await texts('.comments > li > .comment-text'), ['Root 3']);
    assert.deepEqual(await texts('.replies .comment-text'), [5, 6, 7, 8, 9, 10, 11].map((i) => `Reply ${i}`));
    await page.click('.all-comments');
    await becomes(async () => [(await texts('.comments > li > .comment-text')).length, 5]);
    await page.click('#linked-close');
    assert.equal(await page.isVisible('#linked'), false);

    server.feed.notify(1002, post, '77');
    server.feed.notify(1002, '5', '78');
    await page.reload();
    await state('online');
    for (const [number, selector, message] of [[2, '#linked .thread-note', /not there any more/], [1, '#linked-gone:not([hidden])', /cannot be seen any more/]]) {
        await page.click('#notices summary');
        await page.click(`#notice-list > li:nth-child(${number}) button`);
        await page.waitForFunction(([css, pattern]) => new RegExp(pattern).test(document.querySelector(css)?.textContent), [selector, message.source]);
    }
    assert.deepEqual(complaints.filter((text) => !text.includes('status of 404')), []);
});

for (const [name, options] of Object.entries({ ...SCREENS, narrow: NARROW })) {
    test(`fits a ${name} screen, and axe-core finds nothing`, async () => {
        const root = server.comments.write(newest(), 1001, `${'x'.repeat(400)} ${'long '.repeat(40)}`);
        server.comments.discuss(newest());
        server.feed.people.set(1006, 'A name that is longer than any name should ever be');
        server.feed.notify(1006, newest(), server.comments.thread(newest()).comments.at(-1).id);
        await open(undefined, options);
        await state('online');
        await showFeed();
        await page.click(`${first} .thread-toggle`);
        await page.waitForSelector('.comment');
        await isAccessible('a thread');
        await page.screenshot({ path: `${OUT}thread-${name}.png` });
        await button(root.id, 'Reply').click();
        await page.fill(`[data-comment="${root.id}"] textarea`, 'x'.repeat(10_001));
        const sizes = await page.evaluate(() => ({
            side: document.getElementById('feed-scroll').scrollWidth - document.getElementById('feed-scroll').clientWidth,
            page: document.documentElement.scrollWidth > innerWidth,
            small: [...document.querySelectorAll('.thread button, .thread select')].filter((one) => one.checkVisibility() && one.offsetHeight < 40).length,
        }));
        assert.deepEqual(sizes, { side: 0, page: false, small: 0 });
        server.comments.next = [{ status: 409, code: 'comment_not_visible', detail: 'x' }];
        await button(root.id, '♥').click();
        await page.waitForSelector('.comment > .problem:not([hidden])');
        await isAccessible('a form, and a problem');
        await page.click('#notices summary');
        await page.click('#notice-list > li button');
        await page.waitForSelector('#linked .comment.target');
        await becomes(async () => [await focused(), server.comments.thread(newest()).comments.at(-1).id]);
        assert.deepEqual(await page.evaluate(() => [scrollY, document.body.scrollTop]), [0, 0], 'the page itself does not scroll');
        await isAccessible('the comment of a notice');
        await page.screenshot({ path: `${OUT}thread-linked-${name}.png` });
    });
}

test('by keys alone: a thread is walked through in order, with a ring around what has the focus', async () => {
    const root = server.comments.write(newest(), 1001, 'Root');
    const reply = server.comments.write(newest(), 42, 'Mine', { reply_to: root.id });
    await opened(WIDE);
    await shows('.comment-text', ['Root', 'Mine']);
    await page.focus(`${first} .thread-toggle`);
    const order = [];
    for (let i = 0; i < 12; i += 1) {
        assert.doesNotMatch(await tab(), /no ring/);
        order.push(await page.evaluate(() => {
            const { activeElement: at } = document;
            return `${at.closest('li')?.dataset.comment ?? ''} ${at.tagName === 'SELECT' ? 'order' : at.placeholder || at.textContent}`.trim();
        }));
    }
    assert.deepEqual(order, [
        '♥', 'order', 'Write a comment', 'Comment', `${root.id} Bo Brandt`, `${root.id} ♥`, `${root.id} Reply`, `${root.id} ⋯`, `${reply.id} Mira Starling`, `${reply.id} ♥`, `${reply.id} Reply`, `${reply.id} ⋯`,
    ]);
    await page.keyboard.press('PageDown');
    await becomes(async () => [await page.evaluate(() => document.activeElement.dataset.post), server.feed.timeline[1].id]);
    await page.focus('.thread textarea');
    await page.keyboard.press('Control+End');
    assert.equal(await page.evaluate(() => document.activeElement.tagName), 'TEXTAREA', 'keys of the feed are not for fields');
});
