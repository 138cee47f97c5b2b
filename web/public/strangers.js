// People around who share with everybody, as I do: a list, and their cells on the map. They are asked for while they are shown, over the
// connection: by it the server tells at once who has stopped.

import { cellsOf } from './cells.js';
import { make, setText } from './dom.js';
import { displayName, formatAgo, formatDistance, hueOf, initials } from './format.js';
import { reason, words } from './words.js';

const EVERY_MS = 30_000;
const SOON_MS = 2_000; // when the server could not answer
const SETTLED_MS = 10_000; // by then the edge has heard from the gateway that I share with everybody
const NOBODY = { items: [], cell: { height: 0, width: 0 } };
const ALL = 1000;
const SHOWN_KEY = 'starling.around';

const $ = (id) => document.getElementById(id);

export class Strangers {
    #map;
    #client = null;
    #mode = null;
    #publicSince = 0;
    #shown = sessionStorage.getItem(SHOWN_KEY) === 'yes';
    #waiting = false; // for an answer
    #askAt = 0;
    #page = NOBODY;
    /** @type {Map<string, {element: HTMLElement, ago: HTMLElement, time: number}>} */
    #rows = new Map();

    /** @param {import('./map.js').FriendMap} map */
    constructor(map) {
        this.#map = map;
        $('show-around').addEventListener('click', () => this.#toggle());
        this.#forget();
    }

    /** @param {import('../client/index.js').StarlingClient} client @param {string | null} mode who sees me */
    signIn(client, mode) {
        this.#client = client;
        this.setMode(mode);
    }

    signOut() {
        this.#client = null;
        this.setMode(null);
    }

    /** The connection is there, perhaps a new one: an answer on an earlier one will not come. */
    connected() {
        this.#waiting = false;
        this.#askAt = 0;
    }

    /** @param {string | null} mode who sees me: only 'public' shows others */
    setMode(mode) {
        this.#mode = mode;
        this.#publicSince = performance.now();
        this.#forget();
    }

    /** Time goes by, while the page is seen. @param {number} now the server's time */
    tick(now) {
        for (const row of this.#rows.values()) setText(row.ago, formatAgo(now - row.time));
        if (!this.#asking || this.#waiting || this.#client.state !== 'online' || performance.now() < this.#askAt) return;
        this.#waiting = true;
        this.#client.discover({ limit: ALL });
    }

    /** The answer. @param {import('../client/index.js').Strangers} page */
    found(page) {
        if (!this.#waiting) return;
        this.#show(page);
        this.#note(page.items.length > 0 ? words.around : words.nobodyAround);
        this.#askAgain(EVERY_MS);
    }

    /** There is none. @param {import('../client/index.js').ClientEvents['error']} error */
    refused(error) {
        if (!this.#waiting) return;
        const unheard = error.code === 'not_public' && performance.now() < this.#publicSince + SETTLED_MS;
        const passing = unheard || error.retryAfterMs !== undefined;
        if (!passing) this.#show(NOBODY);
        if (!passing || this.#rows.size === 0) this.#note(passing ? words.lookingAround : words.notAround(reason(error)));
        this.#askAgain(Math.max(error.retryAfterMs ?? 0, passing ? SOON_MS : EVERY_MS));
    }

    /** They do not share with everybody any more, or I do not. @param {readonly string[]} users */
    gone(users) {
        const items = this.#page.items.filter(({ user }) => !users.includes(user));
        if (items.length === this.#page.items.length) return;
        this.#show({ items, cell: this.#page.cell });
        if (items.length === 0) this.#note(words.nobodyAround);
    }

    get #asking() {
        return this.#shown && this.#mode === 'public' && this.#client !== null;
    }

    #askAgain(afterMs) {
        this.#waiting = false;
        this.#askAt = performance.now() + afterMs;
    }

    #toggle() {
        this.#shown = !this.#shown;
        sessionStorage.setItem(SHOWN_KEY, this.#shown ? 'yes' : 'no');
        this.#forget();
    }

    /** Nothing is shown, and whatever is under way is of no interest any more. */
    #forget() {
        this.#askAgain(0);
        $('show-around').setAttribute('aria-pressed', String(this.#shown));
        this.#show(NOBODY);
        this.#note(this.#shown ? (this.#asking ? words.lookingAround : words.mustBePublic) : '');
        $('share-everybody').hidden = !(this.#shown && (this.#mode === 'off' || this.#mode === 'friends'));
    }

    #note(text) {
        setText($('around-note'), text);
        $('around-note').hidden = text === '';
    }

    #show(page) {
        const { items: strangers, cell } = page;
        const list = $('around-list');
        const now = this.#client?.serverNow() ?? 0;
        this.#page = page;
        const users = new Set(strangers.map(({ user }) => user));
        for (const [user, { element }] of this.#rows) {
            if (users.has(user)) continue;
            element.remove();
            this.#rows.delete(user);
        }
        strangers.forEach((stranger, index) => {
            const row = this.#rows.get(stranger.user)?.element ?? make('li');
            if (list.children[index] !== row) list.insertBefore(row, list.children[index] ?? null);
            this.#fill(row, stranger, now);
        });
        list.hidden = strangers.length === 0;
        this.#map.showCells(cellsOf(strangers, cell));
    }

    #fill(element, stranger, now) {
        const [avatar, who, where] = ['avatar', 'who', 'where'].map((part) => make('span', part));
        const [name, ago] = ['name', 'ago'].map((part) => make('span', part));
        element.dataset.user = stranger.user;
        avatar.setAttribute('aria-hidden', 'true');
        avatar.style.setProperty('--hue', String(hueOf(stranger.user)));
        setText(avatar, initials(stranger));
        setText(name, displayName(stranger));
        setText(ago, formatAgo(now - stranger.time));
        setText(where, words.about(formatDistance(stranger.distance)));
        who.append(name, ago);
        element.replaceChildren(avatar, who, where);
        this.#rows.set(stranger.user, { element, ago, time: stranger.time });
    }
}
