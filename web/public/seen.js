// The notices that a user has seen. This browser keeps them, as the server does not know. No DOM in here.

const KEY = 'starling.noticed';
const MOST = 200; // the server keeps as many

/** @typedef {import('../client/index.js').Notice} Notice */

export class Seen {
    #storage;
    #user;
    /** id -> time, newest first. @type {Map<string, number>} */
    #times;

    /** @param {Pick<Storage, 'getItem' | 'setItem'>} storage @param {string} user */
    constructor(storage, user) {
        const { user: whose, seen = [] } = JSON.parse(storage.getItem(KEY) ?? '{}');
        this.#storage = storage;
        this.#user = user;
        this.#times = new Map(whose === user ? seen : []);
    }

    /**
     * The notices that are new. Those that are older than all that were seen are not: they come back when a mute ends.
     * @param {readonly Notice[]} notices @returns {Notice[]}
     */
    news(notices) {
        const oldest = Math.min(...this.#times.values());
        return notices.filter(({ id, time }) => !this.#times.has(id) && (this.#times.size === 0 || time >= oldest));
    }

    /** @param {readonly Notice[]} notices */
    add(notices) {
        if (notices.every(({ id }) => this.#times.has(id))) return;
        const all = [...this.#times, ...notices.map(({ id, time }) => [id, time])];
        this.#times = new Map([...new Map(all)].sort(([, a], [, b]) => b - a).slice(0, MOST));
        this.#storage.setItem(KEY, JSON.stringify({ user: this.#user, seen: [...this.#times] }));
    }
}
