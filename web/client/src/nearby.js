// My nearby friends, merged from pages (nearest first, on request) and updates (about everybody near, asked for or not).
// No socket and no clock in here: frames and times are handed in.
//
//   pages    |--- page 1 ---|--- page 2 ---|   cursor -> the server's next page
//   updates        u   u        u     u           u        u   (users of pages not yet asked for turn up, too)
//   shown    |----------- wanted ----------|   the nearest of all known; pages are asked for until they cover it

import { readDetails } from './details.js';
import { distanceMetres, roundPosition } from './geo.js';

/** @typedef {import('../index.js').Friend} Friend */
/**
 * What the server said last of a friend; reported = the distance it gave, paged = came in a page of this connection.
 * @typedef {{-readonly [K in keyof Friend]: Friend[K]} & {paged: boolean, reported: number}} Entry
 */

export const PAGE_SIZE = 20;

// The server decided with the position that I last sent; this much is rounding and no move of mine.
const RADIUS_SLACK_M = 0.01;

export class NearbyList {
    /** @type {Map<string, Entry>} */
    #entries = new Map();
    /** @type {import('../index.js').LatLng | null} */
    #place = null;
    #radius = Infinity;
    #inactiveMs = Infinity;
    #staleMs = Infinity;
    /** @type {unknown} */
    #cursor = null;
    /** @type {unknown} */
    #askedCursor = null;
    #asking = false;
    #stuck = false;
    #total = 0;
    #wanted = PAGE_SIZE;
    #fill = 0;
    /** @type {Friend[] | null} */
    #sorted = null;

    /** @param {{radiusM?: number, inactiveMs?: number, staleMs?: number}} limits as the server's welcome gives them */
    configure({ radiusM, inactiveMs, staleMs }) {
        this.#radius = radiusM ?? this.#radius;
        this.#inactiveMs = inactiveMs ?? this.#inactiveMs;
        this.#staleMs = staleMs ?? this.#staleMs;
        this.#sorted = null;
    }

    /** I am here now: every distance changes. @param {import('../index.js').LatLng} place */
    place(place) {
        this.#place = place;
        for (const entry of this.#entries.values()) this.#measure(entry);
        this.#sorted = null;
    }

    /**
     * The first page of a new connection: the truth, whatever was known before. As much as was known is asked for again.
     * @param {any} frame
     * @param {number} now the server's time, here and below
     */
    restart(frame, now) {
        this.#fill = Math.max(this.#fill, this.#entries.size);
        this.#entries = new Map();
        this.#asking = false;
        this.#stuck = false;
        this.#cursor = frame.next ?? null;
        this.#merge(frame.items, true, now);
        this.#total = numberOr(frame.total, this.#entries.size);
    }

    /**
     * A further page, or a first page that nobody asked for (after a hello on the open socket, or sharing again).
     * @param {any} frame
     * @param {number} now
     */
    page(frame, now) {
        this.#merge(frame.items, true, now);
        this.#total = numberOr(frame.total, this.#total);
        const next = frame.next ?? null;
        if (!this.#asking) {
            if (this.complete && this.#total > this.#entries.size) this.#cursor = next;
            return;
        }
        // A server that goes round in circles must not make us ask for ever.
        this.#cursor = next === this.#askedCursor || !frame.items?.length ? null : next;
        this.#asking = false;
    }

    /**
     * @param {any} frame
     * @param {number} now
     * @returns {{came: Friend[], gone: string[]}} who was not known before, who was and is not near any more
     */
    update(frame, now) {
        const came = new Set(this.#merge(frame.near, false, now));
        /** @type {string[]} */
        const gone = [];
        for (const id of frame.gone ?? []) {
            const user = String(id);
            this.#total = Math.max(0, this.#total - 1);
            if (this.#entries.delete(user)) gone.push(user);
        }
        this.#sorted = null;
        return { came: came.size > 0 ? this.known().filter((friend) => came.has(friend.user)) : [], gone };
    }

    /**
     * Forgets whoever has been silent for too long; the server says so, too, but not while the connection is down.
     * @param {number} now
     * @returns {{gone: string[], stale: boolean}} who was forgotten; whether somebody has become stale
     */
    expire(now) {
        /** @type {string[]} */
        const gone = [];
        let stale = false;
        for (const [user, entry] of this.#entries) {
            if (now - entry.time >= this.#inactiveMs) {
                this.#entries.delete(user);
                this.#total = Math.max(0, this.#total - 1);
                gone.push(user);
            } else if (!entry.stale && now - entry.time >= this.#staleMs) {
                entry.stale = stale = true;
            }
        }
        if (gone.length > 0 || stale) this.#sorted = null;
        return { gone, stale };
    }

    /** @returns {number | null} the server's time at which somebody becomes stale or is forgotten next */
    nextExpiry() {
        let next = Infinity;
        for (const { time, stale } of this.#entries.values()) {
            next = Math.min(next, time + (stale ? this.#inactiveMs : Math.min(this.#staleMs, this.#inactiveMs)));
        }
        return Number.isFinite(next) ? next : null;
    }

    /** Twenty more on the screen. */
    more() {
        if (this.hasMore) this.#wanted += PAGE_SIZE;
        this.#stuck = false;
    }

    /**
     * The cursor to ask with, if pages do not cover what is wanted. Asking is noted: the next page is its answer.
     * @param {boolean} [everything] every page is wanted
     * @returns {unknown} undefined: nothing to ask for
     */
    nextRequest(everything = false) {
        if (this.#asking || this.#stuck) return undefined;
        let paged = 0;
        for (const entry of this.#entries.values()) paged += entry.paged ? 1 : 0;
        if (this.complete || paged >= this.#fill) this.#fill = 0;
        if (this.complete) return undefined;
        if (!everything && paged >= Math.max(this.#wanted, this.#fill)) return undefined;
        this.#asking = true;
        this.#askedCursor = this.#cursor;
        return this.#cursor;
    }

    /** The page that was asked for does not come: not again until somebody wants more. */
    giveUpRequest() {
        this.#asking = false;
        this.#stuck = true;
    }

    /** Questions to the old connection are lost; the friends that are known stay until the new one's first page. */
    disconnected() {
        this.#asking = false;
    }

    clear() {
        this.#entries.clear();
        this.#cursor = null;
        this.#asking = false;
        this.#stuck = false;
        this.#total = 0;
        this.#wanted = PAGE_SIZE;
        this.#fill = 0;
        this.#sorted = null;
    }

    get asking() {
        return this.#asking;
    }

    /** Every page has come: whoever is near is known. */
    get complete() {
        return this.#cursor === null;
    }

    /** How many are near. Exact once complete, else as the server said last (and at least what is known). */
    get total() {
        const known = this.known().length;
        return this.complete ? known : Math.max(this.#total, known);
    }

    get hasMore() {
        return !this.complete || this.known().length > this.#wanted;
    }

    /** @returns {Friend[]} the nearest, as many as were asked for */
    list() {
        return this.known().slice(0, this.#wanted);
    }

    /** @returns {Friend[]} everybody known to be near, nearest first; a new array after each change */
    known() {
        // Friends whom a move of mine takes outside are hidden, not forgotten: the server, which knows less often where I am,
        // may never say anything about them if I turn back.
        this.#sorted ??= [...this.#entries.values()]
            .filter((entry) => entry.distance <= this.#radius + RADIUS_SLACK_M)
            .sort((a, b) => a.distance - b.distance || compareIds(a.user, b.user))
            .map(({ paged, reported, ...friend }) => Object.freeze(friend));
        return this.#sorted;
    }

    /**
     * @param {any} items
     * @param {boolean} paged
     * @param {number} now
     * @returns {string[]} users not known before
     */
    #merge(items, paged, now) {
        /** @type {string[]} */
        const came = [];
        for (const item of items ?? []) {
            const entry = readItem(item);
            if (!entry) continue;
            const before = this.#entries.get(entry.user);
            if (!before) came.push(entry.user);
            entry.paged = paged || (before?.paged ?? false);
            entry.stale = now - entry.time >= this.#staleMs;
            this.#measure(entry);
            this.#entries.set(entry.user, entry);
        }
        this.#sorted = null;
        return came;
    }

    /** @param {Entry} entry */
    #measure(entry) {
        entry.distance = this.#place ? distanceMetres(this.#place, entry) : entry.reported;
    }
}

/**
 * @param {any} item as on the wire
 * @returns {Entry | null} null: unusable
 */
function readItem(item) {
    if (item === null || typeof item !== 'object' || item.user === undefined || item.user === null) return null;
    if (!Number.isFinite(item.lat) || !Number.isFinite(item.lng) || !Number.isFinite(item.time)) return null;
    return {
        user: String(item.user),
        name: typeof item.name === 'string' && item.name !== '' ? item.name : null,
        avatarUrl: typeof item.avatar_url === 'string' && item.avatar_url !== '' ? item.avatar_url : null,
        ...roundPosition(item),
        time: item.time,
        distance: 0,
        stale: false,
        rounded: item.rounded === true,
        ...(Number.isFinite(item.accuracy) && { accuracy: item.accuracy }),
        ...readDetails(item),
        reported: numberOr(item.distance_m, 0),
        paged: false,
    };
}

/** @param {unknown} value @param {number} otherwise */
function numberOr(value, otherwise) {
    return typeof value === 'number' && Number.isFinite(value) ? value : otherwise;
}

/** Decimal numbers of any length, the smaller first. @param {string} a @param {string} b */
function compareIds(a, b) {
    if (a.length !== b.length) return a.length - b.length;
    return a < b ? -1 : a > b ? 1 : 0;
}
