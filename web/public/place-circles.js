// My places on the map: a circle each, and the one that is being drawn, whose edge may be dragged.

import { Circle, DivIcon, LayerGroup, Marker } from 'leaflet/dist/leaflet-src.esm.js';
import { destination, distanceMetres } from '../client/index.js';

const EAST = 90;
const MARGIN = 1.2; // around the circle, when it is brought into view

/** @typedef {{lat: number, lng: number, radiusM: number}} Drawn */

export class PlaceCircles {
    #map;
    #latLng;
    #calm;
    #shown = new LayerGroup();
    #drawing = new LayerGroup();
    #circle = new Circle([0, 0], { radius: 1, className: 'place-circle drawn', interactive: false });
    #handle = new Marker([0, 0], { icon: new DivIcon({ className: 'place-edge', iconSize: [28, 28] }), draggable: true, keyboard: false });
    /** @type {(Drawn & {onChange: (change: Partial<Drawn>) => void}) | null} */
    #draft = null;
    #dragging = false;

    /** @param {import('leaflet').Map} map @param {{latLng: (at: any) => any, calm: MediaQueryList}} options */
    constructor(map, { latLng, calm }) {
        this.#map = map;
        this.#latLng = latLng;
        this.#calm = calm;
        this.#shown.addTo(map);
        this.#drawing.addTo(map);
        this.#handle.on('dragstart', () => (this.#dragging = true));
        this.#handle.on('drag', () => this.#draft?.onChange({ radiusM: distanceMetres(this.#draft, this.#handle.getLatLng()) }));
        this.#handle.on('dragend', () => {
            this.#dragging = false;
            if (this.#draft) this.#place(this.#draft);
        });
    }

    /** @param {readonly (Drawn & {name: string})[]} places */
    show(places) {
        this.#shown.clearLayers();
        for (const place of places) {
            const circle = new Circle(this.#latLng(place), { radius: place.radiusM, className: 'place-circle', bubblingMouseEvents: true });
            this.#shown.addLayer(circle.bindTooltip(document.createTextNode(place.name), { direction: 'top', className: 'friend-tip' }));
        }
    }

    /** Where it is, if one is being drawn. */
    get draft() {
        return this.#draft;
    }

    /** @param {(Drawn & {onChange: (change: Partial<Drawn>) => void}) | null} draft null: none */
    draw(draft) {
        const begun = draft !== null && this.#draft === null;
        this.#draft = draft;
        if (draft === null) {
            this.#drawing.clearLayers();
            return;
        }
        this.#place(draft);
        if (!begun) return;
        this.#drawing.addLayer(this.#circle).addLayer(this.#handle);
        this.#map.fitBounds(this.#latLng(draft).toBounds(draft.radiusM * 2 * MARGIN), { animate: !this.#calm.matches, maxZoom: 16 });
    }

    #place(draft) {
        const centre = this.#latLng(draft);
        this.#circle.setLatLng(centre);
        this.#circle.setRadius(draft.radiusM);
        if (this.#dragging) return;
        const edge = destination(draft, EAST, draft.radiusM);
        this.#handle.setLatLng([edge.lat, centre.lng + ((edge.lng - draft.lng + 540) % 360) - 180]);
    }
}
