// The page: one person, signed in by a token, somewhere on the map, the friends who are near, and the feed beside it.

import { StarlingClient } from './vendor/client/index.js';
import { Api } from './api.js';
import { loadConfig } from './config.js';
import { focusMain } from './dom.js';
import { FeedView } from './feed/view.js';
import {
    describeChange,
    displayName,
    formatDistance,
    formatPosition,
    parsePosition,
    sharingEnd,
    subjectOf,
} from './format.js';
import { FriendRows } from './list.js';
import { FriendMap } from './map.js';
import { Me } from './me.js';
import { Notices } from './notices.js';
import { Status } from './status.js';
import { Strangers } from './strangers.js';
import { Tabs } from './tabs.js';
import { strollOn } from './walk.js';

const TOKEN_KEY = 'starling.token';
const PLACE_KEY = 'starling.place';
const STROLL_EVERY_MS = 1500;
const DEFAULT_PLACE = { lat: 52.52, lng: 13.405 }; // the middle of the simulated city

const $ = (id) => document.getElementById(id);

const config = await loadConfig();
const status = new Status();
const tabs = new Tabs(); // before the map, which measures its place

let place = parsePosition(sessionStorage.getItem(PLACE_KEY) ?? '') ?? DEFAULT_PLACE;
/** @type {StarlingClient | null} */
let client = null;
/** @type {Api | null} */
let api = null;
/** @type {Me | null} */
let me = null;
let user = null;
let selected = null;

const map = new FriendMap($('map'), {
    place,
    radiusM: config.radiusM,
    tileUrl: config.tileUrl,
    onMove: (to) => {
        follow(false);
        moveTo(to);
    },
    onSelect: (friend) => select(friend, false),
});
const rows = new FriendRows($('list'), (friend) => select(friend, true));
const strangers = new Strangers(map);
const notices = new Notices(
    (who) => {
        tabs.choose('feed');
        feed.showPerson(who);
    },
    (post, comment) => {
        tabs.choose('feed');
        feed.showComment(post, comment);
    },
);
const feed = new FeedView({ askForToken: () => openGate(''), told: (news) => tabs.told(news) });

// ---- signing in -------------------------------------------------------------------------------------------------

function signIn(token) {
    const subject = subjectOf(token);
    if (subject === null) {
        openGate('This is no token: it should be three parts with dots between them.');
        return;
    }
    sessionStorage.setItem(TOKEN_KEY, token);
    closeGate();
    if (client && subject === user) {
        api.renew(token);
        client.renew(token);
        feed.renewed();
    } else {
        client?.close();
        user = subject;
        api = new Api({ token });
        client = makeClient(token);
        client.connect();
        feed.signIn(api, client, user);
        notices.signIn(api, user);
    }
    me?.forget();
    me = new Me(api, subject, problem, () => {
        strangers.setMode(me.mode);
        render();
    });
    const mine = me;
    mine.load().then(() => {
        if (me !== mine) return;
        strangers.signIn(api, mine.mode);
        render();
    });
}

function makeClient(token) {
    const made = new StarlingClient({
        url: config.wsUrl,
        token,
        position: place,
        clockOffsetMs: config.clockOffsetMs,
        prefetch: true, // everybody is on the map, not just the list's twenty
    });
    made.on('state', (change) => {
        status.show(change);
        if (change.reason === 'token') openGate('The server does not accept this token.');
        if (change.reason === 'expired') openGate('Your token has expired. Paste a new one to go on.');
        soon();
    });
    made.on('welcome', ({ radiusM }) => {
        if (Number.isFinite(radiusM)) map.setRadius(radiusM);
    });
    made.on('change', ({ cause, came, gone }) => {
        if (cause === 'update' || cause === 'expiry') heard(came, gone);
        soon();
    });
    made.on('error', ({ message }) => problem(message));
    return made;
}

function signOut() {
    sessionStorage.removeItem(TOKEN_KEY);
    follow(false);
    wander(false);
    client?.close();
    feed.forget();
    notices.signOut();
    strangers.signOut();
    client = null;
    api = null;
    me?.forget();
    me = null;
    user = null;
    $('token').value = '';
    $('me').open = false;
    problem('');
    render();
    openGate('');
}

function openGate(message) {
    $('gate-problem').textContent = message;
    $('gate-problem').hidden = message === '';
    $('start').value = formatPosition(place);
    $('cancel').hidden = !(client && client.state !== 'closed');
    $('gate').hidden = false;
    $('app').inert = true;
    $('token').focus();
}

function closeGate() {
    $('gate').hidden = true;
    $('app').inert = false;
    if ($('gate').contains(document.activeElement)) focusMain();
}

/** #token=JWT&at=LAT,LNG, of which nothing stays in the address bar. */
function signInFromAddress() {
    const given = new URLSearchParams(location.hash.slice(1));
    if (!given.has('token') && !given.has('at')) return false;
    history.replaceState(null, '', location.pathname + location.search);
    const at = parsePosition(given.get('at') ?? '');
    if (at) moveTo(at, true);
    const token = given.get('token') ?? sessionStorage.getItem(TOKEN_KEY);
    if (token) signIn(token.trim());
    return Boolean(token);
}

// ---- where I am -------------------------------------------------------------------------------------------------

function moveTo(to, centre = false) {
    client?.move(to);
    place = client?.position ?? { lat: to.lat, lng: to.lng };
    sessionStorage.setItem(PLACE_KEY, `${place.lat}, ${place.lng}`);
    map.setPlace(place);
    if (centre) map.centre();
    if (document.activeElement !== $('place')) $('place').value = formatPosition(place);
    soon();
}

let watch = null;
function follow(on) {
    if (on === (watch !== null)) return;
    $('locate').setAttribute('aria-pressed', String(on));
    if (!on) {
        navigator.geolocation.clearWatch(watch);
        watch = null;
        return;
    }
    if (!navigator.geolocation) {
        $('locate').setAttribute('aria-pressed', 'false');
        problem('This browser does not know where it is.');
        return;
    }
    wander(false);
    let first = true;
    watch = navigator.geolocation.watchPosition(
        ({ coords }) => {
            moveTo({ lat: coords.latitude, lng: coords.longitude, accuracy: coords.accuracy }, first);
            first = false;
        },
        (error) => {
            follow(false);
            problem(`This device does not say where it is: ${error.message}`);
        },
        { enableHighAccuracy: true },
    );
}

let strolling = 0;
function wander(on) {
    if (on === (strolling !== 0)) return;
    $('wander').setAttribute('aria-pressed', String(on));
    clearInterval(strolling);
    strolling = 0;
    if (!on) return;
    follow(false);
    const stroll = { home: place, heading: Math.random() * 360 };
    strolling = setInterval(() => {
        const next = strollOn(place, stroll, Math.random);
        stroll.heading = next.heading;
        moveTo(next.place);
    }, STROLL_EVERY_MS);
}

// ---- what is shown ----------------------------------------------------------------------------------------------

let shownBeforeMore = 0;
let due = 0;
/** However much happens in one frame, the page is drawn once. Hidden pages get no frames, so they are drawn at once. */
function soon() {
    if (document.hidden) render();
    else due ||= requestAnimationFrame(render);
}

function render() {
    cancelAnimationFrame(due);
    due = 0;
    const now = client?.serverNow() ?? Date.now();
    const known = client?.known ?? [];
    const list = client?.list ?? [];
    if (selected && !known.some((friend) => friend.user === selected)) select(null, false);
    rows.show(list, place, now);
    map.show(known);
    // What is on the screen is as it was when the connection was lost: without colour, until there is news.
    document.querySelector('main').classList.toggle('old', known.length > 0 && client?.state !== 'online');
    const total = client?.total ?? 0;
    $('total').textContent = String(total);
    $('radius').textContent = `within ${formatDistance(client?.welcome?.radiusM ?? config.radiusM)}`;
    const focusIsLost = document.activeElement === $('more') && !client?.hasMore;
    $('more').hidden = !client?.hasMore;
    if (focusIsLost) rows.focus(shownBeforeMore);
    $('more').disabled = client?.state !== 'online';
    $('more').textContent = total > list.length ? `Show more (${total - list.length} left)` : 'Show more';
    $('empty').hidden = list.length > 0 || !client || client.state === 'closed';
    $('empty').textContent = emptyText();
    rows.select(selected);
}

function emptyText() {
    if (client?.state !== 'online') return 'Looking for your friends…';
    if (me?.mode === 'off') return 'Nobody sees you, and so you see nobody. Choose under your name who may.';
    return 'No friend is near right now. Who comes near appears here.';
}

function select(friend, onMap) {
    selected = friend;
    map.select(friend, onMap);
    rows.select(friend, true);
}

const unheard = { came: new Map(), gone: new Set() };
/** Comings and goings gathered into one sentence. */
function heard(came, gone) {
    for (const friend of came) {
        unheard.came.set(friend.user, displayName(friend));
        unheard.gone.delete(friend.user);
    }
    for (const id of gone) {
        if (!unheard.came.delete(id)) unheard.gone.add(id);
    }
    status.announce(() => {
        const sentence = describeChange([...unheard.came.values()], unheard.gone.size);
        unheard.came.clear();
        unheard.gone.clear();
        return sentence;
    });
}

function problem(message) {
    $('problem').querySelector('.text').textContent = message;
    $('problem').hidden = message === '';
}

setInterval(() => {
    status.tick();
    if (!client || document.hidden) return;
    rows.tick(client.serverNow());
    feed.tick();
    notices.tick(client.serverNow());
    strangers.tick(client.serverNow());
}, 1000);

// ---- what people do ---------------------------------------------------------------------------------------------

$('sign-in-form').addEventListener('submit', (event) => {
    event.preventDefault();
    const start = parsePosition($('start').value);
    if (!start) {
        openGate('The place should be two numbers, as in 39.98470, 116.31840.');
        return;
    }
    if (formatPosition(start) !== formatPosition(place)) moveTo(start, true);
    signIn($('token').value.trim());
});
$('start-here').addEventListener('click', () => {
    const failed = (error) => openGate(`This device does not say where it is: ${error.message}`);
    if (!navigator.geolocation) failed({ message: 'it cannot' });
    else
        navigator.geolocation.getCurrentPosition(({ coords }) => {
            $('start').value = formatPosition({ lat: coords.latitude, lng: coords.longitude });
        }, failed);
});
$('cancel').addEventListener('click', closeGate);
$('sign-out').addEventListener('click', signOut);
$('new-token').addEventListener('click', () => {
    $('token').value = '';
    $('me').open = false;
    openGate('');
});
$('retry').addEventListener('click', () => (client?.state === 'closed' ? client.connect() : client?.reconnect()));
$('problem').querySelector('.close').addEventListener('click', () => problem(''));
$('more').addEventListener('click', () => {
    shownBeforeMore = client.list.length;
    client.more();
});
$('wander').addEventListener('click', () => wander(strolling === 0));
$('locate').addEventListener('click', () => follow(watch === null));
$('centre').addEventListener('click', () => map.centre());
$('profile').addEventListener('submit', (event) => {
    event.preventDefault();
    me?.saveName();
});
$('handle-form').addEventListener('submit', (event) => {
    event.preventDefault();
    me?.saveHandle();
});
$('sharing').addEventListener('change', async (event) => {
    const mine = me;
    if (!mine) return;
    const said = event.target.name === 'sharing'; // else for how long
    const mode = said ? event.target.value : mine.mode;
    const chosen = sharingEnd($('until').value, client?.serverNow() ?? Date.now());
    if (mode !== 'public') strangers.setMode(null); // at once, and again if the server refuses
    await mine.share(mode, mode === 'off' ? null : chosen ?? (said ? mine.until : null)); // seen by others, for as long as before
    if (me === mine) strangers.setMode(mine.mode);
    render();
});
$('place-form').addEventListener('submit', (event) => {
    event.preventDefault();
    const to = parsePosition($('place').value);
    if (!to) return problem('The place should be two numbers, as in 39.98470, 116.31840.');
    problem('');
    follow(false);
    moveTo(to, true);
});
const panels = [$('notices'), $('me')];
document.addEventListener('keydown', (event) => {
    const open = event.key === 'Escape' && panels.find((panel) => panel.open);
    if (!open) return;
    open.open = false;
    open.querySelector('summary').focus();
});
document.addEventListener('pointerdown', (event) => {
    for (const panel of panels) if (panel.open && !panel.contains(event.target)) panel.open = false;
});
for (const change of ['online', 'offline']) addEventListener(change, () => status.tick()); // the client sees to the rest
document.addEventListener('visibilitychange', () => {
    if (document.hidden) return;
    render();
    if (client?.state === 'waiting') client.reconnect();
    else client?.check();
});
addEventListener('hashchange', signInFromAddress);

moveTo(place);
if (!signInFromAddress()) {
    const token = sessionStorage.getItem(TOKEN_KEY);
    if (token) signIn(token);
    else openGate('');
}
