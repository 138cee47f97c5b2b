// The threads of all posts that are shown. How many comments a post has comes with it, or is asked for when the post comes in sight.

import { Drafts } from './drafts.js';
import { Thread, isAway } from './thread.js';

const AGAIN_MS = 60_000; // until a count that could not be read is asked for again

export class Threads {
    #api = null;
    #user = '';
    #serverNow = () => Date.now();
    #client = null;
    #drafts = new Drafts();
    /** element -> thread */
    #threads = new Map();
    #queue = [];
    #asking = false;
    #none = false; // this server has no comments
    /** The threads on the screen. @type {Set<Thread>} */
    #inSight = new Set();
    #sight = new IntersectionObserver((seen) => {
        for (const { target, isIntersecting } of seen) this.#moved(this.#threads.get(target), isIntersecting);
    });

    /** @param {any} api @param {any} client @param {string} user @param {() => number} serverNow */
    signIn(api, client, user, serverNow) {
        this.#api = api;
        this.#client = client;
        this.#user = user;
        this.#serverNow = serverNow;
        this.#none = false;
        this.#queue = [];
        this.#drafts.signIn(user);
    }

    /** Signed out by hand: what is not sent goes. */
    forget() {
        this.#drafts.forget();
    }

    /** @param {any} post @returns {Thread} below the post until it is dropped */
    make(post) {
        const parts = { api: this.#api, user: this.#user, serverNow: () => this.#serverNow(), drafts: this.#drafts,
            watch: (subject) => this.#client?.watchComments(subject) ?? null };
        const thread = new Thread(post, parts);
        this.#threads.set(thread.element, thread);
        this.#sight.observe(thread.element);
        return thread;
    }

    /** @param {Thread} thread */
    drop(thread) {
        thread.close();
        this.#sight.unobserve(thread.element);
        this.#threads.delete(thread.element);
        this.#inSight.delete(thread);
    }

    /** Time goes by. Only threads in sight are read again. */
    tick() {
        for (const thread of this.#inSight) thread.tick();
    }

    /** @param {Thread | undefined} thread undefined: it was dropped */
    #moved(thread, isInSight) {
        if (!thread) return;
        if (!isInSight) return this.#inSight.delete(thread);
        this.#inSight.add(thread);
        this.#wanted(thread);
    }

    #wanted(thread) {
        if (!thread.wantsCount || this.#queue.includes(thread)) return;
        if (this.#none) return thread.counted(null);
        if (performance.now() < (this.#triedAt.get(thread) ?? -Infinity) + AGAIN_MS) return;
        this.#queue.push(thread);
        this.#askNext();
    }
    #triedAt = new WeakMap();

    async #askNext() {
        const thread = this.#asking ? undefined : this.#queue.shift();
        if (!thread) return;
        const api = this.#api;
        this.#asking = true;
        this.#triedAt.set(thread, performance.now());
        const answer = await api.getComments(`post:${thread.post}`, { limit: 1, replies: 0 }).catch((error) => ({ error }));
        this.#asking = false;
        if (api === this.#api && thread.wantsCount) this.#answered(thread, answer);
        this.#askNext();
    }

    #answered(thread, { error, total, likes }) {
        if (!error) return thread.counted(total, likes);
        if (!isAway(error)) return;
        thread.counted(null);
        if (error.status !== 404) return;
        this.#none = true;
        for (const one of this.#queue.splice(0)) one.counted(null);
    }
}
