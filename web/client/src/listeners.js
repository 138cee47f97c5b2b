// Events and the functions that listen to them. Listeners are called in the order in which they came.

export class Listeners {
    /** @type {Map<string, Set<Function>>} */
    #listeners = new Map();

    /**
     * @param {string} type
     * @param {Function} listener
     * @returns {() => void} takes the listener away again
     */
    on(type, listener) {
        const listeners = this.#listeners.get(type) ?? new Set();
        this.#listeners.set(type, listeners.add(listener));
        return () => void listeners.delete(listener);
    }

    /** @param {string} type @param {unknown} event */
    emit(type, event) {
        for (const listener of [...(this.#listeners.get(type) ?? [])]) listener(event);
    }
}
