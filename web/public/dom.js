/** Where somebody goes on whose button has gone: the map, or the tab of what is shown instead. */
export function focusMain() {
    const map = document.getElementById('map');
    (map.checkVisibility() ? map : document.getElementById('tab-feed')).focus({ preventScroll: true });
}

/** Touches the document only when something changed. @param {Element} element @param {string} text */
export function setText(element, text) {
    if (element.textContent !== text) element.textContent = text;
}
