import assert from 'node:assert/strict';
import { test } from 'node:test';
import { displayName,
    codePoints,
    compass,
    describeChange,
    describeDetails,
    formatAgo,
    formatDistance,
    formatSpeed,
    initials,
    hueOf,
    parseHandle,
    parsePosition,
    sharingEnd,
    parseUser,
    plain,
    subjectOf,
    expiryOf,
    webHost,
} from '../public/format.js';
import { webSocketUrl } from '../public/config.js';
import { fakeToken } from './fake-server.js';

test('distances read well at every scale', () => {
    const cases = { 0: '0 m', 4.4: '4 m', 99.4: '99 m', 99.6: '100 m', 104: '100 m', 994: '990 m', 996: '1.0 km' };
    for (const [metres, text] of Object.entries(cases)) assert.equal(formatDistance(Number(metres)), text);
    assert.equal(formatDistance(8046.72), '8.0 km');
    assert.equal(formatDistance(123456), '123 km');
});

test('what phones say reads well', () => {
    const said = { accuracy: 12, battery: 0.574, charging: true, speed: 1.5, course: 90, activity: 'walking', verticalAccuracy: 3 };
    assert.equal(describeDetails(said), 'within 12 m · walking · 5 km/h · battery 57%, charging');
    assert.equal(describeDetails({ battery: 0, charging: false, activity: 'unknown' }), 'battery 0%');
    assert.equal(describeDetails({ charging: true, activity: 'of a later release' }), 'charging');
    assert.equal(describeDetails({ charging: false }), '');
    assert.equal(formatSpeed(27, 'mi'), '60 mph');
});

test('ages read well, a clock that is ahead included', () => {
    const cases = { '-5000': 'just now', 0: 'just now', 12999: '10 s ago', 59999: '55 s ago', 60000: '1 min ago', 7200000: '2 h ago' };
    for (const [ms, text] of Object.entries(cases)) assert.equal(formatAgo(Number(ms)), text);
});

test('compass: eight words, north on both ends', () => {
    assert.deepEqual([0, 22, 23, 180, 338, 359.9].map(compass), [
        'north', 'north', 'north-east', 'south', 'north', 'north',
    ]);
});

test('initials: of the first and the last word, whatever the script; the id where there is no name', () => {
    const of = (name) => initials({ name, user: '123456' });
    assert.deepEqual(['Ana', 'ana maria costa', '刘洋', '𝒳avier Ö', ' ', null].map(of), ['A', 'AC', '刘', '𝒳Ö', '56', '56']);
});

test('a text stays in its place: many empty lines are one, and a letter has no more marks than any script needs', () => {
    assert.equal(plain(`above${'\n \n'.repeat(900)}below`), 'above\n\nbelow');
    assert.equal(plain('one\n\ntwo\nthree'), 'one\n\ntwo\nthree');
    assert.equal(plain(`a${'\u0316'.repeat(300)}b`), `a${'\u0316'.repeat(8)}b`);
    assert.equal(plain('ậ̣ ก็่'), 'ậ̣ ก็่');
});

test('a name turns no direction but its own, and one of nothing is none', () => {
    const of = (name) => displayName({ name, user: '7' });
    assert.equal(of('Ana\u202e moc.live'), 'Ana moc.live');
    assert.equal(of('\u2066Bo\u2069'), 'Bo');
    assert.equal(of('نور'), '\u2068نور\u2069');
    for (const name of [' ', '\u200b\u2060', '\u202e', '\u3164', '\n', '']) assert.equal(of(name), 'User 7');
});

test('a colour is the same every time and on the wheel', () => {
    for (const user of ['0', '42', '9223372036854775807']) {
        assert.equal(hueOf(user), hueOf(user));
        assert.ok(hueOf(user) >= 0 && hueOf(user) < 360);
    }
});

test('places as people write them, and what is none', () => {
    assert.deepEqual(parsePosition('39.9847, 116.3184'), { lat: 39.9847, lng: 116.3184 });
    assert.deepEqual(parsePosition(' -39;-116.5 '), { lat: -39, lng: -116.5 });
    assert.deepEqual(parsePosition('1 2'), { lat: 1, lng: 2 });
    for (const bad of ['', '1', '91,0', '0,181', 'a,b', '1,2,3', '1e5,2']) assert.equal(parsePosition(bad), null);
});

test('comings and goings in one sentence', () => {
    assert.equal(describeChange([], 0), '');
    assert.equal(describeChange(['Ana'], 0), 'Ana is near');
    assert.equal(describeChange(['Ana', 'Bo'], 1), 'Ana and Bo are near; 1 friend is no longer near');
    assert.equal(describeChange(['Ana', 'Bo', 'Chen'], 2), 'Ana and 2 others are near; 2 friends are no longer near');
});

test('whose token it is', () => {
    assert.equal(subjectOf(fakeToken('9223372036854775807')), '9223372036854775807');
    assert.equal(subjectOf(fakeToken(42)), '42');
    for (const bad of ['', 'a.b', 'a.b.c', 'a.e30.c', '..']) assert.equal(subjectOf(bad), null);
});

test('when a token ends', () => {
    assert.equal(expiryOf(fakeToken(42, 1_790_000_000_000)), 1_790_000_000_000);
    for (const endless of [fakeToken(42), '', 'a.b.c', 'a.bnVsbA.c']) assert.equal(expiryOf(endless), Infinity);
});

test('the address of the edge: as set, else this host on port 8081', () => {
    const page = { protocol: 'http:', hostname: 'box', href: 'http://box:8080/' };
    assert.equal(webSocketUrl('', page), 'ws://box:8081/');
    assert.equal(webSocketUrl('', { ...page, protocol: 'https:' }), 'wss://box:8081/');
    assert.equal(webSocketUrl('wss://edge.example/ws', page), 'wss://edge.example/ws');
    assert.equal(webSocketUrl('/ws', page), 'ws://box:8080/ws');
});

test('code points, not UTF-16 units', () => {
    assert.deepEqual(['', 'abc', '😀😀', 'é'].map(codePoints), [0, 3, 2, 1]);
});

test('user ids as people type them, and what is none', () => {
    assert.deepEqual(['7', ' 0042 ', '9223372036854775807'].map(parseUser), ['7', '42', '9223372036854775807']);
    assert.deepEqual(['', 'x', '-1', '1.5', '9223372036854775808', '12345678901234567890'].map(parseUser), Array(6).fill(null));
});

test('handles as people type them; a number is one only with an @ in front', () => {
    assert.deepEqual(['ada', ' @Ada_7 ', '@1234'].map(parseHandle), ['ada', 'ada_7', '1234']);
    assert.deepEqual(['1234', 'ab', '@ab', 'a b c', 'ada!', '', 'x'.repeat(31)].map(parseHandle), Array(7).fill(null));
});

test('only web addresses become links', () => {
    assert.deepEqual(['https://a.example/x', 'http://b.example:8080'].map(webHost), ['a.example', 'b.example:8080']);
    assert.deepEqual(['javascript:alert(1)', 'http://[', 'data:text/html,x', ''].map(webHost), Array(4).fill(null));
});

test('sharing ends in an hour, at the next midnight here, or never', () => {
    const now = new Date(2026, 10, 23, 18, 30, 5).getTime();
    assert.equal(sharingEnd('', now), null);
    assert.equal(sharingEnd('hour', now), now + 3_600_000);
    assert.equal(sharingEnd('tonight', now), new Date(2026, 10, 24).getTime());
    assert.equal(sharingEnd('tonight', new Date(2026, 11, 31, 23, 59, 59, 999).getTime()), new Date(2027, 0, 1).getTime());
});
