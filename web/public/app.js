// The page: one person, signed in by a token, somewhere on the map, the friends who are near, and the feed beside it.

import { StarlingClient } from '../client/index.js';
import { Api } from './api.js';
import { Belongings } from './belongings.js';
import { Card } from './card.js';
import { loadConfig } from './config.js';
import { deviceName } from './device-name.js';
import { Devices } from './devices.js';
import { focusMain } from './dom.js';
import { FeedView } from './feed/view.js';
import {
    describeChange,
    displayName,
    expiryOf,
    formatDistance,
    formatPosition,
    parsePosition,
    sharingEnd,
    subjectOf,
} from './format.js';
import { Friends } from './friends.js';
import { Gate } from './gate.js';
import { Links } from './links.js';
import { FriendRows } from './list.js';
import { MapLater } from './map-later.js';
import { Me } from './me.js';
import { NoticePreferences } from './notice-preferences.js';
import { Notices } from './notices.js';
import { keepPage, workOffline } from './offline.js';
import { Places } from './places.js';
import { translatePage } from './preferences.js';
import { Push } from './push.js';
import { INVITATION_KEY, OPENS_KEY, PROBLEM_KEY, TOKEN_KEY, USER_KEY } from './session.js';
import { Status } from './status.js';
import { Strangers } from './strangers.js';
import { Tabs } from './tabs.js';
import { t } from './texts.js';
import { Trail } from './trail.js';
import { strollOn } from './walk.js';
import { reason } from './words.js';

const PLACE_KEY = 'starling.place';
const STROLL_EVERY_MS = 1500;
const DEFAULT_PLACE = { lat: 52.52, lng: 13.405 }; // the middle of the simulated city

const $ = (id) => document.getElementById(id);

translatePage();
const config = await loadConfig();
workOffline(config.complete);
const status = new Status();
const tabs = new Tabs();

let place = parsePosition(sessionStorage.getItem(PLACE_KEY) ?? '') ?? DEFAULT_PLACE;
/** @type {StarlingClient | null} */
let client = null;
/** @type {Api | null} */
let api = null;
/** @type {Me | null} */
let me = null;
let user = null;
let selected = null;

const map = new MapLater($('map'), {
    place,
    radiusM: config.radiusM,
    ground: config.ground,
    onMove: (to) => {
        follow(false);
        moveTo(to);
    },
    onSelect: (friend) => pick(friend, false),
});
const rows = new FriendRows($('list'), (friend) => pick(friend, true));
const strangers = new Strangers(map);
const friends = new Friends({ show: (person) => card.open(person), handle: () => $('handle').value, known });
const card = new Card({
    friends,
    near: (who) => client?.known.find((one) => one.user === who),
    api: () => api,
    me: () => user,
    follow: (person, wanted, before) => feed.follow(person, wanted, before),
    page: showPerson,
});
document.addEventListener('card', ({ detail }) => card.open(detail));
const trail = new Trail(map);
const notices = new Notices(showPerson, showComment);
const push = new Push($('push-choice'), config.pushUrl, showWhatItOpens);
const feed = new FeedView({ askForToken: () => gate.open(), told: (news) => tabs.told(news), known });
new Belongings({ api: () => api, erased: () => signOut(true) });
new NoticePreferences(() => api);
new Devices(() => api, () => client?.welcome?.session);
const links = new Links({ api: () => api, now: () => client?.serverNow() ?? Date.now() });
const places = new Places({ api: () => api, map, here: () => place, friends: () => friends.list, showMap: () => tabs.choose('map') });
const gate = new Gate({
    demo: config.demo,
    provider: config.oidc?.issuer ?? null,
    place: () => place,
    leave: (start) => {
        if (isElsewhere(start)) {
            keepPlace(start);
            sessionStorage.removeItem(USER_KEY); // it is whoever's comes back
        }
        location.assign('signin.html');
    },
    mayCancel: () => Boolean(client && client.state !== 'closed'),
    submit: signIn,
});

/** @param {string} who */
function showPerson(who) {
    tabs.choose('feed');
    feed.showPerson(who);
}

/** @param {string} post @param {string | null} comment */
function showComment(post, comment) {
    tabs.choose('feed');
    feed.showComment(post, comment);
}

/** What a notification is about: at once, or when somebody is signed in. @param {{user?: string, post?: string, comment?: string | null}} opens */
function showWhatItOpens(opens) {
    if (!api) sessionStorage.setItem(OPENS_KEY, JSON.stringify(opens));
    else if (opens.post) showComment(opens.post, opens.comment ?? null);
    else if (opens.user) showPerson(opens.user);
}

/** Whom I know by name. */
function known() {
    return [...friends.list, ...(client?.known ?? []), ...feed.followed];
}

// ---- signing in -------------------------------------------------------------------------------------------------

/** @param {string} token @param {{lat: number, lng: number} | null} [start] where to begin, if that is elsewhere */
function signIn(token, start = null) {
    const subject = subjectOf(token);
    if (subject === null) {
        gate.open(t('noToken'));
        return;
    }
    if (expiryOf(token) <= Date.now() + config.clockOffsetMs) {
        sessionStorage.removeItem(TOKEN_KEY);
        gate.open(t('signInAgain'));
        return;
    }
    sessionStorage.setItem(TOKEN_KEY, token);
    gate.close();
    const before = sessionStorage.getItem(USER_KEY);
    const chosen = isElsewhere(start) ? start : null;
    if (before !== null && before !== subject) {
        // Where the device is, what is drawn and what is not sent yet was another user's.
        follow(false);
        wander(false);
        client?.close();
        client = null;
        feed.forget();
        forgetPlace();
    }
    sessionStorage.setItem(USER_KEY, subject);
    if (chosen) moveTo(chosen, true);
    if (client && subject === user) {
        api.renew(token);
        client.renew(token);
        feed.renewed();
    } else {
        card.close();
        trail.signOut();
        client?.close();
        user = subject;
        api = new Api({ token, fetch: noticingRefusals });
        client = makeClient(token);
        client.connect();
        feed.signIn(api, client, user);
        notices.signIn(api, client, user);
        friends.signIn(api, user);
        trail.signIn(api);
        places.forget();
        if (isLater) places.read(true);
    }
    const invitation = sessionStorage.getItem(INVITATION_KEY);
    sessionStorage.removeItem(INVITATION_KEY);
    if (invitation) friends.find(invitation);
    push.signIn(token, user);
    const opens = sessionStorage.getItem(OPENS_KEY);
    sessionStorage.removeItem(OPENS_KEY);
    if (opens) showWhatItOpens(JSON.parse(opens));
    me?.forget();
    const ended = () => {
        strangers.setMode(me.mode);
        render();
    };
    me = new Me(api, subject, problem, ended, (posts) => feed.mineAreFor(posts));
    const mine = me;
    mine.load().then(() => {
        if (me !== mine) return;
        strangers.signIn(client, mine.mode);
        render();
    });
}

/** A request that is refused for its token brings the sheet to the front, once a token. */
async function noticingRefusals(url, options) {
    const response = await fetch(url, options).catch((error) => {
        client?.check(); // a socket does not notice by itself
        throw error;
    });
    const token = sessionStorage.getItem(TOKEN_KEY);
    if (response.status === 401 && options.headers.authorization === `Bearer ${token}` && refusedToken !== token) {
        refusedToken = token;
        const { code } = await response.clone().json().catch(() => ({}));
        if (!gate.isOpen) gate.open(t(code === 'token_expired' ? 'signInAgain' : 'tokenRefused'));
    }
    return response;
}
let refusedToken = null;

function makeClient(token) {
    const made = new StarlingClient({
        url: config.wsUrl,
        token,
        device: deviceName(navigator.userAgent),
        position: place,
        clockOffsetMs: config.clockOffsetMs,
        prefetch: true, // everybody is on the map, not just the list's twenty
    });
    made.on('state', (change) => {
        status.show(change);
        if (change.state === 'online') strangers.connected();
        if (change.state === 'waiting' || change.state === 'closed') later();
        if (change.reason === 'token') gate.open(t('tokenRefused'));
        if (change.reason === 'expired') gate.open(t('signInAgain'));
        soon();
    });
    made.on('welcome', ({ radiusM }) => {
        if (Number.isFinite(radiusM)) map.setRadius(radiusM);
    });
    made.on('change', ({ cause, came, gone }) => {
        if (cause === 'page') isListed = true;
        if (cause === 'update' || cause === 'expiry') heard(came, gone);
        soon();
    });
    made.on('strangers', (page) => strangers.found(page));
    made.on('strangers_gone', ({ gone }) => strangers.gone(gone));
    made.on('error', (error) => (error.about === 'discover' ? strangers.refused(error) : problem(reason(error))));
    return made;
}

/** @param {boolean} erased there is no such user any more */
function signOut(erased = false) {
    push.signOut(erased);
    sessionStorage.removeItem(TOKEN_KEY);
    follow(false);
    wander(false);
    client?.close();
    client = null;
    forgetPlace();
    feed.forget();
    notices.signOut();
    friends.signOut();
    card.close();
    strangers.signOut();
    links.forget();
    places.forget();
    trail.signOut();
    api = null;
    me?.forget();
    me = null;
    user = null;
    $('me').open = false;
    problem('');
    render();
    gate.openEmpty();
}

/** The next user is not told where this one was. */
function forgetPlace() {
    moveTo(DEFAULT_PLACE, true);
    sessionStorage.removeItem(PLACE_KEY);
    sessionStorage.removeItem(USER_KEY);
}

/**
 * #token=JWT&at=LAT,LNG, #friend=WHO, or what a notification opens (#user=USER, #post=POST&comment=COMMENT), of which nothing stays in the address bar. Whoever follows a link must not report their place as somebody else
 * without knowing: only a demonstration takes a token so, and it asks first.
 */
function signInFromAddress() {
    const given = new URLSearchParams(location.hash.slice(1));
    if (!['token', 'at', 'friend', 'user', 'post'].some((one) => given.has(one))) return false;
    history.replaceState(null, '', location.pathname + location.search);
    if (given.has('friend')) sessionStorage.setItem(INVITATION_KEY, given.get('friend'));
    if (given.has('user') || given.has('post')) sessionStorage.setItem(OPENS_KEY, JSON.stringify(Object.fromEntries(given)));
    const brought = config.demo ? given.get('token')?.trim() : null;
    if (brought) {
        gate.ask(brought, () => signIn(brought, parsePosition(given.get('at') ?? '')));
        return true;
    }
    const token = sessionStorage.getItem(TOKEN_KEY);
    if (token) signIn(token);
    return Boolean(token);
}

// ---- where I am -------------------------------------------------------------------------------------------------

const isElsewhere = (at) => at !== null && formatPosition(at) !== formatPosition(place);
const keepPlace = ({ lat, lng }) => sessionStorage.setItem(PLACE_KEY, `${lat}, ${lng}`);

function moveTo(to, centre = false) {
    client?.move(to);
    place = client?.position ?? { lat: to.lat, lng: to.lng };
    keepPlace(place);
    map.setPlace(place);
    if (centre) map.centre();
    if (document.activeElement !== $('place')) $('place').value = formatPosition(place);
    soon();
}

/** A member that the device does not know is null, or not a number. @param {GeolocationCoordinates} coords */
function placeOf({ latitude: lat, longitude: lng, accuracy, speed, heading, altitudeAccuracy }) {
    const said = Object.entries({ accuracy, speed, course: heading, verticalAccuracy: altitudeAccuracy });
    return { lat, lng, ...Object.fromEntries(said.filter(([, value]) => Number.isFinite(value) && value >= 0)) };
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
        problem(t('browserDoesNotKnow'));
        return;
    }
    wander(false);
    let first = true;
    watch = navigator.geolocation.watchPosition(
        ({ coords }) => {
            moveTo(placeOf(coords), first);
            first = false;
        },
        (error) => {
            follow(false);
            problem(t('deviceSilent', { why: error.message }));
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
    $('radius').textContent = t('within', { distance: formatDistance(client?.welcome?.radiusM ?? config.radiusM) });
    const focusIsLost = document.activeElement === $('more') && !client?.hasMore;
    $('more').hidden = !client?.hasMore;
    if (focusIsLost) rows.focus(shownBeforeMore);
    $('more').disabled = client?.state !== 'online';
    $('more').textContent = total > list.length ? t('moreLeft', { count: total - list.length }) : t('more');
    $('empty').hidden = list.length > 0 || !client || client.state === 'closed';
    $('empty').textContent = emptyText();
    const hidden = client?.state === 'online' && me?.mode === 'off';
    if (!hidden && document.activeElement === $('share-friends')) focusMain();
    $('share-friends').hidden = !hidden;
    rows.select(selected);
    if (isListed) later();
}

let isListed = false;
let isLater = false;
/** The list has been drawn, or will not come soon: now there is room for the map, and for what keeps the page. */
function later() {
    if (isLater) return;
    isLater = true;
    setTimeout(() => map.load().then(keepPage)); // after the frame
    if (api) places.read(true);
}

function emptyText() {
    if (client?.state !== 'online') return t('looking');
    if (me?.mode === 'off') return t('youAreHidden');
    return t('nobodyNear');
}

/** Somebody was tapped on: selected, and their card is shown. */
function pick(friend, onMap) {
    select(friend, onMap);
    const near = client?.known.find(({ user: who }) => who === friend);
    if (near) card.open(near);
    else card.close();
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
    friends.tick(client.serverNow());
    card.tick(client.serverNow());
    trail.tick(client.serverNow());
}, 1000);

// ---- what people do ---------------------------------------------------------------------------------------------

$('sign-out').addEventListener('click', () => signOut());
$('new-token').addEventListener('click', () => {
    $('me').open = false;
    gate.openEmpty();
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
    me?.saveProfile();
});
$('handle-form').addEventListener('submit', (event) => {
    event.preventDefault();
    me?.saveHandle();
});
/** @param {'off' | 'friends' | 'public'} mode @param {number | null} until ms; null: without end */
async function share(mode, until) {
    const mine = me;
    if (!mine) return;
    if (mode !== 'public') strangers.setMode(null); // at once, and again if the server refuses
    await mine.share(mode, until);
    if (me === mine) strangers.setMode(mine.mode);
    render();
}
$('sharing').addEventListener('change', (event) => {
    if (!me) return;
    const { target } = event; // by whom, for how long, or what they are told
    const mode = target.name === 'sharing' ? target.value : me.mode;
    const chosen = target.type === 'checkbox' ? null : sharingEnd($('until').value, client?.serverNow() ?? Date.now());
    share(mode, mode === 'off' ? null : chosen ?? (target === $('until') ? null : me.until)); // seen by others, for as long as before
});
$('visibility').addEventListener('change', (event) => me?.showPosts(event.target.value));
$('share-friends').addEventListener('click', () => share('friends', null));
$('share-everybody').addEventListener('click', () => {
    $('show-around').focus(); // the button goes
    share('public', me?.until ?? null);
});
$('place-form').addEventListener('submit', (event) => {
    event.preventDefault();
    const to = parsePosition($('place').value);
    if (!to) return problem(t('noPlace'));
    problem('');
    follow(false);
    moveTo(to, true);
});
const panels = [$('notices'), $('friends'), $('me')];
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
    const failed = sessionStorage.getItem(PROBLEM_KEY) ?? '';
    sessionStorage.removeItem(PROBLEM_KEY);
    if (token && !failed) signIn(token);
    else gate.open(failed);
}
if (gate.isOpen) later();
