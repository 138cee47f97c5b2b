// A clock that moves when told to, and sockets whose other end is the test.

export class FakeClock {
    #time;
    #timers = new Map();
    #last = 0;

    constructor(time = 1_700_000_000_000) {
        this.#time = time;
    }

    now = () => this.#time;

    setTimeout = (run, ms) => {
        this.#last += 1;
        this.#timers.set(this.#last, { at: this.#time + ms, run });
        return this.#last;
    };

    clearTimeout = (timer) => void this.#timers.delete(timer);

    /** Runs what falls due on the way, in order. */
    advance(ms) {
        const end = this.#time + ms;
        for (;;) {
            const [id, next] = [...this.#timers].reduce((a, b) => (b[1].at < a[1].at ? b : a), [0, { at: Infinity }]);
            if (next.at > end) break;
            this.#timers.delete(id);
            this.#time = Math.max(this.#time, next.at);
            next.run();
        }
        this.#time = end;
    }

    get pending() {
        return this.#timers.size;
    }
}

export class FakeSocket {
    /** Every socket made since the test began, the newest last. */
    static all = [];
    static get last() {
        return FakeSocket.all[FakeSocket.all.length - 1];
    }

    sent = [];
    closedWith = null;

    constructor(url, protocols) {
        if (url === 'bad') throw new SyntaxError('bad address');
        this.url = url;
        this.protocols = protocols;
        FakeSocket.all.push(this);
    }

    send(text) {
        this.sent.push(text);
    }

    close(code) {
        this.closedWith = code;
    }

    // What the server does:
    accept() {
        this.onopen();
    }
    say(frame) {
        this.onmessage({ data: typeof frame === 'string' ? frame : JSON.stringify(frame) });
    }
    hangUp(code, reason = '') {
        this.onclose({ code, reason });
    }

    /** @returns the frames sent of that type */
    frames(type) {
        return this.sent.map((text) => JSON.parse(text)).filter((frame) => frame.type === type);
    }
}

export const HERE = { lat: 39.9847, lng: 116.3184 };

/** A friend as on the wire, so many metres north of HERE. */
export function item(user, metres, time, more = {}) {
    const lat = Math.round((HERE.lat + metres / 111195.0797) * 1e7) / 1e7;
    return { user, name: `Friend ${user}`, avatar_url: null, lat, lng: HERE.lng, distance_m: metres, time, ...more };
}
