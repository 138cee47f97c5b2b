// A stand-in for ingest and edge in one process, for working on the page: it speaks starling.v1 to one user at a time a
// token, with friends who walk about. Run by hand it prints an address to open; the page's check drives it.

import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { extname, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { WebSocketServer } from 'ws';
import { destination, distanceMetres } from '../client/index.js';
import { FakeComments } from './fake-comments.js';
import { FakeFeed } from './fake-feed.js';

const PAGE = 20;
const PUBLIC = fileURLToPath(new URL('../dist/', import.meta.url)); // as npm run build has made it
const TYPES = {
    '.html': 'text/html; charset=utf-8',
    '.js': 'text/javascript; charset=utf-8',
    '.css': 'text/css; charset=utf-8',
    '.svg': 'image/svg+xml',
    '.png': 'image/png',
    '.geojson': 'application/geo+json',
    '.webmanifest': 'application/manifest+json',
};
const NAMES = ['Ana', 'Bo', 'Chen Wei', 'Dilnoza', 'Emeka', 'Fatima', 'Goran', 'Hana', 'Inés', 'Jonas', 'Kavya', 'Liu Yang'];
const SURNAMES = ['Abe', 'Brandt', 'Costa', 'Duarte', 'Eriksen', 'Fischer', 'Gupta', 'Hoang', 'Ivanova'];

/** A token as the real ones look; nobody here checks a signature. */
export function fakeToken(sub, expires = null) {
    const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
    return `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ sub: String(sub), ...(expires && { exp: expires / 1000 }) })}.c2lnbmF0dXJl`;
}

export class FakeServer {
    radiusM = 8046.72;
    profile = { name: 'Mira Starling' };
    mode = 'friends';
    refuse = false; // every token is bad
    away = false; // there is no WebSocket to be had
    reports = [];
    friends = new Map();
    strangers = []; // as `discover` lists them
    asked = 0; // how often
    unheard = 0; // questions that come before the edge has heard that I share with everybody
    hidden = new Set(); // users whom I mute nearby
    friendships = new Map(); // user -> {name, state, since}
    people = null; // of a demonstration
    oidc = null; // as GET /v1/config says it
    history = []; // my reports, as GET /v1/history lists them
    historyPage = 1000; // of them at most
    map = null; // GeoJSON
    tiles = ''; // the address of another server's, with {z}, {x} and {y}
    attribution = '';
    links = []; // as GET /v1/links lists them, each with its secret
    places = []; // as GET /v1/places lists them
    placesMost = 50;
    link = null; // what GET /v1/links/{secret}/place answers to whoever has no account: [status, body]
    push = ''; // the address of a receiver that tells people while the page is closed
    #lastSession = 3709219523476521057n;
    #sockets = new Set();
    #http = createServer((request, response) => this.#serve(request, response));
    #ws = new WebSocketServer({ noServer: true, handleProtocols: () => 'starling.v1' });

    constructor({ centre = { lat: 39.9847, lng: 116.3184 }, count = 53, random = Math.random } = {}) {
        this.random = random;
        for (let i = 0; i < count; i += 1) {
            const place = destination(centre, random() * 360, Math.sqrt(random()) * 7500);
            const name = i % 17 === 16 ? null : `${NAMES[i % NAMES.length]} ${SURNAMES[i % SURNAMES.length]}`;
            this.friends.set(1000 + i, { name, ...place, time: Date.now() - random() * 30_000, heading: random() * 360 });
        }
        this.feed = new FakeFeed(42, new Map([...this.friends].map(([user, { name }]) => [user, name])));
        this.comments = new FakeComments(this.feed);
        this.#http.on('upgrade', (request, socket, head) => {
            if (this.away) return socket.destroy();
            return this.#ws.handleUpgrade(request, socket, head, (ws) => this.#connected(ws));
        });
    }

    /** @returns {Promise<string>} the address of the page */
    listen(port = 0) {
        return new Promise((resolve) => {
            this.#http.listen(port, '127.0.0.1', () => {
                this.port = this.#http.address().port;
                resolve(`http://127.0.0.1:${this.port}/`);
            });
        });
    }

    close() {
        for (const session of this.#sockets) session.ws.terminate();
        this.#http.closeAllConnections();
        this.#http.close();
    }

    get sessions() {
        return this.#sockets.size;
    }

    /** Ends every connection with that code, after a reconnect frame if there is a delay. */
    hangUp(code, afterMs) {
        for (const { ws } of this.#sockets) {
            if (afterMs !== undefined) ws.send(JSON.stringify({ type: 'reconnect', after_ms: afterMs }));
            ws.close(code);
        }
    }

    /** As if the machine was gone: no close frame. */
    crash() {
        for (const { ws } of this.#sockets) ws.terminate();
    }

    /** What the list must show: the truth, nearest first. */
    near(place) {
        if (this.mode === 'off') return [];
        return [...this.friends]
            .filter(([user]) => !this.hidden.has(user))
            .map(([user, friend]) => ({
                user,
                name: friend.name,
                avatar_url: null,
                lat: friend.lat,
                lng: friend.lng,
                distance_m: distanceMetres(place, friend),
                ...(friend.rounded && { rounded: true }),
                ...friend.details,
                time: Math.round(friend.time),
            }))
            .filter((friend) => friend.distance_m <= this.radiusM)
            .sort((a, b) => a.distance_m - b.distance_m || a.user - b.user);
    }

    /** Every friend walks so far and reports. */
    walk(metres) {
        for (const friend of this.friends.values()) {
            friend.heading += (this.random() - 0.5) * 60;
            Object.assign(friend, destination(friend, friend.heading, metres), { time: Date.now() });
        }
        this.flush();
    }

    /** Tells every session what has changed since it was told last. */
    flush() {
        for (const session of this.#sockets) {
            if (!session.place) continue;
            const now = this.near(session.place);
            const near = now.filter((friend) => {
                const told = session.told.get(friend.user);
                return !told || told.time !== friend.time || told.name !== friend.name || told.battery !== friend.battery;
            });
            const here = new Set(now.map((friend) => friend.user));
            const gone = [...session.told.keys()].filter((user) => !here.has(user));
            session.told = new Map(now.map((friend) => [friend.user, friend]));
            if (near.length > 0 || gone.length > 0) session.ws.send(JSON.stringify({ type: 'update', near, gone }));
        }
    }

    #connected(ws) {
        const session = { ws, place: null, told: new Map(), say: (frame) => ws.send(JSON.stringify(frame)) };
        this.#sockets.add(session);
        ws.on('close', () => {
            this.#sockets.delete(session);
            this.feed.unwatch(session.say);
            this.feed.unwatchNotices(session.say);
            this.comments.unwatch(session.say);
        });
        ws.on('message', (data) => this.#received(session, JSON.parse(String(data))));
    }

    #received(session, frame) {
        const { say } = session;
        if (frame.type === 'hello') {
            if (this.refuse) return session.ws.close(1008, 'bad_token');
            session.id ??= this.#lastSession += 1n;
            session.device ??= frame.device ?? null;
            session.since ??= Date.now();
            session.place = { lat: frame.lat, lng: frame.lng };
            this.reports.push(frame);
            say({
                type: 'welcome',
                user: Number(JSON.parse(Buffer.from(frame.token.split('.')[1], 'base64url')).sub),
                session: String(session.id),
                server_time: Date.now(),
                radius_m: this.radiusM,
                report_every_s: 30,
                inactive_after_s: 600,
            });
            session.told = new Map(this.near(session.place).map((friend) => [friend.user, friend]));
            return say(this.#page(session, 0));
        }
        if (frame.type === 'location') {
            session.place = { lat: frame.lat, lng: frame.lng };
            this.reports.push(frame);
            return this.flush();
        }
        if (frame.type === 'discover') return say(this.#around());
        if (frame.type === 'more') return say(this.#page(session, Number(frame.after)));
        if (frame.type === 'watch' && frame.what === 'feed') return this.feed.watch(say, frame.version);
        if (frame.type === 'unwatch' && frame.what === 'feed') return this.feed.unwatch(say);
        if (frame.type === 'watch' && frame.what === 'notices') return this.feed.watchNotices(say);
        if (frame.type === 'watch' && frame.what === 'comments') return this.comments.watch(say, frame.subject, frame.version);
        if (frame.type === 'unwatch' && frame.what === 'comments') return this.comments.unwatch(say, frame.subject);
        return say({ type: 'error', code: 'bad_frame', message: 'unknown type' });
    }

    #devices(own) {
        const open = [...this.#sockets].filter(({ id }) => id).sort((a, b) => (a.id < b.id ? 1 : -1));
        return open.map(({ id, device, since }) => ({ id: String(id), device, since, ...(String(id) === own && { current: true }) }));
    }

    #around() {
        this.asked += 1;
        this.unheard -= 1;
        if (this.mode !== 'public' || this.unheard >= 0) return { type: 'error', code: 'not_public', message: 'not public', about: 'discover' };
        return { type: 'strangers', items: this.strangers, next: null, cell: { height: 0.0439453125, width: 0.0439453125 } };
    }

    /** They do not share with everybody any more. */
    strangersStop(...users) {
        this.strangers = this.strangers.filter(({ user }) => !users.includes(user));
        for (const { say } of this.#sockets) say({ type: 'strangers_gone', gone: users });
    }

    #page(session, from) {
        const near = this.near(session.place);
        const items = near.slice(from, from + PAGE);
        const next = from + PAGE < near.length ? String(from + PAGE) : null;
        return { type: 'nearby', total: near.length, items, next };
    }

    #placed(method, id, body) {
        const at = this.places.findIndex((place) => place.id === id);
        if (method === 'PUT' && at < 0 && this.places.length >= this.placesMost) return [409, { code: 'places_limit', detail: 'the user has as many places as anybody may' }];
        if (method === 'PUT') {
            this.places.splice(at < 0 ? this.places.length : at, 1, { id, ...body });
            return [200, { id, ...body }];
        }
        if (at < 0) return [404, { code: 'no_place', detail: 'there is no such place' }];
        if (method === 'GET') return [200, this.places[at]];
        this.places.splice(at, 1);
        return [204];
    }

    #relate(list, user, on) {
        const before = this.friendships.get(user)?.state ?? 'none';
        const name = this.friendships.get(user)?.name ?? this.friends.get(user)?.name ?? '';
        const state = list === 'blocks' ? (on ? 'blocked' : 'none') : !on ? 'none' : before === 'none' ? 'requested' : before === 'invited' ? 'friends' : before;
        if (state === 'blocked') this.feed.block(user);
        if (state === 'none') this.friendships.delete(user);
        else this.friendships.set(user, { name, state, since: state === 'requested' ? 0 : Date.now() - 100_000 });
        return state;
    }

    async #serve(request, response) {
        const { pathname, searchParams } = new URL(request.url, 'http://host');
        const json = (status, value, headers = {}) => {
            if (status === 0) return request.socket.destroy();
            if (status === 204 || status === 304) return response.writeHead(status, headers).end();
            const type = status < 400 ? 'application/json' : 'application/problem+json';
            response.writeHead(status, { 'content-type': type, ...headers }).end(JSON.stringify(value));
        };
        if (pathname === '/demo/people.json') return this.people ? json(200, { people: this.people }) : json(404, {});
        if (pathname === '/v1/config') {
            const map = { tile_url: this.tiles, map_url: this.map ? '/map.geojson' : '', map_attribution: this.attribution };
            return json(200, { ws_url: `ws://127.0.0.1:${this.port}/`, push_url: this.push, ...map, radius_m: this.radiusM, ...(this.people && { demo: true }), ...(this.oidc && { oidc: this.oidc }) });
        }
        if (this.map && pathname === '/map.geojson') return json(200, this.map);
        if (pathname.startsWith('/v1/')) {
            const chunks = [];
            for await (const chunk of request) chunks.push(chunk);
            const body = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks)) : null;
            if (/^\/v1\/links\/[^/]+\/place$/.test(pathname)) {
                if (request.headers.authorization) return json(400, { detail: 'a token goes along' });
                return json(...(this.link ?? [404, { code: 'no_link', detail: 'there is no such link' }]));
            }
            if (this.refuse) return json(401, { title: 'Unauthorized', detail: 'The token is not valid.' });
            if (pathname === '/v1/profile') {
                if (body) this.profile = body;
                return json(200, this.profile);
            }
            if (pathname === '/v1/sharing') {
                if (body) {
                    this.mode = body.mode;
                    this.until = body.until;
                    this.details = body.details;
                    this.flush();
                }
                return json(200, { mode: this.mode, until: this.until, details: this.details });
            }
            if (pathname === '/v1/links' && request.method === 'POST') {
                if (this.mode === 'off') return json(409, { code: 'not_sharing', detail: 'a link shows a place only while its user shares it' });
                const id = String(this.links.length + 7);
                this.links.push({ id, until: body.until, rounded: body.rounded, made: Date.now() });
                return json(201, { id, url: `/link.html#secret-${id}` });
            }
            if (pathname === '/v1/links') return json(200, { items: this.links, next: null });
            const [, ended] = /^\/v1\/links\/(\d+)$/.exec(pathname) ?? [];
            if (ended) {
                this.links = this.links.filter(({ id }) => id !== ended);
                return json(204);
            }
            if (pathname === '/v1/places') return json(200, { items: this.places, next: null });
            const [, place] = /^\/v1\/places\/([\w-]+)$/.exec(pathname) ?? [];
            if (place) return json(...this.#placed(request.method, place, body));
            if (pathname === '/v1/friends') return json(200, { items: [...this.friendships].map(([user, one]) => ({ user, avatar_url: '', ...one })).sort((a, b) => a.user - b.user), next: null });
            if (pathname === '/v1/nearby/mutes') {
                const after = Number(searchParams.get('after') ?? -1);
                const items = [...this.hidden].filter((user) => user > after).sort((a, b) => a - b).slice(0, Number(searchParams.get('limit') ?? 20));
                return json(200, { items: items.map((user) => ({ user })), next: null });
            }
            const [, hidden] = /^\/v1\/nearby\/mutes\/(\d+)$/.exec(pathname) ?? [];
            if (hidden) {
                const muted = request.method === 'PUT';
                this.hidden[muted ? 'add' : 'delete'](Number(hidden));
                this.flush();
                return json(200, { user: Number(hidden), muted });
            }
            const [, rounded] = /^\/v1\/friends\/(\d+)\/rounded$/.exec(pathname) ?? [];
            if (rounded) {
                const one = this.friendships.get(Number(rounded));
                one.rounded = request.method === 'PUT';
                return json(200, { user: Number(rounded), state: one.state, rounded: one.rounded });
            }
            if (pathname === '/v1/devices') return json(200, { items: this.#devices(searchParams.get('session')) });
            const [, device] = /^\/v1\/devices\/(\d+)$/.exec(pathname) ?? [];
            if (device) {
                const one = [...this.#sockets].find(({ id }) => String(id) === device);
                one?.ws.close(4001, 'ended');
                return one ? json(204) : json(404, { title: 'Not Found', code: 'no_device' });
            }
            const [, list, other] = /^\/v1\/(friends|blocks|mutes)\/(\d+)$/.exec(pathname) ?? [];
            if (list === 'mutes') return json(200, { user: Number(other), muted: request.method === 'PUT' });
            if (list) return json(200, { user: Number(other), state: this.#relate(list, Number(other), request.method === 'PUT') });
            if (pathname === '/v1/history') {
                const from = Number(searchParams.get('after') ?? 0);
                const limit = Math.min(Number(searchParams.get('limit')), this.historyPage);
                const asked = this.history.filter(({ time }) => time >= Number(searchParams.get('from')));
                const next = from + limit < asked.length ? String(from + limit) : null;
                return json(200, { items: asked.slice(from, from + limit), next });
            }
            const { method } = request;
            const etag = request.headers['if-none-match'];
            const answer = this.feed.serve(method, pathname, searchParams, body) ?? this.comments.serve(method, pathname, searchParams, body, etag);
            return answer ? json(...answer) : json(404, { title: 'Not Found' });
        }
        const path = normalize(decodeURIComponent(pathname === '/' ? '/index.html' : pathname)).replace(/^(\.\.\/)+/, '');
        try {
            const file = await readFile(PUBLIC + path);
            const images = this.tiles ? new URL(this.tiles).origin : '';
            response.writeHead(200, {
                'content-type': TYPES[extname(path)] ?? 'application/octet-stream',
                'content-security-policy': `img-src 'self' data: ${images}; frame-ancestors 'none'; connect-src 'self' ws: wss: ${this.push && new URL(this.push).origin}`,
            });
            response.end(file);
        } catch {
            response.writeHead(404).end();
        }
    }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
    const server = new FakeServer({ count: Number(process.env.FRIENDS ?? 53) });
    server.feed.fill(200);
    server.feed.notify(1003);
    server.feed.notify(1005, server.feed.posts.at(-1).id);
    server.feed.gather('like', [1001, 1002, 1003], 14, server.feed.posts.at(-1).id);
    server.comments.discuss(server.feed.posts.at(-1).id);
    const address = await server.listen(Number(process.env.PORT ?? 0));
    let turn = 0;
    setInterval(() => {
        turn += 1;
        if (turn % 4 === 0) server.walk(60);
        if (turn % 15 === 0) server.feed.publish(1000 + (turn % 8), `It is ${new Date().toLocaleTimeString('en')}, and all is well.`);
    }, 1000);
    console.log(`${address}#token=${fakeToken(42)}&at=39.9847,116.3184`);
}
