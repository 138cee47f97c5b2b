/** Moves the focus from a button that goes away to the map, or to the feed's tab where the map is not shown. */
export function focusMain() {
    const map = document.getElementById('map');
    (map.checkVisibility() ? map : document.getElementById('tab-feed')).focus({ preventScroll: true });
}

/** Touches the document only when something changed. @param {Element} element @param {string} text */
export function setText(element, text) {
    if (element.textContent !== text) element.textContent = text;
}
