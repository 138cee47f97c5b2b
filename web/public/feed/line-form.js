// A form of one text below a post or comment: a comment, an answer, the reason of a report.

import { make, setText } from '../dom.js';
import { codePoints } from '../format.js';
import { words } from '../words.js';

export class LineForm {
    element = make('form', 'line-form');
    #text = make('textarea');
    #send = make('button', 'primary');
    #count = make('span', 'line-count');
    #problem = make('p', 'problem');
    #parts;
    #sending = false;

    /**
     * @param {{label: string, button: string, most: number, text?: string, changed?: (text: string) => void,
     *          send: (text: string) => Promise<void>, cancel?: () => void}} parts most: code points. send: throws an Error with
     *        what to tell. changed: after every key.
     */
    constructor(parts) {
        this.#parts = parts;
        this.#text.rows = 2;
        this.#text.value = parts.text ?? '';
        this.#text.placeholder = parts.label;
        this.#text.setAttribute('aria-label', parts.label);
        this.#problem.setAttribute('role', 'alert');
        this.#complain('');
        const row = make('div', 'row');
        row.append(this.#count);
        if (parts.cancel) {
            const cancel = make('button', 'quiet');
            cancel.type = 'button';
            cancel.textContent = words.cancel;
            cancel.addEventListener('click', parts.cancel);
            row.append(cancel);
        }
        row.append(this.#send);
        this.element.append(this.#text, this.#problem, row);
        this.#text.addEventListener('input', () => {
            parts.changed?.(this.#text.value);
            this.#show();
        });
        this.#text.addEventListener('keydown', (event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) this.element.requestSubmit();
            if (event.key === 'Escape') parts.cancel?.();
        });
        this.element.addEventListener('submit', (event) => {
            event.preventDefault();
            this.#submit();
        });
        this.#show();
    }

    focus() {
        this.#text.focus();
    }

    async #submit() {
        const text = this.#text.value;
        if (this.#sending || !this.#fits(text)) return;
        this.#sending = true;
        this.#complain('');
        this.#show();
        const failure = await this.#parts.send(text).then(() => null, (error) => error);
        this.#sending = false;
        if (failure) this.#complain(failure.message);
        else this.#text.value = '';
        this.#show();
    }

    #fits(text) {
        return text.trim() !== '' && codePoints(text) <= this.#parts.most;
    }

    #show() {
        const over = codePoints(this.#text.value) - this.#parts.most;
        setText(this.#count, over > 0 ? words.tooMany(over) : '');
        this.#text.setAttribute('aria-invalid', String(over > 0));
        this.#text.readOnly = this.#sending;
        setText(this.#send, this.#sending ? words.posting : this.#parts.button);
        this.#send.setAttribute('aria-disabled', String(this.#sending || !this.#fits(this.#text.value)));
    }

    #complain(message) {
        setText(this.#problem, message);
        this.#problem.hidden = message === '';
    }
}
