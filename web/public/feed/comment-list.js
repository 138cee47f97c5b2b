// The comments of a thread that are on the screen, and what is done with them. Reading again changes them in place: nothing
// moves under the reader's finger, new roots of an order that begins with them wait. No DOM in here.

const PAGE = 20;
const LONGEST = 100; // roots that are read again at once
const FIRST_REPLIES = 3;
const MOST_REPLIES = 20; // that come along with each root
const AROUND = 3;
const MOST_ANSWERS = 1000; // to one reply
const EDITS = 100; // all of a text
const FIRST_PAGE = { after: null, before: 0 }; // its cursor, and how many roots are listed before it

/** @typedef {import('../../client/index.js').Comment} Comment */

export class CommentList {
    #api;
    #subject;
    #serverNow;
    #sort = 'floor';
    /** @type {Comment[]} */
    #roots = [];
    #next = null;
    /** The cursors from which the replies of roots are read on. @type {Map<string, string | null>} */
    #replyCursors = new Map();
    #target = null; // the comment around which the list is
    #answers = false; // the list is the target and what answers it
    #page = { total: 0, likes: null, closed: false, owner: null, version: '0' };
    #tag = { query: '', etag: null };
    #lastPage = FIRST_PAGE;
    #readAt = 0;
    /** Ids of new roots. @type {Set<string>} */
    #waiting = new Set();
    #read = false;
    #merged = 0; // answers that have added to what is listed
    /** The changes since each question that is under way: {change, version, before}. @type {Set<any[]>} */
    #asking = new Set();
    #turn = 0; // goes up when what is listed is chosen anew, and with every write of mine: earlier answers are old then

    /** @param {import('../api.js').Api} api @param {string} subject @param {() => number} serverNow */
    constructor(api, subject, serverNow) {
        this.#api = api;
        this.#subject = subject;
        this.#serverNow = serverNow;
    }

    get sort() {
        return this.#sort;
    }
    /** In the order of the page, each with its replies that were read. */
    get roots() {
        return this.#roots;
    }
    get read() {
        return this.#read;
    }
    get hasMore() {
        return this.#next !== null;
    }
    /** The number of visible comments of the subject. */
    get total() {
        return this.#page.total;
    }
    /** How many like the subject itself; null: not read yet. */
    get likes() {
        return this.#page.likes;
    }
    get closed() {
        return this.#page.closed;
    }
    get owner() {
        return this.#page.owner;
    }
    /** Of what is listed, the lowest of its pages' versions: for a LiveThread. */
    get version() {
        return this.#page.version;
    }
    /** The number of new roots that wait. */
    get waiting() {
        return this.#waiting.size;
    }
    /** The comment around which the list is; null: it is the whole thread. */
    get target() {
        return this.#target;
    }

    /** @param {string} id @returns {Comment | undefined} */
    find(id) {
        return this.#roots.flatMap((root) => [root, ...root.replies]).find((comment) => comment.id === id);
    }

    /** The answers to a reply can be listed. @param {Comment} reply */
    hasAnswers(reply) {
        return reply.root !== null && reply.replyCount > 0 && !(this.#answers && this.#target === reply.id);
    }

    /** @param {Comment} root */
    hasMoreReplies(root) {
        const listed = root.replies.filter(({ state }) => state === 'visible').length;
        return root.replyCount > listed;
    }

    // ---- reading ----

    /** Lists the first page. @param {string} [sort] */
    begin(sort = this.#sort) {
        return this.#ask((lately) => this.#beginNow(sort, lately));
    }

    async #beginNow(sort, lately) {
        const turn = (this.#turn += 1);
        const at = this.#serverNow();
        const page = await this.#api.getComments(this.#subject, { sort, limit: PAGE, replies: FIRST_REPLIES, liked: true });
        if (turn !== this.#turn) return;
        this.#replace(sort, page.items, null);
        this.#next = page.next;
        this.#readAt = at;
        this.#page = page;
        this.#again(lately, page.version);
    }

    /** Lists a comment with those around it; or, with `answers`, a reply with those that answer it. @param {string} id */
    beginAt(id, answers = false) {
        return this.#ask((lately) => this.#beginAtNow(id, answers, lately));
    }

    async #beginAtNow(id, answers, lately) {
        const turn = (this.#turn += 1);
        const [items, page] = await (answers ? this.#under(id) : this.#around(id));
        if (turn !== this.#turn) return;
        this.#replace('floor', items, id, answers);
        this.#page = page;
        this.#again(lately, page.version);
    }

    /**
     * Reads the most of what is listed again, with one question. What is listed has a newer version then only if that was everything.
     */
    refresh() {
        return this.#ask((lately) => this.#refreshNow(lately));
    }

    async #refreshNow(lately) {
        const turn = this.#turn;
        const merged = this.#merged;
        if (this.#target !== null) {
            const [items, page] = await this.#near(this.#target);
            if (turn !== this.#turn) return;
            const whole = this.#isAll(items, 0);
            this.#merge(items);
            this.#page = { ...page, version: whole ? page.version : lowest(this.version, page.version) };
            this.#again(lately, page.version);
            return;
        }
        const listed = this.#roots.length;
        const inOrder = this.#sort === 'floor';
        // Of a long thread only the last page: new comments come after it.
        const from = inOrder && listed > LONGEST ? this.#lastPage : FIRST_PAGE;
        const query = this.#query(from.after, inOrder ? listed - from.before : listed + PAGE);
        const words = JSON.stringify(query);
        const page = await this.#api.getComments(this.#subject, query, words === this.#tag.query ? this.#tag.etag : null);
        if (turn !== this.#turn || page === null) return;
        this.#tag = { query: words, etag: page.etag };
        this.#page = { ...page, version: this.#isAll(page.items, query.replies) ? page.version : lowest(this.version, page.version) };
        this.#reread(page.items, merged === this.#merged ? page.next : this.#next);
        this.#again(lately, page.version);
    }

    /** Reads everything that is listed again, as it is out of date. Replies that do not come along with their roots are left out then. */
    refreshAll() {
        return this.#ask((lately) => this.#refreshAllNow(lately));
    }

    async #refreshAllNow(lately) {
        const turn = this.#turn;
        const merged = this.#merged;
        const known = this.#roots.map(({ id }) => id);
        const { items, pages, lastPage, replies } = await (this.#target === null ? this.#walk() : this.#walkAround(this.#target));
        const read = new Set(items.map(({ id }) => id));
        const others = []; // mine, far behind the others, and those that have moved
        for (const id of known.filter((one) => !read.has(one))) {
            const one = await this.#api.getComment(this.#subject, id, { liked: true }).catch(orMissing);
            if (turn !== this.#turn) return;
            if (one) others.push(one);
            else this.#roots = this.#roots.filter((root) => root.id !== id); // a block came between us
        }
        if (turn !== this.#turn) return;
        const last = pages.at(-1);
        // Another answer that came meanwhile may be older than all these pages.
        const version = lowest(...pages.map((page) => page.version), ...(merged === this.#merged ? [] : [this.version]));
        this.#tag = { query: '', etag: null };
        this.#page = { ...last, version };
        for (const root of items) this.#shorten(root, replies);
        for (const root of others) this.#shorten(root, 0);
        if (this.#target === null) {
            if (merged === this.#merged) this.#lastPage = lastPage;
            this.#reread(items, merged === this.#merged ? last.next : this.#next);
        } else {
            this.#merge(items);
        }
        this.#merge(others);
        this.#again(lately, version);
    }

    /** Pages from the first one on, as far as there are roots that are listed. */
    async #walk() {
        const inOrder = this.#sort === 'floor';
        const left = new Set(this.#roots.map(({ id }) => id));
        const listed = left.size;
        const most = inOrder ? listed : listed + 3 * LONGEST; // new ones come before them
        const items = [];
        const pages = [];
        let lastPage = FIRST_PAGE;
        let query = this.#query(null, inOrder ? listed : listed + PAGE);
        for (;;) {
            lastPage = { after: query.after, before: items.length };
            const page = await this.#api.getComments(this.#subject, query);
            pages.push(page);
            items.push(...page.items);
            for (const { id } of page.items) left.delete(id);
            if (page.next === null || left.size === 0 || items.length >= most) return { items, pages, lastPage, replies: query.replies };
            query = { ...query, after: page.next, limit: limitOf(most - items.length) };
        }
    }

    /** @param {string} id */
    async #walkAround(id) {
        const [items, page] = await this.#near(id);
        return { items, pages: [page], lastPage: FIRST_PAGE, replies: 0 };
    }

    /** @param {string | null} after @param {number} roots */
    #query(after, roots) {
        const expanded = this.#roots.some(({ replies }) => replies.length > FIRST_REPLIES);
        return { sort: this.#sort, after, limit: limitOf(roots), replies: expanded ? MOST_REPLIES : FIRST_REPLIES, liked: true };
    }

    /** @param {Comment[]} items @param {string | null} next */
    #reread(items, next) {
        const inOrder = this.#sort === 'floor';
        const known = new Set(this.#roots.map(({ id }) => id));
        const old = items.filter(({ id }) => known.has(id));
        const fresh = items.filter(({ id }) => !known.has(id));
        this.#merge(inOrder ? items : old);
        if (inOrder) this.#next = next;
        if (!inOrder) this.#waiting = new Set(fresh.filter(({ time }) => time > this.#readAt).map(({ id }) => id));
    }

    /** Everything that is listed is among these. @param {Comment[]} items @param {number} most replies that came along with each */
    #isAll(items, most) {
        const read = new Map(items.map((root) => [root.id, root]));
        return this.#roots.every((root) => read.has(root.id) && notRead(root, read.get(root.id), most).length === 0);
    }

    /** Takes the replies of a root off that were not read again with it. @param {Comment} now @param {number} most that came along */
    #shorten(now, most) {
        const root = this.find(now.id);
        const old = new Set(root ? notRead(root, now, most) : []);
        if (old.size === 0) return;
        this.#replyCursors.delete(now.id);
        const replies = root.replies.filter((reply) => !old.has(reply));
        this.#roots = this.#roots.map((one) => (one.id === now.id ? { ...one, replies } : one));
    }

    /**
     * Applies a change of the subject. A new root that belongs behind the listed ones is listed, unless earlier ones are missing; one
     * that belongs before them waits.
     * @param {import('../../client/index.js').ThreadChange} change @param {number | null} version that what is listed has then
     */
    apply(change, version) {
        const happened = { change, version: String(version), before: this.version };
        for (const lately of this.#asking) lately.push(happened);
        this.#happens(change);
        this.#page = { ...this.#page, version: happened.version };
    }

    /** @param {import('../../client/index.js').ThreadChange} change */
    #happens({ total, likes, items, counters }) {
        this.#page = { ...this.#page, total, likes };
        for (const comment of items) this.#came(comment);
        for (const { id, likes, replyCount } of counters) this.#change(id, { likes, replyCount });
    }

    /**
     * Asks something. What happens before the answer comes may be newer than it.
     * @template T @param {(lately: any[]) => Promise<T>} question is given what has happened since @returns {Promise<T>}
     */
    async #ask(question) {
        const lately = [];
        this.#asking.add(lately);
        try {
            return await question(lately);
        } finally {
            this.#asking.delete(lately);
        }
    }

    /** An answer is in the list now. Puts what is newer over it. @param {any[]} lately @param {string} answered its version */
    #again(lately, answered) {
        for (const { change, version, before } of lately) {
            if (!change.sampled && Number(version) <= Number(answered)) continue;
            this.#happens(change);
            const follows = !change.sampled && Number(before) <= Number(this.version) && Number(version) > Number(this.version);
            if (follows) this.#page = { ...this.#page, version };
        }
    }

    /** @param {Comment} comment new, or in another state */
    #came(comment) {
        const root = comment.root === null ? this.find(comment.id) : this.find(comment.root);
        const known = this.find(comment.id) !== undefined;
        if (comment.root !== null) {
            const next = root && !this.hasMoreReplies({ ...root, replyCount: root.replyCount - (known ? 1 : 0) });
            const answer = this.#answers && comment.replyTo === this.#target;
            if (root && (known || next || answer)) this.#put({ ...root, replies: [comment] });
        } else if (known) {
            this.#put({ ...comment, replies: [] });
        } else if (this.#target === null && this.#sort === 'floor' && this.#next === null) {
            this.#merge([comment]);
        } else if (this.#target === null && this.#sort !== 'floor' && comment.state === 'visible' && comment.time > this.#readAt) {
            this.#waiting.add(comment.id);
        }
    }

    /** Lists the next page. @returns {Promise<string | null>} the first comment that came */
    more() {
        return this.#ask((lately) => this.#moreNow(lately));
    }

    async #moreNow(lately) {
        const turn = this.#turn;
        const query = { sort: this.#sort, after: this.#next, limit: PAGE, replies: FIRST_REPLIES, liked: true };
        const page = await this.#api.getComments(this.#subject, query);
        if (turn !== this.#turn) return null;
        this.#lastPage = { after: query.after, before: this.#roots.length };
        this.#next = page.next;
        this.#merged += 1;
        this.#page = { ...this.#page, version: lowest(this.version, page.version) };
        const first = this.#merge(page.items);
        this.#again(lately, page.version);
        return first;
    }

    /** Lists more replies of a root. @param {string} id @returns {Promise<string | null>} the first one that came */
    moreReplies(id) {
        return this.#ask((lately) => this.#moreRepliesNow(id, lately));
    }

    async #moreRepliesNow(id, lately) {
        for (let pages = 0; pages < 2; pages += 1) {
            const turn = this.#turn;
            const { version } = await this.#settings();
            const after = this.#replyCursors.get(id) ?? null;
            const { items, next } = await this.#api.getReplies(this.#subject, id, { after, limit: PAGE, liked: true });
            const root = this.find(id);
            if (turn !== this.#turn || !root) return null;
            // The last page is read again the next time, as new replies come after it.
            this.#replyCursors.set(id, next ?? after);
            this.#merged += 1;
            this.#page = { ...this.#page, version: lowest(this.version, version) };
            const first = items.find((reply) => !root.replies.some((one) => one.id === reply.id));
            this.#put({ ...root, replies: items });
            this.#again(lately, version);
            if (first || next === null) return first?.id ?? null;
        }
        return null;
    }

    /** @param {string} id @returns {Promise<[Comment[], any]>} roots: the comment and its neighbours; what the thread is */
    async #around(id) {
        const page = await this.#settings();
        const { item, root, around } = await this.#api.getCommentAround(this.#subject, id, { around: AROUND, liked: true });
        const near = [...around.filter((comment) => comment.id !== item.id), item];
        return [root ? [{ ...root, replies: near }] : near, page];
    }

    /** The same of a reply and those that answer it. @param {string} id @returns {Promise<[Comment[], any]>} */
    async #under(id) {
        const page = await this.#settings();
        const { item, root } = await this.#api.getCommentAround(this.#subject, id, { around: 0, liked: true });
        const { items } = await this.#api.getAnswers(this.#subject, id, { limit: MOST_ANSWERS, liked: true });
        return [[{ ...root, replies: [item, ...items] }], page];
    }

    /** @param {string} target */
    #near(target) {
        return this.#answers ? this.#under(target) : this.#around(target);
    }

    /** The thread as it is now. Its version is not above that of a page which is asked for later. */
    #settings() {
        return this.#api.getComments(this.#subject, { limit: 1, replies: 0 });
    }

    // ---- writing ----

    /** @param {{text: string, key: string, replyTo: string | null}} draft @returns {Promise<Comment>} */
    async write(draft) {
        const comment = await this.#api.postComment(this.#subject, draft);
        this.#turn += 1;
        const isNew = !this.find(comment.id);
        const root = comment.root === null ? undefined : this.find(comment.root);
        if (root) {
            this.#put({ ...root, replyCount: root.replyCount + (isNew && comment.state === 'visible' ? 1 : 0), replies: [comment] });
        } else if (comment.root === null) {
            this.#roots = this.#sort === 'heat' && isNew ? [comment, ...this.#roots] : this.#roots;
            this.#merge([comment]);
        }
        if (isNew && comment.state === 'visible') this.#page = { ...this.#page, total: this.#page.total + 1 };
        return comment;
    }

    /** @param {string} id @param {boolean} liked */
    async like(id, liked) {
        const likes = await (liked ? this.#api.likeComment(this.#subject, id) : this.#api.unlikeComment(this.#subject, id));
        this.#turn += 1;
        this.#change(id, { likes, liked });
    }

    /** @param {Comment} comment @param {string} text */
    async edit({ id, version }, text) {
        const now = await this.#api.editComment(this.#subject, id, { text, version });
        this.#turn += 1;
        this.#change(id, { text: now.text, version: now.version, edited: now.edited });
    }

    /** @param {string} id */
    edits(id) {
        return this.#api.getCommentEdits(this.#subject, id, { limit: EDITS });
    }

    /** @param {string} id */
    async remove(id) {
        await this.#api.deleteComment(this.#subject, id);
        if (this.find(id)?.state === 'visible') this.#page = { ...this.#page, total: this.#page.total - 1 };
        this.#turn += 1;
        this.#change(id, { state: 'deleted', text: null });
    }

    /** @param {string} id @param {string} reason */
    report(id, reason) {
        return this.#api.reportComment(this.#subject, id, reason);
    }

    // ---- the list ----

    #replace(sort, items, target, answers = false) {
        const before = new Map(this.#roots.map((root) => [root.id, root]));
        this.#sort = sort;
        this.#target = target;
        this.#answers = answers;
        this.#roots = this.#ordered(items.map((root) => fuller(root, before.get(root.id), false)));
        this.#next = null;
        this.#lastPage = FIRST_PAGE;
        this.#waiting = new Set();
        this.#replyCursors.clear();
        this.#tag = { query: '', etag: null };
        this.#read = true;
    }

    /** @param {Comment[]} items @returns {string | null} the first one that was not listed */
    #merge(items) {
        const roots = new Map(this.#roots.map((root) => [root.id, root]));
        const first = items.find(({ id }) => !roots.has(id));
        for (const root of items) roots.set(root.id, fuller(root, roots.get(root.id), true));
        this.#roots = this.#ordered([...roots.values()]);
        return first?.id ?? null;
    }

    #ordered(roots) {
        if (this.#sort === 'heat') return roots;
        return roots.sort((a, b) => (this.#sort === 'floor' ? a.floor - b.floor : b.floor - a.floor));
    }

    /** A root that is listed. @param {Comment} root */
    #put(root) {
        this.#roots = this.#roots.map((one) => (one.id === root.id ? fuller(root, one, true) : one));
    }

    #change(id, change) {
        const changed = (comment) => (comment.id === id ? { ...comment, ...change } : comment);
        this.#roots = this.#roots.map((root) => ({ ...changed(root), replies: root.replies.map(changed) }));
    }
}

/** @param {number} roots */
function limitOf(roots) {
    return Math.min(LONGEST, Math.max(PAGE, roots));
}

/**
 * The replies of a root that did not come along when it was read again. Mine that are held are never among them.
 * @param {Comment} before @param {Comment} now @param {number} most that come along; fewer are all that there are
 */
function notRead(before, now, most) {
    if (now.replies.length < most) return [];
    const read = new Set(now.replies.map(({ id }) => id));
    return before.replies.filter((reply) => !read.has(reply.id) && reply.state !== 'held');
}

/** @param {any} error */
function orMissing(error) {
    if (error.code === 'no_comment') return null;
    throw error;
}

/** @param {string[]} versions */
function lowest(...versions) {
    return String(Math.min(...versions.map(Number)));
}

/**
 * Keeps what an answer leaves out: a text that could not be read in time or that only I may see, and whether I like it.
 * @param {Comment} now @param {Comment} [before] @param {boolean} keep replies that were read before stay
 * @returns {Comment}
 */
function fuller(now, before, keep) {
    const may = before !== undefined && (now.state === 'visible' || now.state === 'held') && now.version === before.version;
    const listed = new Map((before?.replies ?? []).map((reply) => [reply.id, reply]));
    const replies = new Map(keep ? listed : []);
    for (const reply of now.replies) replies.set(reply.id, fuller(reply, listed.get(reply.id), false));
    return {
        ...now,
        text: now.text ?? (may ? before.text : null),
        liked: now.liked ?? before?.liked ?? null,
        replies: [...replies.values()].sort((a, b) => a.floor - b.floor),
    };
}
