import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clustersOf } from '../public/clusters.js';

const APART = 26;

test('those who lie on each other become one, whom the first stands for', () => {
    const points = [
        { user: 'a', x: 0, y: 0 },
        { user: 'b', x: 25, y: 0 },
        { user: 'c', x: 50, y: 0 }, // near to b, who does not stand
        { user: 'd', x: -10, y: -10 },
        { user: 'e', x: 60, y: 20 },
    ];
    assert.deepEqual([...clustersOf(points, APART)], [['a', ['a', 'b', 'd']], ['c', ['c', 'e']]]);
    assert.deepEqual([...clustersOf(points, APART, 'a')], [['a', ['a']], ['b', ['b', 'c']], ['d', ['d']], ['e', ['e']]]);
    assert.deepEqual([...clustersOf([], APART)], []);
});

test('everybody is in one cluster, and those who stand are apart: against brute force', () => {
    let seed = 5;
    const random = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
    for (let round = 0; round < 50; round += 1) {
        const points = Array.from({ length: 80 }, (_, i) => ({ user: String(i), x: random() * 400 - 200, y: random() * 400 - 200 }));
        const at = new Map(points.map((point) => [point.user, point]));
        const apart = (a, b) => Math.hypot(at.get(a).x - at.get(b).x, at.get(a).y - at.get(b).y);
        const clusters = clustersOf(points, APART);
        assert.deepEqual([...clusters.values()].flat().sort((a, b) => a - b), points.map(({ user }) => user));
        const standing = [...clusters.keys()];
        for (const [first, users] of clusters) {
            assert.equal(users[0], first);
            assert.ok(users.every((user) => user === first || apart(user, first) < APART));
            assert.ok(standing.every((other) => other === first || apart(other, first) >= APART));
        }
    }
});
