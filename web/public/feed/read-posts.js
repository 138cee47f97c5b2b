// Posts that are read page by page: mine, somebody else's, or those of a day. Nobody tells of them: what I do on this page is put in and taken out by hand.

export class ReadPosts {
    #ask;
    #changed;
    #list = [];
    #next = null;
    #read = false;
    #closed = false;
    #reading = null;

    /**
     * @param {(query: {after: string | null}) => Promise<import('../../client/index.js').Page<import('../../client/index.js').Post>>} ask
     * @param {() => void} changed
     */
    constructor(ask, changed) {
        this.#ask = ask;
        this.#changed = changed;
    }

    get list() {
        return this.#list;
    }
    get hasMore() {
        return !this.#read || this.#next !== null;
    }
    /** Something was read. */
    get complete() {
        return this.#read;
    }

    /** Only followers see them, and I am none. */
    get closed() {
        return this.#closed;
    }

    /** The next page; the first one if none was read. */
    older() {
        return this.#once(() => this.#readPage(this.#next, this.#list));
    }

    /** The first page once more, in the place of all. */
    async again() {
        await this.#reading?.catch(() => {});
        return this.#once(() => this.#readPage(null, []));
    }

    /** @param {import('../../client/index.js').Post} post mine, just made */
    add(post) {
        if (!this.#list.some(({ id }) => id === post.id)) this.#list = [post, ...this.#list];
        this.#changed();
    }

    /** @param {import('../../client/index.js').Post} post */
    edited(post) {
        this.#list = this.#list.map((one) => (one.id === post.id ? post : one));
        this.#changed();
    }

    /** @param {string} id */
    remove(id) {
        this.#list = this.#list.filter((post) => post.id !== id);
        this.#changed();
    }

    #once(read) {
        this.#reading ??= read().finally(() => (this.#reading = null));
        return this.#reading;
    }

    async #readPage(after, before) {
        const { items, next, closed } = await this.#ask({ after }).catch((error) => {
            if (error.code === 'followers_only') return { items: [], next: null, closed: true };
            throw error;
        });
        const known = new Set(before.map(({ id }) => id));
        this.#list = closed ? [] : [...before, ...items.filter(({ id }) => !known.has(id))];
        this.#closed = closed === true;
        this.#next = next;
        this.#read = true;
        this.#changed();
    }
}
