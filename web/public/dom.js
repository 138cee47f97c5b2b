/** Moves the focus from a button that goes away to the map, or to the feed's tab where the map is not shown. */
export function focusMain() {
    const map = document.getElementById('map');
    (map.checkVisibility() ? map : document.getElementById('tab-feed')).focus({ preventScroll: true });
}

/** Touches the document only when something changed. @param {Element} element @param {string} text */
export function setText(element, text) {
    if (element.textContent !== text) element.textContent = text;
}

const ABOVE_PX = 60; // stays free above what is revealed

/** Scrolls the list around the element, and nothing else, until its beginning is in sight. @param {HTMLElement} element */
export function reveal(element) {
    const list = element.closest('.scroll');
    const [it, room] = [element.getBoundingClientRect(), list.getBoundingClientRect()];
    const above = it.top - room.top - ABOVE_PX;
    if (above < 0) list.scrollTop += above;
    else if (it.bottom > room.bottom) list.scrollTop += Math.min(above, it.bottom - room.bottom);
}

/**
 * A button behind which rarer ones are. @param {string} label what it is about @param {HTMLElement[]} buttons
 */
export function menu(label, buttons) {
    const [details, summary, box] = [make('details', 'menu'), make('summary'), make('div')];
    summary.textContent = '⋯';
    summary.setAttribute('aria-label', label);
    box.append(...buttons);
    box.addEventListener('click', () => (details.open = false));
    details.append(summary, box);
    details.addEventListener('focusout', ({ relatedTarget }) => (details.open &&= relatedTarget === null || details.contains(relatedTarget)));
    details.addEventListener('keydown', (event) => {
        if (event.key !== 'Escape' || !details.open) return;
        event.stopPropagation();
        details.open = false;
        summary.focus();
    });
    return details;
}

document.addEventListener('pointerdown', ({ target }) => {
    for (const open of document.querySelectorAll('details.menu[open]')) if (!open.contains(target)) open.open = false;
});

/** Somebody's name, which opens their card. */
export function nameButton() {
    const button = make('button', 'name');
    button.type = 'button';
    return button;
}

/** Asks for the card of somebody. @param {HTMLElement} from @param {{user: string, name: string | null}} person */
export function askForCard(from, { user, name }) {
    from.dispatchEvent(new CustomEvent('card', { bubbles: true, detail: { user, name } }));
}

/** @param {string} tag @param {string} [className] @returns {HTMLElement} */
export function make(tag, className) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    return element;
}
