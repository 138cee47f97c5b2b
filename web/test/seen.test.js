import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { Seen } from '../public/seen.js';

let kept;
const storage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value) };
const notice = (time, kind = 1) => ({ id: `${time}.${kind}.7`, time });

beforeEach(() => (kept = new Map()));

test('everything is new until it is seen, and seen for the next page, too', () => {
    const seen = new Seen(storage, '42');
    const list = [notice(9), notice(8)];
    assert.deepEqual(seen.news(list), list);
    seen.add(list);
    assert.deepEqual(seen.news(list), []);
    assert.deepEqual(new Seen(storage, '42').news([notice(10), ...list]), [notice(10)]);
    assert.deepEqual(new Seen(storage, '43').news(list), list, 'another user');
});

test('a notice that comes late is new, one that comes back from before is not', () => {
    const seen = new Seen(storage, '42');
    seen.add([notice(9), notice(5)]);
    assert.deepEqual(seen.news([notice(9), notice(9, 2), notice(7), notice(5), notice(4)]), [notice(9, 2), notice(7)]);
});

test('as many are kept as the server has', () => {
    const seen = new Seen(storage, '42');
    for (let time = 1; time <= 500; time += 1) seen.add([notice(time)]);
    assert.deepEqual(seen.news([notice(301), notice(300)]), []);
    assert.ok([...kept.values()].join().length < 10_000);
});
