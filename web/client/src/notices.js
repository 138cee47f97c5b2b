// My notices, live: how many are unread, and each new one once, whatever becomes of the connection.
//
//   watch on each connection ----> notices   unread, and what this connection was not told ----> `change`, without what was told before

import { Listeners } from './listeners.js';
import { readNotices } from './people.js';

const TOLD_MAX = 1000; // the server keeps 200, and tells the newest 20 of them on each connection

export class LiveNotices {
    #say;
    #listeners = new Listeners();
    #closed = false;
    /** @type {number | null} */
    #unread = null;
    /** The ids of those that were told, the latest last. @type {Set<string>} */
    #told = new Set();

    /** @param {{say: (frame: Record<string, unknown>) => void}} options */
    constructor({ say }) {
        this.#say = say;
    }

    /** null: not known yet. */
    get unread() {
        return this.#unread;
    }

    /** @param {string} type @param {Function} listener */
    on(type, listener) {
        return this.#listeners.on(type, listener);
    }

    /** Ends it. */
    close() {
        if (this.#closed) return;
        this.#closed = true;
        this.#say({ type: 'unwatch', what: 'notices' });
    }

    // ---- what the client tells us ---------------------------------------------------------------------------------

    /** A new connection is open, which watches nothing yet. */
    connected() {
        if (!this.#closed) this.#say({ type: 'watch', what: 'notices' });
    }

    /** @param {any} frame `notices` */
    told({ unread, items }) {
        if (this.#closed) return;
        const first = this.#unread === null;
        const news = readNotices(items).filter(({ id }) => !this.#told.has(id));
        for (const { id } of news) this.#told.add(id);
        for (const id of this.#told) {
            if (this.#told.size <= TOLD_MAX) break;
            this.#told.delete(id);
        }
        this.#unread = Number(unread);
        this.#listeners.emit('change', { unread: this.#unread, items: news, first });
    }
}
