// The list of near friends over one connection after the other: asks for pages while more is wanted than is known, lets
// silent friends expire, and tells of every change.

import { NearbyList } from './nearby.js';

const PAGE_TIMEOUT_MS = 10000;
const PREFETCH_EVERY_MS = 250;
const STALE_AFTER_REPORTS = 4; // reports of a friend that did not come

export class NearbySession {
    list = new NearbyList();
    #send;
    #changed;
    #serverNow;
    #timers;
    #prefetch;
    #staleAfterMs;
    #online = false;
    #awaitingFirstPage = true;

    /**
     * @param {{send: (frame: Record<string, unknown>) => void, changed: (change: import('../index.js').Change) => void,
     *          serverNow: () => number, timers: import('./timers.js').Timers, prefetch: boolean,
     *          staleAfterMs: number | undefined}} parts
     */
    constructor({ send, changed, serverNow, timers, prefetch, staleAfterMs }) {
        this.#send = send;
        this.#changed = changed;
        this.#serverNow = serverNow;
        this.#timers = timers;
        this.#prefetch = prefetch;
        this.#staleAfterMs = staleAfterMs;
    }

    /** The next connection is being made: its first page replaces the list. */
    opening() {
        this.#awaitingFirstPage = true;
        this.disconnected();
    }

    /** The connection is lost, and with it the answers that we wait for. Friends expire all the same. */
    disconnected() {
        this.#online = false;
        this.list.disconnected();
        this.#scheduleExpiry();
    }

    /** @param {import('../index.js').Welcome} welcome */
    welcomed({ radiusM, reportEveryS, inactiveAfterS }) {
        this.#online = true;
        this.list.configure({
            radiusM,
            inactiveMs: inactiveAfterS * 1000,
            staleMs: this.#staleAfterMs ?? reportEveryS * 1000 * STALE_AFTER_REPORTS,
        });
    }

    /** @param {any} frame `nearby` */
    paged(frame) {
        if (this.#awaitingFirstPage) this.list.restart(frame, this.#serverNow());
        else this.list.page(frame, this.#serverNow());
        this.#awaitingFirstPage = false;
        this.#timers.clear('page');
        this.#tell('page', { came: [], gone: [] });
    }

    /** @param {any} frame `update` */
    updated(frame) {
        this.#tell('update', this.list.update(frame, this.#serverNow()));
    }

    /** An error of the server's, perhaps about the page that we asked for. @param {string} code */
    refused(code) {
        if (this.list.asking && /cursor|more/i.test(code)) this.#pageFailed();
    }

    /** Twenty more. */
    more() {
        this.list.more();
        this.#askForPage();
        this.#changed({ cause: 'more', came: [], gone: [] });
    }

    /**
     * @param {import('../index.js').ChangeCause} cause
     * @param {{came: import('../index.js').Friend[], gone: string[]}} difference
     */
    #tell(cause, difference) {
        this.#askForPage();
        this.#scheduleExpiry();
        this.#changed({ cause, ...difference });
    }

    #askForPage(everything = false) {
        if (!this.#online || this.#awaitingFirstPage) return;
        const cursor = this.list.nextRequest(everything);
        if (cursor === undefined) return this.#prefetchSoon();
        this.#send({ type: 'more', after: cursor });
        this.#timers.set('page', PAGE_TIMEOUT_MS, () => this.#pageFailed());
    }

    /** Nothing is wanted for the list: the other pages may come at leisure. */
    #prefetchSoon() {
        if (!this.#prefetch || this.list.complete || this.list.asking || this.#timers.has('prefetch')) return;
        this.#timers.set('prefetch', PREFETCH_EVERY_MS, () => this.#askForPage(true));
    }

    #pageFailed() {
        this.#timers.clear('page');
        this.list.giveUpRequest();
        this.#changed({ cause: 'page', came: [], gone: [] });
    }

    #scheduleExpiry() {
        const at = this.list.nextExpiry();
        if (at === null) return this.#timers.clear('expiry');
        this.#timers.set('expiry', Math.max(0, at - this.#serverNow()), () => {
            const { gone, stale } = this.list.expire(this.#serverNow());
            if (gone.length > 0) this.#tell('expiry', { came: [], gone });
            else if (stale) this.#tell('stale', { came: [], gone });
            else this.#scheduleExpiry();
        });
    }
}
