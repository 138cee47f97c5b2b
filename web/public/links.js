// Links that show where I am to whoever has one: made, sent, listed and ended.

import { make, setText } from './dom.js';
import { sharingEnd } from './format.js';
import { shareLink } from './friends.js';
import { locale, t } from './texts.js';
import { reason } from './words.js';

const $ = (id) => document.getElementById(id);
const timeOf = (ms) => new Date(ms).toLocaleString(locale, { dateStyle: 'medium', timeStyle: 'short', hourCycle: 'h23' });

export class Links {
    #api;
    #now;
    #asked = 0;

    /** @param {{api: () => import('./api.js').Api | null, now: () => number}} parts now: the server's clock */
    constructor({ api, now }) {
        this.#api = api;
        this.#now = now;
        $('links').addEventListener('toggle', () => $('links').open && this.#do(() => this.#read()));
        $('me').addEventListener('toggle', () => this.forget());
        $('link-form').addEventListener('submit', (event) => {
            event.preventDefault();
            this.#do(() => this.#make());
        });
    }

    /** What is shown of somebody's links must not be there for the next one. */
    forget() {
        this.#asked += 1;
        $('links').open = false;
        $('link-list').replaceChildren();
        $('links-problem').hidden = true;
        $('link-made').hidden = true;
    }

    async #make() {
        const { url } = await this.#api().createLink({ until: sharingEnd($('link-for').value, this.#now()), rounded: $('link-rounded').checked });
        await shareLink(t('linkText'), new URL(url, location.href).href, $('link-made'));
        await this.#read();
    }

    async #read() {
        const asked = (this.#asked += 1);
        const { items } = await this.#api().getLinks(); // there are no more
        if (asked === this.#asked) $('link-list').replaceChildren(...items.map((link) => this.#row(link)));
    }

    #row({ id, until, rounded }) {
        const [row, words, end] = [make('li'), make('span'), make('button')];
        words.textContent = t(rounded ? 'linkRounded' : 'linkExact', { time: timeOf(until) });
        words.id = `link-${id}`;
        end.type = 'button';
        end.textContent = t('endLink');
        end.setAttribute('aria-describedby', words.id);
        end.addEventListener('click', () =>
            this.#do(async () => {
                await this.#api().endLink(id);
                $('links-summary').focus(); // the button goes
                await this.#read();
            }),
        );
        row.append(words, end);
        return row;
    }

    /** @param {() => Promise<void>} act */
    async #do(act) {
        $('link-make').disabled = true;
        const error = await act().then(() => null, (failure) => failure);
        $('link-make').disabled = false;
        setText($('links-problem'), error === null ? '' : error.code === 'not_sharing' ? t('linkNotSharing') : reason(error));
        $('links-problem').hidden = error === null;
    }
}
