// Where I was in the last 24 hours, as a line on the map with a dot at each full hour. Asked for while it is shown.

import { setText } from './dom.js';
import { formatDistance } from './format.js';
import { locale, t } from './texts.js';
import { trailOf } from './trail-line.js';
import { reason } from './words.js';

const DAY_MS = 86_400_000;
const EVERY_MS = 60_000;
const PAGE = 10_000;
const PAGES_AT_MOST = 5;

const $ = (id) => document.getElementById(id);

export class Trail {
    #map;
    #api = null;
    #shown = false;
    #question = 0; // only the answer to the newest one counts
    #askAt = 0;

    /** @param {import('./map.js').FriendMap} map */
    constructor(map) {
        this.#map = map;
        $('trail').addEventListener('click', () => this.#show(!this.#shown));
    }

    /** @param {import('./api.js').Api} api */
    signIn(api) {
        this.#api = api;
        this.#askAt = 0;
    }

    signOut() {
        this.#api = null;
        this.#show(false);
    }

    /** Time goes by, while the page is seen. @param {number} now the server's time */
    tick(now) {
        if (this.#shown && this.#api && performance.now() >= this.#askAt) this.#ask(now);
    }

    #show(shown) {
        this.#shown = shown;
        this.#question += 1;
        this.#askAt = 0;
        $('trail').setAttribute('aria-pressed', String(shown));
        this.#note(shown ? t('trailComes') : '');
        if (!shown) this.#map.showTrail([], []);
    }

    #note(text) {
        setText($('trail-note'), text);
        $('trail-note').hidden = text === '';
    }

    async #ask(now) {
        const question = ++this.#question;
        this.#askAt = performance.now() + EVERY_MS;
        try {
            const reports = await this.#read(now);
            if (question !== this.#question) return;
            const { lines, hours, metres } = trailOf(reports);
            const clock = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit' });
            this.#map.showTrail(lines, hours.map((report) => ({ ...report, words: clock.format(report.time) })));
            this.#note(reports.length > 0 ? t('trailOfDay', { distance: formatDistance(metres) }) : t('noTrail'));
        } catch (error) {
            if (question === this.#question) this.#note(t('trailFailed', { why: reason(error) }));
        }
    }

    /** Of more than there is room for, the first ones. */
    async #read(now) {
        const reports = [];
        let after = null;
        for (let page = 0; page < PAGES_AT_MOST; page += 1) {
            const { items, next } = await this.#api.history({ from: now - DAY_MS, limit: PAGE, after });
            reports.push(...items);
            if (next === null) break;
            after = next;
        }
        return reports;
    }
}
