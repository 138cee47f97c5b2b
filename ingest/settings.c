#include "ingest/settings.h"

#include <stddef.h>

#define AT(member) offsetof(struct ingest_settings, member)

static const struct config_property PROPERTIES[] = {
    {"ingest.listen", CONFIG_STRING, AT(listen), "127.0.0.1:8080",
     .doc = "Address of the HTTP API. Several processes on one machine may share it."},
    {"ingest.max.body.bytes", CONFIG_INT, AT(max_body), "262144", .min = 1024, .max = 16777216,
     .doc = "A longer request body (bytes) is refused with 413."},
    {"ingest.max.connections", CONFIG_INT, AT(max_connections), "10000", .min = 1, .max = 1000000,
     .doc =
         "HTTP connections at most. For one beyond that, the one that has been idle for longest is closed, of the networks with the most "
         "first; else the one that has been sending its request for longest; else clients wait."},
    {"ingest.network.connections", CONFIG_INT, AT(network_connections), "2500", .max = 1000000,
     .doc =
         "How many of them may come from a network (the first 24 bits of an IPv4 address, the first 64 of an IPv6 address). Those of "
         "trusted proxies count for none. 0: any number."},
    {"ingest.head.s", CONFIG_INT, AT(head_s), "10", .min = 1, .max = 300,
     .doc = "How long a client may take for the head of a request (seconds)."},
    {"ingest.body.s", CONFIG_INT, AT(body_s), "10", .min = 1, .max = 300,
     .doc = "In each so many seconds a body comes to its end, or as fast as ingest.least.rate."},
    {"ingest.reply.s", CONFIG_INT, AT(reply_s), "20", .min = 1, .max = 300,
     .doc = "The same of reading an answer (seconds)."},
    {"ingest.least.rate", CONFIG_INT, AT(least_rate), "4096", .min = 1, .max = 1000000000,
     .doc = "Bytes a second that a client must send or take."},
    {"ingest.request.mb", CONFIG_INT, AT(request_mb), "8", .max = 65536,
     .doc =
         "Memory (MiB) for the requests of a user that are not answered yet, or of a network without good tokens; beyond that they are "
         "answered 429. 0: any."},
    {"ingest.requests.mb", CONFIG_INT, AT(requests_mb), "128", .max = 1048576,
     .doc = "The same for those of all together; beyond that: 503."},
    {"ingest.reply.mb", CONFIG_INT, AT(reply_mb), "8", .max = 65536,
     .doc =
         "Memory (MiB) for answers that a user, or a network without good tokens, has not read yet; beyond that further requests are "
         "answered 429. 0: any."},
    {"ingest.replies.mb", CONFIG_INT, AT(replies_mb), "256", .max = 1048576,
     .doc = "The same for those of all together; beyond that: 503."},
    {"ingest.produce.timeout.ms", CONFIG_INT, AT(produce_timeout_ms), "5000", .min = 100, .max = 60000,
     .doc = "A write that Kafka has not acknowledged by then (ms) is answered 503."},
    {"ingest.outcome.wait.ms", CONFIG_INT, AT(outcome_wait_ms), "2000", .max = 30000,
     .doc = "How long the answer to a command waits for its outcome (ms) before it is 202."},
    {"ingest.user.rate", CONFIG_INT, AT(user_rate), "50", .max = 100000,
     .doc =
         "How many requests with a good token a user may make a second, counted by each gateway; beyond that they are answered "
         "429. A request for a long page counts once more for each 100 rows, and an answer longer than that for each 16 KiB. Tokens "
         "with scope gateway have no limit. 0: any number."},
    {"ingest.user.burst", CONFIG_INT, AT(user_burst), "500", .min = 1, .max = 1000000,
     .doc = "How many of them a user who has rested may make at once."},
    {"ingest.user.changes.rate", CONFIG_INT, AT(changes_rate), "2", .max = 100000,
     .doc =
         "How many posts, comments, likes, follows and other changes a user may make a second, counted by each gateway; beyond "
         "that they are answered 429. Reports of places do not count. 0: any number."},
    {"ingest.user.changes.burst", CONFIG_INT, AT(changes_burst), "300", .min = 1, .max = 1000000,
     .doc = "How many of them a user who has rested may make at once."},
    {"ingest.address.rate", CONFIG_INT, AT(address_rate), "100", .max = 100000,
     .doc =
         "How many requests without a good token may come from an address (IPv6: from its first 64 bits) a second, counted by "
         "each gateway; beyond that they are answered 429. 0: any number."},
    {"ingest.address.burst", CONFIG_INT, AT(address_burst), "1000", .min = 1, .max = 1000000,
     .doc = "How many of them may come at once from an address that has rested."},
    {"ingest.drain.notice.s", CONFIG_INT, AT(drain_notice_s), "5", .min = 0, .max = 600,
     .doc =
         "A gateway that is told to end first serves for so many seconds while /readyz says 503, until balancers send it nothing "
         "any more. 0: none."},
    {"ingest.trusted.proxies", CONFIG_STRING, AT(trusted_proxies), "",
     .doc =
         "Proxies in front of the gateway (addresses and networks, separated by spaces) whose X-Forwarded-For says from which "
         "address a request comes. Empty: it comes from where its connection does."},
    {"ingest.gzip.least.bytes", CONFIG_INT, AT(gzip_least), "1024", .max = 16777216,
     .doc = "Answers of so many bytes are packed with gzip for clients that accept it. 0: none are."},
    {"ingest.cors.origins", CONFIG_STRING, AT(cors_origins), "",
     .doc =
         "Origins (https://app.example, separated by spaces) whose web pages may use the HTTP API; *: all. Empty: the own only."},
    {"schema.registry.url", CONFIG_STRING, AT(registry_url), "",
     .doc =
         "A schema registry (Confluent's API). The gateway registers the schemas of all topics there, with the ids of "
         "schemas/ids.txt, and is not ready before all are there. Empty: none; the gateway's own is at /registry."},
    {"moderation.words.file", CONFIG_STRING, AT(words_file), "",
     .doc =
         "Words and phrases, one in each line: posts and comments that have one are held until a moderator approves them, and edits are "
         "refused. SIGHUP reads it again. Empty: none."},
    {"moderation.filter.url", CONFIG_STRING, AT(filter_url), "",
     .doc =
         "Where each new text is posted as JSON ({kind, user, text, media}); {\"hold\": true} as the answer holds it as a listed word "
         "would. Texts pass while nothing answers there. Empty: none."},
    {"moderation.filter.timeout.ms", CONFIG_INT, AT(filter_timeout_ms), "500", .min = 10, .max = 10000,
     .doc = "How long a text waits for that answer (ms)."},
    {"web.dir", CONFIG_STRING, AT(web_dir), "", .doc = "Folder of the web page, served at /. Empty: no page."},
    {"web.ws.url", CONFIG_STRING, AT(web_ws_url), "",
     .doc = "WebSocket address that the page is told. Empty: the page's own host, port 8081."},
    {"web.push.url", CONFIG_STRING, AT(web_push_url), "",
     .doc =
         "A receiver of notify.url that tells people by Web Push while the page is closed (clients/python-push), as the page reaches it: "
         "https://push.example/push, or /push of the page's own host. Empty: the page does not offer that."},
    {"web.map.geojson", CONFIG_STRING, AT(map_geojson), "",
     .doc =
         "A map that the page draws: a GeoJSON file with OpenStreetMap's tags, as `starling-load simulate --map` and Overpass write "
         "it. Served at /map.geojson, packed where FILE.gz lies beside it. Empty, and no tiles: a plain grid."},
    {"web.map.tiles", CONFIG_STRING, AT(map_tiles), "",
     .doc =
         "Map tiles that the page loads instead: an address with {z}, {x} and {y}, such as https://tiles.example/{z}/{x}/{y}.png. "
         "Browsers may load images from that host, and from no other one. Empty: none."},
    {"web.map.attribution", CONFIG_STRING, AT(map_attribution), "",
     .doc =
         "Whom the page names as the map's source, in its corner; [text](https://address) is a link. Makers of tiles demand it."},
    {"web.oidc.issuer", CONFIG_STRING, AT(oidc_issuer), "",
     .doc = "The OpenID Connect provider with which people sign in on the page, as its discovery document names it: "
            "https://id.example.org. auth.jwks.url needs its jwks_uri. Empty: none; people paste tokens."},
    {"web.oidc.client.id", CONFIG_STRING, AT(oidc_client), "starling",
     .doc = "By what name the provider knows the page: a public client with the redirect URI /signin.html."},
    {"web.oidc.scope", CONFIG_STRING, AT(oidc_scope), "openid", .doc = "The scopes that the page asks for."},
    {"web.demo.dir", CONFIG_STRING, AT(web_demo_dir), "",
     .doc =
         "Folder with people.json, the people of a demonstration and their tokens: whoever opens the page may be any of them. Only "
         "with ingest.listen on a loopback address. Empty: none."},
};

static struct ingest_settings values;

const struct config_section INGEST_SECTION = {"Gateway (starling-ingest)", PROPERTIES, ARRAY_SIZE(PROPERTIES), &values};
