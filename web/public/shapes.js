// GeoJSON with OpenStreetMap's tags as shapes to draw: what each one is, and where on a square world (0 to 1, as Web Mercator has
// it). No DOM in here.

const MAIN = ['motorway', 'trunk', 'primary', 'secondary'];
const PATHS = ['footway', 'path', 'cycleway', 'pedestrian', 'steps', 'bridleway', 'track'];
const GREEN = ['park', 'garden', 'golf_course', 'pitch', 'nature_reserve', 'common', 'playground'];
const BUILT = ['residential', 'commercial', 'industrial', 'retail'];
const MOST_LATITUDE = 85.0511287798;

/** The order of the layers, from the lowest. */
export const KINDS = ['land', 'built', 'wood', 'park', 'water', 'stream', 'path', 'street', 'main', 'rail'];

/** @param {Record<string, unknown> | null} tags @param {boolean} area @returns {string | null} one of KINDS; null: it is not drawn */
export function kindOf(tags, area) {
    const { highway, waterway, natural, leisure, landuse, railway } = tags ?? {};
    if (!area) {
        if (MAIN.some((one) => highway === one || highway === `${one}_link`)) return 'main';
        if (PATHS.includes(highway)) return 'path';
        if (highway) return 'street';
        if (waterway) return 'stream';
        return railway === 'rail' || railway === 'light_rail' ? 'rail' : null;
    }
    if (natural === 'water' || waterway === 'riverbank' || landuse === 'reservoir' || natural === 'bay') return 'water';
    if (natural === 'wood' || landuse === 'forest' || natural === 'scrub') return 'wood';
    if (GREEN.includes(leisure) || ['grass', 'cemetery', 'meadow', 'recreation_ground', 'village_green'].includes(landuse)) return 'park';
    if (BUILT.includes(landuse)) return 'built';
    return landuse === 'farmland' ? 'land' : null;
}

/** @param {readonly [number, number]} position longitude and latitude in degrees */
export function project([lng, lat]) {
    const sine = Math.sin((Math.max(-MOST_LATITUDE, Math.min(MOST_LATITUDE, lat)) * Math.PI) / 180);
    return [lng / 360 + 0.5, 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI)];
}

/**
 * @typedef {{west: number, north: number, east: number, south: number}} Box
 * @typedef {{kind: string, lines: Float64Array[], box: Box}} Shape lines: x and y in turn; of an area its rings
 * @typedef {{name: string, kind: string, x: number, y: number, size: number}} Label size: of what is named, 0 for a place
 * @param {any} collection a FeatureCollection (else throws); features that are not understood are left out
 * @returns {{shapes: Shape[], labels: Label[]}}
 */
export function shapesOf(collection) {
    const shapes = [];
    const labels = [];
    if (!Array.isArray(collection?.features)) throw new Error('this is no FeatureCollection');
    for (const feature of collection.features) {
        const { type, coordinates } = feature?.geometry ?? {};
        const tags = feature?.properties ?? {};
        const name = typeof tags.name === 'string' ? tags.name : '';
        if (type === 'Point') {
            if (name && tags.place) labels.push({ name, kind: 'place', ...pointOf(project(coordinates)), size: 0 });
            continue;
        }
        for (const { area, rings } of partsOf(type, coordinates)) {
            const kind = kindOf(tags, area);
            if (!kind) continue;
            const lines = rings.map((ring) => Float64Array.from(ring.flatMap(project)));
            const box = boxOf(lines);
            shapes.push({ kind, lines, box });
            const centre = { x: (box.west + box.east) / 2, y: (box.north + box.south) / 2 };
            if (area && name && kind !== 'built' && isIn(lines[0], centre)) labels.push({ name, kind, ...centre, size: box.east - box.west });
        }
    }
    return { shapes, labels };
}

function partsOf(type, coordinates) {
    if (type === 'LineString') return [{ area: false, rings: [coordinates] }];
    if (type === 'MultiLineString') return coordinates.map((line) => ({ area: false, rings: [line] }));
    if (type === 'Polygon') return [{ area: true, rings: coordinates }];
    if (type === 'MultiPolygon') return coordinates.map((rings) => ({ area: true, rings }));
    return [];
}

const pointOf = ([x, y]) => ({ x, y });

function boxOf(lines) {
    const box = { west: Infinity, north: Infinity, east: -Infinity, south: -Infinity };
    for (const line of lines) {
        for (let i = 0; i < line.length; i += 2) {
            box.west = Math.min(box.west, line[i]);
            box.east = Math.max(box.east, line[i]);
            box.north = Math.min(box.north, line[i + 1]);
            box.south = Math.max(box.south, line[i + 1]);
        }
    }
    return box;
}

/** Whether the ring has the point inside. */
function isIn(ring, { x, y }) {
    let inside = false;
    for (let i = 0, j = ring.length - 2; i < ring.length; j = i, i += 2) {
        const crosses = ring[i + 1] > y !== ring[j + 1] > y;
        if (crosses && x < ((ring[j] - ring[i]) * (y - ring[i + 1])) / (ring[j + 1] - ring[i + 1]) + ring[i]) inside = !inside;
    }
    return inside;
}

/** @param {Box} a @param {Box} b */
export const meet = (a, b) => a.west <= b.east && b.west <= a.east && a.north <= b.south && b.north <= a.south;
