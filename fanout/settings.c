#include "fanout/settings.h"

#include <stddef.h>

#define AT(member) offsetof(struct fanout_settings, member)

static const struct config_property PROPERTIES[] = {
    {"group.id", CONFIG_STRING, AT(group), "starling-fanout",
     .doc = "Consumer group of the edges: its assignment of `deliveries` partitions says which routes a process has."},
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
    {"edge.hello.s", CONFIG_INT, AT(hello_s), "10", .min = 1, .max = 300,
     .doc = "A connection that has not said hello by then (s) is closed."},
    {"edge.ping.s", CONFIG_INT, AT(ping_s), "60", .max = 3600,
     .doc = "A silent peer is pinged after this time and closed after twice of it (s); 0: never."},
    {"edge.slow.close.s", CONFIG_INT, AT(slow_close_s), "60", .min = 1, .max = 3600,
     .doc = "A phone that has taken nothing for this long (s) is closed with 4002."},
    {"edge.drain.s", CONFIG_INT, AT(drain_s), "5", .max = 3600,
     .doc = "Draining moves the sessions away evenly over this time (s)."},
    {"edge.max.sessions", CONFIG_INT, AT(max_sessions), "18000", .min = 1, .max = 1000000,
     .doc = "Connections of this process; further ones are closed with 1013."},
    {"edge.max.message.bytes", CONFIG_INT, AT(max_message), "8192", .min = 128, .max = 1048576,
     .doc = "A client's message longer than this (bytes) closes its connection with 1009."},
    {"edge.report.every.s", CONFIG_INT, AT(report_every_s), "30", .min = 1, .max = 3600,
     .doc = "How often phones are told to report (s)."},
    {"edge.faces.mb", CONFIG_INT, AT(faces_mb), "64", .max = 65536,
     .doc = "Memory for friends' entries kept ready as text (MiB); some 300 bytes each, taken only as needed."},
};

static struct fanout_settings values;

const struct config_section FANOUT_SECTION = {"Edge (starling-fanout)", PROPERTIES, ARRAY_SIZE(PROPERTIES), &values};
