import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matching } from '../public/format.js';

const PEOPLE = [
    { user: '1', name: 'Milo Park', handle: 'mp' },
    { user: '2', name: 'Ana Milović' },
    { user: '3', name: null, handle: 'emil' },
    { user: '4', name: 'Zoë Ámos' },
    { user: '1', name: 'Milo Park' },
];
const found = (typed) => matching(PEOPLE, typed).map(({ user }) => user).join();

test('people are found by how a word of their name begins, or their handle, without case and accents', () => {
    assert.equal(found('mil'), '1,2');
    assert.equal(found(' @MILO p'), '1');
    assert.equal(found('emil'), '3');
    assert.equal(found('mp'), '1');
    assert.equal(found('zoe'), '4');
    assert.equal(found('amos'), '4');
    for (const typed of ['', ' ', 'ilo', 'nobody']) assert.equal(found(typed), '');
});
