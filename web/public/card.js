// Somebody's card: who it is, how far, since when we are friends, and what can be done.

import { setText } from './dom.js';
import { displayName, formatDistance, hueOf, initials } from './format.js';
import { shareLink, sinceOf } from './friends.js';
import { t } from './texts.js';
import { reason } from './words.js';

const $ = (id) => document.getElementById(id);
/** The buttons for somebody, by what there is between us. */
const ACTS = {
    none: ['befriend', 'block'],
    invited: ['befriend', 'part', 'block'],
    requested: ['part', 'block'],
    friends: ['part', 'block'],
    blocked: ['unblock'],
};
const LABELS = {
    befriend: { none: 'askFriend', invited: 'accept' },
    part: { invited: 'refuse', requested: 'takeBack', friends: 'removeFriend' },
    block: {},
    unblock: {},
};

export class Card {
    #friends;
    #near;
    #api = () => null;
    #me = () => '';
    #person = null;
    #from = null; // had the focus
    #asking = null; // what is to be done when it was confirmed

    /**
     * @param {{friends: import('./friends.js').Friends, near: (user: string) => any, api: () => any, me: () => string}} parts
     *        near: somebody as my list has them
     */
    constructor({ friends, near, api, me }) {
        this.#friends = friends;
        this.#near = near;
        this.#api = api;
        this.#me = me;
        friends.onChange(() => this.tick());
        $('card-close').addEventListener('click', () => $('card').close());
        $('card').addEventListener('keydown', (event) => {
            if (event.key !== 'Escape') return;
            event.stopPropagation(); // what is behind it stays open
            $('card').close();
        });
        $('card').addEventListener('close', () => this.#from?.focus({ preventScroll: true }));
        $('card-link').addEventListener('click', () => shareLink(`${location.origin}${location.pathname}#friend=${this.#person.user}`, $('card-note')));
        $('card-mute').addEventListener('click', () => this.#mute());
        for (const act of Object.keys(LABELS)) $(`card-${act}`).addEventListener('click', () => this.#press(act));
    }

    /** @param {{user: string, name: string | null, handle?: string | null}} person */
    open(person) {
        this.#person = person;
        this.#asking = null;
        this.#say('');
        this.#muted(false);
        this.tick();
        if ($('card').open) return;
        this.#from = document.activeElement;
        $('card').show(); // beside the list and the map, which go on
    }

    close() {
        $('card').close();
    }

    /** Time goes by, and things change. @param {number} [now] the server's time */
    tick(now = Date.now()) {
        const person = this.#person;
        if (person === null) return;
        const mine = person.user === this.#me();
        const between = this.#friends.of(person.user);
        const state = between?.state ?? 'none';
        const near = this.#near(person.user);
        $('card').dataset.user = person.user;
        $('card').dataset.state = mine ? 'me' : state;
        const avatar = $('card').querySelector('.avatar');
        avatar.style.setProperty('--hue', String(hueOf(person.user)));
        setText(avatar, initials(person));
        setText($('card-name'), displayName(person));
        setText($('card-handle'), person.handle ? `@${person.handle}` : t('nameOfUser', { user: person.user }));
        setText($('card-far'), near ? t('awayFromMe', { distance: formatDistance(near.distance) }) : '');
        setText($('card-since'), mine ? t('myself') : between ? sinceOf(between, now) : '');
        for (const act of Object.keys(LABELS)) {
            const shown = !mine && ACTS[state].includes(act);
            $(`card-${act}`).hidden = !shown;
            if (shown) setText($(`card-${act}`), t(this.#asking === act ? 'reallyDo' : (LABELS[act][state] ?? act)));
        }
        $('card-mute').hidden = mine;
    }

    async #press(act) {
        const { user } = this.#person;
        const careful = act === 'block' || (act === 'part' && this.#friends.of(user)?.state === 'friends');
        if (careful && this.#asking !== act) {
            this.#asking = act;
            return this.tick();
        }
        this.#asking = null;
        await this.#do(() => this.#friends.act(act, user));
        if ($(`card-${act}`).hidden) $('card-close').focus();
    }

    async #mute() {
        const muted = $('card-mute').getAttribute('aria-pressed') !== 'true';
        const { user } = this.#person;
        await this.#do(async () => this.#muted(await (muted ? this.#api().mute(user) : this.#api().unmute(user))));
    }

    #muted(muted) {
        $('card-mute').setAttribute('aria-pressed', String(muted));
    }

    async #do(act) {
        this.#say('');
        try {
            await act();
        } catch (error) {
            this.#say(t('friendNotChanged', { why: reason(error) }));
        }
        this.tick();
    }

    #say(text) {
        setText($('card-note'), text);
        $('card-note').hidden = text === '';
    }
}
