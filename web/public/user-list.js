// A list of people that is read page by page, in which something may be done with each of them.

import { make, setText } from './dom.js';
import { displayName, hueOf, initials } from './format.js';
import { t } from './texts.js';
import { reason, words } from './words.js';

/**
 * @typedef {{label: string, name: string, act: string, primary?: boolean, careful?: boolean, run: (user: string) => Promise<any>}} UserAct
 *          label and name: keys of its text, and of the one that names the person; careful: it asks once more
 */

export class UserList {
    #list;
    #more;
    #problem;
    #choose;
    #changed;
    #leave;
    /** @type {UserAct[]} */
    #acts = [];
    #read = null;
    #people = [];
    #total = 0;
    #next = null;
    #asked = 0; // only the answer to the newest question counts
    #complete = false;

    /**
     * @param {{list: HTMLOListElement, more: HTMLElement, problem: HTMLElement, choose: (person: any) => void, changed: () => void,
     *          leave: () => void}} parts leave: moves the focus, as nobody is left
     */
    constructor({ list, more, problem, choose, changed, leave }) {
        this.#list = list;
        this.#more = more;
        this.#problem = problem;
        this.#choose = choose;
        this.#changed = changed;
        this.#leave = leave;
        more.addEventListener('click', () => this.#older());
    }

    /** How many there are, on all pages. */
    get total() {
        return this.#total;
    }

    /** Something was read. */
    get complete() {
        return this.#complete;
    }

    /**
     * @param {((query: {after: any}) => Promise<import('../client/index.js').People>) | null} read a page; null: there is no list
     * @param {UserAct[]} [acts]
     */
    open(read, acts = []) {
        this.#read = read;
        this.#acts = acts;
        this.#asked += 1;
        this.#complete = false;
        this.#complain('');
        this.#show([], null, 0);
        return this.again();
    }

    /** The first page once more. */
    again() {
        return this.#ask(null);
    }

    async #older() {
        const before = this.#people.length;
        await this.#ask(this.#next);
        if (this.#people.length > before) this.#list.children[before].querySelector('button').focus();
    }

    async #ask(after) {
        if (this.#read === null) return;
        const number = (this.#asked += 1);
        const { items, next, total, error } = await this.#read({ after }).catch((failure) => ({ error: failure }));
        if (number !== this.#asked) return;
        this.#complain(error ? words.noPeople(reason(error)) : '');
        if (error) return;
        this.#complete = true;
        this.#show(after === null ? items : [...this.#people, ...items], next, total);
    }

    #show(people, next, total) {
        const same = JSON.stringify(people) === JSON.stringify(this.#people); // then what has the focus stays
        this.#people = people;
        this.#next = next;
        this.#total = total ?? people.length;
        if (!same) this.#list.replaceChildren(...people.map((person) => this.#row(person)));
        this.#list.hidden = people.length === 0;
        this.#more.hidden = next === null;
        this.#changed();
    }

    #row(person) {
        const [row, open, avatar, who, name, handle] = [make('li'), make('button', 'friend'), make('span', 'avatar'), make('span', 'who'), make('span', 'name'), make('span', 'ago')];
        row.dataset.user = person.user;
        open.type = 'button';
        avatar.setAttribute('aria-hidden', 'true');
        avatar.style.setProperty('--hue', String(hueOf(person.user)));
        avatar.textContent = initials(person);
        name.textContent = displayName(person);
        handle.textContent = person.handle ? `@${person.handle}` : '';
        who.append(name, handle);
        open.append(avatar, who);
        open.addEventListener('click', () => this.#choose(person));
        const acts = make('span', 'acts');
        acts.append(...this.#acts.map((act) => this.#button(person, act)));
        row.append(open, acts);
        return row;
    }

    #button(person, { label, name, act, primary, careful, run }) {
        const button = make('button', primary ? 'primary' : '');
        let asking = false;
        const ask = (really) => {
            asking = really;
            setText(button, t(really ? 'reallyDo' : label));
            button.setAttribute('aria-label', `${really ? t('reallyDo') : ''} ${t(name, { name: displayName(person) })}`.trim());
        };
        button.type = 'button';
        button.dataset.act = act;
        ask(false);
        button.addEventListener('blur', () => ask(false));
        button.addEventListener('click', () => (careful && !asking ? ask(true) : this.#run(button, person.user, act, run)));
        return button;
    }

    async #run(button, user, act, run) {
        button.disabled = true;
        this.#complain('');
        const error = await run(user).then(() => null, (failure) => failure);
        button.disabled = false;
        if (error) {
            button.focus();
            return this.#complain(t('friendNotChanged', { why: reason(error) }));
        }
        this.#drop(user, act);
    }

    #drop(user, act) {
        const at = this.#people.findIndex((one) => one.user === user);
        if (at < 0) return; // the list is another one by now
        const held = this.#list.children[at].contains(document.activeElement) || document.activeElement === document.body;
        this.#show(this.#people.filter((one) => one.user !== user), this.#next, this.#total - 1);
        if (held) this.#refocus(at, act);
        if (this.#people.length === 0) this.again();
    }

    #refocus(at, act) {
        const row = this.#list.children[Math.min(at, this.#people.length - 1)];
        if (row) row.querySelector(`[data-act="${act}"]`).focus();
        else this.#leave();
    }

    #complain(message) {
        setText(this.#problem, message);
        this.#problem.hidden = message === '';
    }
}
