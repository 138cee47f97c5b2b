// Writing a post. A draft keeps its idempotency key until it is posted, also over a reload: trying again is one post.

import { drawKey } from '../../client/index.js';
import { setText } from '../dom.js';
import { codePoints } from '../format.js';
import { reason, words } from '../words.js';

const LONGEST = 2000;
const DRAFT_KEY = 'starling.draft';

export class Compose {
    #form = document.getElementById('compose');
    #text = document.getElementById('text');
    #count = document.getElementById('count');
    #button = document.getElementById('post');
    #problem = document.getElementById('compose-problem');
    #audience = document.getElementById('audience');
    #send;
    #user = '';
    #key = '';
    #posting = false;

    /** @param {(post: {text: string, key: string}) => Promise<void>} send */
    constructor(send) {
        this.#send = send;
        this.#text.addEventListener('input', () => {
            this.#key = ''; // another text is another post
            this.#show();
            this.#save();
        });
        this.#text.addEventListener('keydown', (event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) this.#form.requestSubmit();
        });
        this.#form.addEventListener('submit', (event) => {
            event.preventDefault();
            this.#submit();
        });
    }

    /** The user who writes from now on, and whose draft comes back. @param {string} user */
    signIn(user) {
        const draft = JSON.parse(sessionStorage.getItem(DRAFT_KEY) ?? '{}');
        const mine = draft.user === user;
        this.#user = user;
        this.#key = mine ? draft.key : '';
        this.#text.value = mine ? draft.text : '';
        this.#complain('');
        this.isFor(null);
        this.#show();
    }

    signOut() {
        sessionStorage.removeItem(DRAFT_KEY);
        this.signIn('');
    }

    /** @param {import('../../client/index.js').Visibility | null} posts who sees what is posted; null: not known */
    isFor(posts) {
        this.#audience.hidden = posts === null;
        if (posts !== null) setText(this.#audience.querySelector('.text'), words.audience[posts]);
        document.getElementById('audience-lock').toggleAttribute('hidden', posts !== 'followers'); // SVG has no such property
    }

    async #submit() {
        const text = this.#text.value;
        if (this.#posting || !this.#fits(text)) return;
        const user = this.#user;
        this.#key ||= drawKey();
        this.#save();
        this.#posting = true;
        this.#complain('');
        this.#show();
        const failure = await this.#send({ text, key: this.#key }).then(() => null, (error) => error);
        this.#posting = false;
        if (user !== this.#user) return this.#show();
        if (failure === null) {
            this.#text.value = '';
            this.#key = '';
        } else if (failure.code === 'post_deleted') {
            this.#key = '';
            this.#complain(words.postDeleted);
        } else {
            this.#complain(failure.passing ? words.notPosted(reason(failure)) : words.postRefused(reason(failure)));
        }
        this.#save();
        this.#show();
    }

    #fits(text) {
        return text.trim() !== '' && codePoints(text) <= LONGEST;
    }

    #show() {
        const length = codePoints(this.#text.value);
        const over = length - LONGEST;
        setText(this.#count, over > 0 ? words.tooMany(over) : words.count(length, LONGEST));
        this.#count.classList.toggle('over', over > 0);
        this.#text.setAttribute('aria-invalid', String(over > 0));
        this.#text.readOnly = this.#posting;
        setText(this.#button, this.#posting ? words.posting : words.post);
        this.#button.setAttribute('aria-disabled', String(this.#posting || !this.#fits(this.#text.value)));
    }

    #complain(message) {
        setText(this.#problem, message);
        this.#problem.hidden = message === '';
    }

    #save() {
        const text = this.#text.value;
        if (text === '') sessionStorage.removeItem(DRAFT_KEY);
        else sessionStorage.setItem(DRAFT_KEY, JSON.stringify({ user: this.#user, text, key: this.#key }));
    }
}
