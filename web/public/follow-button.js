// Whether I follow somebody, as a button: it says how things are, and pressing it changes them.

import { setText } from './dom.js';
import { words } from './words.js';

/** @typedef {'none' | 'requested' | 'following'} FollowState */

export class FollowButton {
    #button;
    #follow;
    #failed;
    #person = null;
    /** null: not known. @type {FollowState | null} */
    #state = null;
    #busy = false;

    /**
     * @param {HTMLElement} button
     * @param {(person: any, wanted: boolean, before: FollowState) => Promise<void>} follow
     * @param {(message: string) => void} failed told why nothing was changed; '' before it is tried
     */
    constructor(button, follow, failed) {
        this.#button = button;
        this.#follow = follow;
        this.#failed = failed;
        button.addEventListener('click', () => this.#press());
        document.addEventListener('followed', ({ detail }) => {
            if (detail.user === this.#person?.user) this.show(this.#person, detail.state);
        });
    }

    /** @returns {FollowState | null} null: not known */
    get state() {
        return this.#state;
    }

    /** @param {any} person @param {FollowState | null} state null: not known, or it is me */
    show(person, state) {
        this.#person = person;
        this.#state = state;
        this.#button.hidden = state === null;
        if (state === null) return;
        this.#button.dataset.follow = state;
        setText(this.#button, words.followButton[state]);
        this.#button.setAttribute('aria-label', words.followButtonOf[state](person));
        this.#button.classList.toggle('primary', state === 'none');
    }

    async #press() {
        if (this.#busy) return;
        this.#busy = true;
        this.#failed('');
        const error = await this.#follow(this.#person, this.#state === 'none', this.#state).then(() => null, (failure) => failure);
        if (error) this.#failed(error.message);
        this.#busy = false;
    }
}

/** Tells all who show it. @param {string} user @param {FollowState} state */
export function tellFollowed(user, state) {
    document.dispatchEvent(new CustomEvent('followed', { detail: { user, state } }));
}
