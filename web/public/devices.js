// Where I am signed in: a list of my devices in the menu, of which each other one can be signed out.

import { make, setText } from './dom.js';
import { locale, t } from './texts.js';
import { reason } from './words.js';

const $ = (id) => document.getElementById(id);
const when = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', hourCycle: 'h23' });

export class Devices {
    #api;
    #session;
    #asked = 0; // only the answer to the newest question counts

    /** @param {() => import('./api.js').Api | null} api @param {() => string | undefined} session this one */
    constructor(api, session) {
        this.#api = api;
        this.#session = session;
        $('devices').addEventListener('toggle', () => $('devices').open && this.#load());
        $('me').addEventListener('toggle', () => ($('devices').open = false));
    }

    async #load() {
        const asked = (this.#asked += 1);
        const answer = await this.#api()?.getDevices(this.#session()).catch((error) => ({ error }));
        if (asked !== this.#asked || !answer) return;
        this.#complain(answer.error ? t('devicesNotRead', { why: reason(answer.error) }) : '');
        if (!answer.error) $('device-list').replaceChildren(...answer.map((device) => this.#row(device)));
    }

    /** @param {import('../client/index.js').Device} device */
    #row({ id, device, since, current }) {
        const [row, text, name, detail] = [make('li'), make('span'), make('span'), make('span', 'small')];
        name.textContent = device ?? t('deviceWithoutName');
        detail.textContent = current ? t('thisOne') : t('deviceSince', { when: when.format(since) });
        text.append(name, detail);
        row.append(text);
        row.dataset.device = id;
        if (current) return row;
        const button = make('button');
        button.type = 'button';
        button.textContent = t('signOut');
        button.setAttribute('aria-label', t('signOutDevice', { device: name.textContent }));
        button.addEventListener('click', () => this.#end(id, row, button));
        row.append(button);
        return row;
    }

    /** @param {string} id @param {HTMLElement} row @param {HTMLButtonElement} button */
    async #end(id, row, button) {
        button.disabled = true;
        const error = await this.#api()?.endDevice(id).then(() => null, (failure) => failure);
        if (error && error.code !== 'no_device') {
            button.disabled = false;
            this.#complain(t('deviceNotEnded', { why: reason(error) }));
            return;
        }
        this.#complain('');
        if (row.contains(document.activeElement)) $('devices-summary').focus();
        row.remove();
    }

    #complain(message) {
        setText($('devices-problem'), message);
        $('devices-problem').hidden = message === '';
    }
}
