// My position on its way to the server: in every hello, after moves (one a second at most), and every so often.

import { writeDetails } from './details.js';
import { checkedPosition } from './geo.js';

/** @typedef {import('../index.js').LatLng} LatLng */

const EVERY_MS = 30000; // until the server's welcome says otherwise

export class Reporter {
    #send;
    #clock;
    #serverNow;
    #timers;
    #throttleMs;
    #everyMs = EVERY_MS;
    /** @type {LatLng | null} */
    #place = null;
    /** @type {Record<string, unknown>} what the phone says beside the place */
    #said = {};
    #sentAt = -Infinity;
    #sentTime = 0;
    /** @type {LatLng | null} */
    #sentPlace = null;

    /**
     * @param {{send: (frame: Record<string, unknown>) => void, clock: import('../index.js').Clock, serverNow: () => number,
     *          timers: import('./timers.js').Timers, throttleMs: number}} parts
     */
    constructor({ send, clock, serverNow, timers, throttleMs }) {
        this.#send = send;
        this.#clock = clock;
        this.#serverNow = serverNow;
        this.#timers = timers;
        this.#throttleMs = throttleMs;
    }

    /** null: nobody has said where I am, and nothing is reported. */
    get place() {
        return this.#place;
    }

    /** I am here now. @param {LatLng & {accuracy?: number} & import('../index.js').Details} position @throws {InvalidPosition} */
    move(position) {
        this.#place = checkedPosition(position);
        this.#said = { accuracy: position.accuracy, ...writeDetails(position) };
    }

    /** The clock was wrong: the last report had a wrong time, and goes out once more. */
    forget() {
        this.#sentPlace = null;
    }

    /** @returns {Record<string, unknown>} the members that a hello has for its position; it counts as sent */
    hello() {
        return this.#place ? { ...this.#report(), ...this.#said } : {};
    }

    /** The server takes reports, and wants one that often. @param {number} everyMs */
    welcomed(everyMs) {
        this.#everyMs = everyMs;
        if (!this.#place) return;
        if (!samePlace(this.#sentPlace, this.#place)) this.soon();
        else this.#schedule();
    }

    /** Reports at once, or as soon as a second has passed since the report before. */
    soon() {
        const wait = this.#sentAt + this.#throttleMs - this.#clock.now();
        if (wait <= 0) this.#sendLocation();
        else if (!this.#timers.has('soon')) this.#timers.set('soon', wait, () => this.#sendLocation());
    }

    #sendLocation() {
        this.#timers.clear('soon');
        this.#send({ type: 'location', ...this.#report(), ...this.#said });
        this.#schedule();
    }

    #schedule() {
        this.#timers.set('report', this.#everyMs, () => this.#sendLocation());
    }

    /** Later than the report before, also after our clock was set back, as the server ignores older reports. */
    #report() {
        this.#sentTime = Math.max(this.#sentTime + 1, Math.round(this.#serverNow()));
        this.#sentAt = this.#clock.now();
        this.#sentPlace = this.#place;
        return { ...this.#place, time: this.#sentTime };
    }
}

/** @param {LatLng | null} a @param {LatLng | null} b */
function samePlace(a, b) {
    return a?.lat === b?.lat && a?.lng === b?.lng;
}
