import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kindOf, project, shapesOf } from '../public/shapes.js';

test('OpenStreetMap tags say what a shape is; what is not drawn is left out', () => {
    for (const [tags, area, kind] of [
        [{ highway: 'motorway_link' }, false, 'main'],
        [{ highway: 'residential' }, false, 'street'],
        [{ highway: 'footway' }, false, 'path'],
        [{ waterway: 'river' }, false, 'stream'],
        [{ railway: 'tram' }, false, null],
        [{ natural: 'water' }, true, 'water'],
        [{ landuse: 'forest' }, true, 'wood'],
        [{ leisure: 'park' }, true, 'park'],
        [{ building: 'yes' }, true, null],
        [null, true, null],
    ]) {
        assert.equal(kindOf(tags, area), kind, JSON.stringify(tags));
    }
});

test('positions are where Web Mercator has them', () => {
    assert.deepEqual(project([0, 0]), [0.5, 0.5]);
    assert.deepEqual(project([180, 0]), [1, 0.5]);
    const [x, y] = project([13.405, 52.52]); // which servers of tiles have on 17/70416/42985
    assert.equal(Math.floor(x * 2 ** 17), 70416);
    assert.equal(Math.floor(y * 2 ** 17), 42985);
    assert.ok(Math.abs(project([0, 90])[1]) < 1e-9);
});

test('areas of several parts have holes and names inside, lines have none', () => {
    const ring = (from, to) => [[from, from], [to, from], [to, to], [from, to], [from, from]];
    const feature = (type, coordinates, properties) => ({ type: 'Feature', properties, geometry: { type, coordinates } });
    const { shapes, labels } = shapesOf({
        features: [
            feature('MultiPolygon', [[ring(0, 4), ring(1, 2)], [ring(6, 8)]], { natural: 'water', name: 'Mere' }),
            feature('MultiLineString', [[[0, 0], [1, 1]], [[2, 2], [3, 3]]], { highway: 'primary', name: 'High Street' }),
            feature('Polygon', [[[0, 0], [9, 0], [9, 9], [8, 9], [8, 1], [0, 1], [0, 0]]], { leisure: 'park', name: 'Crooked' }),
            feature('Point', [5, 5], { place: 'suburb', name: 'Old Town' }),
            feature('Point', [5, 5], { place: 'suburb' }),
            { type: 'Feature', geometry: null },
            null,
        ],
    });
    assert.deepEqual(shapes.map(({ kind, lines }) => [kind, lines.length]), [['water', 2], ['water', 1], ['main', 1], ['main', 1], ['park', 1]]);
    assert.deepEqual(labels.map(({ name }) => name), ['Mere', 'Mere', 'Old Town'], 'the middle of what is crooked lies outside');
    assert.throws(() => shapesOf('a text'), /no FeatureCollection/);
    assert.throws(() => shapesOf(null), /no FeatureCollection/);
});
