import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bearingDegrees, destination, distanceMetres, EARTH_RADIUS_M, roundPosition } from '../src/geo.js';
import { parseFrame, writeFrame } from '../src/frames.js';
import { backoffMs, directedMs } from '../src/backoff.js';

test('distance: known arcs of the sphere', () => {
    const degree = (Math.PI / 180) * EARTH_RADIUS_M;
    const close = (actual, expected) => assert.ok(Math.abs(actual - expected) < 1e-4, `${actual} is not ${expected}`);
    close(distanceMetres({ lat: 0, lng: 0 }, { lat: 1, lng: 0 }), degree);
    close(distanceMetres({ lat: 0, lng: 179.5 }, { lat: 0, lng: -179.5 }), degree);
    close(distanceMetres({ lat: 90, lng: 0 }, { lat: -90, lng: 0 }), 180 * degree);
    close(distanceMetres({ lat: 60, lng: 10 }, { lat: 60, lng: 10 }), 0);
});

test('destination, bearing and distance agree with each other', () => {
    const here = { lat: 39.9847, lng: 116.3184 };
    for (const bearing of [0, 45, 90, 200, 315]) {
        const there = destination(here, bearing, 5000);
        assert.ok(Math.abs(distanceMetres(here, there) - 5000) < 0.05);
        assert.ok(Math.abs(bearingDegrees(here, there) - bearing) < 0.01);
    }
    const across = destination({ lat: 0, lng: 179.99 }, 90, 5000);
    assert.ok(across.lng < -179.9);
});

test('positions are rounded to what the wire carries', () => {
    assert.deepEqual(roundPosition({ lat: 1.123456789, lng: -2.00000001 }), { lat: 1.1234568, lng: -2 });
});

test('frames: integers beyond 2^53 survive in both directions, and nothing else is touched', () => {
    const text =
        '{"type":"update","near":[{"user":9223372036854775807,"name":"12345678901234567890 \\"9007199254740993\\"",' +
        '"lat":39.98471234567890123,"time":1700000000000}],"gone":[9007199254740993,5]}';
    const frame = parseFrame(text);
    assert.equal(String(frame.near[0].user), '9223372036854775807');
    assert.equal(frame.near[0].name, '12345678901234567890 "9007199254740993"');
    assert.equal(frame.near[0].lat, 39.9847123456789);
    assert.deepEqual(frame.gone.map(String), ['9007199254740993', '5']);
    assert.equal(
        writeFrame({ type: 'more', after: frame.gone[0], left: undefined }),
        '{"type":"more","after":9007199254740993}',
    );
});

test('frames: what is no object is refused', () => {
    for (const text of ['', '[]', 'null', '3', '{"type":']) assert.throws(() => parseFrame(text), SyntaxError);
});

test('back-off: any time within a window that doubles to a limit', () => {
    assert.equal(backoffMs(0, () => 0), 100);
    assert.equal(backoffMs(0, () => 0.999999), 1000);
    assert.equal(backoffMs(3, () => 0), 100);
    assert.equal(backoffMs(3, () => 0.5), 4000);
    assert.equal(backoffMs(1000, () => 0.999999), 60000);
    assert.equal(backoffMs(0, () => 0, 5000), 5000);
    assert.equal(backoffMs(0, () => 0.999999, 5000), 10000);
    assert.equal(directedMs(1000, () => 0), 1000);
    assert.equal(directedMs(1000, () => 0.5), 1050);
});
