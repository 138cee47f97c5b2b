// The sheet for signing in, which lies in front of everything else, says why it is there, and has every way on.

import { offerPeople, readPeople } from './demo.js';
import { focusMain } from './dom.js';
import { displayName, formatPosition, parsePosition, subjectOf } from './format.js';
import { t } from './texts.js';

const $ = (id) => document.getElementById(id);

export class Gate {
    #place;
    #mayCancel;
    #submit;
    #demo;
    #provider;

    /**
     * @param {{demo: boolean, provider: string | null, place: () => {lat: number, lng: number},
     *          leave: (start: {lat: number, lng: number}) => void, mayCancel: () => boolean,
     *          submit: (token: string, start: {lat: number, lng: number}) => void}} parts provider: whom
     *        people sign in with; place: where I am; leave: goes to the provider; mayCancel: there is something behind it
     */
    constructor({ demo, provider, place, leave, mayCancel, submit }) {
        this.#demo = demo;
        this.#provider = provider;
        this.#place = place;
        this.#mayCancel = mayCancel;
        this.#submit = submit;
        $('sign-in-form').addEventListener('submit', (event) => {
            event.preventDefault();
            this.#signIn($('token').value.trim());
        });
        $('start-here').addEventListener('click', () => this.#findDevice());
        $('cancel').addEventListener('click', () => this.close());
        $('ask-no').addEventListener('click', () => (this.#mayCancel() ? this.close() : this.open()));
        if (provider === null) return;
        $('provider').hidden = false;
        $('provider').textContent = t('signInWith', { provider: new URL(provider).host });
        $('provider').addEventListener('click', () => this.#withStart(leave));
    }

    get isOpen() {
        return !$('gate').hidden;
    }

    /** @param {string} [message] what is wrong */
    open(message = '') {
        $('gate-problem').textContent = message;
        $('gate-problem').hidden = message === '';
        $('start').value = formatPosition(this.#place());
        $('cancel').hidden = !this.#mayCancel();
        this.#show(false);
        // Tokens are for developers where there is a provider.
        $('by-token').classList.toggle('folded', this.#provider !== null);
        $('by-token').open ||= this.#provider === null;
        $($('by-token').open ? 'token' : 'provider').focus();
        if (this.#demo) offerPeople($('people'), ({ token }) => this.#signIn(token));
    }

    /** Asks before a token that came with the address is used. @param {string} token @param {() => void} yes */
    async ask(token, yes) {
        const user = subjectOf(token);
        if (user === null) return this.open(t('noToken'));
        this.open();
        this.#show(true);
        $('ask-yes').onclick = yes;
        $('ask-yes').focus();
        const say = (person) => ($('ask-words').textContent = t('signInAs', { name: displayName(person) }));
        say({ user, name: null });
        say((await readPeople()).find((person) => person.user === user) ?? { user, name: null });
    }

    /** The same, with nothing in it. */
    openEmpty() {
        $('token').value = '';
        this.open();
    }

    close() {
        $('gate').hidden = true;
        $('app').inert = false;
        if ($('gate').contains(document.activeElement)) focusMain();
    }

    #show(asking) {
        $('gate').hidden = false;
        $('app').inert = true;
        $('ask').hidden = !asking;
        $('ways').hidden = asking;
    }

    #signIn(token) {
        this.#withStart((start) => this.#submit(token, start));
    }

    #withStart(go) {
        const start = parsePosition($('start').value);
        if (start) go(start);
        else this.open(t('noPlace'));
    }

    #findDevice() {
        const failed = (error) => this.open(t('deviceSilent', { why: error.message }));
        if (!navigator.geolocation) return failed({ message: t('deviceCannot') });
        return navigator.geolocation.getCurrentPosition(({ coords }) => {
            $('start').value = formatPosition({ lat: coords.latitude, lng: coords.longitude });
        }, failed);
    }
}
