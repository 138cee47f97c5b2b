// What a link shows to whoever has it: where somebody is, until the link has ended. Nobody is signed in here.

import { DivIcon, Map as LeafletMap, Marker, control } from 'leaflet/dist/leaflet-src.esm.js';
import { ApiError, StarlingApi } from '../client/index.js';
import { loadConfig } from './config.js';
import { make, setText } from './dom.js';
import { initials, plain } from './format.js';
import { addGround } from './ground.js';
import { translatePage } from './preferences.js';
import { locale, t, units } from './texts.js';
import { ago } from './words.js';

const ASK_EVERY_MS = 10_000;
const ZOOM = 15;

const $ = (id) => document.getElementById(id);
const calm = matchMedia('(prefers-reduced-motion: reduce)');

translatePage();
const { ground, clockOffsetMs } = await loadConfig();
const api = new StarlingApi({ token: '' });
const now = () => Date.now() + clockOffsetMs;
/** @type {{map: LeafletMap, marker: Marker} | null} */
let shown = null;
/** What was seen last. @type {import('../client/index.js').LinkPlace | null} */
let last = null;
let timer = 0;
let round = 0;

/** Another link may be opened in the same tab. */
addEventListener('hashchange', look);
document.addEventListener('visibilitychange', () => !document.hidden && look());
look();

async function look() {
    const mine = (round += 1);
    clearTimeout(timer);
    try {
        const place = await api.getLinkPlace(location.hash);
        if (mine !== round) return;
        show(place);
    } catch (error) {
        if (mine !== round) return;
        if (error instanceof ApiError && error.status === 410) return end('linkOver');
        if (error instanceof TypeError || (error instanceof ApiError && error.status >= 400 && error.status < 429)) return end('linkNone');
        setText($('link-note'), t('linkAway')); // what was seen last stays
    }
    if (last && last.until <= now()) return end('linkOver'); // no answer came in time
    if (!document.hidden) timer = setTimeout(look, last ? Math.min(ASK_EVERY_MS, Math.max(last.until - now(), 0) + 100) : ASK_EVERY_MS);
}

/** Nothing of the place stays on the page. @param {'linkOver' | 'linkNone'} why */
function end(why) {
    last = null;
    shown?.map.remove();
    shown = null;
    $('link-map').hidden = true;
    setText($('link-name'), t('linkTitle'));
    document.title = t('linkTitle');
    for (const id of ['link-seen', 'link-until']) setText($(id), '');
    setText($('link-note'), t(why));
}

/** @param {import('../client/index.js').LinkPlace} place */
function show(place) {
    last = place;
    const name = plain(place.name).trim() || t('linkSomebody');
    const ends = new Date(place.until).toLocaleString(locale, { dateStyle: 'medium', timeStyle: 'short', hourCycle: 'h23' });
    setText($('link-name'), name);
    document.title = name;
    setText($('link-until'), t('untilTime', { time: ends }));
    setText($('link-seen'), place.time === null ? '' : ago(place.time, now()));
    setText($('link-note'), place.lat === null ? t('linkNowhere') : '');
    if (place.lat === null || place.lng === null) return;
    shown ??= makeMap(place);
    const [both, face] = [make('span'), make('span', 'face')];
    both.append(face);
    face.textContent = initials({ name, user: '' });
    shown.marker.setIcon(new DivIcon({ className: 'friend-marker', html: both, iconSize: [32, 32] })).setLatLng([place.lat, place.lng]);
    shown.marker.getElement()?.setAttribute('aria-label', name);
    if (!shown.map.getBounds().pad(-0.1).contains(shown.marker.getLatLng())) shown.map.panTo(shown.marker.getLatLng(), { animate: !calm.matches });
}

function makeMap({ lat, lng }) {
    $('link-map').hidden = false;
    const map = new LeafletMap($('link-map'), {
        zoomControl: false,
        attributionControl: false,
        minZoom: 3,
        maxZoom: 18,
        zoomAnimation: !calm.matches,
    }).setView([lat, lng], ZOOM);
    control.zoom({ position: 'topright', zoomInTitle: t('zoomIn'), zoomOutTitle: t('zoomOut') }).addTo(map);
    control.scale({ position: 'bottomleft', maxWidth: 120, metric: units === 'km', imperial: units === 'mi' }).addTo(map);
    addGround(map, ground);
    return { map, marker: new Marker([lat, lng], { keyboard: false, interactive: false }).addTo(map) };
}
