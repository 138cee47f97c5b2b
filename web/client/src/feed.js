// My home timeline, kept up to date: read over HTTP from the newest post down to the oldest that somebody asked for, and from
// then on changed by what the edge says.
//
//   newest |------------ list ------------| cursor -> older()
//   page         version v1                          read over HTTP
//   posts        v1 -> v2: new ones on top, gone ones off     said by the edge; if it is not from the version that we have,
//   stale        v3 after so many ms                          or is told to be, everything listed is read again
//
// After each reading, and on each new connection, the edge is told the version that we have: it names another one at once.

import { backoffMs } from './backoff.js';
import { Listeners } from './listeners.js';
import { PostList } from './post-list.js';
import { readPosts } from './posts.js';
import { Timers } from './timers.js';

const PAGE_SIZE = 20;
const LARGEST_PAGE = 100;
const SOON_MS = 500; // the first pause of those that double
const LONGEST_PAUSE_MS = 60000;
const READINGS_FOR_A_VERSION = 8; // some two minutes; after that the edge names it again if it must
const FILLED_AT_ONCE = 10;
const MOST_NEW = 200; // posts above the listed ones; more of them push the oldest ones off the list

export class LiveFeed {
    #api;
    #say;
    #clock;
    #random;
    #timers;
    #listeners = new Listeners();
    #posts = new PostList();

    #closed = false;
    /** @type {Promise<void> | null} */
    #reading = null;
    #again = false; // what is being read may be old already
    /** Frames of the edge that came while a page was on its way. @type {any[]} */
    #unread = [];
    /** @type {Promise<void> | null} */
    #older = null;
    #complete = false;
    /** @type {string | null} */
    #version = null;
    /** The version that the edge named and no page has had; before: the one that we had then. @type {{version: string, before: string | null, readings: number} | null} */
    #named = null;
    #failures = 0;
    #incomplete = 0; // readings in a row
    #fillings = 0;
    /** @type {import('./errors.js').ApiError | null} */
    #failure = null;

    /**
     * @param {{api: import('../index.js').StarlingApi, say: (frame: Record<string, unknown>) => void,
     *          clock: import('../index.js').Clock, random: () => number}} options
     */
    constructor({ api, say, clock, random }) {
        this.#api = api;
        this.#say = say;
        this.#clock = clock;
        this.#random = random;
        this.#timers = new Timers(clock);
    }

    /** Newest first, without gaps from the newest one down. */
    get list() {
        return this.#posts.list();
    }
    /** older() would list more. */
    get hasMore() {
        return this.#posts.cursor !== null;
    }
    /** false: posts may be missing; the list is read again until none are. */
    get complete() {
        return this.#complete;
    }
    /** null: nothing was read yet. */
    get version() {
        return this.#version;
    }
    /** The error of the last reading; null: it did not fail. */
    get failure() {
        return this.#failure;
    }
    /** The time of the next try after a failed reading, ms by the local clock; null: refresh() must be called. */
    get retryAt() {
        return this.#failure ? this.#timers.due('read') : null;
    }

    /** @param {string} type @param {Function} listener */
    on(type, listener) {
        return this.#listeners.on(type, listener);
    }

    /** Reads everything listed again, now. */
    refresh() {
        if (this.#closed) return;
        this.#failures = 0;
        this.#read();
    }

    /** Lists older posts. Resolves when there are more, or no more; rejects if they cannot be read. */
    older() {
        this.#older ??= this.#readOlder().finally(() => (this.#older = null));
        return this.#older;
    }

    /** A post that is known to be deleted, or whose author is not followed any more: off the list before the server says so. @param {(post: import('../index.js').Post) => boolean} unwanted */
    drop(unwanted) {
        const gone = this.#posts.drop(unwanted);
        if (gone.length > 0) this.#changed('gone', [], gone);
    }

    /** Ends it. The list stays as it is. */
    close() {
        if (this.#closed) return;
        this.#closed = true;
        this.#timers.clearAll();
        this.#say({ type: 'unwatch', what: 'feed' });
    }

    // ---- what the client tells us ---------------------------------------------------------------------------------

    /** A new connection is open, which watches nothing yet. */
    connected() {
        this.#watch();
    }

    /** @param {any} frame `posts` */
    posted(frame) {
        if (this.#closed) return;
        if (this.#reading) return void this.#unread.push(frame);
        if (frame.since !== this.#version && frame.version !== this.#version) return this.#readIn(0);
        const { came, gone } = this.#apply(frame);
        this.#changed('posts', came, gone);
    }

    /** @param {any} frame `stale` */
    stale({ version, after_ms: afterMs }) {
        if (this.#closed || version === this.#version) return;
        let named = this.#named;
        if (!named || named.version !== version) named = this.#named = { version, before: this.#version, readings: 0 };
        const wait = Math.max(0, Number(afterMs) || 0);
        this.#readIn(named.readings > 0 ? Math.max(wait, this.#pause(named.readings)) : wait);
    }

    /** Of a frame that leads to the version that the page has, only deletions count. @param {any} frame */
    #apply({ since, version, items, gone = [] }) {
        const known = since !== this.#version;
        this.#version = String(version);
        if (this.#named && this.#complete && !this.#failure) this.#timers.clear('read');
        this.#named = null; // what was named is older than this
        return this.#posts.merge(known ? [] : readPosts(items), gone);
    }

    #watch() {
        if (!this.#closed && this.#version !== null) this.#say({ type: 'watch', what: 'feed', version: this.#version });
    }

    // ---- reading --------------------------------------------------------------------------------------------------

    /** Sooner than it would be otherwise; but a server that cannot answer just now is left alone. @param {number} ms */
    #readIn(ms) {
        const due = this.#timers.due('read');
        if (due !== null && this.#failure) return;
        if (due === null || due > this.#clock.now() + ms) this.#timers.set('read', ms, () => this.#read());
    }

    #read() {
        this.#timers.clear('read');
        if (this.#reading) {
            this.#again = true;
            return;
        }
        this.#again = false;
        this.#reading = this.#readListed().then(
            (page) => this.#wasRead(page),
            (error) => this.#wasNotRead(error),
        );
    }

    /** The newest page, and as many more as it takes to the oldest post that is listed, unless that is too far. */
    async #readListed() {
        const most = this.#posts.length + MOST_NEW;
        const first = await this.#api.getFeed({ limit: pageFor(this.#posts.length) });
        const items = [...first.items];
        let { next, complete } = first;
        for (let left; !this.#closed && items.length < most && (left = this.#posts.countBeyond(next)) > 0; ) {
            const page = await this.#api.getFeed({ after: next, limit: pageFor(left) });
            items.push(...page.items);
            complete &&= page.complete;
            next = page.next;
        }
        return { items, next, complete, version: first.version };
    }

    /** @param {import('../index.js').FeedPage} page */
    #wasRead(page) {
        this.#reading = null;
        if (this.#closed) return;
        this.#failures = 0;
        this.#failure = null;
        const { came, gone } = this.#posts.replace(page.items, page.next);
        this.#version = page.version;
        this.#complete = page.complete;
        this.#incomplete = page.complete ? 0 : this.#incomplete + 1;
        this.#compareWithNamed();
        if (!page.complete) this.#readIn(this.#pause(this.#incomplete));
        const followed = this.#applyUnread();
        if (this.#again || !followed) this.#readIn(SOON_MS);
        this.#watch();
        this.#changed('page', came, gone);
    }

    /** Reads again, later each time, while the page is what it was when the edge named another version. */
    #compareWithNamed() {
        if (!this.#named) return;
        const { version, before, readings } = this.#named;
        const old = this.#version !== version && this.#version === before && readings + 1 < READINGS_FOR_A_VERSION;
        if (!old) {
            if (this.#version === version) this.#timers.clear('read'); // named while the page was on its way
            this.#named = null; // if the page is not what it should be even so, `watch` lets the edge say it
            return;
        }
        this.#named.readings += 1;
        this.#readIn(this.#pause(this.#named.readings));
    }

    /**
     * Applies those frames that come after the page that was read.
     * @returns {boolean} nothing is missing between the page and the frames
     */
    #applyUnread() {
        const unread = this.#unread;
        this.#unread = [];
        const known = unread.map(({ version }) => version).lastIndexOf(this.#version);
        const from = known >= 0 ? known + 1 : Math.max(0, unread.findIndex(({ since }) => since === this.#version));
        for (const { gone = [] } of unread.slice(0, from)) this.#posts.merge([], gone);
        for (const frame of unread.slice(from)) {
            if (frame.since !== this.#version) return false;
            this.#apply(frame);
        }
        return true;
    }

    /** @param {any} error */
    #wasNotRead(error) {
        this.#reading = null;
        if (this.#closed) return;
        this.#failure = error;
        if (error.passing) {
            const pause = backoffMs(this.#failures, this.#random);
            this.#failures += 1;
            this.#readIn(Math.max(pause, error.retryAfterMs ?? 0));
        }
        this.#listeners.emit('error', error);
    }

    async #readOlder() {
        for (let came = 0; came === 0 && this.#posts.cursor !== null && !this.#closed; ) {
            if (this.#reading) {
                await this.#reading; // it moves the cursor
                continue;
            }
            const { cursor } = this.#posts;
            const page = await this.#api.getFeed({ after: cursor, limit: PAGE_SIZE });
            if (this.#closed || cursor !== this.#posts.cursor) continue; // read again meanwhile: nobody knows what lies between
            came = this.#posts.append(page.items, page.next);
            if (!page.complete) this.#readIn(this.#pause(1));
        }
        if (!this.#closed) this.#changed('older', [], []);
    }

    // ---- posts that could not be shown ----------------------------------------------------------------------------

    #fillSoon() {
        const some = this.list.some(({ unavailable }) => unavailable);
        if (!some) {
            this.#fillings = 0;
            this.#timers.clear('fill');
        } else if (!this.#timers.has('fill')) {
            this.#fillings += 1;
            this.#timers.set('fill', this.#pause(this.#fillings + 1), () => this.#fill());
        }
    }

    async #fill() {
        const wanted = this.list.filter(({ unavailable }) => unavailable).slice(0, FILLED_AT_ONCE);
        const found = await Promise.allSettled(wanted.map(({ id }) => this.#api.getPost(id)));
        if (this.#closed) return;
        const gone = wanted.filter((_, i) => /** @type {any} */ (found[i]).reason?.status === 404).map(({ id }) => id);
        const posts = found.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
        const listed = posts.filter(({ id }) => this.#posts.has(id));
        this.#posts.merge(listed, gone);
        this.#changed('filled', [], gone);
    }

    // ---- small things ---------------------------------------------------------------------------------------------

    /** Half a second, doubled with each time, some of it by chance. @param {number} times */
    #pause(times) {
        const longest = Math.min(LONGEST_PAUSE_MS, SOON_MS * 2 ** Math.min(times, 16));
        return Math.round(longest * (0.75 + this.#random() / 4));
    }

    /**
     * @param {import('../index.js').FeedCause} cause
     * @param {import('../index.js').Post[]} came
     * @param {string[]} gone
     */
    #changed(cause, came, gone) {
        this.#fillSoon();
        this.#listeners.emit('change', { cause, came, gone });
    }
}

/** The limit to ask for, for so many posts: at least a page, at most the server's largest page. @param {number} count */
function pageFor(count) {
    return Math.min(LARGEST_PAGE, Math.max(PAGE_SIZE, count));
}
