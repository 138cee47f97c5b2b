// Somebody's card: who it is, how far, since when we are friends, and what can be done.

import { followOf } from './api.js';
import { setText } from './dom.js';
import { showText } from './feed/said.js';
import { FollowButton, tellFollowed } from './follow-button.js';
import { describeDetails, displayName, formatDistance, hueOf, initials } from './format.js';
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
/** The buttons that stay pressed: what presses and releases them. */
const MUTES = {
    'card-mute': { on: 'mute', off: 'unmute' },
    'card-hide': { on: 'muteNearby', off: 'unmuteNearby' },
};
/** With whom the place may be rounded: friends, and those who are about to be. */
const ROUNDED = ['friends', 'invited', 'requested'];
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
    #turns = 0; // of cards and mutes
    #follow;
    #about = null; // profile, as far as it is known

    /**
     * @param {{friends: import('./friends.js').Friends, near: (user: string) => any, api: () => any, me: () => string,
     *          follow: (person: any, wanted: boolean, before: any) => Promise<void>, page: (user: string) => void}} parts
     *        near: somebody as my list has them; page: shows their page
     */
    constructor({ friends, near, api, me, follow, page }) {
        this.#follow = new FollowButton($('card-follow'), follow, (message) => this.#say(message));
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
        $('card-page').addEventListener('click', () => {
            this.#from = null; // the page has the focus
            this.close();
            page(this.#person.user);
        });
        $('card-link').addEventListener('click', () => this.#share());
        for (const id of Object.keys(MUTES)) $(id).addEventListener('click', () => this.#mute(id));
        for (const act of Object.keys(LABELS)) $(`card-${act}`).addEventListener('click', () => this.#press(act));
        $('card-round').addEventListener('click', () => this.#round());
    }

    /** @param {{user: string, name: string | null, handle?: string | null}} person */
    open(person) {
        this.#person = person;
        this.#asking = null;
        this.#say('');
        for (const id of Object.keys(MUTES)) this.#muted(id, false);
        this.#about = null;
        this.#follow.show(person, null);
        this.tick();
        this.#askAbout(person);
        this.#askHidden(person);
        if ($('card').open) return;
        this.#from = document.activeElement;
        $('card').show(); // beside the list and the map, which go on
    }

    #share() {
        const text = t('cardText', { name: displayName(this.#person) });
        return shareLink(text, `${location.origin}${location.pathname}#friend=${this.#person.user}`, $('card-note'));
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
        const handle = this.#about?.handle ?? person.handle ?? between?.handle;
        setText($('card-handle'), handle ? `@${handle}` : t('nameOfUser', { user: person.user }));
        showText($('card-bio'), this.#about?.bio ?? '');
        showText($('card-url'), this.#about?.url ?? '');
        setText($('card-far'), near ? t(near.rounded ? 'aboutAwayFromMe' : 'awayFromMe', { distance: formatDistance(near.distance) }) : '');
        setText($('card-details'), near ? describeDetails(near) : '');
        setText($('card-since'), mine ? t('myself') : between ? sinceOf(between, now) : '');
        for (const act of Object.keys(LABELS)) {
            const shown = !mine && ACTS[state].includes(act);
            $(`card-${act}`).hidden = !shown;
            if (shown) setText($(`card-${act}`), t(this.#asking === act ? 'reallyDo' : (LABELS[act][state] ?? act)));
        }
        $('card-mute').hidden = mine;
        $('card-hide').hidden = mine || state !== 'friends';
        $('card-round').hidden = mine || !ROUNDED.includes(state);
        $('card-round').setAttribute('aria-pressed', String(between?.rounded === true));
    }

    async #press(act) {
        const { user } = this.#person;
        const careful = act === 'block' || (act === 'part' && this.#friends.of(user)?.state === 'friends');
        if (careful && this.#asking !== act) {
            this.#asking = act;
            return this.tick();
        }
        this.#asking = null;
        await this.#do(async () => {
            await this.#friends.act(act, user);
            if (act === 'block') tellFollowed(user, 'none'); // it ends follows
        });
        if ($(`card-${act}`).hidden) $('card-close').focus();
    }

    async #round() {
        const { user } = this.#person;
        await this.#do(() => this.#friends.act(this.#friends.of(user)?.rounded ? 'exact' : 'round', user));
    }

    async #askAbout(person) {
        const about = await this.#api().getUser(person.user).catch(() => null);
        if (this.#person !== person) return;
        this.#about = about;
        if (about !== null && this.#follow.state === null) this.#follow.show(person, followOf(about)); // what was heard meanwhile is newer
        this.tick();
    }

    async #mute(id) {
        const person = this.#person;
        const { on, off } = MUTES[id];
        const act = $(id).getAttribute('aria-pressed') === 'true' ? off : on;
        this.#turns += 1;
        await this.#do(async () => {
            const muted = await this.#api()[act](person.user);
            if (this.#person === person) this.#muted(id, muted);
        });
    }

    /** A card that was opened for somebody else, or a button that was pressed meanwhile, knows better than this answer. */
    async #askHidden(person) {
        const turn = (this.#turns += 1);
        if (person.user === this.#me()) return;
        try {
            const hidden = await this.#api().mutesNearby(person.user);
            if (this.#turns === turn) this.#muted('card-hide', hidden);
        } catch {
            // The button says so when it is pressed, if the server is still away then.
        }
    }

    #muted(id, muted) {
        $(id).setAttribute('aria-pressed', String(muted));
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
