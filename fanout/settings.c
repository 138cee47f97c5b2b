#include "fanout/settings.h"

#include <stddef.h>

#define AT(member) offsetof(struct fanout_settings, member)

static const struct config_property PROPERTIES[] = {
    {"group.id", CONFIG_STRING, AT(group), "starling-fanout",
     .doc = "Consumer group of the edges: its assignment of `deliveries` partitions says which routes a process has."},
    {"edge.routes", CONFIG_INT, AT(routes), "1", .min = 1, .max = 100000,
     .doc =
         "Over how many partitions of `deliveries` this process spreads its sessions. Each partition costs every router more "
         "batches and Kafka more requests, so one is best until it is too slow."},
    {"edge.listen", CONFIG_STRING, AT(listen), "127.0.0.1:8081",
     .doc = "Address of the WebSocket listener. Several processes on one machine may share it."},
    {"edge.tls.certificate.file", CONFIG_STRING, AT(tls_certificate), "",
     .doc = "PEM file with the certificate of wss:// and those above it. It and the key are read again at SIGHUP, for "
            "connections from then on; a pair that cannot be used leaves the old one in place. Empty: ws://."},
    {"edge.tls.key.file", CONFIG_STRING, AT(tls_key), "", .doc = "PEM file with the certificate's private key."},
    {"edge.flush.window.ms", CONFIG_INT, AT(flush_ms), "1000", .max = 60000,
     .doc =
         "Updates to one screen are gathered this long into one frame (ms); a screen that was quiet gets its first at once."},
    {"edge.digest.strikes", CONFIG_INT, AT(strikes), "2", .min = 1, .max = 100,
     .doc = "Digests in a row that must differ from what a session holds before it asks for the complete list again."},
    {"edge.first.page.ms", CONFIG_INT, AT(first_page_ms), "2000", .min = 1, .max = 60000,
     .doc = "The first page is sent after this time (ms) even if no router has answered the hello."},
    {"edge.allowed.origins", CONFIG_STRING, AT(allowed_origins), "",
     .doc =
         "Whose web pages may connect: origins such as https://example.org, separated by commas; a browser with another "
         "one is refused with 403. Apps, which send none, are not asked. Empty: any."},
    {"edge.handshake.s", CONFIG_INT, AT(handshake_s), "10", .min = 1, .max = 300,
     .doc = "A connection whose handshake (TLS and HTTP) is not complete by then (s) is dropped, however it is fed."},
    {"edge.hello.s", CONFIG_INT, AT(hello_s), "10", .min = 1, .max = 300,
     .doc = "A connection that has not said hello by then (s) is closed."},
    {"edge.ping.s", CONFIG_INT, AT(ping_s), "60", .max = 3600,
     .doc = "A silent peer is pinged after this time and closed after twice of it (s); 0: never."},
    {"edge.slow.close.s", CONFIG_INT, AT(slow_close_s), "60", .min = 1, .max = 3600,
     .doc = "A phone that has taken nothing for this long (s) is closed with 4002."},
    {"edge.drain.s", CONFIG_INT, AT(drain_s), "5", .max = 3600,
     .doc = "Draining moves the sessions away evenly over this time (s)."},
    {"edge.max.sessions", CONFIG_INT, AT(max_sessions), "18000", .min = 1, .max = 1000000,
     .doc =
         "Sessions of this process. Further ones are closed with 1013; where other processes share the port, the listener "
         "is closed, so that they come to those."},
    {"edge.user.sessions", CONFIG_INT, AT(user_sessions), "16", .max = 1000000,
     .doc = "Sessions of one user at a process; further ones are closed with 1013. 0: any number."},
    {"edge.user.unread.mb", CONFIG_INT, AT(user_unread_mb), "4", .max = 65536,
     .doc =
         "Memory (MiB) at a process for frames and posts that the phones of one user have not read yet; one that needs more is told to "
         "read its page, or is closed with 1013. 0: any."},
    {"edge.unread.mb", CONFIG_INT, AT(unread_mb), "128", .max = 1048576,
     .doc = "The same for those of all users together."},
    {"edge.network.sessions", CONFIG_INT, AT(network_sessions), "4500", .max = 1000000,
     .doc =
         "Connections of one network (the first 24 bits of an IPv4 address, the first 64 of an IPv6 address) at a process; "
         "further ones are closed with 1013. 127.0.0.1 and ::1 have no limit. 0: any number."},
    {"edge.network.rate", CONFIG_INT, AT(network_rate), "250", .max = 1000000,
     .doc =
         "New connections of one network that this process takes in a second; further ones are reset, in front of TLS's "
         "handshake and `edge.hello.rate`. 127.0.0.1 and ::1 have no limit. 0: any number."},
    {"edge.network.burst", CONFIG_INT, AT(network_burst), "2000", .min = 1, .max = 1000000,
     .doc =
         "New connections that a network may make at once after a rest: thousands of phones share a carrier's address, and "
         "come back together after a fault."},
    {"edge.trusted.proxies", CONFIG_STRING, AT(trusted_proxies), "",
     .doc =
         "Balancers in front whose `X-Forwarded-For` says where a phone is: addresses and networks, such as 10.0.0.0/8. "
         "Those that are not named here are one network to the edge. Empty: none."},
    {"edge.user.hello.rate", CONFIG_INT, AT(user_hello_rate), "1", .max = 1000000,
     .doc = "Sessions that a user may begin a second at a process; further ones are closed with 1013. 0: any number."},
    {"edge.user.hello.burst", CONFIG_INT, AT(user_hello_burst), "100", .min = 1, .max = 1000000,
     .doc = "How many of them a user who has rested may begin at once."},
    {"edge.hello.rate", CONFIG_INT, AT(hello_rate), "2000", .max = 1000000,
     .doc =
         "New connections that this process takes in a second, and as many at once. Others are closed with 1013 and "
         "told when to come back, spread at this rate; so are those that a drain moves away. 0: any, and a spread of a "
         "second."},
    {"edge.max.loop.lag.ms", CONFIG_INT, AT(max_loop_lag_ms), "500", .max = 60000,
     .doc =
         "When the event loop is later than this (ms, mean of about a second), new connections are closed with 1013; "
         "0: never."},
    {"edge.max.messages.per.s", CONFIG_INT, AT(max_messages), "50", .max = 1000000,
     .doc = "Messages of one phone in a second; one that says more for two seconds is closed with 1008. 0: any."},
    {"edge.min.report.ms", CONFIG_INT, AT(min_report_ms), "1000", .max = 3600000,
     .doc =
         "Positions of one session go out no oftener than this (ms): a report that comes sooner takes the place of the "
         "one before it, and the newest goes out when the time is up."},
    {"edge.max.message.bytes", CONFIG_INT, AT(max_message), "8192", .min = 128, .max = 1048576,
     .doc = "A client's message longer than this (bytes) closes its connection with 1009."},
    {"edge.report.every.s", CONFIG_INT, AT(report_every_s), "30", .min = 1, .max = 3600,
     .doc = "How often phones are told to report (s)."},
    {"edge.faces.mb", CONFIG_INT, AT(faces_mb), "64", .max = 65536,
     .doc = "Memory for friends' entries kept ready as text (MiB); some 300 bytes each, taken only as needed."},
};

static struct fanout_settings values;

const struct config_section FANOUT_SECTION = {"Edge (starling-fanout)", PROPERTIES, ARRAY_SIZE(PROPERTIES), &values};
