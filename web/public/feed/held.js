// The posts of a list that are on the screen. New ones wait until the reader asks for them, so that nothing moves under a
// finger. No DOM in here.

import { compareIds } from '../../client/index.js';

/** @typedef {import('../../client/index.js').Post} Post */

export class Held {
    #shown = new Set();
    #list = [];
    #settled = false;

    /**
     * @param {readonly Post[]} list newest first
     * @param {boolean} settled nothing of it is still being gathered: what comes from now on is new
     */
    update(list, settled) {
        const oldest = [...this.#list].reverse().find(({ id }) => this.#shown.has(id));
        const news = ({ id }) => this.#settled && oldest && !this.#shown.has(id) && compareIds(id, oldest.id) > 0;
        this.#shown = new Set(list.filter((post) => !news(post)).map(({ id }) => id));
        this.#list = list;
        this.#settled ||= settled;
    }

    /** The posts to show. @returns {Post[]} */
    get shown() {
        return this.#list.filter(({ id }) => this.#shown.has(id));
    }

    /** The number of posts that wait. */
    get count() {
        return this.#list.length - this.#shown.size;
    }

    /** The reader asks for them. */
    release() {
        for (const { id } of this.#list) this.#shown.add(id);
    }
}
