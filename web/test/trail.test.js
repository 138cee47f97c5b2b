import assert from 'node:assert/strict';
import { test } from 'node:test';
import { trailOf } from '../public/trail-line.js';

const at = (minutes, lat = 52) => ({ lat, lng: 13, time: minutes * 60_000 });

test('a trail is broken where nothing was reported for a quarter of an hour, and has a dot an hour', () => {
    const { lines, hours, metres } = trailOf([at(50), at(60, 52.01), at(75, 52.02), at(91, 52.5), at(130, 52.6), at(131, 52.6)]);
    assert.deepEqual(lines.map((line) => line.map(({ time }) => time / 60_000)), [[50, 60, 75], [91], [130, 131]]);
    assert.deepEqual(hours.map(({ time }) => time / 60_000), [50, 60, 130]);
    assert.ok(Math.abs(metres - 2224) < 2, String(metres));
    assert.deepEqual(trailOf([]), { lines: [], hours: [], metres: 0 });
});
