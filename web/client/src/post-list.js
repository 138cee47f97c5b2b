// Posts newest first, from the newest one of a timeline down to a cursor. No network and no clock in here.

import { compareIds } from './posts.js';

/** @typedef {import('../index.js').Post} Post */

export class PostList {
    /** @type {readonly Post[]} */
    #items = Object.freeze([]);
    /** @type {string | null} */
    #cursor = null;
    /** Deleted ones: a page that was under way meanwhile may still have them. @type {Set<string>} */
    #deleted = new Set();

    /** @returns {readonly Post[]} a new array after each change */
    list() {
        return this.#items;
    }

    get length() {
        return this.#items.length;
    }

    /** The cursor of the next older page; null: there is none. */
    get cursor() {
        return this.#cursor;
    }

    /** @param {string} id */
    has(id) {
        return this.#items.some((post) => post.id === id);
    }

    /** The number of listed posts that a page which begins at that cursor could have. @param {string | null} cursor */
    countBeyond(cursor) {
        return this.#items.filter(({ id }) => isBeyond(cursor, id)).length;
    }

    /**
     * All of it was read anew.
     * @param {readonly Post[]} items @param {string | null} cursor
     * @returns {{came: Post[], gone: string[]}}
     */
    replace(items, cursor) {
        const before = new Map(this.#items.map((post) => [post.id, post]));
        const live = items.filter(({ id }) => !this.#deleted.has(id));
        this.#set([...new Map(live.map((post) => [post.id, fuller(post, before.get(post.id))])).values()]);
        this.#cursor = cursor;
        const now = new Set(this.#items.map(({ id }) => id));
        return {
            came: this.#items.filter(({ id }) => !before.has(id)),
            gone: [...before.keys()].filter((id) => !now.has(id)),
        };
    }

    /** The next older page. @param {readonly Post[]} items @param {string | null} cursor @returns {number} how many are new */
    append(items, cursor) {
        this.#cursor = cursor;
        return this.merge(items, []).came.length;
    }

    /**
     * @param {readonly Post[]} items posts that came, or came once more; those beyond the cursor wait for their page
     * @param {readonly unknown[]} gone ids of posts that were deleted
     * @returns {{came: Post[], gone: string[]}}
     */
    merge(items, gone) {
        const posts = new Map(this.#items.map((post) => [post.id, post]));
        const came = [];
        for (const id of gone) this.#deleted.add(String(id));
        for (const post of items) {
            if (isBeyond(this.#cursor, post.id) || this.#deleted.has(post.id)) continue;
            const before = posts.get(post.id);
            if (!before) came.push(post);
            posts.set(post.id, fuller(post, before));
        }
        const went = gone.map(String).filter((id) => posts.delete(id));
        this.#set([...posts.values()]);
        return { came, gone: went };
    }

    /** @param {(post: Post) => boolean} unwanted @returns {string[]} the ids of those that went */
    drop(unwanted) {
        const gone = this.#items.filter(unwanted).map(({ id }) => id);
        if (gone.length > 0) this.#set(this.#items.filter((post) => !unwanted(post)));
        return gone;
    }

    /** @param {Post[]} items */
    #set(items) {
        this.#items = Object.freeze(items.sort((a, b) => compareIds(b.id, a.id)));
    }
}

/** Keeps the text of a post that was read before and is unavailable now. @param {Post} post @param {Post} [before] */
function fuller(post, before) {
    return post.unavailable && before ? before : post;
}

/** @param {string | null} cursor @param {string} id */
function isBeyond(cursor, id) {
    return cursor !== null && compareIds(id, cursor) < 0;
}
