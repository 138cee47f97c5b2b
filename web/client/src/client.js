// One phone: a connection to starling's edge that comes back by itself, my position reported over it, my nearby friends.
//
//   idle --connect--> connecting --welcome--> online
//                       ^    |                  |
//                       |    +--closed----------+--> waiting (then connecting again)
//                       |                       +--> closed  (bad or expired token, connected elsewhere: not by itself)
//                       +--connect, renew--------------- '
//
// Everything happens on the caller's thread, in socket and timer callbacks; listeners are called last.

import { backoffMs, directedMs, OVERLOADED_MS } from './backoff.js';
import { parseFrame, writeFrame } from './frames.js';
import { roundPosition } from './geo.js';
import { NearbyList } from './nearby.js';
import { TokenSource } from './token.js';

/** @typedef {import('../index.js').LatLng} LatLng */

export const SUBPROTOCOL = 'starling.v1';

export const CloseCode = Object.freeze({
    BAD_TOKEN: 1008,
    TOO_BIG: 1009,
    RESTARTING: 1012,
    OVERLOADED: 1013,
    ELSEWHERE: 4001,
    TOO_SLOW: 4002,
    TOKEN_EXPIRED: 4003,
});

const WELCOME_TIMEOUT_MS = 10000;
const CLOSE_GRACE_MS = 1000; // from a server's word that we should reconnect to its close
const PAGE_TIMEOUT_MS = 10000;
const PREFETCH_EVERY_MS = 250;
const HELD_MS = 10000; // a connection that held this long was a good one
const CLOCK_SLACK_MS = 1000; // the way back and forth; below it the clocks agree
const STALE_AFTER_REPORTS = 4; // reports of a friend that did not come
const TOKEN_TIMEOUT_MS = 30000; // for an application's token function to answer
const TOKEN_REASONS = ['bad_token', 'token_expired'];
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export class StarlingClient {
    #url;
    /** @type {TokenSource} */
    #tokens;
    /** @type {string} */
    #token = '';
    #place;
    /** @type {number | undefined} */
    #accuracy;
    #throttleMs;
    #prefetch;
    /** @type {number | undefined} */
    #staleAfterMs;
    #clock;
    #random;
    #WebSocket;
    /** @type {import('../index.js').NetworkEvents | null} */
    #network;

    /** @type {import('../index.js').State} */
    #state = 'idle';
    /** @type {import('../index.js').Welcome | null} */
    #welcome = null;
    /** @type {WebSocket | null} */
    #socket = null;
    /** Counts the attempts, so that what an earlier one was waiting for is known to be no longer wanted. */
    #attempt = 0;
    #awaitingFirstPage = true;
    #nearby = new NearbyList();
    /** @type {Map<string, Set<Function>>} */
    #listeners = new Map();

    #clockOffset;
    #failures = 0;
    #onlineSince = 0;
    /** @type {number | null} */
    #reconnectAt = null;
    #sentAt = -Infinity;
    #sentTime = 0;
    /** @type {LatLng | null} */
    #sentPlace = null;
    /** @type {Map<string, any>} */
    #timers = new Map();

    /** @param {import('../index.js').ClientOptions} options */
    constructor(options) {
        this.#url = options.url;
        this.#tokens = new TokenSource(options.token);
        this.#place = checkedPosition(options.position);
        this.#accuracy = options.position.accuracy;
        this.#throttleMs = options.throttleMs ?? 1000;
        this.#prefetch = options.prefetch ?? false;
        this.#staleAfterMs = options.staleAfterMs;
        this.#network = options.network ?? browserNetwork();
        this.#clockOffset = options.clockOffsetMs ?? 0;
        this.#random = options.random ?? Math.random;
        this.#WebSocket = options.WebSocket ?? globalThis.WebSocket;
        this.#clock = options.clock ?? {
            now: () => Date.now(),
            setTimeout: (/** @type {() => void} */ run, /** @type {number} */ ms) => setTimeout(run, ms),
            clearTimeout: (/** @type {any} */ timer) => clearTimeout(timer),
        };
        this.#nearby.place(this.#place);
    }

    get state() {
        return this.#state;
    }
    /** What the server said of itself, once it has. */
    get welcome() {
        return this.#welcome;
    }
    get position() {
        return this.#place;
    }
    /** The nearest friends, as many as were asked for by more(). */
    get list() {
        return this.#nearby.list();
    }
    /** Every friend known to be near, nearest first. */
    get known() {
        return this.#nearby.known();
    }
    get total() {
        return this.#nearby.total;
    }
    get hasMore() {
        return this.#nearby.hasMore;
    }
    /** Every page has come. */
    get complete() {
        return this.#nearby.complete;
    }

    /** @returns {number} milliseconds since the epoch by the server's clock */
    serverNow() {
        return this.#clock.now() + this.#clockOffset;
    }

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

    /** Connects now, and again whenever the connection is lost. */
    connect() {
        if (this.#state === 'connecting' || this.#state === 'online') return;
        this.#network?.addEventListener('online', this.#networkIsBack);
        this.#failures = 0;
        this.#tokens.trust();
        this.#open();
    }

    #networkIsBack = () => this.reconnect();

    /** The network has changed: whatever the socket believes, start afresh. Does nothing before connect(). */
    reconnect() {
        if (this.#state === 'idle' || this.#state === 'closed') return;
        this.#failures = 0;
        this.#open();
    }

    /** The device has slept: is the connection what it seems to be? A hello that nobody answers ends it, and it is made anew. */
    check() {
        if (this.#state !== 'online' || this.#timers.has('welcome')) return;
        this.#sendHello();
        this.#timer('welcome', WELCOME_TIMEOUT_MS, () => this.#drop());
    }

    /** Leaves for good, until connect(). */
    close() {
        this.#network?.removeEventListener('online', this.#networkIsBack);
        this.#attempt += 1;
        this.#abandonSocket(1000);
        this.#clearTimers();
        this.#nearby.clear();
        if (this.#state !== 'idle') this.#setState('idle');
    }

    /**
     * A newer token of the same user: renews an open connection, or opens the one that ended for want of it.
     * @param {import('../index.js').Token} token
     */
    renew(token) {
        this.#tokens = new TokenSource(token);
        if (this.#state === 'online') this.#renewToken();
        else if (this.#state !== 'idle') this.#open();
    }

    /**
     * I am here now. Distances change at once; the report goes out at once, too, but not more than one a second.
     * @param {LatLng & {accuracy?: number}} position
     */
    move(position) {
        this.#place = checkedPosition(position);
        this.#accuracy = position.accuracy;
        this.#nearby.place(this.#place);
        if (this.#state === 'online') this.#reportSoon();
        this.#emit('change', { cause: 'move', came: [], gone: [] });
    }

    /** Twenty more in the list. */
    more() {
        this.#nearby.more();
        this.#askForPage();
        this.#emit('change', { cause: 'more', came: [], gone: [] });
    }

    // ---- the connection -------------------------------------------------------------------------------------------

    #open() {
        this.#attempt += 1;
        this.#abandonSocket(1000);
        this.#clearTimers();
        this.#reconnectAt = null;
        this.#awaitingFirstPage = true;
        this.#scheduleExpiry();
        this.#setState('connecting');
        this.#fetchToken(() => this.#openSocket(), () => this.#lost(1006));
    }

    /**
     * Calls one of the two, at once if the token is at hand; neither if a newer attempt has begun meanwhile.
     * @param {() => void} then
     * @param {() => void} otherwise
     */
    #fetchToken(then, otherwise) {
        const attempt = this.#attempt;
        const mine = () => {
            if (attempt !== this.#attempt) return false;
            this.#clearTimer('token');
            return true;
        };
        const failed = (/** @type {unknown} */ error) => {
            if (!mine()) return;
            this.#emit('error', { code: 'no_token', message: String(error) });
            if (attempt === this.#attempt) otherwise();
        };
        const got = (/** @type {string} */ token) => {
            if (!mine()) return;
            this.#token = token;
            then();
        };
        const token = this.#tokens.get();
        if (typeof token === 'string') return got(token);
        this.#timer('token', TOKEN_TIMEOUT_MS, () => failed('the application gave no token'));
        token.then(got, failed);
    }

    #openSocket() {
        /** @type {WebSocket} */
        let socket;
        try {
            socket = new this.#WebSocket(this.#url, [SUBPROTOCOL]);
        } catch (error) {
            this.#setState('closed', { reason: 'url' });
            this.#emit('error', { code: 'bad_url', message: String(error) });
            return;
        }
        this.#socket = socket;
        socket.onopen = () => {
            if (socket === this.#socket) this.#sendHello();
        };
        socket.onmessage = (event) => {
            if (socket === this.#socket) this.#received(event.data);
        };
        socket.onclose = (event) => {
            if (socket === this.#socket) this.#lost(event.code, event.reason);
        };
        // Nothing to learn from it: the close that follows says what happened. Without a listener `ws` would throw.
        socket.onerror = () => {};
        this.#timer('welcome', WELCOME_TIMEOUT_MS, () => this.#drop());
    }

    /** The socket is of no use any more, whether or not it knows. */
    #drop() {
        this.#abandonSocket(1000);
        this.#lost(1006);
    }

    /** @param {number} code */
    #abandonSocket(code) {
        const socket = this.#socket;
        this.#socket = null;
        this.#nearby.disconnected();
        if (socket) socket.close(code);
    }

    /** @param {number} code @param {string} [why] the server's reason */
    #lost(code, why) {
        this.#socket = null;
        const now = this.#clock.now();
        if (this.#state === 'online' && now - this.#onlineSince >= HELD_MS) this.#failures = 0;
        this.#clearTimers();
        this.#nearby.disconnected();
        this.#scheduleExpiry();
        const reason = this.#final(code, why);
        if (reason) {
            this.#setState('closed', { reason, code });
            return;
        }
        const delay =
            this.#reconnectAt === null
                ? backoffMs(this.#failures, this.#random, code === CloseCode.OVERLOADED ? OVERLOADED_MS : 0)
                : Math.max(0, this.#reconnectAt - now);
        this.#failures += 1;
        this.#timer('reconnect', delay, () => this.#open());
        this.#setState('waiting', { code, retryAt: now + delay });
    }

    /**
     * Why there is no coming back by ourselves; undefined: there is.
     * @param {number} code
     * @param {string} [why]
     * @returns {import('../index.js').ClosedReason | undefined}
     */
    #final(code, why) {
        if (code === CloseCode.ELSEWHERE) return 'elsewhere';
        if (code !== CloseCode.TOKEN_EXPIRED && code !== CloseCode.BAD_TOKEN) return undefined;
        // 1008 is said of other things, too: a hello that came too late over a bad network, say. Those pass.
        if (code === CloseCode.BAD_TOKEN && why && !TOKEN_REASONS.includes(why)) return undefined;
        if (this.#tokens.refused()) return undefined;
        return code === CloseCode.TOKEN_EXPIRED || why === 'token_expired' ? 'expired' : 'token';
    }

    /** @param {unknown} data */
    #received(data) {
        let frame;
        try {
            frame = parseFrame(data);
        } catch {
            this.#emit('error', { code: 'bad_frame', message: 'The server sent what is not a frame.' });
            return;
        }
        switch (frame.type) {
            case 'welcome':
                return this.#welcomed(frame);
            case 'nearby':
                return this.#paged(frame);
            case 'update':
                return this.#changed('update', this.#nearby.update(frame, this.serverNow()));
            case 'reconnect':
                return this.#toldToReconnect(frame);
            case 'error':
                return this.#failed(frame);
            default: // a newer server may say more than we understand
        }
    }

    /** @param {any} frame */
    #welcomed(frame) {
        const first = this.#state !== 'online';
        const now = this.#clock.now();
        if (Number.isFinite(frame.server_time)) {
            const offset = frame.server_time - now;
            if (Math.abs(offset - this.#clockOffset) > CLOCK_SLACK_MS) {
                this.#clockOffset = offset;
                this.#sentPlace = null; // reported at a wrong time: once more
            }
        }
        this.#welcome = Object.freeze({
            user: String(frame.user),
            serverTime: Number.isFinite(frame.server_time) ? frame.server_time : now,
            radiusM: positiveOr(frame.radius_m, Infinity),
            reportEveryS: positiveOr(frame.report_every_s, 30),
            inactiveAfterS: positiveOr(frame.inactive_after_s, 600),
        });
        this.#nearby.configure({
            radiusM: this.#welcome.radiusM,
            inactiveMs: this.#welcome.inactiveAfterS * 1000,
            staleMs: this.#staleAfterMs ?? this.#welcome.reportEveryS * 1000 * STALE_AFTER_REPORTS,
        });
        this.#clearTimer('welcome');
        this.#tokens.trust();
        this.#scheduleRenewal();
        if (first) {
            this.#onlineSince = now;
            this.#setState('online');
        }
        if (!samePlace(this.#sentPlace, this.#place)) this.#reportSoon();
        else this.#schedulePeriodicReport();
        this.#emit('welcome', this.#welcome);
    }

    /** @param {any} frame */
    #paged(frame) {
        if (this.#awaitingFirstPage) this.#nearby.restart(frame, this.serverNow());
        else this.#nearby.page(frame, this.serverNow());
        this.#awaitingFirstPage = false;
        this.#clearTimer('page');
        this.#changed('page', { came: [], gone: [] });
    }

    /** @param {any} frame */
    #toldToReconnect(frame) {
        const after = directedMs(Math.max(0, Number(frame.after_ms) || 0), this.#random);
        this.#reconnectAt = this.#clock.now() + after;
        // The server closes when it likes until then, or right after. If it never does, we keep to what was said.
        this.#timer('reconnect', Math.max(after, CLOSE_GRACE_MS), () => this.#open());
    }

    /** @param {any} frame */
    #failed(frame) {
        if (this.#nearby.asking && /cursor|more/i.test(String(frame.code))) this.#pageFailed();
        this.#emit('error', { code: String(frame.code), message: String(frame.message ?? frame.code) });
    }

    // ---- the token ------------------------------------------------------------------------------------------------

    /** A function can be asked for the next token before this one ends. */
    #scheduleRenewal() {
        const wait = this.#tokens.renewIn(this.#token, this.serverNow());
        if (wait === null) this.#clearTimer('renewal');
        else this.#timer('renewal', wait, () => this.#renewToken());
    }

    #renewToken() {
        this.#fetchToken(
            () => {
                if (this.#state === 'online') this.#sendHello();
            },
            () => this.#scheduleRenewal(),
        );
    }

    // ---- reports --------------------------------------------------------------------------------------------------

    #sendHello() {
        this.#send({ type: 'hello', token: this.#token, ...this.#place, time: this.#nextTime() });
        this.#noteSent();
    }

    #sendLocation() {
        this.#send({ type: 'location', ...this.#place, time: this.#nextTime(), accuracy: this.#accuracy });
        this.#noteSent();
        this.#schedulePeriodicReport();
    }

    #noteSent() {
        this.#sentAt = this.#clock.now();
        this.#sentPlace = this.#place;
    }

    /** Later than the report before, also when our clock was found to be fast: an older one would count for nothing. */
    #nextTime() {
        this.#sentTime = Math.max(this.#sentTime + 1, Math.round(this.serverNow()));
        return this.#sentTime;
    }

    #reportSoon() {
        const wait = this.#sentAt + this.#throttleMs - this.#clock.now();
        if (wait <= 0) this.#sendLocation();
        else if (this.#timers.get('report')?.soon !== true) this.#timer('report', wait, () => this.#sendLocation(), true);
    }

    #schedulePeriodicReport() {
        const everyMs = (this.#welcome?.reportEveryS ?? 30) * 1000;
        this.#timer('report', everyMs, () => this.#sendLocation());
    }

    /** @param {Record<string, unknown>} frame */
    #send(frame) {
        this.#socket?.send(writeFrame(frame));
    }

    // ---- the list -------------------------------------------------------------------------------------------------

    /**
     * @param {import('../index.js').ChangeCause} cause
     * @param {{came: import('../index.js').Friend[], gone: string[]}} difference
     */
    #changed(cause, difference) {
        this.#askForPage();
        this.#scheduleExpiry();
        this.#emit('change', { cause, ...difference });
    }

    #askForPage(everything = false) {
        if (this.#state !== 'online' || this.#awaitingFirstPage) return;
        const cursor = this.#nearby.nextRequest(everything);
        if (cursor === undefined) return this.#prefetchSoon();
        this.#send({ type: 'more', after: cursor });
        this.#timer('page', PAGE_TIMEOUT_MS, () => this.#pageFailed());
    }

    /** Nothing is wanted for the list: the other pages may come at leisure. */
    #prefetchSoon() {
        if (!this.#prefetch || this.#nearby.complete || this.#nearby.asking || this.#timers.has('prefetch')) return;
        this.#timer('prefetch', PREFETCH_EVERY_MS, () => this.#askForPage(true));
    }

    #pageFailed() {
        this.#clearTimer('page');
        this.#nearby.giveUpRequest();
        this.#emit('change', { cause: 'page', came: [], gone: [] });
    }

    #scheduleExpiry() {
        const at = this.#nearby.nextExpiry();
        if (at === null) return this.#clearTimer('expiry');
        this.#timer('expiry', Math.max(0, at - this.serverNow()), () => {
            const { gone, stale } = this.#nearby.expire(this.serverNow());
            if (gone.length > 0) this.#changed('expiry', { came: [], gone });
            else if (stale) this.#changed('stale', { came: [], gone });
            else this.#scheduleExpiry();
        });
    }

    // ---- timers and listeners -------------------------------------------------------------------------------------

    /**
     * One timer a name: a new one takes the place of the old.
     * @param {string} name
     * @param {number} ms
     * @param {() => void} run
     * @param {boolean} [soon]
     */
    #timer(name, ms, run, soon = false) {
        this.#clearTimer(name);
        const handle = this.#clock.setTimeout(
            () => {
                this.#timers.delete(name);
                run();
            },
            Math.min(ms, LONGEST_TIMER_MS),
        );
        this.#timers.set(name, { handle, soon });
    }

    /** @param {string} name */
    #clearTimer(name) {
        const timer = this.#timers.get(name);
        if (!timer) return;
        this.#clock.clearTimeout(timer.handle);
        this.#timers.delete(name);
    }

    #clearTimers() {
        for (const name of [...this.#timers.keys()]) this.#clearTimer(name);
    }

    /**
     * @param {import('../index.js').State} state
     * @param {Partial<import('../index.js').StateChange>} [detail]
     */
    #setState(state, detail = {}) {
        this.#state = state;
        this.#emit('state', { state, ...detail });
    }

    /** @param {string} type @param {unknown} event */
    #emit(type, event) {
        for (const listener of [...(this.#listeners.get(type) ?? [])]) listener(event);
    }
}

/**
 * @param {LatLng} position
 * @returns {LatLng}
 */
function checkedPosition({ lat, lng }) {
    if (!(Math.abs(lat) <= 90) || !(Math.abs(lng) <= 180)) throw new RangeError(`not a position: ${lat}, ${lng}`);
    return Object.freeze(roundPosition({ lat, lng }));
}

/** What tells of the network's return, in a browser. */
function browserNetwork() {
    const { addEventListener, removeEventListener } = globalThis;
    if (typeof addEventListener !== 'function') return null;
    return {
        addEventListener: addEventListener.bind(globalThis),
        removeEventListener: removeEventListener.bind(globalThis),
    };
}

/** @param {LatLng | null} a @param {LatLng} b */
function samePlace(a, b) {
    return a !== null && a.lat === b.lat && a.lng === b.lng;
}

/** @param {unknown} value @param {number} otherwise */
function positiveOr(value, otherwise) {
    return typeof value === 'number' && value > 0 ? value : otherwise;
}
