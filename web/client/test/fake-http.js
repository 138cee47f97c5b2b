// The HTTP API as a test plays it.

import { StarlingApi } from '../index.js';
import { FakeClock } from './fakes.js';

const settled = () => new Promise((resolve) => setImmediate(resolve));

export class FakeHttp {
    clock = new FakeClock();
    /** What was asked: {url, path, method, authorization, etag, body}. */
    asked = [];
    /** Their bodies as they were sent. */
    sent = [];
    /** The answers to come: [status, body, headers]; null: nobody answers. */
    answers = [];
    api = new StarlingApi({
        url: 'http://host:8080/',
        token: () => `jwt${this.asked.length + 1}`,
        fetch: (url, request) => this.#fetch(url, request),
        clock: this.clock,
        random: () => 1,
    });

    async #fetch(url, { method, headers, body }) {
        const path = url.slice('http://host:8080'.length);
        this.sent.push(body);
        this.asked.push({ url, path, method, authorization: headers.authorization, etag: headers['if-none-match'], body: body && JSON.parse(body) });
        const answer = this.answers.shift();
        if (answer === null) throw new TypeError('failed to fetch');
        const [status, value, more = {}] = answer;
        return new Response(status === 204 || status === 304 ? null : typeof value === 'string' ? value : JSON.stringify(value), { status, headers: more });
    }

    /** Lets pauses pass until the promise is settled. */
    async soon(promise) {
        let done = false;
        promise.then(() => (done = true), () => (done = true));
        for (let i = 0; i < 200 && !done; i += 1) {
            await settled();
            this.clock.advance(500);
        }
        return promise;
    }
}
