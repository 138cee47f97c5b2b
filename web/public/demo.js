// The people of a demonstration: where the server offers them, one click on the sign-in sheet makes somebody one of them.

import { make } from './dom.js';
import { hueOf, initials } from './format.js';
import { t } from './texts.js';

/** @typedef {{user: string, name: string, friends: number, token: string}} Person */

/** @returns {Promise<Person[]>} nobody, where there is no demonstration */
export async function readPeople() {
    try {
        const response = await fetch('/demo/people.json', { cache: 'no-store' });
        if (!response.ok) return []; // they are not there yet
        const { people } = await response.json();
        return people.map((person) => ({ ...person, user: String(person.user) }));
    } catch (error) {
        console.warn('the people of the demonstration cannot be read:', error);
        return [];
    }
}

/**
 * Lists them in the element, as buttons, and shows it if there are any. They are read each time, as their tokens end.
 * @param {HTMLElement} element @param {(person: Person) => void} onChoose
 */
export async function offerPeople(element, onChoose) {
    const people = await readPeople();
    const rows = people.map((person) => {
        const [row, button] = [make('li'), make('button', 'friend')];
        const [avatar, who, name, friends] = [make('span', 'avatar'), make('span', 'who'), make('span', 'name'), make('span', 'ago')];
        button.type = 'button';
        button.dataset.user = person.user;
        avatar.setAttribute('aria-hidden', 'true');
        avatar.style.setProperty('--hue', String(hueOf(person.user)));
        avatar.textContent = initials(person);
        name.textContent = person.name;
        friends.textContent = t('friendsCount', { count: person.friends });
        who.append(name, friends);
        button.append(avatar, who);
        button.addEventListener('click', () => onChoose(person));
        row.append(button);
        return row;
    });
    element.querySelector('ol').replaceChildren(...rows);
    element.hidden = rows.length === 0;
}
