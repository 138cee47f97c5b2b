// The map: my marker, the circle of my radius, my friends. It says when I moved myself on it and whom I picked.

import {
    Circle,
    Control,
    DivIcon,
    LatLng,
    Map as LeafletMap,
    LayerGroup,
    Marker,
    Rectangle,
    TileLayer,
    control,
} from './vendor/leaflet/leaflet-src.esm.js';
import { destination } from './vendor/client/index.js';
import { displayName, formatDistance, hueOf, initials } from './format.js';
import { CoordinateGrid, GridLabels } from './grid.js';

const GLIDE_MS = 900;
const GLIDING_AT_MOST = 500; // more of them would cost more than they please
const ME_ABOVE = 10000; // Leaflet stacks markers by their pixel row
const SELECTED_ABOVE = 9000;
const KEY_STEP_PX = 12;
const KEY_STRIDE_PX = 72;
const KEYS = { ArrowUp: 0, ArrowRight: 90, ArrowDown: 180, ArrowLeft: 270 };

const calm = matchMedia('(prefers-reduced-motion: reduce)');
const dark = matchMedia('(prefers-color-scheme: dark)');

export class FriendMap {
    #map;
    #me;
    #circle;
    #place;
    #radius;
    #onMove;
    #onSelect;
    /** @type {Map<string, {marker: Marker, friend: any, face: HTMLElement, glide: any}>} */
    #friends = new Map();
    #cells = new LayerGroup();
    #selected = null;
    #dragging = false;
    #frame = 0;

    /**
     * @param {HTMLElement} element
     * @param {{place: {lat: number, lng: number}, radiusM: number, tileUrl: string,
     *          onMove: (place: {lat: number, lng: number}) => void, onSelect: (user: string | null) => void}} options
     */
    constructor(element, { place, radiusM, tileUrl, onMove, onSelect }) {
        this.#place = place;
        this.#radius = radiusM;
        this.#onMove = onMove;
        this.#onSelect = onSelect;
        this.#map = new LeafletMap(element, {
            keyboard: false,
            doubleClickZoom: false,
            zoomControl: false,
            attributionControl: false,
            minZoom: 3,
            maxZoom: 18,
            zoomSnap: tileUrl ? 1 : 0.25, // a grid stays sharp at any zoom, so that the circle can fill a small screen
            zoomAnimation: !calm.matches,
        });
        control.zoom({ position: 'topright' }).addTo(this.#map);
        control.scale({ position: 'bottomleft', maxWidth: 120, imperial: false }).addTo(this.#map);
        this.#circle = new Circle(place, { radius: radiusM, className: 'radius', interactive: false }).addTo(this.#map);
        this.#cells.addTo(this.#map);
        this.#me = this.#makeMe(place);
        this.centre();
        this.#addGround(tileUrl);
        this.#map.on('click', (event) => this.#onMove(plain(event.latlng)));
        element.addEventListener('keydown', (event) => this.#key(event));
        new ResizeObserver(() => this.#map.invalidateSize({ pan: false })).observe(element);
    }

    /** Shows the whole circle. */
    centre() {
        this.#map.fitBounds(this.#latLng(this.#place).toBounds(this.#radius * 2.05), {
            animate: !calm.matches,
            paddingBottomRight: [0, 14], // the list's round corners lie over it
        });
    }

    /** @param {{lat: number, lng: number}} place */
    setPlace(place) {
        this.#place = place;
        const latLng = this.#latLng(place);
        if (!this.#dragging) this.#me.setLatLng(latLng);
        this.#circle.setLatLng(latLng);
        this.#map.getContainer().dataset.lat = String(place.lat);
        this.#map.getContainer().dataset.lng = String(place.lng);
    }

    /** @param {number} metres */
    setRadius(metres) {
        if (metres === this.#radius) return;
        this.#radius = metres;
        this.#circle.setRadius(metres);
        this.centre();
    }

    /**
     * @param {readonly import('./vendor/client/index.js').Friend[]} friends nearest first
     */
    show(friends) {
        const shown = new Set(friends.map((friend) => friend.user));
        for (const [user, entry] of this.#friends) {
            if (shown.has(user)) continue;
            entry.marker.remove();
            this.#friends.delete(user);
        }
        friends.forEach((friend, index) => {
            const entry = this.#friends.get(friend.user) ?? this.#makeFriend(friend);
            this.#moveTo(entry, friend);
            entry.marker.setZIndexOffset(friend.user === this.#selected ? SELECTED_ABOVE : -index);
            entry.face.classList.toggle('stale', friend.stale);
        });
    }

    /** Where strangers are: cells, each with how many. @param {ReturnType<import('./cells.js').cellsOf>} cells */
    showCells(cells) {
        this.#cells.clearLayers();
        for (const { south, north, west, east, count } of cells) {
            const centre = this.#latLng({ lat: (south + north) / 2, lng: (west + east) / 2 });
            const half = (east - west) / 2;
            const corners = [new LatLng(south, centre.lng - half), new LatLng(north, centre.lng + half)];
            const label = document.createElement('span');
            label.className = 'cell-count';
            label.textContent = String(count);
            const icon = new DivIcon({ className: 'cell-marker', html: label, iconSize: [44, 24] });
            this.#cells.addLayer(new Rectangle(corners, { className: 'cell', interactive: false }));
            this.#cells.addLayer(new Marker(centre, { icon, keyboard: false, interactive: false }));
        }
    }

    /** @param {string | null} user @param {boolean} [bringIntoView] */
    select(user, bringIntoView = false) {
        const before = this.#friends.get(this.#selected);
        before?.face.classList.remove('selected');
        before?.marker.closeTooltip();
        before?.marker.setZIndexOffset(0);
        this.#selected = user;
        const entry = this.#friends.get(user);
        if (!entry) return;
        entry.face.classList.add('selected');
        entry.marker.setZIndexOffset(SELECTED_ABOVE);
        entry.marker.openTooltip();
        if (bringIntoView) this.#map.panInside(entry.marker.getLatLng(), { padding: [60, 60], animate: !calm.matches });
    }

    // ---- how it is drawn ------------------------------------------------------------------------------------------

    #addGround(tileUrl) {
        if (tileUrl) {
            new TileLayer(tileUrl, { maxZoom: 19, attribution: attributionOf(tileUrl) }).addTo(this.#map);
            new Control.Attribution({ prefix: false }).addTo(this.#map);
            return;
        }
        const grid = new CoordinateGrid().addTo(this.#map);
        new GridLabels().addTo(this.#map);
        dark.addEventListener('change', () => grid.redraw());
    }

    #makeMe(place) {
        const dot = document.createElement('span');
        const icon = new DivIcon({ className: 'me-marker', html: dot, iconSize: [28, 28] });
        const marker = new Marker(place, { icon, draggable: true, autoPan: true, keyboard: false, zIndexOffset: ME_ABOVE });
        marker.on('dragstart', () => (this.#dragging = true));
        marker.on('drag', () => this.#onMove(plain(marker.getLatLng())));
        marker.on('dragend', () => {
            this.#dragging = false;
            this.#onMove(plain(marker.getLatLng()));
        });
        return marker.addTo(this.#map);
    }

    #makeFriend(friend) {
        const face = document.createElement('span');
        face.className = 'face';
        face.dataset.user = friend.user;
        face.style.setProperty('--hue', String(hueOf(friend.user)));
        const icon = new DivIcon({ className: 'friend-marker', html: face, iconSize: [32, 32] });
        const marker = new Marker(this.#latLng(friend), { icon, keyboard: false, riseOnHover: true, riseOffset: SELECTED_ABOVE });
        marker.bindTooltip('', { direction: 'top', offset: [0, -18], className: 'friend-tip' });
        marker.on('click', () => this.#onSelect(friend.user));
        const entry = { marker: marker.addTo(this.#map), friend: null, face, glide: null };
        this.#friends.set(friend.user, entry);
        return entry;
    }

    #moveTo(entry, friend) {
        const before = entry.friend;
        entry.friend = friend;
        entry.face.textContent = initials(friend);
        entry.marker.setTooltipContent(document.createTextNode(`${displayName(friend)}, ${formatDistance(friend.distance)}`));
        const target = this.#latLng(friend);
        if (!before || calm.matches || document.hidden || this.#friends.size > GLIDING_AT_MOST) {
            entry.glide = null;
            entry.marker.setLatLng(target);
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
            entry.marker.setLatLng([from.lat + (to.lat - from.lat) * eased, from.lng + (to.lng - from.lng) * eased]);
            if (part < 1) going = true;
            else entry.glide = null;
        }
        this.#frame = going ? requestAnimationFrame((next) => this.#glide(next)) : 0;
    }

    /** On the copy of the world that is in view: going on past 180 degrees must not throw everybody off the screen. */
    #latLng({ lat, lng }) {
        const centre = this.#map?._loaded ? this.#map.getCenter().lng : lng;
        return new LatLng(lat, lng + Math.round((centre - lng) / 360) * 360);
    }

    // ---- keys -----------------------------------------------------------------------------------------------------

    #key(event) {
        if (event.target !== event.currentTarget || event.ctrlKey || event.altKey || event.metaKey) return;
        if (event.key in KEYS) {
            const pixels = event.shiftKey ? KEY_STRIDE_PX : KEY_STEP_PX;
            this.#onMove(destination(this.#place, KEYS[event.key], pixels * this.#metresAPixel()));
            this.#map.panInside(this.#latLng(this.#place), { padding: [60, 60], animate: false });
        } else if (event.key === '+' || event.key === '=') this.#map.zoomIn();
        else if (event.key === '-') this.#map.zoomOut();
        else if (event.key === 'Home') this.centre();
        else if (event.key === 'Escape') this.#onSelect(null);
        else return;
        event.preventDefault();
    }

    #metresAPixel() {
        const middle = this.#map.getSize().divideBy(2);
        const a = this.#map.containerPointToLatLng(middle);
        const b = this.#map.containerPointToLatLng(middle.add([100, 0]));
        return a.distanceTo(b) / 100;
    }
}

function plain(latLng) {
    const { lat, lng } = latLng.wrap();
    return { lat: Math.max(-90, Math.min(90, lat)), lng };
}

function attributionOf(tileUrl) {
    return /openstreetmap\.org/.test(tileUrl)
        ? '&copy; <a href="https://www.openstreetmap.org/copyright">OpenStreetMap</a> contributors'
        : '';
}
