// People around who share with everybody, as I do: a list, and their cells on the map. They are asked for while they are shown.

import { cellsOf } from './cells.js';
import { make, setText } from './dom.js';
import { displayName, formatAgo, formatDistance, hueOf, initials } from './format.js';
import { reason, words } from './words.js';

const EVERY_MS = 30_000;
const SOON_MS = 2_000; // when the server could not answer
const ALL = 1000;
const SHOWN_KEY = 'starling.around';

const $ = (id) => document.getElementById(id);

export class Strangers {
    #map;
    #api = null;
    #mode = null;
    #shown = sessionStorage.getItem(SHOWN_KEY) === 'yes';
    #question = 0; // only the answer to the newest one counts
    #askAt = 0;
    /** @type {Map<string, {element: HTMLElement, ago: HTMLElement, time: number}>} */
    #rows = new Map();

    /** @param {import('./map.js').FriendMap} map */
    constructor(map) {
        this.#map = map;
        $('show-around').addEventListener('click', () => this.#toggle());
        this.#forget();
    }

    /** @param {import('./api.js').Api} api @param {string | null} mode who sees me */
    signIn(api, mode) {
        this.#api = api;
        this.setMode(mode);
    }

    signOut() {
        this.#api = null;
        this.setMode(null);
    }

    /** @param {string | null} mode who sees me: only 'public' shows others */
    setMode(mode) {
        this.#mode = mode;
        this.#forget();
    }

    /** Time goes by, while the page is seen. @param {number} now the server's time */
    tick(now) {
        for (const row of this.#rows.values()) setText(row.ago, formatAgo(now - row.time));
        if (this.#asking && performance.now() >= this.#askAt) this.#ask(now);
    }

    get #asking() {
        return this.#shown && this.#mode === 'public' && this.#api !== null;
    }

    #toggle() {
        this.#shown = !this.#shown;
        sessionStorage.setItem(SHOWN_KEY, this.#shown ? 'yes' : 'no');
        this.#forget();
    }

    /** Nothing is shown, and whatever is under way is of no interest any more. */
    #forget() {
        this.#question += 1;
        this.#askAt = 0;
        $('show-around').setAttribute('aria-pressed', String(this.#shown));
        this.#show([], { height: 0, width: 0 }, 0);
        this.#note(this.#shown ? (this.#asking ? words.lookingAround : words.mustBePublic) : '');
        $('share-everybody').hidden = !(this.#shown && (this.#mode === 'off' || this.#mode === 'friends'));
    }

    async #ask(now) {
        const question = ++this.#question;
        this.#askAt = Infinity;
        try {
            const { items: strangers, cell } = await this.#api.getStrangers({ limit: ALL });
            if (question !== this.#question) return;
            this.#show(strangers, cell, now);
            this.#note(strangers.length > 0 ? words.around : words.nobodyAround);
            this.#askAt = performance.now() + EVERY_MS;
        } catch (error) {
            if (question !== this.#question) return;
            if (!error.passing) this.#show([], { height: 0, width: 0 }, 0);
            if (!error.passing || this.#rows.size === 0) this.#note(error.passing ? words.lookingAround : words.notAround(reason(error)));
            this.#askAt = performance.now() + Math.max(error.retryAfterMs ?? 0, error.passing ? SOON_MS : EVERY_MS);
        }
    }

    #note(text) {
        setText($('around-note'), text);
        $('around-note').hidden = text === '';
    }

    #show(strangers, cell, now) {
        const list = $('around-list');
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
