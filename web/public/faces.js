// The friends' markers on the map. Those that would lie on each other become one, with the number of them all.

import { Circle, DivIcon, LatLngBounds, Marker } from 'leaflet/dist/leaflet-src.esm.js';
import { clustersOf } from './clusters.js';
import { make, setText } from './dom.js';
import { displayName, formatDistance, hueOf, initials } from './format.js';
import { t } from './texts.js';

const GLIDE_MS = 900;
const GLIDING_AT_MOST = 500; // more of them would cost more than they please
const SELECTED_ABOVE = 9000; // Leaflet stacks markers by their pixel row
const APART_PX = 26; // a face is 32 pixels wide

export class Faces {
    #map;
    #latLng;
    #calm;
    #onSelect;
    /** @type {Map<string, {marker: Marker, circle: Circle, friend: any, face: HTMLElement, badge: HTMLElement, glide: any}>} */
    #friends = new Map(); // nearest first
    #clusters = new Map();
    #selected = null;
    #frame = 0;

    /**
     * @param {import('leaflet/dist/leaflet-src.esm.js').Map} map
     * @param {{latLng: (place: {lat: number, lng: number}) => any, calm: MediaQueryList, onSelect: (user: string) => void}} options
     */
    constructor(map, { latLng, calm, onSelect }) {
        this.#map = map;
        this.#latLng = latLng;
        this.#calm = calm;
        this.#onSelect = onSelect;
        map.on('zoomend', () => this.#arrange());
    }

    /** @param {readonly import('../client/index.js').Friend[]} friends nearest first */
    show(friends) {
        const before = this.#friends;
        this.#friends = new Map();
        for (const friend of friends) {
            const entry = before.get(friend.user) ?? this.#make(friend);
            before.delete(friend.user);
            this.#friends.set(friend.user, entry);
            this.#moveTo(entry, friend);
            entry.face.classList.toggle('stale', friend.stale);
        }
        for (const { marker, circle } of before.values()) {
            marker.remove();
            circle.remove();
        }
        this.#arrange();
    }

    /** @param {string | null} user @param {boolean} [bringIntoView] */
    select(user, bringIntoView = false) {
        const before = this.#friends.get(this.#selected);
        before?.face.classList.remove('selected');
        before?.marker.closeTooltip();
        this.#selected = user;
        this.#arrange();
        const entry = this.#friends.get(user);
        if (!entry) return;
        entry.face.classList.add('selected');
        entry.marker.openTooltip();
        if (bringIntoView) this.#map.panInside(entry.marker.getLatLng(), { padding: [60, 60], animate: !this.#calm.matches });
    }

    /** Whether a face is within so many pixels of the place. */
    near(place, pixels) {
        const here = this.#map.project(this.#latLng(place));
        return [...this.#clusters.keys()].some((user) => this.#map.project(this.#target(user)).distanceTo(here) < pixels);
    }

    /** Who stands for whom at this zoom, and who is above whom: the nearest, and the selected one above all. */
    #arrange() {
        this.#clusters = clustersOf(this.#points(this.#friends.keys()), APART_PX, this.#selected);
        let above = 0;
        for (const [user, entry] of this.#friends) {
            const cluster = this.#clusters.get(user);
            const exact = cluster?.length === 1 && entry.friend.accuracy > 0;
            if (exact) entry.circle.setRadius(entry.friend.accuracy).addTo(this.#map);
            else entry.circle.remove();
            if (!cluster) {
                entry.marker.remove();
                continue;
            }
            const others = cluster.length - 1;
            entry.marker.setZIndexOffset(user === this.#selected ? SELECTED_ABOVE : (above -= 1));
            entry.face.dataset.also = cluster.slice(1).join(' ');
            setText(entry.badge, others > 0 ? String(cluster.length) : '');
            const who = t('whoAndHowFar', { name: displayName(entry.friend), distance: formatDistance(entry.friend.distance) });
            const words = others > 0 ? t('withOthers', { who, count: others }) : who;
            entry.marker.setTooltipContent(document.createTextNode(words));
            if (!this.#map.hasLayer(entry.marker)) entry.marker.setLatLng(this.#target(user)).addTo(this.#map);
        }
    }

    /** A cluster opens: the map comes nearer, or, where that does not help, its people are picked in turn. */
    #picked(user) {
        const here = this.#map.project(this.#target(user));
        const together = [...this.#friends.keys()].filter((other) => this.#map.project(this.#target(other)).distanceTo(here) < APART_PX);
        const inseparable = clustersOf(this.#points(together, this.#map.getMaxZoom()), APART_PX).size === 1;
        if (together.length > 1 && inseparable) this.#onSelect(together[(together.indexOf(this.#selected) + 1) % together.length]);
        else if (this.#clusters.get(user)?.length > 1) {
            const bounds = new LatLngBounds(together.map((other) => this.#target(other)));
            const zoom = Math.max(this.#map.getZoom() + 1, this.#map.getBoundsZoom(bounds.pad(0.3)));
            this.#map.setView(bounds.getCenter(), Math.min(zoom, this.#map.getMaxZoom()), { animate: !this.#calm.matches });
        } else this.#onSelect(user);
    }

    #points(users, zoom = this.#map.getZoom()) {
        return [...users].map((user) => {
            const { x, y } = this.#map.project(this.#target(user), zoom);
            return { user, x, y };
        });
    }

    #target(user) {
        return this.#latLng(this.#friends.get(user).friend);
    }

    #make(friend) {
        const [both, face, badge] = [make('span'), make('span', 'face'), make('span', 'badge')];
        both.append(face, badge);
        face.dataset.user = friend.user;
        face.style.setProperty('--hue', String(hueOf(friend.user)));
        const icon = new DivIcon({ className: 'friend-marker', html: both, iconSize: [32, 32] });
        const marker = new Marker(this.#latLng(friend), { icon, keyboard: false, riseOnHover: true, riseOffset: SELECTED_ABOVE });
        marker.bindTooltip('', { direction: 'top', offset: [0, -18], className: 'friend-tip' });
        marker.on('click', () => this.#picked(friend.user));
        const circle = new Circle(this.#latLng(friend), { radius: 0, className: 'accuracy', interactive: false });
        return { marker, circle, friend: null, face, badge, glide: null };
    }

    #moveTo(entry, friend) {
        const before = entry.friend;
        entry.friend = friend;
        setText(entry.face, initials(friend));
        const target = this.#latLng(friend);
        if (!before || this.#calm.matches || document.hidden || this.#friends.size > GLIDING_AT_MOST) {
            entry.glide = null;
            put(entry, target);
        } else if (before.lat !== friend.lat || before.lng !== friend.lng) {
            entry.glide = { from: entry.marker.getLatLng(), to: target, start: performance.now() };
            this.#frame ||= requestAnimationFrame((now) => this.#glide(now));
        }
    }

    #glide(now) {
        let going = false;
        for (const entry of this.#friends.values()) {
            if (!entry.glide) continue;
            const { from, to, start } = entry.glide;
            const part = Math.min(1, Math.max(0, (now - start) / GLIDE_MS));
            const eased = part * part * (3 - 2 * part);
            put(entry, [from.lat + (to.lat - from.lat) * eased, from.lng + (to.lng - from.lng) * eased]);
            if (part < 1) going = true;
            else entry.glide = null;
        }
        this.#frame = going ? requestAnimationFrame((next) => this.#glide(next)) : 0;
    }
}

/** With how exact that is. */
function put({ marker, circle }, latLng) {
    marker.setLatLng(latLng);
    circle.setLatLng(latLng);
}
