// That a text was edited, and what it said before: the mark beside its time, the list behind it, and the form in which it is edited. For
// posts and comments alike.

import { make, setText } from '../dom.js';
import { reason, refusal, when, words } from '../words.js';
import { LineForm } from './line-form.js';
import { showText } from './said.js';

export class EditMark {
    element = make('button', 'quiet edited');
    list = make('ol', 'edits');
    #read;
    #edited = null;

    /** @param {() => Promise<{items: readonly import('../../client/index.js').Edit[]}>} read the newest versions first */
    constructor(read) {
        this.#read = read;
        this.element.type = 'button';
        this.list.hidden = true;
        setText(this.element, words.edited);
        this.element.addEventListener('click', () => (this.list.hidden ? this.#open() : this.#close()));
        this.element.setAttribute('aria-expanded', 'false');
        this.update({ edited: null, text: null });
    }

    /** @param {{edited: number | null, text: string | null}} now */
    update({ edited, text }) {
        const shown = text === null ? null : edited; // what nobody may read has no former texts either
        this.element.hidden = shown === null;
        if (shown === this.#edited) return;
        this.#edited = shown;
        if (shown !== null) this.element.title = when(shown);
        this.#close();
    }

    #close() {
        this.list.hidden = true;
        this.list.replaceChildren();
        this.element.setAttribute('aria-expanded', 'false');
    }

    async #open() {
        const edited = this.#edited;
        this.element.setAttribute('aria-expanded', 'true');
        this.list.hidden = false;
        const answer = await this.#read().catch((error) => ({ error, items: [] }));
        if (edited !== this.#edited || this.list.hidden) return;
        this.list.replaceChildren(...(answer.error ? [problem(answer.error)] : answer.items.slice(1).map(former)));
    }
}

/** @param {import('../../client/index.js').Edit} edit */
function former({ text, time }) {
    const item = make('li');
    const at = make('time', 'ago');
    const said = make('p');
    at.dateTime = new Date(time).toISOString();
    setText(at, when(time));
    showText(said, text);
    item.append(at, said);
    return item;
}

function problem(error) {
    const item = make('li', 'problem');
    setText(item, reason(error));
    return item;
}

/**
 * @param {{text: string, label: string, most: number, save: (text: string) => Promise<any>, close: () => void}} parts save throws errors of
 *        the API
 */
export function editForm({ text, label, most, save, close }) {
    return new LineForm({
        label,
        button: words.save,
        most,
        text,
        cancel: close,
        send: async (now) => {
            await save(now).catch((error) => {
                throw new Error(error.code === 'old_version' ? words.editedSince : refusal(error));
            });
            close();
        },
    });
}
