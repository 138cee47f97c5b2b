// A stroll without an aim: a steady pace, a heading that drifts, and a turn for home when it has gone far.

import { bearingDegrees, destination, distanceMetres } from '../client/index.js';

const METRES_A_STEP = 12;
const DRIFT_DEGREES = 50;
const FAR_FROM_HOME_M = 2500;

/**
 * @param {{lat: number, lng: number}} place
 * @param {{home: {lat: number, lng: number}, heading: number}} stroll
 * @param {() => number} random
 * @returns {{place: {lat: number, lng: number}, heading: number}}
 */
export function strollOn(place, { home, heading }, random) {
    const drifted = (heading + (random() - 0.5) * DRIFT_DEGREES + 360) % 360;
    const next = distanceMetres(home, place) > FAR_FROM_HOME_M ? bearingDegrees(place, home) : drifted;
    return { place: destination(place, next, METRES_A_STEP), heading: next };
}
