// Puts the texts into the document, and the choices of language and units where it has room for them.
//
// An element says which text it shows: data-t is its content, data-t-label its aria-label, data-t-title, data-t-placeholder.

import { make } from './dom.js';
import { chooseLanguage, chooseUnits, language, languages, locale, t, units } from './texts.js';

const ATTRIBUTES = { tLabel: 'aria-label', tTitle: 'title', tPlaceholder: 'placeholder' };

const CHOICES = {
    language: {
        now: language,
        options: languages.map(({ id, name, locale: lang }) => ({ id, name, lang })),
        choose: chooseLanguage,
    },
    units: {
        now: units,
        options: [{ id: 'km', name: t('kilometres') }, { id: 'mi', name: t('miles') }],
        choose: chooseUnits,
    },
};

/** Once, before anything is shown. */
export function translatePage() {
    document.documentElement.lang = locale;
    for (const element of document.querySelectorAll('[data-t]')) element.textContent = t(element.dataset.t);
    for (const [name, attribute] of Object.entries(ATTRIBUTES)) {
        const selector = `[data-t-${attribute.replace('aria-', '')}]`;
        for (const element of document.querySelectorAll(selector)) element.setAttribute(attribute, t(element.dataset[name]));
    }
    for (const group of document.querySelectorAll('[data-choice]')) offer(group, CHOICES[group.dataset.choice]);
}

/** The page is loaded again with what is chosen; so it is a button each, and nothing that arrow keys change. */
function offer(group, { now, options, choose }) {
    const buttons = options.map(({ id, name, lang }) => {
        const button = make('button');
        Object.assign(button, { type: 'button', name: group.dataset.choice, textContent: name, value: id });
        if (lang) button.lang = lang;
        button.setAttribute('aria-pressed', String(id === now));
        button.addEventListener('click', () => id !== now && choose(id));
        return button;
    });
    group.append(...buttons);
}
