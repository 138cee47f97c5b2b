// What is kept of me: handed to me as a file, or erased for good.

import { setText } from './dom.js';
import { t } from './texts.js';
import { reason } from './words.js';

const SURE_MS = 10_000; // then the question is taken back

const $ = (id) => document.getElementById(id);

export class Belongings {
    #api;
    #erased;
    #asking = 0;

    /** @param {{api: () => import('./api.js').Api | null, erased: () => void}} parts erased: there is nobody any more */
    constructor({ api, erased }) {
        this.#api = api;
        this.#erased = erased;
        $('export').addEventListener('click', () => this.#do($('export'), () => this.#export()));
        $('erase').addEventListener('click', () => (this.#asking ? this.#do($('erase'), () => this.#erase()) : this.#ask()));
        $('me').addEventListener('toggle', () => this.#takeBack());
    }

    async #export() {
        const api = this.#api();
        const lines = [];
        for await (const item of api.all(api.getExport())) lines.push(`${JSON.stringify(item)}\n`);
        const link = Object.assign(document.createElement('a'), { href: URL.createObjectURL(new Blob(lines)), download: 'starling.jsonl' });
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), SURE_MS); // by then it is read
    }

    async #erase() {
        this.#takeBack();
        await this.#api().forgetMe();
        this.#erased();
    }

    #ask() {
        setText($('erase'), t('reallyErase'));
        this.#asking = setTimeout(() => this.#takeBack(), SURE_MS);
    }

    #takeBack() {
        clearTimeout(this.#asking);
        this.#asking = 0;
        setText($('erase'), t('eraseMe'));
        this.#say('');
    }

    async #do(button, act) {
        button.disabled = true;
        this.#say(t('loading'));
        const error = await act().then(() => null, (failure) => failure);
        button.disabled = false;
        this.#say(error ? reason(error) : '');
    }

    #say(text) {
        setText($('belongings-note'), text);
        $('belongings-note').hidden = text === '';
    }
}
