import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { NearbyList } from '../src/nearby.js';
import { HERE, item } from './fakes.js';

const NOW = 1_700_000_000_000;
let list;

beforeEach(() => {
    list = new NearbyList();
    list.configure({ radiusM: 8046.72, inactiveMs: 600_000 });
    list.place(HERE);
});

const items = (from, to) => Array.from({ length: to - from }, (_, i) => item(from + i, (from + i) * 10, NOW));
const users = (friends) => friends.map((friend) => friend.user).join(' ');

test('the first page is the list, nearest first, whatever the order on the wire', () => {
    list.restart({ total: 3, items: [item(7, 300, NOW), item(8, 100, NOW), item(9, 200, NOW)], next: null });
    assert.equal(users(list.list()), '8 9 7');
    assert.equal(list.total, 3);
    assert.equal(list.hasMore, false);
    assert.ok(Math.abs(list.list()[0].distance - 100) < 0.02);
});

test('twenty are listed; more asks with the cursor and lists twenty more', () => {
    list.restart({ total: 45, items: items(0, 20), next: 'a' });
    assert.equal(list.nextRequest(), undefined, 'twenty are wanted and there');
    assert.equal(list.total, 45);
    assert.equal(list.hasMore, true);

    list.more();
    assert.equal(list.nextRequest(), 'a');
    assert.equal(list.nextRequest(), undefined, 'asked already');
    list.page({ total: 45, items: items(20, 40), next: 'b' });
    assert.equal(list.list().length, 40);

    list.more();
    assert.equal(list.nextRequest(), 'b');
    list.page({ total: 45, items: items(40, 45), next: null });
    assert.equal(list.list().length, 45);
    assert.equal(list.hasMore, false);
    assert.equal(list.complete, true);
});

test('an update moves, adds and removes, also friends of pages not asked for', () => {
    list.restart({ total: 45, items: items(0, 20), next: 'a' });
    const { came, gone } = list.update({ near: [item(5, 5000, NOW + 1), item(30, 1, NOW + 1)], gone: [0, 31] });
    assert.equal(users(came), '30');
    assert.deepEqual(gone, ['0'], '31 was near, but never on this screen');
    assert.equal(list.known().at(-1).user, '5');
    assert.equal(list.known()[0].user, '30');
    assert.equal(list.total, 43);
});

test('who goes from the pages is made up for by the next page', () => {
    list.restart({ total: 45, items: items(0, 20), next: 'a' });
    list.update({ near: [item(40, 400, NOW)], gone: [0] });
    assert.equal(list.list().length, 20, 'twenty are there, but 20 to 39 would come before 40');
    assert.equal(list.nextRequest(), 'a');
});

test('the total is at least what is known, and exact once every page has come', () => {
    list.restart({ total: 21, items: items(0, 20), next: 'a' });
    list.update({ near: items(20, 30) });
    assert.equal(list.total, 30);
    list.more();
    list.nextRequest();
    list.page({ total: 99, items: items(20, 21), next: null });
    assert.equal(list.total, 30);
    list.update({ near: [item(77, 3, NOW)] });
    assert.equal(list.total, 31);
    list.update({ gone: [77] });
    assert.equal(list.total, 30);
});

test('a new connection: its first page is the truth, and as much as was known is asked for again', () => {
    list.restart({ total: 60, items: items(0, 20), next: 'a' });
    list.more();
    list.nextRequest();
    list.page({ total: 60, items: items(20, 40), next: 'b' });
    list.disconnected();
    assert.equal(list.list().length, 40, 'still there while the connection is away');

    list.restart({ total: 59, items: items(1, 21), next: 'c' });
    assert.ok(!users(list.known()).split(' ').includes('0'));
    assert.equal(list.nextRequest(), 'c');
    list.page({ total: 59, items: items(21, 41), next: 'd' });
    assert.equal(list.nextRequest(), undefined);
    assert.equal(list.list().length, 40);
});

test('a first page that nobody asked for is merged, and does not set the paging back', () => {
    list.restart({ total: 60, items: items(0, 20), next: 'a' });
    list.more();
    list.nextRequest();
    list.page({ total: 60, items: items(20, 40), next: 'b' });
    list.page({ total: 60, items: items(0, 20), next: 'a' });
    assert.equal(list.known().length, 40);
    list.more();
    assert.equal(list.nextRequest(), 'b');
});

test('a first page after an empty list (sharing again) can be paged', () => {
    list.restart({ total: 0, items: [], next: null });
    list.page({ total: 45, items: items(0, 20), next: 'a' });
    assert.equal(list.total, 45);
    list.more();
    assert.equal(list.nextRequest(), 'a');
});

test('a server that repeats a cursor, or sends empty pages, is not asked for ever', () => {
    for (const answer of [
        { total: 60, items: items(0, 20), next: 'a' },
        { total: 60, items: [], next: 'b' },
    ]) {
        list.restart({ total: 60, items: items(0, 20), next: 'a' });
        list.more();
        assert.equal(list.nextRequest(), 'a');
        list.page(answer);
        assert.equal(list.nextRequest(), undefined);
        assert.equal(list.hasMore, false);
        list.clear();
    }
});

test('a page that does not come is asked for again when somebody wants more, not by itself', () => {
    list.restart({ total: 60, items: items(0, 20), next: 'a' });
    list.more();
    assert.equal(list.nextRequest(), 'a');
    list.giveUpRequest();
    list.update({ near: [item(3, 33, NOW)] });
    assert.equal(list.nextRequest(), undefined);
    assert.equal(list.hasMore, true);
    list.more();
    assert.equal(list.nextRequest(), 'a');
});

test('moving changes every distance and the order; whoever is outside is hidden until I turn back', () => {
    list.restart({ total: 2, items: [item(1, 100, NOW), item(2, 8000, NOW)], next: null });
    list.place({ lat: HERE.lat - 0.001, lng: HERE.lng });
    assert.equal(users(list.known()), '1');
    assert.equal(list.total, 1);
    assert.ok(Math.abs(list.known()[0].distance - 211.195) < 0.02);
    list.place({ lat: HERE.lat + 0.06, lng: HERE.lng });
    assert.equal(users(list.known()), '2 1');
});

test('silent for the inactive time: gone at that very millisecond', () => {
    list.restart({ total: 2, items: [item(1, 100, NOW), item(2, 200, NOW + 5000)], next: null });
    assert.equal(list.nextExpiry(), NOW + 600_000);
    assert.deepEqual(list.expire(NOW + 599_999), { gone: [], stale: false });
    assert.deepEqual(list.expire(NOW + 600_000), { gone: ['1'], stale: false });
    assert.equal(list.total, 1);
    assert.equal(list.nextExpiry(), NOW + 605_000);
});

test('stale at that very millisecond, until the next report; then gone', () => {
    const stale = () => users(list.known().filter((friend) => friend.stale));
    list.configure({ staleMs: 120_000 });
    list.restart({ total: 2, items: [item(1, 100, NOW), item(2, 200, NOW - 130_000)], next: null }, NOW);
    assert.equal(stale(), '2');
    assert.equal(list.nextExpiry(), NOW + 120_000);
    assert.deepEqual(list.expire(NOW + 120_000), { gone: [], stale: true });
    assert.equal(stale(), '1 2');
    assert.equal(list.nextExpiry(), NOW + 470_000);
    list.update({ near: [item(2, 200, NOW + 121_000)] }, NOW + 121_000);
    assert.equal(stale(), '1');
    assert.equal(list.nextExpiry(), NOW + 241_000);
});

test('equal distances are in the order of the ids as numbers', () => {
    const same = ['10', '9', '9223372036854775807', '100'].map((user) => item(user, 50, NOW));
    list.restart({ total: 4, items: same, next: null });
    assert.equal(users(list.known()), '9 10 100 9223372036854775807');
});

test('an item without user, place or time is left out; a missing name is null', () => {
    const broken = [null, {}, item(1, 1, undefined), { ...item(2, 1, NOW), lat: 'x' }];
    list.restart({ total: 5, items: [...broken, item(3, 1, NOW, { name: '' })], next: null });
    assert.deepEqual(
        list.known().map(({ user, name }) => [user, name]),
        [['3', null]],
    );
});

test('a friend has what the phone said of the last report, and nothing of those before', () => {
    const said = { accuracy: 12, battery: 0.5, charging: true, speed_mps: 1.5, course: 90, activity: 'walking', vertical_accuracy_m: 3 };
    const ours = { accuracy: 12, battery: 0.5, charging: true, speed: 1.5, course: 90, activity: 'walking', verticalAccuracy: 3 };
    const details = ({ accuracy, battery, charging, speed, course, activity, verticalAccuracy }) => ({ accuracy, battery, charging, speed, course,
        activity, verticalAccuracy });
    list.restart({ total: 1, items: [item(7, 1, NOW, said)], next: null });
    assert.deepEqual(details(list.known()[0]), ours);
    list.restart({ total: 1, items: [item(7, 1, NOW + 1)], next: null });
    assert.equal('battery' in list.known()[0] || 'accuracy' in list.known()[0], false);
});
