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

/** @param {string} tag @param {string} [className] @returns {HTMLElement} */
export function make(tag, className) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    return element;
}
