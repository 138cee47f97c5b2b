// Checked by the compiler alone: what index.d.ts promises is what the implementation is.
import * as api from '../index.js';
import * as http from '../src/api.js';
import * as client from '../src/client.js';
import * as close from '../src/close.js';
import * as errors from '../src/errors.js';
import * as feed from '../src/feed.js';
import * as notices from '../src/notices.js';
import * as thread from '../src/thread.js';
import * as geo from '../src/geo.js';
import * as lists from '../src/posts.js';
import * as nearby from '../src/nearby.js';

const made: api.StarlingClient = new client.StarlingClient({ url: 'ws://x', token: 't', position: { lat: 0, lng: 0 } });
const stop: () => void = made.on('change', ({ came }) => came.map((friend) => friend.distance.toFixed(2)));
stop();

made.renew('jwt');
made.renew(async () => 'jwt');
const stale: string[] = made.list.filter((friend) => friend.stale).map((friend) => friend.user);
new client.StarlingClient({ url: 'ws://x', token: async () => stale.join(), position: made.position ?? undefined });
// @ts-expect-error a token is text
new client.StarlingClient({ url: 'ws://x', token: () => 7 });
// @ts-expect-error nobody changes a list but the client
made.list[0].distance = 7;

// @ts-expect-error there is no such event
made.on('chnage', () => {});

const starling: api.StarlingApi = new http.StarlingApi({ token: 'jwt' });
const live: api.LiveFeed = made.watchFeed(starling);
const posts: string[] = live.list.filter((post) => !post.unavailable).map((post) => post.id);
live.on('change', ({ came }) => came.map((post) => post.text?.length));
starling.createPost({ text: posts.join(), key: http.drawKey() });
// @ts-expect-error posts have ids, not numbers
starling.deletePost(7);
starling.getComments('post:5', { sort: 'heat' }).then(({ items }) => items.map((comment) => comment.replies.length));
// @ts-expect-error with an ETag there may be no page
starling.getComments('post:5', {}, 'W/"1.2"').then(({ items }) => items);
// @ts-expect-error there is no such order
starling.getComments('post:5', { sort: 'oldest' });
starling.getFriends({ state: 'all' }).then(({ items }) => items.map((friend) => friend.name?.length));
for (const friend of [starling.all(starling.getFriends())]) friend.next().then(({ value }) => value?.since?.toFixed());
// @ts-expect-error there is no such list
starling.getFriends({ state: 'foes' });
starling.report([{ lat: 1, lng: 2, time: 3 }]).then(({ sharingOff }) => sharingOff.toFixed());
// @ts-expect-error coordinates are numbers
starling.report({ lat: '1', lng: 2 });
starling.setSharing('friends', 7).then(({ until }) => until?.toFixed());
const error: api.ApiError = errors.apiError(503, 'owner_unavailable', 'away');
const { apiError, connectionEnded, causeOf, notConnected, unreachable, ...classes } = errors;
[causeOf, notConnected, unreachable].pop();
made.on('state', ({ error: end }) => (end instanceof api.ConnectedElsewhere ? end.reason.length : connectionEnded(1006).code));
// @ts-expect-error only a constructor says what it was
error.status = Number(apiError(429, 'x', 'y').retryAfterMs);
const feedClass: typeof api.LiveFeed = feed.LiveFeed;
const threadClass: typeof api.LiveThread = thread.LiveThread;
const noticesClass: typeof api.LiveNotices = notices.LiveNotices;
[error, feedClass, threadClass, noticesClass].pop();
made.watchNotices().on('change', ({ unread, items }) => items.map((notice) => notice.users.length + unread));
starling.setNoticePreferences({ like: { live: true, push: false } }).then(({ follow }) => follow?.push);
// @ts-expect-error there is no such kind
starling.setNoticePreferences({ poke: { live: true, push: false } });

({ ...geo, ...classes, drawKey: http.drawKey, compareIds: lists.compareIds, PAGE_SIZE: nearby.PAGE_SIZE, SUBPROTOCOL: client.SUBPROTOCOL, CloseCode: close.CloseCode }) satisfies Omit<
    typeof api,
    'StarlingClient' | 'StarlingApi' | 'LiveFeed' | 'LiveNotices' | 'LiveThread'
>;
