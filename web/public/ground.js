// The ground under the friends: tiles of a server, or a map that is drawn here from GeoJSON, or a grid; and whose map it is.

import { Control, GridLayer, TileLayer } from 'leaflet/dist/leaflet-src.esm.js';
import { CoordinateGrid, GridLabels } from './grid.js';
import { KINDS, meet, shapesOf } from './shapes.js';

const TILE_PX = 256;
const SCALE = 2; // pixels of canvas to one of the page: sharp on a phone, and where a tile is shown larger than it was drawn
const LABEL_PX = 90; // half of the longest one
const WATER_NAMES_PX = 70; // what is named must be so wide
const AREAS = ['land', 'built', 'wood', 'park', 'water'];
const LINES = {
    // Pixels at zoom 13, and the first zoom at which they are drawn.
    stream: { width: 1.6, from: 10 },
    path: { width: 0.9, from: 13, dash: [3, 2] },
    street: { width: 2.2, from: 11, edge: true },
    main: { width: 3.6, from: 8, edge: true },
    rail: { width: 1.3, from: 10, dash: [7, 4] },
};
const PLACES_FROM = 11;
const dark = matchMedia('(prefers-color-scheme: dark)');

/**
 * Puts the ground under the map. A drawn map is drawn anew when light turns to dark.
 * @param {import('leaflet/dist/leaflet-src.esm.js').Map} map
 * @param {{tileUrl: string, mapUrl: string, attribution: string}} settings
 */
export function addGround(map, { tileUrl, mapUrl, attribution }) {
    if (attribution && (tileUrl || mapUrl)) new Control.Attribution({ prefix: false }).addAttribution(linked(attribution)).addTo(map);
    if (tileUrl) {
        // A tile server wants to know which site its guests come from, which the page tells nobody else.
        new TileLayer(tileUrl, { maxZoom: 19, referrerPolicy: 'origin' }).addTo(map);
        return;
    }
    const grid = new CoordinateGrid().addTo(map);
    const labels = new GridLabels().addTo(map);
    dark.addEventListener('change', () => grid.redraw());
    if (mapUrl) drawMap(map, mapUrl, labels);
}

/** In its own time: whoever opens the page does not wait for it. */
async function drawMap(map, url, gridLabels) {
    try {
        const response = await fetch(url);
        if (!response.ok) throw new Error(`${url} answered ${response.status}`);
        const drawn = new DrawnMap(shapesOf(await response.json())).addTo(map);
        gridLabels.remove();
        dark.addEventListener('change', () => drawn.redraw());
    } catch (error) {
        console.warn('the map could not be read:', error);
    }
}

const DrawnMap = GridLayer.extend({
    initialize({ shapes, labels }) {
        GridLayer.prototype.initialize.call(this, { className: 'drawn-map' });
        this._byKind = new Map(KINDS.map((kind) => [kind, shapes.filter((shape) => shape.kind === kind)]));
        this._labels = labels;
    },

    createTile({ x, y, z }) {
        const tile = document.createElement('canvas');
        tile.width = tile.height = TILE_PX * SCALE;
        const context = tile.getContext('2d');
        const world = TILE_PX * 2 ** z;
        context.scale(SCALE, SCALE);
        context.translate(-x * TILE_PX, -y * TILE_PX);
        const style = getComputedStyle(this._map.getContainer());
        this._draw({ context, world, z, colour: (name) => style.getPropertyValue(`--map-${name}`) }, (margin) => ({
            west: (x * TILE_PX - margin) / world,
            east: ((x + 1) * TILE_PX + margin) / world,
            north: (y * TILE_PX - margin) / world,
            south: ((y + 1) * TILE_PX + margin) / world,
        }));
        return tile;
    },

    _draw(on, around) {
        const { context, z, colour } = on;
        context.lineJoin = context.lineCap = 'round';
        for (const kind of AREAS) {
            context.fillStyle = colour(kind);
            trace(on, this._within(kind, around(0)));
            context.fill('evenodd');
        }
        const widen = 2 ** ((z - 13) * (z > 13 ? 0.85 : 0.55));
        const lines = Object.entries(LINES).filter(([, { from }]) => z >= from);
        for (const edge of [true, false]) {
            for (const [kind, line] of lines) {
                if (edge && (!line.edge || z < 13)) continue;
                context.strokeStyle = colour(edge ? 'edge' : kind);
                context.lineWidth = line.width * widen + (edge ? 1.6 : 0);
                context.globalAlpha = kind === 'street' && z < 13 ? 0.55 : 1; // they are many
                context.setLineDash(edge || !line.dash ? [] : line.dash);
                if (line.dash) context.lineCap = 'butt';
                trace(on, this._within(kind, around(20)));
                context.stroke();
                context.lineCap = 'round';
            }
        }
        context.setLineDash([]);
        context.globalAlpha = 1;
        for (const label of this._labels) if (meet({ west: label.x, east: label.x, north: label.y, south: label.y }, around(LABEL_PX))) name(on, label);
    },

    _within(kind, box) {
        return this._byKind.get(kind).filter((shape) => meet(shape.box, box));
    },
});

/** Makes their lines the context's path. */
function trace({ context, world }, shapes) {
    context.beginPath();
    for (const { lines } of shapes) {
        for (const line of lines) {
            context.moveTo(line[0] * world, line[1] * world);
            for (let i = 2; i < line.length; i += 2) context.lineTo(line[i] * world, line[i + 1] * world);
        }
    }
}

function name({ context, world, z, colour }, label) {
    const isPlace = label.kind === 'place';
    if (isPlace ? z < PLACES_FROM : label.size * world < WATER_NAMES_PX) return;
    context.font = isPlace ? '600 12px system-ui, sans-serif' : 'italic 11px system-ui, sans-serif';
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    context.lineWidth = 3;
    context.strokeStyle = colour('halo');
    context.fillStyle = colour(isPlace ? 'place' : `${label.kind}-name`);
    context.strokeText(label.name, label.x * world, label.y * world);
    context.fillText(label.name, label.x * world, label.y * world);
}

/** Plain text as markup; [text](https://address) becomes a link. @param {string} text */
export function linked(text) {
    const plain = (part) => part.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
    return text
        .split(/(\[[^\]]*\]\(https?:\/\/[^\s)]*\))/)
        .map((part, index) => {
            if (index % 2 === 0) return plain(part);
            const [, words, address] = /^\[(.*)\]\((.*)\)$/.exec(part);
            return `<a href="${plain(address)}" target="_blank" rel="noopener">${plain(words)}</a>`;
        })
        .join('');
}
