// The language of the page and its texts, and miles or kilometres: what was chosen here, else what the browser asks for. They stay
// the same until the page is loaded again. No DOM in here.

import en from './lang/en.js';
import zh from './lang/zh.js';

const LANGUAGES = { en, zh };
const LOCALES = { en: 'en', zh: 'zh-CN' };
const LANGUAGE_KEY = 'starling.language';
const UNITS_KEY = 'starling.units';
const REGIONS_OF_MILES = ['US', 'GB', 'LR', 'MM'];

/** The languages by their own names. */
export const languages = Object.entries(LANGUAGES).map(([id, texts]) => ({ id, locale: LOCALES[id], name: texts.language }));

/** @param {readonly string[]} asked locales, the best first @param {string | null} [chosen] @returns {'en' | 'zh'} */
export function languageFor(asked, chosen = null) {
    if (chosen !== null && Object.hasOwn(LANGUAGES, chosen)) return chosen;
    return asked.map((locale) => locale.split('-')[0].toLowerCase()).find((one) => Object.hasOwn(LANGUAGES, one)) ?? 'en';
}

/** @param {readonly string[]} asked locales, the best first @param {string | null} [chosen] @returns {'km' | 'mi'} */
export function unitsFor(asked, chosen = null) {
    if (chosen === 'km' || chosen === 'mi') return chosen;
    return REGIONS_OF_MILES.includes(regionOf(asked[0] ?? '')) ? 'mi' : 'km';
}

function regionOf(locale) {
    try {
        return new Intl.Locale(locale).region;
    } catch {
        return undefined;
    }
}

const inBrowser = 'document' in globalThis;
const asked = inBrowser ? navigator.languages : [];
const kept = (key) => (inBrowser ? localStorage.getItem(key) : null);

export const language = languageFor(asked, kept(LANGUAGE_KEY));
export const units = unitsFor(asked, kept(UNITS_KEY));
/** For Intl. */
export const locale = LOCALES[language];

const texts = LANGUAGES[language];
const plurals = new Intl.PluralRules(locale);
const numbers = new Intl.NumberFormat(locale);

/**
 * The text of that key. Numbers are written as the language writes them; `count` decides the form of a text that has several.
 * @param {string} key @param {Record<string, string | number>} [values]
 */
export function t(key, values = {}) {
    const text = texts[key];
    const form = typeof text === 'string' ? text : (text[plurals.select(values.count)] ?? text.other);
    return form.replace(/\{(\w+)\}/g, (_, name) => (typeof values[name] === 'number' ? numbers.format(values[name]) : values[name]));
}

/** Another language from now on. @param {string} id */
export function chooseLanguage(id) {
    localStorage.setItem(LANGUAGE_KEY, id);
    location.reload();
}

/** @param {string} id km or mi */
export function chooseUnits(id) {
    localStorage.setItem(UNITS_KEY, id);
    location.reload();
}
