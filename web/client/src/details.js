// What phones say beside the place, as the server's JSON has it and as applications see it. What is not said is not there.

/** @type {readonly [string, keyof import('../index.js').Details][]} */
const NAMES = [
    ['battery', 'battery'], ['charging', 'charging'], ['speed_mps', 'speed'], ['course', 'course'], ['activity', 'activity'],
    ['vertical_accuracy_m', 'verticalAccuracy'],
];

/** @param {any} item @returns {import('../index.js').Details} */
export function readDetails(item) {
    return Object.fromEntries(NAMES.filter(([theirs]) => item[theirs] !== undefined).map(([theirs, ours]) => [ours, item[theirs]]));
}

/** @param {import('../index.js').Details} details */
export function writeDetails(details) {
    return Object.fromEntries(NAMES.filter(([, ours]) => details[ours] !== undefined).map(([theirs, ours]) => [theirs, details[ours]]));
}
