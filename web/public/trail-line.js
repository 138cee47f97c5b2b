// Reports as lines on a map. No DOM in here.

import { distanceMetres } from '../client/index.js';

const GAP_MS = 900_000; // nobody knows where I was between two reports so far apart

/**
 * @typedef {{lat: number, lng: number, time: number}} Report
 * @param {readonly Report[]} reports by time
 * @returns {{lines: Report[][], hours: Report[], metres: number}} hours: the first report of each
 */
export function trailOf(reports) {
    const lines = [];
    const hours = [];
    let metres = 0;
    let before = null;
    for (const report of reports) {
        const goesOn = before !== null && report.time - before.time <= GAP_MS;
        if (goesOn) {
            lines.at(-1).push(report);
            metres += distanceMetres(before, report);
        } else lines.push([report]);
        if (before === null || hourOf(report.time) !== hourOf(before.time)) hours.push(report);
        before = report;
    }
    return { lines, hours, metres };
}

const hourOf = (time) => Math.floor(time / 3_600_000);
