// What is under the friends where no tiles are configured: a plain ground with meridians and parallels, drawn here.

import { Browser, DomUtil, GridLayer, Layer, latLng, point } from 'leaflet/dist/leaflet-src.esm.js';

const STEPS = [1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30];
const APART_PX = 90;
const TILE_PX = 256;
const CORNER_PX = 75;

/** Degrees from line to line at that zoom. */
function stepAt(zoom) {
    const degreesAPixel = 360 / (TILE_PX * 2 ** zoom);
    return STEPS.find((step) => step >= APART_PX * degreesAPixel) ?? STEPS[STEPS.length - 1];
}

/** Multiples of step from one number to another. */
function multiples(from, to, step) {
    const numbers = [];
    for (let i = Math.ceil(from / step); i * step <= to; i += 1) numbers.push(i * step);
    return numbers;
}

export const CoordinateGrid = GridLayer.extend({
    createTile(coords) {
        const scale = Browser.retina ? 2 : 1;
        const tile = document.createElement('canvas');
        tile.width = TILE_PX * scale;
        tile.height = TILE_PX * scale;
        const context = tile.getContext('2d');
        context.scale(scale, scale);
        context.strokeStyle = getComputedStyle(this._map.getContainer()).getPropertyValue('--grid');
        context.lineWidth = 1;

        const corner = point(coords.x, coords.y).multiplyBy(TILE_PX);
        const northWest = this._map.unproject(corner, coords.z);
        const southEast = this._map.unproject(corner.add([TILE_PX, TILE_PX]), coords.z);
        const step = stepAt(coords.z);
        context.beginPath();
        for (const lng of multiples(northWest.lng, southEast.lng, step)) {
            const x = Math.round(this._map.project(latLng(0, lng), coords.z).x - corner.x) + 0.5;
            context.moveTo(x, 0);
            context.lineTo(x, TILE_PX);
        }
        for (const lat of multiples(southEast.lat, northWest.lat, step)) {
            const y = Math.round(this._map.project(latLng(lat, 0), coords.z).y - corner.y) + 0.5;
            context.moveTo(0, y);
            context.lineTo(TILE_PX, y);
        }
        context.stroke();
        return tile;
    },
});

/** The lines' degrees along the upper and the left edge. */
export const GridLabels = Layer.extend({
    onAdd(map) {
        this._box = DomUtil.create('div', 'grid-labels', map.getContainer());
        this._box.setAttribute('aria-hidden', 'true');
        map.on('move zoomend resize', this._draw, this);
        this._draw();
    },

    onRemove(map) {
        map.off('move zoomend resize', this._draw, this);
        this._box.remove();
    },

    _draw() {
        const bounds = this._map.getBounds();
        const size = this._map.getSize();
        const step = stepAt(Math.round(this._map.getZoom())); // that of the tiles
        const digits = Math.max(0, -Math.floor(Math.log10(step)));
        const labels = [];
        for (const lng of multiples(bounds.getWest(), bounds.getEast(), step)) {
            const { x } = this._map.latLngToContainerPoint([bounds.getNorth(), lng]);
            if (x < CORNER_PX / 2 || x > size.x - CORNER_PX) continue; // cut off, or under the zoom buttons
            labels.push(label('lng', 'left', x, `${Math.abs(lng).toFixed(digits)}° ${lng < 0 ? 'W' : 'E'}`));
        }
        for (const lat of multiples(bounds.getSouth(), bounds.getNorth(), step)) {
            const { y } = this._map.latLngToContainerPoint([lat, bounds.getWest()]);
            if (y < CORNER_PX / 2 || y > size.y - CORNER_PX) continue; // the other labels, the scale
            labels.push(label('lat', 'top', y, `${Math.abs(lat).toFixed(digits)}° ${lat < 0 ? 'S' : 'N'}`));
        }
        this._box.replaceChildren(...labels);
    },
});

function label(name, edge, pixels, text) {
    const span = document.createElement('span');
    span.className = name;
    span.style[edge] = `${Math.round(pixels)}px`;
    span.textContent = text;
    return span;
}
