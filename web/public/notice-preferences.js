// How I am told of notices: for each kind, whether the bell rings at once, and whether devices are told.

import { make, setText } from './dom.js';
import { t } from './texts.js';
import { reason } from './words.js';

const KINDS = {
    follow: 'ofFollows', request: 'ofRequests', accepted: 'ofAccepted', mention: 'ofMentions', reply: 'ofAnswers', like: 'ofLikes',
    approach: 'ofApproaches', arrived: 'ofArrivals', left: 'ofDepartures',
};
const WAYS = { live: 'bellRings', push: 'deviceTells' };

const $ = (id) => document.getElementById(id);

export class NoticePreferences {
    #api;
    #wishes = 0; // only the answer to the newest one counts

    /** @param {() => import('./api.js').Api | null} api */
    constructor(api) {
        this.#api = api;
        $('told-kinds').append(...Object.entries(KINDS).map(([kind, text]) => this.#row(kind, t(text))));
        $('told').addEventListener('toggle', () => $('told').open && this.#hear(this.#api()?.getNoticePreferences(), 'notHowTold'));
        $('me').addEventListener('toggle', () => ($('told').open = false));
    }

    #row(kind, what) {
        const [row, name] = [make('tr'), make('th')];
        name.scope = 'row';
        name.textContent = what;
        row.append(name);
        for (const [way, how] of Object.entries(WAYS)) {
            const [cell, box] = [make('td'), make('input')];
            Object.assign(box, { type: 'checkbox', name: `${kind}-${way}`, disabled: true });
            box.setAttribute('aria-label', t('toldOf', { what, how: t(how) }));
            box.addEventListener('change', () => this.#wish(kind));
            cell.append(box);
            row.append(cell);
        }
        return row;
    }

    #boxes(kind) {
        return Object.keys(WAYS).map((way) => [way, $('told-kinds').querySelector(`[name="${kind}-${way}"]`)]);
    }

    #wish(kind) {
        const wanted = Object.fromEntries(this.#boxes(kind).map(([way, box]) => [way, box.checked]));
        this.#hear(this.#api()?.setNoticePreferences({ [kind]: wanted }), 'howToldNotChanged');
    }

    /** @param {Promise<import('../client/index.js').NoticePreferences> | undefined} answer @param {string} otherwise the text of a failure */
    async #hear(answer, otherwise) {
        const wish = (this.#wishes += 1);
        const { error, ...preferences } = (await answer?.catch((failure) => ({ error: failure }))) ?? {};
        if (wish !== this.#wishes) return;
        this.#complain(error ? t(otherwise, { why: reason(error) }) : '');
        if (error && otherwise === 'howToldNotChanged') return this.#again();
        if (!error) this.#show(preferences);
    }

    /** The wish was not carried out: shows what holds. */
    async #again() {
        const wish = this.#wishes;
        const preferences = await this.#api()?.getNoticePreferences().catch(() => null);
        if (preferences && wish === this.#wishes) this.#show(preferences);
    }

    #show(preferences) {
        for (const kind of Object.keys(KINDS)) {
            for (const [way, box] of this.#boxes(kind)) {
                box.disabled = !preferences[kind];
                box.checked = preferences[kind]?.[way] === true;
            }
        }
    }

    #complain(message) {
        setText($('told-problem'), message);
        $('told-problem').hidden = message === '';
    }
}
