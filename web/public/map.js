// The map: my marker, the circle of my radius, my friends. It says when I moved myself on it and whom I picked.

import {
    Circle,
    CircleMarker,
    DivIcon,
    LatLng,
    Map as LeafletMap,
    LayerGroup,
    Marker,
    Polyline,
    Rectangle,
    control,
} from 'leaflet/dist/leaflet-src.esm.js';
import { destination } from '../client/index.js';
import { Faces } from './faces.js';
import { addGround } from './ground.js';
import { PlaceCircles } from './place-circles.js';
import { t, units } from './texts.js';

const ME_BELOW = -10000; // Leaflet stacks markers by their pixel row: I never hide a friend
const SHARED_PX = 18; // a face that near hides me: I am a ring around it
const KEY_STEP_PX = 12;
const KEY_STRIDE_PX = 72;
const KEYS = { ArrowUp: 0, ArrowRight: 90, ArrowDown: 180, ArrowLeft: 270 };

const calm = matchMedia('(prefers-reduced-motion: reduce)');

export class FriendMap {
    #map;
    #me;
    #circle;
    #place;
    #radius;
    #onMove;
    #onSelect;
    #faces;
    #places;
    #cells = new LayerGroup();
    #trail = new LayerGroup();
    #dragging = false;

    /**
     * @param {HTMLElement} element
     * @param {{place: {lat: number, lng: number}, radiusM: number,
     *          ground: {tileUrl: string, mapUrl: string, attribution: string},
     *          onMove: (place: {lat: number, lng: number}) => void, onSelect: (user: string | null) => void}} options
     */
    constructor(element, { place, radiusM, ground, onMove, onSelect }) {
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
            zoomSnap: ground.tileUrl ? 1 : 0.25, // what is drawn here stays sharp at any zoom, so that the circle can fill a small screen
            zoomAnimation: !calm.matches,
        });
        control.zoom({ position: 'topright', zoomInTitle: t('zoomIn'), zoomOutTitle: t('zoomOut') }).addTo(this.#map);
        control.scale({ position: 'bottomleft', maxWidth: 120, metric: units === 'km', imperial: units === 'mi' }).addTo(this.#map);
        this.#circle = new Circle(place, { radius: radiusM, className: 'radius', interactive: false }).addTo(this.#map);
        this.#places = new PlaceCircles(this.#map, { latLng: (at) => this.#latLng(at), calm });
        this.#cells.addTo(this.#map);
        this.#trail.addTo(this.#map);
        this.#me = this.#makeMe(place);
        this.#faces = new Faces(this.#map, { latLng: (at) => this.#latLng(at), calm, onSelect });
        this.#map.on('zoomend', () => this.#markShared());
        this.centre();
        addGround(this.#map, ground);
        this.#map.on('click', (event) => this.#movedTo(plain(event.latlng)));
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
        this.#markShared();
    }

    /** @param {number} metres */
    setRadius(metres) {
        if (metres === this.#radius) return;
        this.#radius = metres;
        this.#circle.setRadius(metres);
        this.centre();
    }

    /**
     * @param {readonly import('../client/index.js').Friend[]} friends nearest first
     */
    show(friends) {
        this.#faces.show(friends);
        this.#markShared();
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

    /** Where I was. @param {Place[][]} lines @param {(Place & {words: string})[]} dots @typedef {{lat: number, lng: number}} Place */
    showTrail(lines, dots) {
        this.#trail.clearLayers();
        if (lines.length === 0) return;
        const latLngs = lines.map((line) => line.map((at) => this.#latLng(at)));
        this.#trail.addLayer(new Polyline(latLngs, { className: 'trail-edge', interactive: false }));
        this.#trail.addLayer(new Polyline(latLngs, { className: 'trail', interactive: false }));
        for (const dot of dots) {
            const marker = new CircleMarker(this.#latLng(dot), { className: 'trail-dot', radius: 5, bubblingMouseEvents: false });
            this.#trail.addLayer(marker.bindTooltip(document.createTextNode(dot.words), { direction: 'top', className: 'friend-tip' }));
        }
    }

    /** My places. @param {Parameters<PlaceCircles['show']>[0]} places */
    showPlaces(places) {
        this.#places.show(places);
    }

    /** A place that is being drawn: until there is none, clicks and keys move it, and not me. @param {Parameters<PlaceCircles['draw']>[0]} draft */
    draw(draft) {
        this.#places.draw(draft);
    }

    /** @param {string | null} user @param {boolean} [bringIntoView] */
    select(user, bringIntoView = false) {
        this.#faces.select(user, bringIntoView);
    }

    // ---- how it is drawn ------------------------------------------------------------------------------------------

    #markShared() {
        this.#me.getElement()?.classList.toggle('shared', this.#faces.near(this.#place, SHARED_PX));
    }

    #movedTo(to) {
        if (this.#places.draft) this.#places.draft.onChange(to);
        else this.#onMove(to);
    }

    #makeMe(place) {
        const dot = document.createElement('span');
        const icon = new DivIcon({ className: 'me-marker', html: dot, iconSize: [28, 28] });
        const marker = new Marker(place, { icon, draggable: true, autoPan: true, keyboard: false, zIndexOffset: ME_BELOW });
        marker.on('dragstart', () => (this.#dragging = true));
        marker.on('drag', () => this.#onMove(plain(marker.getLatLng())));
        marker.on('dragend', () => {
            this.#dragging = false;
            this.#onMove(plain(marker.getLatLng()));
        });
        return marker.addTo(this.#map);
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
            this.#movedTo(destination(this.#places.draft ?? this.#place, KEYS[event.key], pixels * this.#metresAPixel()));
            this.#map.panInside(this.#latLng(this.#places.draft ?? this.#place), { padding: [60, 60], animate: false });
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
