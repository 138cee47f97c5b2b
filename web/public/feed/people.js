// Somebody by number or handle: who it is, and whether I follow.

import { setText } from '../dom.js';
import { Finder } from '../finder.js';
import { displayName, hueOf, initials, parseHandle, parseUser } from '../format.js';
import { reason, words } from '../words.js';
import { showText } from './said.js';

const MOST_MET = 500;

export class People {
    #input = document.getElementById('person');
    #problem = document.getElementById('person-problem');
    #card = document.getElementById('person-card');
    #button = document.getElementById('follow');
    #api = null;
    #me = '';
    #set;
    #person = null;
    #following = false;
    #busy = false;
    #finder;
    #followed = [];
    #met = null; // whose followed ones were asked for

    /**
     * @param {(person: any, following: boolean) => Promise<void>} set makes me follow somebody, or not any more
     * @param {() => Iterable<any>} known who can be found by name
     */
    constructor(set, known) {
        this.#set = set;
        this.#finder = new Finder(this.#input, document.getElementById('person-found'), known, ({ user }) => this.look(user));
        for (const id of ['person', 'friend']) document.getElementById(id).addEventListener('focus', () => this.#meetFollowed());
        document.getElementById('person-form').addEventListener('submit', (event) => {
            event.preventDefault();
            this.#find();
        });
        this.#button.addEventListener('click', () => this.#toggle());
    }

    /** @param {import('../api.js').Api | null} api null: signed out @param {string} user */
    signIn(api, user) {
        this.#api = api;
        this.#me = user;
        this.#followed = [];
        this.#finder.clear();
        this.#show(null);
        this.#complain('');
    }

    /** Somebody was followed, or not any more, elsewhere on the page. @param {string} user @param {boolean} following */
    changed(user, following) {
        if (this.#person?.user !== user) return;
        this.#following = following;
        this.#show(this.#person);
    }

    /** Those whom I follow, as far as they are known here. */
    get followed() {
        return this.#followed;
    }

    /** Asks who they are when somebody is about to be looked for. */
    async #meetFollowed() {
        const api = this.#api;
        if (api === null || this.#met === api) return;
        this.#met = api;
        try {
            const { items } = await api.getFollowing(this.#me, { limit: MOST_MET });
            if (api !== this.#api) return;
            this.#followed = items;
            this.#finder.show();
        } catch {
            // They are found by handle and number all the same.
        }
    }

    /** As if I had asked for that user. @param {string} user */
    async look(user) {
        this.#input.value = user;
        await this.#find();
        (this.#button.checkVisibility() ? this.#button : this.#input).focus();
    }

    async #find() {
        const user = parseUser(this.#input.value) ?? this.#finder.first?.user ?? null;
        const handle = parseHandle(this.#input.value);
        this.#show(null);
        if (user === null && handle === null) return this.#complain(words.noPerson);
        this.#complain('');
        const api = this.#api;
        try {
            const person = await (user === null ? api.getUserByHandle(handle) : api.getUser(user));
            const following = await api.follows(this.#me, person.user);
            if (api !== this.#api) return;
            this.#following = following;
            this.#show(person);
        } catch (error) {
            if (api === this.#api) this.#complain(error.status === 404 ? words.nobody(handle) : words.personUnknown(reason(error)));
        }
    }

    async #toggle() {
        if (this.#busy) return;
        this.#busy = true;
        this.#complain('');
        try {
            await this.#set(this.#person, !this.#following);
        } catch (error) {
            this.#complain(reason(error));
        }
        this.#busy = false;
    }

    #show(person) {
        this.#person = person;
        this.#card.hidden = person === null;
        if (person === null) return;
        const mine = person.user === this.#me;
        const avatar = this.#card.querySelector('.avatar');
        avatar.style.setProperty('--hue', String(hueOf(person.user)));
        setText(avatar, initials(person));
        setText(this.#card.querySelector('.name'), displayName(person));
        setText(this.#card.querySelector('.ago'), mine ? words.myself : words.personLine(person));
        for (const name of ['bio', 'url']) showText(this.#card.querySelector(`.${name}`), person[name] ?? '');
        this.#card.dataset.user = person.user;
        this.#button.hidden = mine;
        setText(this.#button, this.#following ? words.unfollow : words.follow);
        this.#button.setAttribute('aria-label', this.#following ? words.unfollowPerson(person) : words.followPerson(person));
        this.#button.dataset.following = String(this.#following);
    }

    #complain(message) {
        setText(this.#problem, message);
        this.#problem.hidden = message === '';
    }
}
