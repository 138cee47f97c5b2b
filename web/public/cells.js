// The cells of the map in which strangers are. No DOM in here.

/**
 * The cells that have somebody in them, as corners on the map.
 * @param {readonly {lat: number, lng: number}[]} strangers
 * @param {{height: number, width: number}} cell degrees
 * @returns {{key: string, south: number, north: number, west: number, east: number, count: number}[]}
 */
export function cellsOf(strangers, { height, width }) {
    const cells = new Map();
    for (const { lat, lng } of strangers) {
        const key = `${lat},${lng}`;
        const cell = cells.get(key) ?? {
            key, south: lat - height / 2, north: lat + height / 2, west: lng - width / 2, east: lng + width / 2, count: 0,
        };
        cell.count += 1;
        cells.set(key, cell);
    }
    return [...cells.values()];
}
