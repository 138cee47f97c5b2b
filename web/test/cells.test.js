// The cells of strangers, without a browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cellsOf } from '../public/cells.js';

test('a cell is drawn once, around its centre, with how many are in it', () => {
    const size = { height: 0.5, width: 1 };
    assert.deepEqual(cellsOf([{ lat: 10, lng: 20 }, { lat: 10.5, lng: 20 }, { lat: 10, lng: 20 }], size), [
        { key: '10,20', south: 9.75, north: 10.25, west: 19.5, east: 20.5, count: 2 },
        { key: '10.5,20', south: 10.25, north: 10.75, west: 19.5, east: 20.5, count: 1 },
    ]);
    assert.deepEqual(cellsOf([], size), []);
});
