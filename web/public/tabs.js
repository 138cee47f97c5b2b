// Map or feed where there is no room for both: two tabs below the header. Where there is room, both stand beside each other.

import { setText } from './dom.js';
import { words } from './words.js';

const ROOM = '(min-width: 1100px)';
const NAMES = ['map', 'feed'];

export class Tabs {
    #wide = matchMedia(ROOM);
    #chosen = 'map';
    #tabs = document.getElementById('tabs');

    constructor() {
        for (const name of NAMES) this.#tab(name).addEventListener('click', () => this.choose(name));
        this.#tabs.addEventListener('keydown', (event) => {
            const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
            if (!step) return;
            event.preventDefault();
            const to = NAMES[(NAMES.indexOf(this.#chosen) + step + NAMES.length) % NAMES.length];
            this.choose(to);
            this.#tab(to).focus();
        });
        this.#wide.addEventListener('change', () => this.#show());
        this.#show();
    }

    /** @param {'map' | 'feed'} name */
    choose(name) {
        this.#chosen = name;
        this.#show();
    }

    /** @param {number} news how many new posts wait */
    told(news) {
        setText(document.getElementById('tab-news'), news > 0 ? String(news) : '');
        setText(document.getElementById('tab-news-words'), news > 0 ? words.afterNewPosts(news) : '');
    }

    #show() {
        const wide = this.#wide.matches;
        this.#tabs.hidden = wide;
        for (const name of NAMES) {
            const chosen = name === this.#chosen;
            const side = document.getElementById(`${name}-side`);
            side.hidden = !wide && !chosen;
            for (const [attribute, value] of [['role', 'tabpanel'], ['aria-labelledby', `tab-${name}`]]) {
                if (wide) side.removeAttribute(attribute);
                else side.setAttribute(attribute, value);
            }
            this.#tab(name).setAttribute('aria-selected', String(chosen));
            this.#tab(name).tabIndex = chosen ? 0 : -1;
        }
    }

    #tab(name) {
        return document.getElementById(`tab-${name}`);
    }
}
