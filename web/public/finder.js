// Finds people by name as one types, among those whom I know: friends, those near, and whom I follow.

import { make } from './dom.js';
import { displayName, hueOf, initials, matching } from './format.js';

export class Finder {
    #input;
    #list;
    #known;
    #choose;

    /**
     * @param {HTMLInputElement} input @param {HTMLOListElement} list of who is found
     * @param {() => Iterable<any>} known the people, the most likely first @param {(person: any) => void} choose
     */
    constructor(input, list, known, choose) {
        this.#input = input;
        this.#list = list;
        this.#known = known;
        this.#choose = choose;
        input.addEventListener('input', () => this.show());
    }

    /** @returns {any} who is the first in the list; undefined: nobody */
    get first() {
        return matching(this.#known(), this.#input.value)[0];
    }

    show() {
        const rows = matching(this.#known(), this.#input.value).map((person) => {
            const [row, button, avatar, name] = [make('li'), make('button', 'friend'), make('span', 'avatar'), make('span', 'name')];
            button.type = 'button';
            row.dataset.user = person.user;
            avatar.setAttribute('aria-hidden', 'true');
            avatar.style.setProperty('--hue', String(hueOf(person.user)));
            avatar.textContent = initials(person);
            name.textContent = displayName(person);
            button.append(avatar, name);
            button.addEventListener('click', () => {
                this.clear();
                this.#choose(person);
            });
            row.append(button);
            return row;
        });
        this.#list.replaceChildren(...rows);
        this.#list.hidden = rows.length === 0;
    }

    /** Nothing is looked for any more. */
    clear() {
        this.#input.value = '';
        this.show();
    }
}
