// Finding somebody by name, handle or number.

import { setText } from '../dom.js';
import { Finder } from '../finder.js';
import { parseHandle, parseUser } from '../format.js';
import { reason, words } from '../words.js';

const MOST_MET = 500;

export class People {
    #input = document.getElementById('person');
    #problem = document.getElementById('person-problem');
    #api = null;
    #me = '';
    #open;
    #finder;
    #followed = [];
    #met = null; // whose followed ones were asked for

    /**
     * @param {(person: import('../../client/index.js').User) => void | Promise<void>} open shows who was found
     * @param {() => Iterable<any>} known who can be found by name
     */
    constructor(open, known) {
        this.#open = open;
        this.#finder = new Finder(this.#input, document.getElementById('person-found'), known, ({ user }) => this.look(user));
        for (const id of ['person', 'friend']) document.getElementById(id).addEventListener('focus', () => this.#meetFollowed());
        document.getElementById('person-form').addEventListener('submit', (event) => {
            event.preventDefault();
            this.#find();
        });
    }

    /** @param {import('../api.js').Api | null} api null: signed out @param {string} user */
    signIn(api, user) {
        this.#api = api;
        this.#me = user;
        this.#followed = [];
        this.#finder.clear();
        this.#complain('');
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

    /** Shows that user. @param {string} user */
    async look(user) {
        await this.#ask((api) => api.getUser(user));
        const button = document.getElementById('follow');
        (button.checkVisibility() ? button : this.#input).focus();
    }

    #find() {
        const user = parseUser(this.#input.value) ?? this.#finder.first?.user ?? null;
        const handle = parseHandle(this.#input.value);
        if (user === null && handle === null) return this.#complain(words.noPerson);
        return this.#ask((api) => (user === null ? api.getUserByHandle(handle) : api.getUser(user)), handle);
    }

    async #ask(who, handle = null) {
        const api = this.#api;
        this.#complain('');
        try {
            const person = await who(api);
            if (api === this.#api) await this.#open(person);
        } catch (error) {
            if (api === this.#api) this.#complain(error.status === 404 && handle !== null ? words.nobody(handle) : words.personUnknown(reason(error)));
        }
    }

    #complain(message) {
        setText(this.#problem, message);
        this.#problem.hidden = message === '';
    }
}
