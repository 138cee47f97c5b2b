#include "feed/watched.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"

struct watched_registration {
    struct watched *watched;
    struct watched_author *author;
    struct watched_registration *before, *after; /* of the author */
    struct watched_registration *next;           /* of the watched */
};

struct watched_author {
    int64_t id;
    struct watched_registration *first;
};

struct queued_job {
    enum watched_job_kind kind;
    bool begun;
    int64_t author, id;
};

struct watched_table {
    int32_t partitions;
    struct map *users, *authors; /* user -> struct watched, author -> struct watched_author */
    struct watched **parts;      /* the first of each partition */
    struct watched *first_due, *last_due;
    struct queued_job *jobs; /* in order, from first_job on */
    size_t first_job, job_count, job_capacity;
    struct watched_registration *next_registration; /* whom the first job visits next */
    struct watched_walk {                           /* through all partitions; NULL: goes on at the next partition */
        struct watched *next;
        int32_t part;
    } visit, walk;
};

struct watched_table *watched_table_new(int32_t partitions) {
    return MEM_NEW(&(struct watched_table){.partitions = partitions,
                                           .users = map_new(),
                                           .authors = map_new(),
                                           .parts = mem_zero((size_t)partitions, sizeof(struct watched *))});
}

size_t watched_count(const struct watched_table *table) { return map_count(table->users); }

struct watched *watched_find(const struct watched_table *table, int64_t user) {
    return map_pointer(table->users, (uint64_t)user);
}

/* ---- registrations ---- */

static void unregister(struct watched_table *table, struct watched_registration *registration) {
    struct watched_author *author = registration->author;
    if (table->next_registration == registration) table->next_registration = registration->after;
    if (registration->before)
        registration->before->after = registration->after;
    else
        author->first = registration->after;
    if (registration->after) registration->after->before = registration->before;
    free(registration);
    if (author->first) return;
    map_remove(table->authors, (uint64_t)author->id, NULL);
    free(author);
}

void watched_unregister_all(struct watched_table *table, struct watched *watched) {
    while (watched->registrations) {
        struct watched_registration *registration = watched->registrations;
        watched->registrations = registration->next;
        unregister(table, registration);
    }
}

static struct watched_author *author_of(struct watched_table *table, int64_t id) {
    bool created;
    uint64_t *slot = map_put(table->authors, (uint64_t)id, &created);
    if (created) {
        struct watched_author *author = MEM_NEW(&(struct watched_author){.id = id});
        *slot = (uint64_t)(uintptr_t)author;
    }
    return (struct watched_author *)(uintptr_t)*slot;
}

void watched_register(struct watched_table *table, struct watched *watched, int64_t id) {
    for (const struct watched_registration *r = watched->registrations; r; r = r->next)
        if (r->author->id == id) return;
    watched_register_new(table, watched, id);
}

void watched_register_new(struct watched_table *table, struct watched *watched, int64_t id) {
    struct watched_author *author = author_of(table, id);
    struct watched_registration *registration = MEM_NEW(&(struct watched_registration){
        .watched = watched, .author = author, .after = author->first, .next = watched->registrations});
    if (author->first) author->first->before = registration;
    author->first = watched->registrations = registration;
}

/* ---- the table ---- */

static void watched_free(struct watched *watched) {
    free(watched->added);
    free(watched->gone);
    free(watched);
}

struct watched *watched_put(struct watched_table *table, int64_t user, int32_t partition) {
    bool created;
    uint64_t *slot = map_put(table->users, (uint64_t)user, &created);
    if (!created) return (struct watched *)(uintptr_t)*slot;
    struct watched *watched = mem_alloc(sizeof *watched), **first = &table->parts[partition];
    *watched = (struct watched){.user = user, .partition = partition, .after = *first};
    if (*first) (*first)->before = watched;
    *first = watched;
    *slot = (uint64_t)(uintptr_t)watched;
    watched_anew(table, watched);
    return watched;
}

void watched_remove(struct watched_table *table, struct watched *watched) {
    watched_unregister_all(table, watched);
    map_remove(table->users, (uint64_t)watched->user, NULL);
    if (table->visit.next == watched) table->visit.next = watched->after;
    if (table->walk.next == watched) table->walk.next = watched->after;
    if (watched->before)
        watched->before->after = watched->after;
    else
        table->parts[watched->partition] = watched->after;
    if (watched->after) watched->after->before = watched->before;
    watched->dead = true;
    if (!watched->queued) watched_free(watched); // else when its turn has come
}

void watched_remove_all(struct watched_table *table, int32_t partition) {
    while (table->parts[partition]) watched_remove(table, table->parts[partition]);
}

void watched_table_free(struct watched_table *table) {
    if (!table) return;
    for (int32_t p = 0; p < table->partitions; p++) watched_remove_all(table, p);
    watched_due(table); // frees those that were due
    map_free(table->users);
    map_free(table->authors);
    free(table->parts);
    free(table->jobs);
    free(table);
}

/* ---- the newest posts ---- */

/* The lowest id of a full list; 0: the list is not full, and there is nothing further down. */
static int64_t lowest(const struct watched *watched) {
    return watched->count == WATCHED_NEWEST ? watched->newest[WATCHED_NEWEST - 1].id : 0;
}

void watched_trust(struct watched *watched) {
    int64_t id = lowest(watched);
    watched->doubted = id ? id - 1 : 0;
}

void watched_below(struct watched *watched, int64_t id) {
    if (id < lowest(watched) && id > watched->doubted) watched->doubted = id;
}

bool watched_doubtful(const struct watched *watched) { return watched->doubted && lowest(watched) <= watched->doubted; }

bool watched_insert(struct watched *watched, const struct inbox_post *post) {
    size_t at = 0;
    while (at < watched->count && watched->newest[at].id > post->id) at++;
    if (at < watched->count && watched->newest[at].id == post->id) return false;
    if (at == WATCHED_NEWEST) {
        watched_below(watched, post->id);
        return true;
    }
    if (watched->count < WATCHED_NEWEST) watched->count++;
    memmove(&watched->newest[at + 1], &watched->newest[at], (watched->count - at - 1) * sizeof *watched->newest);
    watched->newest[at] = *post;
    return true;
}

/* ---- walking ---- */

static void walk_begin(const struct watched_table *table, struct watched_walk *walk) {
    *walk = (struct watched_walk){.next = table->parts[0], .part = 0};
}

static struct watched *walk_next(const struct watched_table *table, struct watched_walk *walk) {
    while (!walk->next && walk->part < table->partitions - 1) walk->next = table->parts[++walk->part];
    struct watched *watched = walk->next;
    if (watched) walk->next = watched->after;
    return watched;
}

struct watched *watched_walk(struct watched_table *table) {
    struct watched *watched = walk_next(table, &table->walk);
    if (!watched) walk_begin(table, &table->walk);
    return watched;
}

/* ---- changes that are due ---- */

static void enqueue(struct watched_table *table, struct watched *watched) {
    if (watched->queued) return;
    watched->queued = true;
    watched->next_due = NULL;
    if (table->last_due)
        table->last_due->next_due = watched;
    else
        table->first_due = watched;
    table->last_due = watched;
}

struct watched *watched_due(struct watched_table *table) {
    while (table->first_due) {
        struct watched *watched = table->first_due;
        table->first_due = watched->next_due;
        if (!table->first_due) table->last_due = NULL;
        watched->queued = false;
        if (!watched->dead) return watched;
        watched_free(watched);
    }
    return NULL;
}

void watched_settled(struct watched *watched) {
    watched->anew = false;
    watched->added_count = watched->gone_count = 0;
}

void watched_anew(struct watched_table *table, struct watched *watched) {
    watched_settled(watched); // what else has happened is part of it
    watched->anew = true;
    enqueue(table, watched);
}

void watched_added(struct watched_table *table, struct watched *watched, int64_t author, int64_t id) {
    if (watched->anew) return;
    if (watched->added_count == WATCHED_DUE_MAX) {
        watched_anew(table, watched);
        return;
    }
    MEM_ROOM(watched->added, watched->added_count, watched->added_capacity);
    watched->added[watched->added_count++] = (struct inbox_post){.id = id, .author = author};
    enqueue(table, watched);
}

void watched_gone(struct watched_table *table, struct watched *watched, int64_t id) {
    if (watched->anew) return;
    if (watched->gone_count == WATCHED_DUE_MAX) {
        watched_anew(table, watched);
        return;
    }
    MEM_ROOM(watched->gone, watched->gone_count, watched->gone_capacity);
    watched->gone[watched->gone_count++] = id;
    enqueue(table, watched);
}

/* ---- jobs ---- */

static bool visits_all(enum watched_job_kind kind) { return kind != WATCHED_JOB_POST && kind != WATCHED_JOB_GONE; }

void watched_job(struct watched_table *table, enum watched_job_kind kind, int64_t author, int64_t id) {
    if (!watched_count(table)) return;
    if (!visits_all(kind) && !table->job_count && !map_find(table->authors, (uint64_t)author)) return;
    MEM_ROOM_BEHIND(table->jobs, table->first_job, table->job_count, table->job_capacity);
    table->jobs[table->first_job + table->job_count++] = (struct queued_job){.kind = kind, .author = author, .id = id};
}

static void begin(struct watched_table *table, struct queued_job *job) {
    const struct watched_author *author = map_pointer(table->authors, (uint64_t)job->author);
    job->begun = true;
    table->next_registration = author && !visits_all(job->kind) ? author->first : NULL;
    walk_begin(table, &table->visit);
}

/* Visits one of those who are registered. False: there is none left. */
static bool visit_registered(struct watched_table *table, const struct queued_job *job) {
    struct watched_registration *registration = table->next_registration;
    if (!registration) return false;
    table->next_registration = registration->after;
    if (job->kind == WATCHED_JOB_POST)
        watched_added(table, registration->watched, job->author, job->id);
    else
        watched_gone(table, registration->watched, job->id);
    return true;
}

static bool has_newest(const struct watched *watched, int64_t id) {
    for (size_t i = 0; i < watched->count; i++)
        if (watched->newest[i].id == id) return true;
    return false;
}

/* The edges are told the version, whatever they know. */
static void watched_doubt(struct watched_table *table, struct watched *watched) {
    watched->known = false;
    watched_anew(table, watched);
}

/* Visits one of all. */
static bool visit_any(struct watched_table *table, const struct queued_job *job,
                      bool (*follows)(void *context, const struct watched *watched, int64_t author), void *context) {
    struct watched *watched = walk_next(table, &table->visit);
    if (!watched) return false;
    if (job->kind == WATCHED_JOB_EDITED) {
        if (has_newest(watched, job->id)) watched_doubt(table, watched);
        return true;
    }
    if (watched->anew || !follows(context, watched, job->author)) return true; // reading anew registers
    if (job->kind == WATCHED_JOB_HIDDEN) {
        watched_gone(table, watched, job->id);
        return true;
    }
    if (job->kind == WATCHED_JOB_SHOWN) {
        watched_doubt(table, watched);
        return true;
    }
    watched_register(table, watched, job->author);
    watched_added(table, watched, job->author, job->id);
    return true;
}

size_t watched_work(struct watched_table *table, size_t visits,
                    bool (*follows)(void *context, const struct watched *watched, int64_t author), void *context) {
    while (visits && table->job_count) {
        struct queued_job *job = &table->jobs[table->first_job];
        if (!job->begun) begin(table, job);
        if (visits_all(job->kind) ? visit_any(table, job, follows, context) : visit_registered(table, job)) {
            visits--;
            continue;
        }
        table->next_registration = NULL;
        table->visit.next = NULL;
        table->first_job++;
        if (!--table->job_count) table->first_job = 0;
    }
    return visits;
}
