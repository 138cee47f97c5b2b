// Drives one client of web/client for the protocol's test suite; README.md says how it is spoken to.

import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { StarlingApi, StarlingClient } from '../../web/client/index.js';

const { WebSocket } = createRequire(new URL('../../web/package.json', import.meta.url))('ws');
const options = JSON.parse(process.argv[2]);
let giveToken = null;

let feed = null;
let notices = null;

const client = new StarlingClient({
    url: options.url,
    token: options.token ?? (() => new Promise((resolve) => ((giveToken = resolve), say('token', {})))),
    position: options.lat === undefined ? undefined : { lat: options.lat, lng: options.lng },
    device: options.device,
    prefetch: options.prefetch,
    staleAfterMs: options.stale_after_s && options.stale_after_s * 1000,
    WebSocket,
});

function say(event, members) {
    process.stdout.write(`${JSON.stringify({ event, ...members })}\n`);
}

client.on('state', ({ state, reason = null, code = null, retryAt, error }) =>
    say('state', { state, reason, code, retry_in_s: retryAt === undefined ? null : (retryAt - Date.now()) / 1000, error: error?.name ?? null }),
);
client.on('welcome', ({ user, radiusM, reportEveryS, inactiveAfterS }) =>
    say('welcome', { user, radius_m: radiusM, report_every_s: reportEveryS, inactive_after_s: inactiveAfterS }),
);
client.on('change', ({ cause, came, gone }) =>
    say('change', {
        cause,
        came: came.map((friend) => friend.user),
        gone,
        list: client.list.map(({ user, name, distance, time, stale }) => [user, name, distance, time, stale]),
        known: client.known.length,
        total: client.total,
        has_more: client.hasMore,
        complete: client.complete,
    }),
);
client.on('strangers', ({ items }) => say('strangers', { list: items.map(({ user, distance }) => [user, distance]) }));
client.on('strangers_gone', ({ gone }) => say('strangers_gone', { gone }));
client.on('error', ({ code }) => say('error', { code }));

function watchFeed() {
    feed = client.watchFeed(new StarlingApi({ url: options.api, token: options.token }));
    feed.on('change', ({ cause, came, gone }) =>
        say('feed', {
            cause,
            came: came.map((post) => post.id),
            gone,
            list: feed.list.map(({ id, user, name, text, unavailable }) => [id, user, name, text, unavailable]),
            has_more: feed.hasMore,
            complete: feed.complete,
            version: feed.version,
        }),
    );
    feed.on('error', ({ status, code }) => say('feed_error', { status, code }));
}

function watchNotices() {
    notices = client.watchNotices();
    notices.on('change', ({ unread, items, first }) =>
        say('notices', { unread, items: items.map(({ id, what, user, count, users }) => [id, what, user, count, users]), first }),
    );
}

const COMMANDS = {
    watch_notices: watchNotices,
    unwatch_notices: () => notices.close(),
    watch_feed: watchFeed,
    older: () => feed.older().catch(({ status, code }) => say('feed_error', { status, code })),
    unwatch_feed: () => feed.close(),
    connect: () => client.connect(),
    reconnect: () => client.reconnect(),
    discover: () => client.discover(),
    more: () => client.more(),
    move: ({ lat, lng }) => client.move({ lat, lng }),
    renew: ({ token }) => client.renew(token),
    token: ({ token }) => giveToken(token),
    close: () => (feed?.close(), client.close(), process.stdin.destroy()), // nothing keeps the process then
};
const input = createInterface({ input: process.stdin });
input.on('line', (line) => {
    const command = JSON.parse(line);
    COMMANDS[command.do](command);
});
input.on('close', () => client.close());
