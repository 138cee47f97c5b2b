// Whether I am told while the page is closed: the switch, and this browser's subscription, which the receiver of web.push.url has (see
// clients/python-push). sw.js shows the notifications that come then.

import { make, setText } from './dom.js';
import { language, t } from './texts.js';
import { reason } from './words.js';

const USER_KEY = 'starling.push'; // in this browser: who is told here
const PATIENCE_MS = 15_000; // a browser without a way to its push service tries for ever

export class Push {
    #url;
    #box = make('input');
    #note = make('p', 'small');
    #token = null;
    #user = null;
    /** @type {ServiceWorkerRegistration | null} */
    #worker = null;
    #working = Promise.resolve();

    /**
     * @param {HTMLElement} place where the switch is put; it stays hidden where nobody can be told
     * @param {string} url of the receiver; empty: there is none
     * @param {(opens: {user?: string, post?: string, comment?: string}) => void} open shows what a notification was about
     */
    constructor(place, url, open) {
        this.#url = url;
        const label = make('label', 'tell');
        Object.assign(this.#box, { type: 'checkbox', id: 'push' });
        label.append(this.#box, t('tellWhileClosed'));
        this.#note.id = 'push-note';
        this.#note.setAttribute('role', 'status');
        this.#box.setAttribute('aria-describedby', this.#note.id);
        place.append(label, this.#note);
        this.#say('');
        navigator.serviceWorker?.addEventListener('message', ({ data }) => data.opens && open(data.opens));
        navigator.serviceWorker?.startMessages();
        if (!url || !navigator.serviceWorker || !window.PushManager || !window.Notification) return;
        this.#box.addEventListener('change', () => this.#do(() => (this.#box.checked ? this.#begin() : this.#end())));
        navigator.serviceWorker.ready.then((worker) => {
            this.#worker = worker;
            place.hidden = false;
            this.#do(() => this.#look());
        });
    }

    /** @param {string} token @param {string} user */
    signIn(token, user) {
        this.#token = token;
        this.#user = user;
        this.#do(() => this.#look());
    }

    /** Nobody is told here any more. @param {boolean} everywhere nor with any other browser of the user */
    signOut(everywhere) {
        const token = this.#token;
        this.#token = this.#user = null;
        this.#do(async () => {
            this.#box.checked = false;
            if (everywhere && this.#worker && token) await this.#ask('DELETE', null, token).catch(console.warn);
            await this.#end(token);
        });
    }

    /** One thing after the other; what fails is said. @param {() => Promise<void>} act */
    #do(act) {
        this.#working = this.#working.then(async () => {
            this.#box.disabled = true;
            this.#say('');
            await act().catch((error) => this.#say(error.message));
            this.#box.disabled = false;
        });
    }

    #subscription() {
        return this.#worker ? this.#worker.pushManager.getSubscription() : null;
    }

    /** Shows how it is, and tells the receiver that this browser is still used. Another user's subscription ends. */
    async #look() {
        const subscription = await this.#subscription();
        if (!subscription || !this.#token) return;
        const mine = localStorage.getItem(USER_KEY) === this.#user;
        this.#box.checked = mine;
        if (mine) await this.#ask('POST', { ...subscription.toJSON(), language }).catch(console.warn);
        else await subscription.unsubscribe();
    }

    async #begin() {
        this.#say(t('loading'));
        try {
            if ((await Notification.requestPermission()) !== 'granted') throw new Error(t('tellForbidden'));
            await this.#ask('POST', { ...(await this.#subscribe()).toJSON(), language });
            localStorage.setItem(USER_KEY, this.#user);
            this.#say(t('toldWhileClosed'));
        } catch (error) {
            this.#box.checked = false;
            throw error;
        }
    }

    async #subscribe() {
        const { key } = await this.#ask('GET', null);
        const options = { userVisibleOnly: true, applicationServerKey: key };
        try {
            const before = await this.#subscription();
            if (before && encoded(before.options.applicationServerKey) !== key) await before.unsubscribe(); // it was made for another receiver
            return await Promise.race([this.#worker.pushManager.subscribe(options), tooLate()]);
        } catch (error) {
            throw new Error(t('noPushService', { why: error.message }).trim());
        }
    }

    async #end(token = this.#token) {
        const subscription = await this.#subscription();
        if (!subscription) return;
        localStorage.removeItem(USER_KEY);
        await subscription.unsubscribe();
        // A receiver that is away hears of it from the push service.
        await this.#ask('DELETE', { endpoint: subscription.endpoint }, token).catch(console.warn);
    }

    /** Of the receiver. @param {'GET' | 'POST' | 'DELETE'} method GET: its key @param {object | null} body */
    async #ask(method, body, token = this.#token) {
        const get = method === 'GET';
        const headers = { ...(!get && { authorization: `Bearer ${token}` }), ...(body && { 'content-type': 'application/json' }) };
        const options = { method, headers, body: body && JSON.stringify(body) };
        const response = await fetch(this.#url + (get ? '/key' : '/subscriptions'), options).catch(() => null);
        if (!response) throw new Error(t('notToldWhileClosed', { why: t('unreachable') }));
        const answer = response.status === 204 ? {} : await response.json().catch(() => ({}));
        if (response.ok) return answer;
        const why = reason({ status: response.status, message: answer.detail ?? String(response.status) });
        throw new Error(t('notToldWhileClosed', { why }));
    }

    #say(text) {
        setText(this.#note, text);
        this.#note.hidden = text === '';
    }
}

function tooLate() {
    return new Promise((_, refuse) => setTimeout(() => refuse(new Error('')), PATIENCE_MS));
}

/** @param {ArrayBuffer} bytes */
function encoded(bytes) {
    return btoa(String.fromCharCode(...new Uint8Array(bytes))).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
}
