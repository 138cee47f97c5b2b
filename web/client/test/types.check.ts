// Checked by the compiler alone: what index.d.ts promises is what the implementation is.
import * as api from '../index.js';
import * as client from '../src/client.js';
import * as geo from '../src/geo.js';
import * as nearby from '../src/nearby.js';

const made: api.StarlingClient = new client.StarlingClient({ url: 'ws://x', token: 't', position: { lat: 0, lng: 0 } });
const stop: () => void = made.on('change', ({ came }) => came.map((friend) => friend.distance.toFixed(2)));
stop();

made.renew('jwt');
made.renew(async () => 'jwt');
const stale: string[] = made.list.filter((friend) => friend.stale).map((friend) => friend.user);
new client.StarlingClient({ url: 'ws://x', token: async () => stale.join(), position: made.position });
// @ts-expect-error a token is text
new client.StarlingClient({ url: 'ws://x', token: () => 7, position: made.position });
// @ts-expect-error nobody changes a list but the client
made.list[0].distance = 7;

// @ts-expect-error there is no such event
made.on('chnage', () => {});

({ ...geo, PAGE_SIZE: nearby.PAGE_SIZE, SUBPROTOCOL: client.SUBPROTOCOL, CloseCode: client.CloseCode }) satisfies Omit<
    typeof api,
    'StarlingClient'
>;
