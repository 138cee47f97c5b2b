// The texts of the page: both languages have all of them, and nothing is written anywhere else.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import en from '../public/lang/en.js';
import zh from '../public/lang/zh.js';
import { formatDistance } from '../public/format.js';
import { languageFor, t, unitsFor } from '../public/texts.js';

const PUBLIC = fileURLToPath(new URL('../public/', import.meta.url));
const OTHERS = /^(lang|moderation)\//; // the texts themselves, a page of its own
const read = (file) => readFileSync(PUBLIC + file, 'utf8');
const modules = readdirSync(PUBLIC, { recursive: true }).filter((file) => file.endsWith('.js') && !OTHERS.test(file));
const html = ['index.html', 'signin.html', 'link.html', '404.html'].map(read).join('');

const formsOf = (text) => (typeof text === 'string' ? [text] : Object.values(text));
const valuesOf = (text) => [...new Set(formsOf(text).flatMap((form) => form.match(/\{\w+\}/g) ?? []))].sort();

test('both languages have the same texts, with the same values in them', () => {
    assert.deepEqual(Object.keys(zh), Object.keys(en));
    for (const [key, text] of Object.entries(en)) {
        assert.equal(typeof zh[key], typeof text, key);
        if (key !== 'serverSays') assert.deepEqual(valuesOf(zh[key]), valuesOf(text), key);
        assert.ok(formsOf(zh[key]).concat(formsOf(text)).every((form) => form.trim() !== ''), key);
    }
    for (const [texts, categories] of [[en, ['one', 'other']], [zh, ['other']]]) {
        for (const text of Object.values(texts).filter((one) => typeof one !== 'string')) assert.deepEqual(Object.keys(text), categories);
    }
});

test('every text is used, and every text that is used is there', () => {
    const sources = modules.map(read).join('\n') + html;
    const used = (key) => new RegExp(`['"]${key}['"]`).test(sources);
    assert.deepEqual(Object.keys(en).filter((key) => key !== 'language' && !used(key)), []);
    const asked = [...html.matchAll(/data-t(?:-\w+)?="(\w+)"/g), ...sources.matchAll(/\bt\('(\w+)'/g)].map(([, key]) => key);
    assert.deepEqual(asked.filter((key) => !(key in en)), []);
});

test('the document has no text of its own, but its name', () => {
    const body = html.replace(/<!--.*?-->/gs, '').replace(/<style.*?<\/style>/gs, '');
    const texts = [...body.matchAll(/>([^<]*)/g)].map(([, text]) => text.replace(/&#?\w+;/g, '').trim()).filter((text) => /\p{L}/u.test(text));
    assert.deepEqual([...new Set(texts)], ['starling']);
    const attributes = [...body.matchAll(/\s(?:aria-label|title|placeholder|alt)="([^"]*)"/g)].map(([, text]) => text);
    assert.deepEqual(attributes.filter((text) => text !== 'eyJ&#8230;'), []);
});

test('the modules have no text of their own', () => {
    const KEYS = /^(Arrow\w+|Page\w+|Home|End|Enter|Escape|Bearer ?|(Multi)?(Point|LineString|Polygon))$/; // of the keyboard, of HTTP, of GeoJSON
    for (const file of modules) {
        const code = read(file).replace(/\/\*.*?\*\//gs, '').replace(/(^|\s)\/\/.*$/gm, '').replace(/console\.\w+\([^\n]*|new Error\('[^\n]*/g, '');
        const literals = [...code.matchAll(/'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`/g)].map(([, plain, template]) => plain ?? template.replace(/\$\{[^}]*\}/g, ''));
        const sentences = literals.filter((text) => (/\p{Lu}\p{Ll}+/u.test(text) && !KEYS.test(text) && !/^[\w.-]+\.\w+$|^[a-z][\w-]*$/.test(text)) || /(\p{Ll}{2,} ){3}/u.test(text));
        assert.deepEqual(sentences, [], file);
    }
});

test('the language is the one that was chosen, else the first that the browser asks for, else English', () => {
    assert.equal(languageFor(['zh-Hant-TW', 'en']), 'zh');
    assert.equal(languageFor(['fr', 'en-GB', 'zh']), 'en');
    assert.equal(languageFor(['fr']), 'en');
    assert.equal(languageFor([]), 'en');
    assert.equal(languageFor(['zh-CN'], 'en'), 'en');
    assert.equal(languageFor(['zh-CN'], 'toString'), 'zh');
});

test('miles where people use miles, unless chosen otherwise', () => {
    assert.deepEqual(['en-US', 'en-GB', 'en-Latn-US', 'en', 'en-IE', 'zh-CN', 'x y'].map((locale) => unitsFor([locale])), ['mi', 'mi', 'mi', 'km', 'km', 'km', 'km']);
    assert.equal(unitsFor(['en-US'], 'km'), 'km');
    assert.equal(unitsFor([], 'mi'), 'mi');
    assert.equal(unitsFor(['en-US'], 'leagues'), 'mi');
});

test('distances in miles, and in feet where they are short', () => {
    const cases = { 0: '0 ft', 4.4: '14 ft', 30: '98 ft', 100: '330 ft', 303: '990 ft', 304: '0.2 mi', 8046.72: '5.0 mi', 160000: '99.4 mi', 200000: '124 mi' };
    for (const [metres, text] of Object.entries(cases)) assert.equal(formatDistance(Number(metres), 'mi'), text);
});

test('numbers are written as the language does, and decide the form', () => {
    assert.equal(t('newPosts', { count: 1 }), '1 new post');
    assert.equal(t('newPosts', { count: 1234 }), '1,234 new posts');
    assert.equal(t('oneIsNear', { name: '$& {count}' }), '$& {count} is near');
});
