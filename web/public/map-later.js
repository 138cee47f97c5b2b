// The map, whose library and ground are larger than all the rest of the page, comes after the list of friends. Until then, what it is to
// show is remembered.

const REMEMBERED = ['setRadius', 'show', 'showCells', 'showTrail', 'showPlaces', 'draw', 'select'];

/** @typedef {import('./map.js').FriendMap} FriendMap */

export class MapLater {
    #element;
    #options;
    /** @type {Promise<void> | null} */
    #loading = null;
    /** @type {FriendMap | null} */
    #map = null;
    #place;
    #last = new Map();

    /** @param {HTMLElement} element @param {ConstructorParameters<typeof FriendMap>[1]} options */
    constructor(element, options) {
        this.#element = element;
        this.#options = options;
        this.setPlace(options.place);
        for (const name of REMEMBERED) this[name] = (...values) => (this.#map ? this.#map[name](...values) : this.#last.set(name, values));
    }

    /** From now on there is room for it. */
    async load() {
        await (this.#loading ??= import('./map.js').then(
            ({ FriendMap }) => this.#made(FriendMap),
            (error) => {
                this.#loading = null; // the next time, then
                console.warn('the map could not be loaded:', error);
            },
        ));
    }

    /** @param {{lat: number, lng: number}} place where I am */
    setPlace(place) {
        this.#place = place;
        Object.assign(this.#element.dataset, place);
        this.#map?.setPlace(place);
    }

    centre() {
        this.#map?.centre();
    }

    #made(FriendMap) {
        this.#map = new FriendMap(this.#element, { ...this.#options, place: this.#place });
        for (const name of REMEMBERED) if (this.#last.has(name)) this.#map[name](...this.#last.get(name));
        this.#last.clear();
    }
}
