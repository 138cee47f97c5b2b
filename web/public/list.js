// The list of friends: one row each, kept in order without making rows anew.

import { bearingDegrees } from '../client/index.js';
import { setText } from './dom.js';
import { compass, displayName, formatAgo, formatDistance, hueOf, initials } from './format.js';

const SVG = 'http://www.w3.org/2000/svg';

export class FriendRows {
    #list;
    #onSelect;
    /** @type {Map<string, Row>} */
    #rows = new Map();

    /**
     * @param {HTMLOListElement} list
     * @param {(user: string) => void} onSelect
     */
    constructor(list, onSelect) {
        this.#list = list;
        this.#onSelect = onSelect;
    }

    /**
     * @param {readonly import('../client/index.js').Friend[]} friends in order
     * @param {{lat: number, lng: number}} place where I am
     * @param {number} now the server's time
     */
    show(friends, place, now) {
        const focused = document.activeElement;
        const shown = new Set(friends.map((friend) => friend.user));
        for (const [user, row] of this.#rows) {
            if (shown.has(user)) continue;
            row.element.remove();
            this.#rows.delete(user);
        }
        friends.forEach((friend, index) => {
            let row = this.#rows.get(friend.user);
            if (!row) {
                row = new Row(friend.user, () => this.#onSelect(friend.user));
                this.#rows.set(friend.user, row);
            }
            row.update(friend, place, now);
            const here = this.#list.children[index];
            if (here !== row.element) this.#list.insertBefore(row.element, here ?? null);
        });
        // A row that changes its place in the document loses the focus.
        if (focused instanceof HTMLElement && focused !== document.activeElement && this.#list.contains(focused)) {
            focused.focus({ preventScroll: true });
        }
    }

    /** Time goes by. @param {number} now the server's time */
    tick(now) {
        for (const row of this.#rows.values()) row.tick(now);
    }

    /** @param {string | null} user @param {boolean} [bringIntoView] */
    select(user, bringIntoView = false) {
        for (const [id, row] of this.#rows) row.select(id === user);
        if (bringIntoView && user !== null) this.#rows.get(user)?.element.scrollIntoView({ block: 'nearest' });
    }

    /** @param {number} index */
    focus(index) {
        this.#list.children[index]?.querySelector('button')?.focus();
    }
}

class Row {
    element = document.createElement('li');
    #button = document.createElement('button');
    #avatar = part('avatar');
    #name = part('name');
    #ago = part('ago');
    #distance = part('distance');
    #direction = part('sr');
    #arrow = document.createElementNS(SVG, 'svg');
    #time = 0;

    constructor(user, onClick) {
        this.element.dataset.user = user;
        this.#button.type = 'button';
        this.#button.className = 'friend';
        this.#button.addEventListener('click', onClick);
        this.#avatar.setAttribute('aria-hidden', 'true');
        this.#avatar.style.setProperty('--hue', String(hueOf(user)));
        this.#arrow.setAttribute('class', 'arrow');
        this.#arrow.setAttribute('aria-hidden', 'true');
        const use = document.createElementNS(SVG, 'use');
        use.setAttribute('href', '#arrow');
        this.#arrow.append(use);
        const who = part('who');
        who.append(this.#name, this.#ago);
        const where = part('where');
        where.append(this.#distance, this.#direction, this.#arrow);
        this.#button.append(this.#avatar, who, where);
        this.element.append(this.#button);
    }

    update(friend, place, now) {
        const bearing = bearingDegrees(place, friend);
        this.element.dataset.distance = friend.distance.toFixed(2);
        this.element.dataset.time = String(friend.time);
        setText(this.#avatar, initials(friend));
        setText(this.#name, displayName(friend));
        setText(this.#distance, formatDistance(friend.distance));
        setText(this.#direction, ` ${compass(bearing)}`);
        this.#arrow.style.transform = `rotate(${Math.round(bearing)}deg)`;
        this.element.classList.toggle('stale', friend.stale);
        this.#time = friend.time;
        this.tick(now);
    }

    tick(now) {
        setText(this.#ago, formatAgo(now - this.#time));
    }

    select(selected) {
        this.element.classList.toggle('selected', selected);
        if (selected) this.#button.setAttribute('aria-current', 'true');
        else this.#button.removeAttribute('aria-current');
    }
}

function part(name) {
    const span = document.createElement('span');
    span.className = name;
    return span;
}
