// The comments of one subject, live: tells an application what happens under it, and when it must read its pages again. The
// application keeps the list, and says which version it has read.
//
//   read(version) ----> watch                    version of the pages that the application has
//   comments  since -> version  ----> `change`   from our version, or from one before it; sampled ones are for every page
//             anything newer    ----> `stale`    the pages are to be read again, and then read() is called; what the frame says
//                                                is gone is a sampled `change` at once
//   stale     version after so many ms ----> `stale`; again, with growing pauses, while the pages that were read are older

import { readComments } from './comments.js';
import { Listeners } from './listeners.js';
import { Timers } from './timers.js';

const SOON_MS = 500; // the first pause of those that double
const LONGEST_PAUSE_MS = 30000;

export class LiveThread {
    #subject;
    #say;
    #random;
    #timers;
    #listeners = new Listeners();
    #closed = false;
    /** @type {number | null} */
    #version = null;
    /** The version that the pages are to have. @type {{version: number, readings: number} | null} */
    #wanted = null;

    /**
     * @param {{subject: string, say: (frame: Record<string, unknown>) => void, clock: import('../index.js').Clock,
     *          random: () => number}} options
     */
    constructor({ subject, say, clock, random }) {
        this.#subject = subject;
        this.#say = say;
        this.#random = random;
        this.#timers = new Timers(clock);
    }

    get subject() {
        return this.#subject;
    }
    /** null: nothing was read yet. */
    get version() {
        return this.#version;
    }

    /** @param {string} type @param {Function} listener */
    on(type, listener) {
        return this.#listeners.on(type, listener);
    }

    /** The application's pages have this version now; of several pages, the lowest one. @param {string | number} version */
    read(version) {
        if (this.#closed) return;
        this.#version = Number(version);
        const wanted = this.#wanted;
        if (wanted && this.#version >= wanted.version) {
            this.#wanted = null;
            this.#timers.clear('stale');
        } else if (wanted) {
            wanted.readings += 1; // from a gateway's copy
            this.#staleIn(Math.min(LONGEST_PAUSE_MS, SOON_MS * 2 ** (wanted.readings - 1)) * (0.5 + this.#random() / 2));
        }
        this.#watch();
    }

    /** Ends it. */
    close() {
        if (this.#closed) return;
        this.#closed = true;
        this.#timers.clearAll();
        this.#say({ type: 'unwatch', what: 'comments', subject: this.#subject });
    }

    // ---- what the client tells us ---------------------------------------------------------------------------------

    /** A new connection is open, which watches nothing yet. */
    connected() {
        this.#watch();
    }

    /** @param {any} frame `comments` */
    told({ since, version, total, likes = 0, sampled, items, gone, counters }) {
        if (this.#closed || this.#version === null || (!sampled && version <= this.#version)) return;
        if (!sampled && since > this.#version) {
            this.#hide({ total, likes, items, gone });
            return this.#want(version, 0);
        }
        if (!sampled) this.#version = version;
        const numbers = (Array.isArray(counters) ? counters : []).map(({ id, likes, reply_count: replyCount }) => ({ id, likes, replyCount }));
        const rest = { sampled: sampled === true, items: readComments(items), gone: gone ?? [], counters: numbers };
        this.#listeners.emit('change', { total, likes, ...rest });
    }

    /** Changes are missing before this frame. A comment that it says is gone must not stay until the pages were read. @param {any} frame */
    #hide({ total, likes, items, gone }) {
        if (!Array.isArray(gone) || gone.length === 0) return;
        const hidden = readComments(items).filter(({ id }) => gone.includes(id));
        this.#listeners.emit('change', { total, likes, sampled: true, items: hidden, gone, counters: [] });
    }

    /** @param {any} frame `stale` */
    stale({ version, after_ms: afterMs }) {
        if (!this.#closed && !(this.#version !== null && version <= this.#version)) this.#want(version, Math.max(0, Number(afterMs) || 0));
    }

    // ---- versions -------------------------------------------------------------------------------------------------

    #watch() {
        if (this.#closed || this.#version === null) return;
        this.#say({ type: 'watch', what: 'comments', subject: this.#subject, version: this.#version });
    }

    /** @param {number} version @param {number} ms */
    #want(version, ms) {
        if (this.#wanted?.version !== version) this.#wanted = { version, readings: 0 };
        if (!this.#timers.has('stale')) this.#staleIn(ms);
    }

    /** @param {number} ms */
    #staleIn(ms) {
        this.#timers.set('stale', ms, () => this.#listeners.emit('stale', { version: this.#wanted?.version ?? this.#version }));
    }
}
