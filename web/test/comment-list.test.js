import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { CommentList } from '../public/feed/comment-list.js';
import { FakeComments } from './fake-comments.js';
import { FakeFeed } from './fake-feed.js';
import { StarlingApi } from '../client/index.js';

let comments, list, post, held, limits;

beforeEach(() => {
    const feed = new FakeFeed(42, new Map([[1001, 'Ana']]));
    comments = new FakeComments(feed);
    post = feed.publish(1001, 'A post').id;
    held = null;
    limits = [];
    list = new CommentList(new StarlingApi({ url: 'http://host', token: 'jwt', fetch }), `post:${post}`, () => Date.now());
});

/** The fake server, at once; while there is a promise in `held`, answers to questions wait for it. */
async function fetch(url, { method, headers, body }) {
    const { pathname, searchParams } = new URL(url);
    limits.push(Number(searchParams.get('limit')));
    const [status, value, more] = comments.serve(method, pathname, searchParams, body && JSON.parse(body), headers['if-none-match']);
    const text = JSON.stringify(value);
    if (method === 'GET') await held;
    return new Response(status === 204 || status === 304 ? null : text, { status, headers: more });
}

const texts = (items) => items.map(({ text }) => text);

test('an answer to a question that was asked before a write changes nothing', async () => {
    const one = comments.write(post, 1001, 'One');
    await list.begin();
    let release;
    held = new Promise((resolve) => (release = resolve));
    const reading = list.refresh();
    await list.write({ text: 'Mine', key: 'k', replyTo: null });
    await list.like(one.id, true);
    await list.remove(list.roots[1].id);
    release();
    await reading;
    assert.deepEqual(list.roots.map(({ state, likes, liked }) => [state, likes, liked]), [['visible', 1, true], ['deleted', 0, null]]);
    await list.refresh();
    assert.deepEqual(list.roots.map(({ state, likes }) => [state, likes]), [['visible', 1], ['deleted', 0]]);
    assert.equal(list.total, 1);
});

test('answers to a reply stay alone when they are read again, until the whole thread is listed', async () => {
    const root = comments.write(post, 1001, 'Root');
    const reply = comments.write(post, 1001, 'Reply', { reply_to: root.id });
    comments.write(post, 1001, 'Beside', { reply_to: root.id });
    comments.write(post, 1001, 'Answer', { reply_to: reply.id });
    await list.begin();
    assert.deepEqual(list.roots[0].replies.map((one) => list.hasAnswers(one)), [true, false, false]);
    assert.equal(list.hasAnswers(list.roots[0]), false);
    await list.beginAt(reply.id, true);
    comments.write(post, 1001, 'Another', { reply_to: reply.id });
    comments.write(post, 1001, 'Beside 2', { reply_to: root.id });
    for (const read of ['refresh', 'refreshAll']) {
        await list[read]();
        assert.deepEqual(texts(list.roots[0].replies), ['Reply', 'Answer', 'Another']);
        assert.equal(list.hasAnswers(list.roots[0].replies[0]), false);
    }
    await list.beginAt(reply.id);
    assert.equal(list.roots[0].replies.length, 4);
});

test('replies that were asked for stay, also around a comment, and new ones come after the last of them', async () => {
    const root = comments.write(post, 1001, 'Root');
    for (let i = 0; i < 12; i += 1) comments.write(post, 1001, `Reply ${i}`, { reply_to: root.id });
    const target = comments.thread(post).comments[6];
    await list.beginAt(target.id);
    assert.deepEqual(texts(list.roots[0].replies), [2, 3, 4, 5, 6, 7, 8].map((i) => `Reply ${i}`));
    assert.equal(list.hasMoreReplies(list.roots[0]), true);
    await list.moreReplies(root.id);
    await list.refresh();
    assert.equal(list.roots[0].replies.length, 12);
    assert.equal(list.hasMoreReplies(list.roots[0]), false);
    for (let i = 12; i < 40; i += 1) comments.write(post, 1001, `Reply ${i}`, { reply_to: root.id });
    await list.refresh();
    const came = [];
    while (list.hasMoreReplies(list.roots[0])) came.push(list.find(await list.moreReplies(root.id)).text);
    assert.deepEqual([came, list.roots[0].replies.length], [['Reply 12', 'Reply 20'], 40]);
    await list.begin();
    assert.equal(list.roots[0].replies.length, 3);
});

test('reading a long thread again asks for a page of it, and finds the comments at its end', async () => {
    for (let i = 1; i <= 130; i += 1) comments.write(post, 1001, `Comment ${i}`);
    await list.begin();
    while (list.hasMore) await list.more();
    comments.change(post, comments.thread(post).comments[125], { state: 'hidden' });
    for (let i = 131; i <= 140; i += 1) comments.write(post, 1001, `Comment ${i}`);
    limits.length = 0;
    await list.refresh();
    assert.deepEqual([list.roots.length, list.roots[125].state, list.roots[139].text], [140, 'hidden', 'Comment 140']);
    assert.equal(list.hasMore, false);
    await list.begin('newest');
    while (list.hasMore) await list.more();
    await list.refresh();
    assert.ok(limits.every((limit) => limit <= 100), `limits ${limits}`);
});

test('a text that cannot be read just now stays as it was read, one that was taken away goes', async () => {
    const [one, two] = ['One', 'Two'].map((text) => comments.write(post, 1001, text));
    await list.begin();
    comments.change(post, one, { text: null });
    comments.change(post, two, { state: 'hidden' });
    await list.refresh();
    assert.deepEqual(texts(list.roots), ['One', null]);
});

test('my comment has its place in the order, and the pages up to it come between', async () => {
    for (let i = 1; i <= 30; i += 1) comments.write(post, 1001, `Comment ${i}`);
    await list.begin();
    await list.write({ text: 'Mine', key: 'k', replyTo: null });
    assert.deepEqual([list.roots.length, list.roots[20].text, list.hasMore], [21, 'Mine', true]);
    await list.more();
    assert.deepEqual([list.roots.length, list.roots[20].text, list.roots[30].text, list.hasMore], [31, 'Comment 21', 'Mine', false]);
    await list.begin('newest');
    await list.write({ text: 'Mine, too', key: 'l', replyTo: null });
    assert.deepEqual(texts(list.roots.slice(0, 3)), ['Mine, too', 'Mine', 'Comment 30']);
    await list.begin('heat');
    await list.write({ text: 'And this', key: 'm', replyTo: null });
    assert.equal(list.roots[0].text, 'And this');
});

test('what happens is put into the list: at its end, into its place, or it waits', async () => {
    const root = comments.write(post, 1001, 'Root');
    await list.begin();
    const shown = (one, more = {}) => ({ ...list.roots[0], ...one, replyTo: one.reply_to, likes: 0, replyCount: 0, replies: [], liked: null, ...more });
    const happens = (items, counters = []) => list.apply({ total: 5, sampled: false, items, gone: [], counters }, 9);
    const [second, reply, hidden] = ['Second', 'Reply', 'Hidden'].map((text, i) => comments.write(post, 1002, text, i === 1 ? { reply_to: root.id } : {}));
    happens([shown(second), shown(reply), shown(hidden, { text: null, state: 'hidden' })], [{ id: root.id, likes: 3, replyCount: 1 }]);
    assert.deepEqual(texts(list.roots), ['Root', 'Second', null]);
    assert.deepEqual([texts(list.roots[0].replies), list.roots[0].likes, list.total, list.version], [['Reply'], 3, 5, '9']);
    happens([shown(second, { text: null, state: 'deleted' }), shown(reply)]);
    assert.deepEqual(list.roots.map(({ state }) => state), ['visible', 'deleted', 'hidden']);
    await list.begin('newest');
    happens([shown(comments.write(post, 1003, 'New'), { time: Date.now() + 60_000 })]);
    assert.deepEqual([list.roots.length, list.waiting], [3, 1]);
});

test('the version of what is listed is the lowest of its pages', async () => {
    const root = comments.write(post, 1001, 'Comment 1');
    for (let i = 2; i <= 50; i += 1) comments.write(post, 1001, `Comment ${i}`);
    for (let i = 1; i <= 10; i += 1) comments.write(post, 1001, `Reply ${i}`, { reply_to: root.id });
    const thread = comments.thread(post);
    await list.begin();
    assert.equal(list.version, '61');
    thread.version = 59; // the next page is from an older copy
    await list.more();
    assert.deepEqual([list.roots.length, list.version], [40, '59']);
    thread.version = 70;
    await list.more();
    assert.deepEqual([list.roots.length, list.version], [50, '59']);
    thread.version = 57;
    await list.moreReplies(root.id);
    assert.deepEqual([list.roots[0].replies.length, list.version], [10, '57']);
});

test('what is out of date is read again from the first page to the last one, and its version is theirs', async () => {
    const roots = [];
    for (let i = 1; i <= 230; i += 1) roots.push(comments.write(post, 1001, `Comment ${i}`));
    for (let i = 1; i <= 30; i += 1) comments.write(post, 1001, `Reply ${i}`, { reply_to: roots[0].id });
    for (const sort of ['floor', 'newest', 'heat']) {
        await list.begin(sort);
        while (list.hasMore) await list.more();
        while (list.hasMoreReplies(list.find(roots[0].id))) await list.moreReplies(roots[0].id);
        const { version } = list;
        const [early, reply] = [roots[5], comments.thread(post).comments[259]];
        comments.change(post, early, { state: 'hidden' });
        comments.change(post, reply, { state: 'hidden' });
        const fresh = comments.write(post, 1001, 'New', { time: Date.now() + 1000 });
        await list.refresh();
        assert.ok(list.version === version, `${sort}: a part was read, and the version is ${list.version} after ${version}`);
        limits.length = 0;
        await list.refreshAll();
        assert.deepEqual([list.find(early.id).state, list.find(early.id).text, list.version], ['hidden', null, String(Number(version) + 3)]);
        assert.ok(limits.length >= 3 && limits.every((limit) => limit <= 100), `limits ${limits}`);
        assert.equal(list.find(reply.id), undefined);
        assert.equal(list.find(roots[0].id).replies.length, 20);
        assert.equal(list.hasMoreReplies(list.find(roots[0].id)), true);
        await list.moreReplies(roots[0].id);
        assert.deepEqual([list.find(reply.id).state, list.hasMoreReplies(list.find(roots[0].id))], ['hidden', false]);
        assert.equal(list.find(fresh.id)?.text ?? list.waiting, sort === 'floor' ? 'New' : 1);
        comments.change(post, early, { state: 'visible' });
        comments.change(post, reply, { state: 'visible' });
    }
});

test('a comment far behind the others is read again by itself, and what I may not see any more goes', async () => {
    for (let i = 1; i <= 60; i += 1) comments.write(post, 1001, `Comment ${i}`);
    await list.begin();
    const mine = await list.write({ text: 'Mine', key: 'k', replyTo: null });
    const { comments: all } = comments.thread(post);
    comments.change(post, all.find(({ id }) => id === mine.id), { state: 'hidden' });
    await list.refreshAll();
    assert.deepEqual([list.roots.length, list.find(mine.id).state, list.version], [22, 'hidden', String(comments.thread(post).version)]);
    all.splice(all.findIndex(({ id }) => id === mine.id), 1);
    await list.refreshAll();
    assert.deepEqual([list.roots.length, list.find(mine.id)], [22, undefined]);
});

test('around a comment, what was read besides its neighbours goes when it is out of date', async () => {
    const root = comments.write(post, 1001, 'Root');
    for (let i = 0; i < 12; i += 1) comments.write(post, 1001, `Reply ${i}`, { reply_to: root.id });
    await list.beginAt(comments.thread(post).comments[6].id);
    await list.moreReplies(root.id);
    const { version } = list;
    comments.change(post, comments.thread(post).comments[12], { state: 'hidden' });
    await list.refresh();
    assert.deepEqual([list.version, list.roots[0].replies.length], [version, 12]);
    await list.refreshAll();
    assert.deepEqual([list.version, list.roots[0].replies.length], [String(Number(version) + 1), 7]);
    assert.equal(list.hasMoreReplies(list.roots[0]), true);
});

test('an answer that comes after something has happened is taken, and what has happened is put over it', async () => {
    const root = comments.write(post, 1001, 'Comment 1');
    for (let i = 2; i <= 30; i += 1) comments.write(post, 1001, `Comment ${i}`);
    for (let i = 1; i <= 10; i += 1) comments.write(post, 1001, `Reply ${i}`, { reply_to: root.id });
    const thread = comments.thread(post);
    await list.begin();
    /** Asks, hides a comment before the answer comes, and says so. */
    async function meanwhile(ask, id, sampled = false) {
        let release;
        held = new Promise((resolve) => (release = resolve));
        const asked = ask();
        await new Promise((resolve) => setTimeout(resolve, 1));
        const comment = thread.comments.find((one) => one.id === id);
        comments.change(post, comment, { state: 'hidden' });
        const item = { ...list.roots[0], ...comment, text: null, replyTo: comment.reply_to, likes: 0, replyCount: 0, replies: [], liked: null };
        list.apply({ total: 7, sampled, items: [item], gone: [id], counters: [] }, sampled ? list.version : thread.version);
        release();
        const answer = await asked;
        assert.deepEqual([list.find(id).state, list.find(id).text, list.total], ['hidden', null, 7]);
        return answer;
    }
    const version = thread.version;
    assert.equal(await meanwhile(() => list.more(), thread.comments[25].id), thread.comments[20].id);
    assert.deepEqual([list.roots.length, list.version], [30, String(version + 1)]);
    // The second question, for the replies, is answered at once.
    assert.equal(await meanwhile(() => list.moreReplies(root.id), thread.comments[35].id), thread.comments[33].id);
    assert.deepEqual([list.roots[0].replies.length, list.version], [10, String(version + 2)]);
    await meanwhile(() => list.refresh(), thread.comments[3].id);
    assert.equal(list.version, String(version + 3));
    await meanwhile(() => list.refreshAll(), thread.comments[4].id);
    assert.equal(list.version, String(version + 4));
    await meanwhile(() => list.begin(), thread.comments[5].id);
    assert.equal(list.version, String(version + 5));
    await meanwhile(() => list.begin(), thread.comments[6].id, true);
    assert.equal(list.version, String(version + 5));
    await meanwhile(() => list.beginAt(thread.comments[8].id), thread.comments[9].id);
    assert.equal(list.version, String(version + 7));
});

test('a new root that is told while a page is under way waits once', async () => {
    for (let i = 1; i <= 30; i += 1) comments.write(post, 1001, `Comment ${i}`);
    await list.begin('newest');
    let release;
    held = new Promise((resolve) => (release = resolve));
    const asked = list.more();
    const fresh = comments.write(post, 1003, 'New', { time: Date.now() + 60_000 });
    list.apply({ total: 31, sampled: false, items: [{ ...list.roots[0], ...fresh, replyTo: null, likes: 0 }], gone: [], counters: [] }, 32);
    release();
    await asked;
    assert.deepEqual([list.roots.length, list.waiting, list.version], [30, 1, '32']);
});
