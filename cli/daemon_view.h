/* The state of one daemon by its ops address (/readyz, /metrics), and its change between two readings. Pure; one thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum daemon_state { DAEMON_UNKNOWN, DAEMON_AWAY, DAEMON_NOT_READY, DAEMON_DRAINING, DAEMON_READY };

/* One reading of /metrics. NAN: the daemon does not tell that. */
struct daemon_numbers {
    double read_s;    /* when, by a clock that never goes back */
    double started_s; /* since the Unix epoch */
    double cpu_s, memory_bytes;
    double owned, standby; /* partitions */
    double lag;
    double refused_s; /* when a command was last refused, since the Unix epoch; 0: never */
    double sessions;  /* open WebSocket connections */
    double
        records; /* counts up; what a record is depends on the daemon: a request of ingest, a report of router, ... */
};

struct daemon_view {
    const char *address; /* borrowed */
    enum daemon_state state;
    char note[128];      /* why it is not ready, or away; else empty */
    int kind;            /* place in the order in which data flows; a number behind all others before it is known */
    char name[32];       /* "router"; empty: not known yet. It stays while the daemon is away. */
    char version[32];    /* of the last answer */
    bool lag_in_records; /* else the lag is in seconds */
    struct daemon_numbers numbers; /* of the last reading; all NAN while it is away */
    double records_per_s, cpu; /* between the last two readings of one process; cpu: of one processor. NAN: unknown */
    int restarts;              /* that were seen */
    double seen_started_s;     /* of the process that was seen last; NAN: none was */
};

void daemon_view_init(struct daemon_view *view, const char *address);

/* An answer of /readyz: 200 or 503 with its JSON. False: no daemon of starling answers so; it counts as away. */
bool daemon_view_readiness(struct daemon_view *view, unsigned status, const char *reply, size_t size);
/* An answer of /metrics; text ends with a NUL. */
void daemon_view_numbers(struct daemon_view *view, const char *text, double now_s);
/* It gave no answer; why: for people. */
void daemon_view_away(struct daemon_view *view, const char *why);
