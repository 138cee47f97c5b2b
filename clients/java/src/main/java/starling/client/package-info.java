/**
 * The friends near me, my home timeline and threads of comments, live, over starling's WebSocket (starling.v1); posts, comments and
 * follows over its HTTP API. Begin at {@link starling.client.StarlingClient} and {@link starling.client.StarlingApi}.
 */
package starling.client;
