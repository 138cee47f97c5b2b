// The comments' part of the fake server: threads of two levels under posts, as starling-ingest answers for them.

import { edit, marksOf, versionsOf } from './fake-edits.js';

const FIRST_ID = 350181845507911757n;
const RULES = {
    no_post: [404, 'there is no such post'],
    no_comment: [404, 'there is no such comment under this subject'],
    subject_closed: [409, 'the subject takes no more comments'],
    blocked: [403, 'one of the two users has blocked the other'],
    comment_not_visible: [409, 'the comment is held, hidden or deleted'],
    not_your_comment: [403, 'somebody else has written this comment, and owns the subject'],
    not_allowed: [403, 'somebody else has written this comment'],
};

export class FakeComments {
    /** subject -> {comments: the oldest first, closed} */
    #threads = new Map();
    #keys = new Map();
    #id = FIRST_ID;
    /** The error that every request for comments gets, if there is one: {status, code, detail, retryAfter}. */
    fail = null;
    /** The next answers to writes, as `fail`; {status: 202} for one that is not decided, {status: 0} for one that is lost. */
    next = [];
    /** Comments wait for a moderator. */
    review = false;
    /** With whom I have a block. */
    blocks = new Set();
    /** {comment, reason} */
    reports = [];
    /** Requests so far, as `METHOD path`; answers of 304 so far. */
    asked = [];
    unchanged = 0;
    /** The watchers: {say, subject}. */
    #watchers = [];

    /** @param {import('./fake-feed.js').FakeFeed} feed */
    constructor(feed) {
        this.feed = feed;
    }

    /** Somebody comments. @param {string} post @param {number} user @param {string} text @param {any} [more] with reply_to: a reply */
    write(post, user, text, { reply_to: replyTo = null, ...more } = {}) {
        const thread = this.thread(post);
        const answered = thread.comments.find(({ id }) => id === replyTo);
        const root = answered ? (answered.root ?? answered.id) : null;
        const floor = thread.comments.filter((one) => one.root === root).length + 1;
        this.#id += 4096n;
        const comment = { id: String(this.#id), user, text, time: Date.now(), floor, root, reply_to: replyTo, likes: new Set(), state: 'visible', ...more };
        thread.comments.push(comment);
        this.#tell(post, comment);
        return comment;
    }

    /** A thread as people write them. @param {string} post @returns {any} the last answer, which is to me */
    discuss(post) {
        const [first, second] = ['Well said.', 'How did the fall end?'].map((text, i) => this.write(post, 1001 + i, text, { time: Date.now() - (50 - i) * 60_000 }));
        for (let user = 1000; user < 1007; user += 1) second.likes.add(user);
        this.write(post, 1004, 'Softly, I hope!', { reply_to: second.id, time: Date.now() - 2_000_000, likes: new Set([1002]) });
        const mine = this.write(post, this.feed.me, 'On the hay. He was laughing before he landed.', { reply_to: second.id, time: Date.now() - 1_500_000 });
        first.likes.add(1003);
        const gone = this.write(post, 1008, 'Buy cheap watches', { time: Date.now() - 900_000, state: 'hidden' });
        this.write(post, 1005, 'What was that?', { reply_to: gone.id, time: Date.now() - 800_000 });
        return this.write(post, 1006, 'So like him.', { reply_to: mine.id, time: Date.now() - 300_000 });
    }

    /** @param {string} post */
    thread(post) {
        const subject = `post:${post}`;
        if (!this.#threads.has(subject)) this.#threads.set(subject, { comments: [], closed: false, version: 1 });
        return this.#threads.get(subject);
    }

    /** Changes a comment. @param {string} post @param {any} comment @param {any} change */
    change(post, comment, change) {
        Object.assign(comment, change);
        this.#tell(post, comment);
    }

    /** Its author edits it elsewhere. @param {string} post @param {any} comment @param {string} text */
    edit(post, comment, text) {
        edit(comment, { text, version: marksOf(comment).version });
        this.#tell(post, comment);
    }

    // ---- live ----

    /** A phone watches, and its page has the version. @param {(frame: any) => void} say @param {string} subject @param {number} version */
    watch(say, subject, version) {
        this.unwatch(say, subject);
        this.#watchers.push({ say, subject });
        const now = this.thread(subject.slice('post:'.length)).version;
        if (version !== now) say({ type: 'stale', what: 'comments', subject, version: now, after_ms: 0 });
    }

    /** @param {(frame: any) => void} say @param {string} [subject] undefined: all */
    unwatch(say, subject) {
        this.#watchers = this.#watchers.filter((one) => one.say !== say || (subject !== undefined && one.subject !== subject));
    }

    /** The subjects that are watched. */
    get watched() {
        return this.#watchers.map(({ subject }) => subject);
    }

    /** Somebody likes the post, or no longer does. @param {string} post @param {number} user @param {boolean} [likes] */
    likePost(post, user, likes = true) {
        if (likes) this.feed.likesOf(post).add(user);
        else this.feed.likesOf(post).delete(user);
        this.#tell(post, null);
    }

    #tell(post, comment) {
        const thread = this.thread(post);
        thread.version += 1;
        const total = thread.comments.filter(({ state }) => state === 'visible').length;
        const root = thread.comments.find(({ id }) => id === comment?.root);
        const frame = {
            type: 'comments', subject: `post:${post}`, since: thread.version - 1, version: thread.version, total, likes: this.feed.likesOf(post).size, sampled: false,
            items: !comment || comment.state === 'held' ? [] : [{ ...this.#shown(post, comment), replies: [] }],
            gone: ['hidden', 'deleted'].includes(comment?.state) ? [comment.id] : [],
            counters: root ? [{ id: root.id, likes: root.likes.size, reply_count: this.#shown(post, root).reply_count }] : [],
        };
        for (const { say, subject } of this.#watchers) if (subject === frame.subject) say(frame);
    }

    /** @returns {[number, any, object?] | null} status, JSON, headers; null: no such path */
    serve(method, path, query, body, etag) {
        const [, , what, type, post, id, act] = path.split('/');
        if (what !== 'comments' || type !== 'post') return null;
        this.asked.push(`${method} ${path}`);
        if (this.fail) return refusal(this.fail);
        if (!this.feed.sees(this.#owner(post)) && method !== 'DELETE') return problem('no_post');
        if (method !== 'GET') return this.#write(method, post, id, act, body);
        if (id === undefined) return this.#page(post, query, etag);
        if (!this.#find(post, id)) return problem('no_comment');
        if (act === 'replies' || act === 'answers') return this.#replies(post, id, query);
        if (act === 'edits') return [200, { items: versionsOf(this.#find(post, id)), next: null }];
        return this.#around(post, id, query);
    }

    #write(method, post, id, act, body) {
        const told = this.next.shift();
        if (told?.code) return refusal(told);
        const answer = id === undefined ? this.#make(post, body) : this.#act(method, post, id, act, body);
        if (told?.status === 0) return [0, null];
        return told?.status === 202 ? [202, { state: 'pending' }] : answer;
    }

    #make(post, { text, reply_to: replyTo, key }) {
        const thread = this.thread(post);
        const made = this.#keys.get(key);
        if (made) return [201, this.#shown(post, made, false, true)];
        const answered = replyTo && this.#find(post, replyTo);
        if (thread.closed) return problem('subject_closed');
        if (answered && this.blocks.has(answered.user)) return problem('blocked');
        const comment = this.write(post, this.feed.me, text, { reply_to: replyTo, state: this.review ? 'held' : 'visible' });
        this.#keys.set(key, comment);
        return [201, this.#shown(post, comment, false, true)];
    }

    #act(method, post, id, act, body) {
        const comment = this.#find(post, id);
        if (!comment) return problem('no_comment');
        if (act === 'like') {
            if (comment.state !== 'visible') return problem('comment_not_visible');
            if (method === 'PUT') comment.likes.add(this.feed.me);
            else comment.likes.delete(this.feed.me);
            this.change(post, comment, {});
            return [200, { likes: this.feed.sees(this.#owner(post)) ? comment.likes.size : 0 }];
        }
        if (act === 'report') {
            this.reports.push({ comment: id, reason: body.reason });
            return [202, { reported: true }];
        }
        if (method === 'PUT') {
            const refused = comment.user === this.feed.me ? edit(comment, body) : problem('not_allowed');
            if (refused) return refused;
            this.change(post, comment, {});
            return [200, this.#shown(post, comment, false, true)];
        }
        if (comment.user !== this.feed.me && this.#owner(post) !== this.feed.me) return problem('not_your_comment');
        this.change(post, comment, { state: 'deleted' });
        return [204];
    }

    #page(post, query, given) {
        const { comments, closed, version } = this.thread(post);
        const etag = `W/"${version}.0.${this.feed.me}"`;
        if (given === etag) {
            this.unchanged += 1;
            return [304, null, { etag }];
        }
        const roots = comments.filter(({ root }) => root === null);
        const sort = query.get('sort') ?? 'floor';
        if (sort !== 'floor') roots.reverse();
        if (sort === 'heat') roots.sort((a, b) => b.likes.size - a.likes.size);
        const replies = Number(query.get('replies') ?? 3);
        const liked = query.get('liked') === 'true';
        const { items, next } = pageOf(roots, query);
        const shown = items.map((root) => ({
            ...this.#shown(post, root, liked),
            replies: this.#repliesOf(post, root.id).slice(0, replies).map((reply) => this.#shown(post, reply, liked)),
        }));
        const total = comments.filter(({ state }) => state === 'visible').length;
        return [200, { items: shown, next, total, likes: this.feed.likesOf(post).size, version, closed, owner: this.#owner(post), pinned: [] }, { etag }];
    }

    #replies(post, id, query) {
        const { items, next } = pageOf(this.#repliesOf(post, id), query);
        return [200, { items: items.map((reply) => this.#shown(post, reply, query.get('liked') === 'true')), next }];
    }

    #around(post, id, query) {
        const item = this.#find(post, id);
        const show = (comment) => this.#shown(post, comment, query.get('liked') === 'true');
        if (!query.has('around')) return [200, show(item)];
        const level = this.thread(post).comments.filter(({ root }) => root === item.root);
        const at = level.indexOf(item);
        const near = level.slice(Math.max(0, at - Number(query.get('around'))), at + Number(query.get('around')) + 1);
        const root = item.root && show(this.#find(post, item.root));
        return [200, { item: show(item), root, around: near.filter((one) => one !== item).map(show) }];
    }

    #repliesOf(post, id) {
        const isRoot = this.#find(post, id).root === null;
        return this.thread(post).comments.filter((one) => (isRoot ? one.root : one.reply_to) === id);
    }

    #find(post, id) {
        return this.thread(post).comments.find((comment) => comment.id === id);
    }

    #owner(post) {
        return this.feed.posts.find(({ id }) => id === post)?.user ?? null;
    }

    #shown(post, comment, liked, mine = false) {
        const { id, user, text, time, floor, root, reply_to, likes, state } = comment;
        const visible = state === 'visible';
        const answers = this.thread(post).comments.filter((one) => one.state === 'visible' && (root ? one.reply_to : one.root) === id);
        return {
            id, user, ...this.feed.profile(user), text: visible || (mine && state === 'held') ? text : null, time, floor, root, reply_to,
            likes: likes.size, reply_count: answers.length, replies: [], state, ...marksOf(comment),
            ...(liked && visible && { liked: likes.has(this.feed.me) }),
        };
    }
}

function pageOf(all, query) {
    const limit = Number(query.get('limit') ?? 20);
    const from = query.has('after') ? all.findIndex(({ id }) => id === query.get('after')) + 1 : 0;
    const items = all.slice(from, from + limit);
    return { items, next: from + limit < all.length ? items.at(-1).id : null };
}

function problem(code) {
    const [status, detail] = RULES[code];
    return [status, { code, detail }];
}

function refusal({ status, code, detail, retryAfter }) {
    return [status, { code, detail }, retryAfter ? { 'retry-after': retryAfter } : {}];
}
