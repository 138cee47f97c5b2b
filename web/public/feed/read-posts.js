// Posts that are read page by page: my own, or those of a day. Nobody tells of them: what I do on this page is put in and taken out by hand.

export class ReadPosts {
    #ask;
    #changed;
    #list = [];
    #next = null;
    #read = false;
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

    /** The next page; the first one if none was read. */
    older() {
        this.#reading ??= this.#readPage().finally(() => (this.#reading = null));
        return this.#reading;
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

    async #readPage() {
        const { items, next } = await this.#ask({ after: this.#next });
        const known = new Set(this.#list.map(({ id }) => id));
        this.#list = [...this.#list, ...items.filter(({ id }) => !known.has(id))];
        this.#next = next;
        this.#read = true;
        this.#changed();
    }
}
