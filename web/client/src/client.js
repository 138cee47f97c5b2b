// One phone: a connection to starling's edge that comes back by itself, my position reported over it, my nearby friends, my
// home timeline kept up to date.
//
//   idle --connect--> connecting --welcome--> online
//                       ^    |                  |
//                       |    +--closed----------+--> waiting (then connecting again)
//                       |                       +--> closed  (bad or expired token, ended from another device: not by itself)
//                       +--connect, renew--------------- '
//
// Everything happens on the caller's thread, in socket and timer callbacks; listeners are called last.

import { backoffMs, directedMs, OVERLOADED_MS } from './backoff.js';
import { CloseCode, finalReason } from './close.js';
import { commentsPath } from './comments.js';
import { NoWebSocket, connectionEnded, notConnected } from './errors.js';
import { LiveFeed } from './feed.js';
import { LiveThread } from './thread.js';
import { parseFrame, readWelcome, writeFrame } from './frames.js';
import { Listeners } from './listeners.js';
import { NearbySession } from './nearby-session.js';
import { browserNetwork } from './network.js';
import { LiveNotices } from './notices.js';
import { Reporter } from './reporter.js';
import { readStrangers } from './strangers.js';
import { SYSTEM_CLOCK, Timers } from './timers.js';
import { TokenKeeper } from './token.js';

/** @typedef {import('../index.js').LatLng} LatLng */

export const SUBPROTOCOL = 'starling.v1';

const WELCOME_TIMEOUT_MS = 10000;
const CLOSE_GRACE_MS = 1000; // from a server's word that we should reconnect to its close
const HELD_MS = 10000; // a connection that held this long was a good one
const CLOCK_SLACK_MS = 1000; // the way back and forth; below it the clocks agree

export class StarlingClient {
    #url;
    #tokens;
    #reporter;
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
    #nearby;
    /** @type {LiveFeed | null} */
    #feed = null;
    /** By subject. @type {Map<string, LiveThread>} */
    #threads = new Map();
    /** @type {LiveNotices | null} */
    #notices = null;
    #listeners = new Listeners();

    /** @type {string | undefined} */
    #device;
    /** The session of the connection before, as its welcome said it. @type {unknown} */
    #before;

    #clockOffset;
    #failures = 0;
    #onlineSince = 0;
    /** @type {number | null} */
    #reconnectAt = null;
    #timers;

    /** @param {import('../index.js').ClientOptions} options */
    constructor(options) {
        if (typeof options.url !== 'string') throw new TypeError(`url is ${options.url}, and must be the address of an edge: wss://...`);
        this.#url = options.url;
        this.#device = options.device;
        this.#network = options.network ?? browserNetwork();
        this.#clockOffset = options.clockOffsetMs ?? 0;
        this.#random = options.random ?? Math.random;
        this.#WebSocket = options.WebSocket ?? globalThis.WebSocket;
        this.#clock = options.clock ?? SYSTEM_CLOCK;
        this.#timers = new Timers(this.#clock);
        const parts = {
            send: (/** @type {Record<string, unknown>} */ frame) => this.#send(frame),
            serverNow: () => this.serverNow(),
            timers: this.#timers,
        };
        const failed = (/** @type {unknown} */ error) =>
            this.#listeners.emit('error', { code: 'no_token', message: String(error) });
        this.#tokens = new TokenKeeper({ ...parts, token: options.token, failed });
        this.#reporter = new Reporter({ ...parts, clock: this.#clock, throttleMs: options.throttleMs ?? 1000 });
        this.#nearby = new NearbySession({
            ...parts,
            changed: (change) => this.#listeners.emit('change', change),
            prefetch: options.prefetch ?? false,
            staleAfterMs: options.staleAfterMs,
        });
        if (options.position) this.#placeAt(options.position);
    }

    get state() {
        return this.#state;
    }
    /** What the server said of itself, once it has. */
    get welcome() {
        return this.#welcome;
    }
    get position() {
        return this.#reporter.place;
    }
    /** The nearest friends, as many as were asked for by more(). */
    get list() {
        return this.#nearby.list.list();
    }
    /** Every friend known to be near, nearest first. */
    get known() {
        return this.#nearby.list.known();
    }
    get total() {
        return this.#nearby.list.total;
    }
    get hasMore() {
        return this.#nearby.list.hasMore;
    }
    /** Every page has come. */
    get complete() {
        return this.#nearby.list.complete;
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
        return this.#listeners.on(type, listener);
    }

    /** Connects now, and again whenever the connection is lost. @throws {NoWebSocket} */
    connect() {
        if (this.#state === 'connecting' || this.#state === 'online') return;
        if (typeof this.#WebSocket !== 'function') throw new NoWebSocket();
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
        this.#timers.set('welcome', WELCOME_TIMEOUT_MS, () => this.#drop());
    }

    /** Leaves for good, until connect(). */
    close() {
        this.#network?.removeEventListener('online', this.#networkIsBack);
        this.#tokens.cancel();
        this.#abandonSocket(1000);
        this.#timers.clearAll();
        this.#nearby.list.clear();
        if (this.#state !== 'idle') this.#setState('idle');
    }

    /**
     * A newer token of the same user: renews an open connection, or opens the one that ended for want of it.
     * @param {import('../index.js').Token} token
     */
    renew(token) {
        this.#tokens.replace(token);
        if (this.#state === 'online') this.#renewToken();
        else if (this.#state !== 'idle') this.#open();
    }

    /**
     * I am here now. Distances change at once; the report goes out at once, too, but not more than one a second.
     * @param {LatLng & {accuracy?: number} & import('../index.js').Details} position
     */
    move(position) {
        this.#placeAt(position);
        if (this.#state === 'online') this.#reporter.soon();
        this.#listeners.emit('change', { cause: 'move', came: [], gone: [] });
    }

    /** Twenty more in the list. */
    more() {
        this.#nearby.more();
    }

    /**
     * Who is around and shares with everybody, as I do? The answer is the event `strangers`, or `error`.
     * @param {import('../index.js').ListQuery} [query]
     */
    discover({ limit, after } = {}) {
        if (this.#state === 'online') this.#send({ type: 'discover', limit, after });
        else this.#listeners.emit('error', { code: 'offline', message: 'There is no connection.' });
    }

    /**
     * Keeps my home timeline up to date from now on. One at a time: an earlier one is closed.
     * @param {import('../index.js').StarlingApi} api
     */
    watchFeed(api) {
        this.#feed?.close();
        const feed = new LiveFeed({
            api,
            say: (frame) => {
                if (this.#state === 'online' && this.#feed === feed) this.#send(frame);
            },
            clock: this.#clock,
            random: this.#random,
        });
        this.#feed = feed;
        if (this.#state === 'online') feed.connected();
        feed.refresh();
        return feed;
    }

    /** Tells what happens under a subject from now on. An earlier one of the same subject is closed. @param {string} subject */
    watchComments(subject) {
        commentsPath(subject); // throws if it is none
        const before = this.#threads.get(subject);
        const thread = new LiveThread({
            subject,
            say: (frame) => {
                if (this.#threads.get(subject) !== thread) return;
                if (frame.type === 'unwatch') this.#threads.delete(subject);
                if (this.#state === 'online') this.#send(frame);
            },
            clock: this.#clock,
            random: this.#random,
        });
        before?.close();
        this.#threads.set(subject, thread);
        return thread;
    }

    /** Tells my notices from now on. One at a time: an earlier one is closed. */
    watchNotices() {
        this.#notices?.close();
        const notices = new LiveNotices({
            say: (frame) => {
                if (this.#state === 'online' && this.#notices === notices) this.#send(frame);
            },
        });
        this.#notices = notices;
        if (this.#state === 'online') notices.connected();
        return notices;
    }

    // ---- the connection -------------------------------------------------------------------------------------------

    #open() {
        this.#abandonSocket(1000);
        this.#timers.clearAll();
        this.#reconnectAt = null;
        this.#nearby.opening();
        this.#setState('connecting');
        this.#tokens.fetch(() => this.#openSocket(), () => this.#lost(1006));
    }

    #openSocket() {
        /** @type {WebSocket} */
        let socket;
        try {
            socket = new this.#WebSocket(this.#url, [SUBPROTOCOL]);
        } catch (error) {
            this.#setState('closed', { reason: 'url' });
            this.#listeners.emit('error', { code: 'bad_url', message: String(error) });
            return;
        }
        this.#socket = socket;
        /** What kept it from being made; null: it was made. @type {unknown} */
        let failure = new Error('no answer');
        socket.onopen = () => {
            failure = null;
            if (socket === this.#socket) this.#sendHello();
        };
        socket.onmessage = (event) => {
            if (socket === this.#socket) this.#received(event.data);
        };
        socket.onclose = (event) => {
            if (socket === this.#socket) this.#lost(event.code, event.reason, failure);
        };
        // The close that follows says that the connection has ended; why it could not be made, if anything does, this.
        socket.onerror = (event) => {
            failure &&= event;
        };
        this.#timers.set('welcome', WELCOME_TIMEOUT_MS, () => this.#drop(failure));
    }

    /** The socket is of no use any more, whether or not it knows. */
    #drop(/** @type {unknown} */ failure = null) {
        this.#abandonSocket(1000);
        this.#lost(1006, '', failure);
    }

    /** @param {number} code */
    #abandonSocket(code) {
        const socket = this.#socket;
        this.#socket = null;
        this.#nearby.disconnected();
        if (socket) socket.close(code);
    }

    /** @param {number} code @param {string} [why] the server's reason @param {unknown} [failure] it could not be made, for this reason */
    #lost(code, why, failure = null) {
        this.#socket = null;
        const now = this.#clock.now();
        if (this.#state === 'online' && now - this.#onlineSince >= HELD_MS) this.#failures = 0;
        this.#timers.clearAll();
        this.#nearby.disconnected();
        const reason = finalReason(code, why, () => this.#tokens.refused());
        if (reason) {
            this.#setState('closed', { reason, code, error: connectionEnded(code, why, false) });
            return;
        }
        const delay =
            this.#reconnectAt === null
                ? backoffMs(this.#failures, this.#random, code === CloseCode.OVERLOADED ? OVERLOADED_MS : 0)
                : Math.max(0, this.#reconnectAt - now);
        this.#failures += 1;
        this.#timers.set('reconnect', delay, () => this.#open());
        const error = failure && code === 1006 ? notConnected(this.#url, failure) : connectionEnded(code, why);
        this.#setState('waiting', { code, retryAt: now + delay, error });
    }

    /** @param {unknown} data */
    #received(data) {
        let frame;
        try {
            frame = parseFrame(data);
        } catch {
            this.#badFrame();
            return;
        }
        switch (frame.type) {
            case 'welcome':
                return this.#welcomed(frame);
            case 'nearby':
                return this.#nearby.paged(frame);
            case 'update':
                return this.#nearby.updated(frame);
            case 'posts':
                return this.#feed?.posted(frame);
            case 'stale':
                return frame.what === 'feed' ? this.#feed?.stale(frame) : this.#threads.get(frame.subject)?.stale(frame);
            case 'comments':
                return this.#threads.get(frame.subject)?.told(frame);
            case 'notices':
                return this.#notices?.told(frame);
            case 'strangers':
                return this.#discovered(frame);
            case 'strangers_gone':
                return this.#listeners.emit('strangers_gone', { gone: (frame.gone ?? []).map(String) });
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
                this.#reporter.forget();
            }
        }
        this.#welcome = readWelcome(frame, now);
        this.#before = frame.session;
        this.#nearby.welcomed(this.#welcome);
        this.#timers.clear('welcome');
        this.#tokens.trust();
        this.#scheduleRenewal();
        if (first) {
            this.#onlineSince = now;
            this.#setState('online');
        }
        this.#reporter.welcomed(this.#welcome.reportEveryS * 1000);
        if (first) {
            this.#feed?.connected();
            this.#notices?.connected();
            for (const thread of this.#threads.values()) thread.connected();
        }
        this.#listeners.emit('welcome', this.#welcome);
    }

    /** @param {any} frame */
    #toldToReconnect(frame) {
        const after = directedMs(Math.max(0, Number(frame.after_ms) || 0), this.#random);
        this.#reconnectAt = this.#clock.now() + after;
        // The server closes when it likes until then, or right after. If it never does, we keep to what was said.
        this.#timers.set('reconnect', Math.max(after, CLOSE_GRACE_MS), () => this.#open());
    }

    /** @param {any} frame */
    #failed(frame) {
        const error = { code: String(frame.code), message: String(frame.message ?? frame.code) };
        if (typeof frame.about === 'string') {
            const retryAfterMs = Number.isFinite(frame.after_ms) ? frame.after_ms : undefined;
            this.#listeners.emit('error', { ...error, about: frame.about, retryAfterMs });
            return;
        }
        this.#nearby.refused(error.code);
        this.#listeners.emit('error', error);
    }

    /** @param {any} frame */
    #discovered(frame) {
        let page = null;
        try {
            page = readStrangers(frame);
        } catch {
            // items that are none
        }
        if (page) this.#listeners.emit('strangers', page);
        else this.#badFrame();
    }

    #badFrame() {
        this.#listeners.emit('error', { code: 'bad_frame', message: 'The server sent what is not a frame.' });
    }

    #renewToken() {
        this.#tokens.fetch(
            () => {
                if (this.#state === 'online') this.#sendHello();
            },
            () => this.#scheduleRenewal(),
        );
    }

    #scheduleRenewal() {
        this.#tokens.scheduleRenewal(() => this.#renewToken());
    }

    // ---- what is said ---------------------------------------------------------------------------------------------

    #sendHello() {
        const before = this.#state === 'online' ? undefined : this.#before;
        this.#send({ type: 'hello', token: this.#tokens.token, device: this.#device, before, ...this.#reporter.hello() });
    }

    /** @param {Record<string, unknown>} frame */
    #send(frame) {
        this.#socket?.send(writeFrame(frame));
    }

    /**
     * @param {import('../index.js').State} state
     * @param {Partial<import('../index.js').StateChange>} [detail]
     */
    #setState(state, detail = {}) {
        this.#state = state;
        this.#listeners.emit('state', { state, ...detail });
    }

    /** @param {LatLng & {accuracy?: number} & import('../index.js').Details} position */
    #placeAt(position) {
        this.#reporter.move(position);
        if (this.#reporter.place) this.#nearby.list.place(this.#reporter.place);
    }
}
