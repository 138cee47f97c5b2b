// Positions are {lat, lng} in degrees, as sent: multiples of 1e-7. Distances are metres on a sphere.

import { InvalidPosition } from './errors.js';

/** Radius of the earth that starling computes with, in metres. */
export const EARTH_RADIUS_M = 6371008.8;

const RADIANS = Math.PI / 180;

/**
 * Great-circle distance by the haversine formula.
 * @param {import('../index.js').LatLng} a
 * @param {import('../index.js').LatLng} b
 * @returns {number} metres
 */
export function distanceMetres(a, b) {
    const halfLat = Math.sin(((b.lat - a.lat) * RADIANS) / 2);
    const halfLng = Math.sin(((b.lng - a.lng) * RADIANS) / 2);
    const h = halfLat * halfLat + Math.cos(a.lat * RADIANS) * Math.cos(b.lat * RADIANS) * halfLng * halfLng;
    return 2 * EARTH_RADIUS_M * Math.asin(Math.sqrt(Math.min(1, h)));
}

/**
 * Direction in which b lies as seen from a.
 * @param {import('../index.js').LatLng} a
 * @param {import('../index.js').LatLng} b
 * @returns {number} degrees clockwise from north, 0 <= bearing < 360
 */
export function bearingDegrees(a, b) {
    const lng = (b.lng - a.lng) * RADIANS;
    const east = Math.sin(lng) * Math.cos(b.lat * RADIANS);
    const north =
        Math.cos(a.lat * RADIANS) * Math.sin(b.lat * RADIANS) -
        Math.sin(a.lat * RADIANS) * Math.cos(b.lat * RADIANS) * Math.cos(lng);
    return ((Math.atan2(east, north) / RADIANS) + 360) % 360;
}

/**
 * Where one arrives after going so many metres in that direction.
 * @param {import('../index.js').LatLng} from
 * @param {number} bearing degrees clockwise from north
 * @param {number} metres
 * @returns {import('../index.js').LatLng}
 */
export function destination(from, bearing, metres) {
    const angle = metres / EARTH_RADIUS_M;
    const lat = from.lat * RADIANS;
    const sinLat = Math.sin(lat) * Math.cos(angle) + Math.cos(lat) * Math.sin(angle) * Math.cos(bearing * RADIANS);
    const lng =
        from.lng * RADIANS +
        Math.atan2(
            Math.sin(bearing * RADIANS) * Math.sin(angle) * Math.cos(lat),
            Math.cos(angle) - Math.sin(lat) * sinLat,
        );
    return roundPosition({ lat: Math.asin(sinLat) / RADIANS, lng: wrapLongitude(lng / RADIANS) });
}

/**
 * The position as it goes over the wire (1e-7 degrees): both ends then compute with the same numbers.
 * @param {import('../index.js').LatLng} position
 * @returns {import('../index.js').LatLng}
 */
export function roundPosition({ lat, lng }) {
    return { lat: Math.round(lat * 1e7) / 1e7, lng: Math.round(lng * 1e7) / 1e7 };
}

/**
 * The position as it goes over the wire, if it is one.
 * @param {import('../index.js').LatLng} position
 * @returns {import('../index.js').LatLng}
 * @throws {InvalidPosition}
 */
export function checkedPosition(position) {
    const { lat, lng } = position ?? {};
    checkDegrees('lat', lat, 90);
    checkDegrees('lng', lng, 180);
    return Object.freeze(roundPosition({ lat, lng }));
}

/** @param {string} name @param {unknown} value @param {number} limit */
function checkDegrees(name, value, limit) {
    if (value === undefined || value === null) throw new InvalidPosition(`not a position: ${name} is missing`);
    if (typeof value !== 'number') {
        throw new InvalidPosition(`not a position: ${name} is the ${typeof value} "${value}", and must be a number`);
    }
    if (!(Math.abs(value) <= limit)) throw new InvalidPosition(`not a position: ${name} is ${value}, and must be from -${limit} to ${limit}`);
}

/** @param {number} lng any degrees @returns {number} the same meridian, -180 <= lng < 180 */
export function wrapLongitude(lng) {
    return lng >= -180 && lng < 180 ? lng : ((((lng + 180) % 360) + 360) % 360) - 180;
}
