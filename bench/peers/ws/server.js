// A fair server on `ws`: the same connections and entries as the edge has, with the best batching that we know of for it.
//
//   node server.js HTTP_PORT FEED_PORT WINDOW_MS [gathered]
//
// The n-th phone that connects is user n. Entries come ready-made by the feed (TCP, from bench-edge): 4 bytes size of the
// text, 4 bytes count of recipients, their numbers, the text; little-endian. A frame of one entry is built once for all its
// recipients. With a window, a client's frames wait for its end and are then written by one system call (cork). The library
// has no more to offer; `gathered` is what one would write oneself: one frame with all the entries.
'use strict';

const net = require('node:net');
const { WebSocketServer } = require('ws');

const [port, feedPort, window] = process.argv.slice(2, 5).map(Number);
const gathered = process.argv[5] === 'gathered';
const clients = [];

const server = new WebSocketServer({ host: '127.0.0.1', port, backlog: 4096, perMessageDeflate: false,
                                     skipUTF8Validation: true });
server.on('connection', (socket) => clients.push({ socket, pending: [], waiting: false }));

const HEAD = '{"type":"update","near":[';
const TAIL = '],"gone":[]}';
const TEXT = { binary: false };

function sendPending(client) {
  client.waiting = false;
  if (gathered) {
    client.socket.send(HEAD + client.pending.join(',') + TAIL);
  } else {
    client.socket._socket.cork();
    for (const frame of client.pending) client.socket.send(frame, TEXT);
    client.socket._socket.uncork();
  }
  client.pending.length = 0;
}

// Clients whose window ends in the same step of 10 ms share a timer.
const STEP_MS = 10;
const slots = new Map();

function flushLater(client) {
  client.waiting = true;
  const due = Math.ceil((Date.now() + window) / STEP_MS) * STEP_MS;
  const slot = slots.get(due);
  if (slot) {
    slot.push(client);
    return;
  }
  const added = [client];
  slots.set(due, added);
  setTimeout(() => {
    slots.delete(due);
    added.forEach(sendPending);
  }, due - Date.now());
}

function deliver(users, text) {
  const frame = gathered && window ? text : Buffer.from(HEAD + text + TAIL);
  if (!window) {
    for (const user of users) clients[user]?.socket.send(frame, TEXT);
    return;
  }
  for (const user of users) {
    const client = clients[user];
    if (!client) continue;
    client.pending.push(frame);
    if (!client.waiting) flushLater(client);
  }
}

let rest = Buffer.alloc(0);

function take(chunk) {
  const bytes = rest.length ? Buffer.concat([rest, chunk]) : chunk;
  let at = 0;
  while (bytes.length - at >= 8) {
    const size = bytes.readUInt32LE(at), count = bytes.readUInt32LE(at + 4), end = at + 8 + 4 * count + size;
    if (end > bytes.length) break;
    const users = new Array(count);
    for (let i = 0; i < count; i++) users[i] = bytes.readUInt32LE(at + 8 + 4 * i);
    deliver(users, bytes.latin1Slice(end - size, end));
    at = end;
  }
  rest = bytes.subarray(at);
}

net.createServer((socket) => socket.on('data', take)).listen(feedPort, '127.0.0.1');
