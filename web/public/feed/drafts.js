// Comments that are not sent yet, each with its idempotency key, also over a reload: sending one again is one comment.

const DRAFTS_KEY = 'starling.comments';

export class Drafts {
    #user = '';
    #drafts = {};

    /** @param {string} user who writes from now on, and whose drafts come back */
    signIn(user) {
        const kept = JSON.parse(sessionStorage.getItem(DRAFTS_KEY) ?? '{}');
        this.#user = user;
        this.#drafts = kept.user === user ? kept.drafts : {};
    }

    forget() {
        sessionStorage.removeItem(DRAFTS_KEY);
        this.signIn('');
    }

    /** @param {string} place a post, or a post and the comment that is answered @returns {{text: string, key: string}} */
    get(place) {
        return this.#drafts[place] ?? { text: '', key: '' };
    }

    /** @param {string} place @param {{text: string, key: string}} draft */
    set(place, draft) {
        if (draft.text === '') delete this.#drafts[place];
        else this.#drafts[place] = draft;
        if (Object.keys(this.#drafts).length === 0) sessionStorage.removeItem(DRAFTS_KEY);
        else sessionStorage.setItem(DRAFTS_KEY, JSON.stringify({ user: this.#user, drafts: this.#drafts }));
    }
}
