// A text that somebody has written, as it is shown: links can be followed, and it cannot change the direction of what is around it.

import { make } from '../dom.js';
import { plain, webHost } from '../format.js';

const LINK = /(https?:\/\/[^\s<>"'`]+)/i;
const NO_PART = /[.,:;!?…。，！？)\]}]+$/; // of an address, at its end

/** Touches the document only when something changed. @param {HTMLElement} element @param {string} text */
export function showText(element, text) {
    const shown = plain(text);
    if (element.textContent === shown) return;
    element.replaceChildren(...shown.split(LINK).flatMap((part, index) => (index % 2 === 0 ? [part] : linked(part))));
}

function linked(text) {
    const end = NO_PART.exec(text)?.[0] ?? '';
    const href = text.slice(0, text.length - end.length);
    if (webHost(href) === null) return [text];
    const link = make('a');
    Object.assign(link, { href, target: '_blank', rel: 'noopener nofollow ugc', textContent: href });
    return [link, end];
}
