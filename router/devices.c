#include "router/devices.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"

enum { FIRST = 64 };

struct further {
    int64_t session;
    uint32_t next; /* 0: the last */
    int16_t route;
    uint16_t heard;
};

struct devices {
    unsigned step_bits;      /* of a step in ms */
    uint32_t window;         /* steps */
    struct map *users;       /* -> the first of the chain */
    struct further *entries; /* [0] is not used */
    uint32_t made, room;
    uint32_t free; /* first free one; 0: none */
};

struct devices *devices_new(int64_t inactive_ms) {
    unsigned bits = 0;
    while (inactive_ms >> (bits + 1) >= DEVICES_STEPS) bits++;
    return MEM_NEW(&(struct devices){
        .step_bits = bits,
        .window = (uint32_t)(inactive_ms >> bits) + 1,
        .users = map_new(),
        .entries = mem_zero(FIRST, sizeof(struct further)),
        .made = 1,
        .room = FIRST,
    });
}

void devices_free(struct devices *devices) {
    if (!devices) return;
    map_free(devices->users);
    free(devices->entries);
    free(devices);
}

size_t devices_bytes(const struct devices *devices) {
    return sizeof *devices + map_bytes(devices->users) + devices->room * sizeof *devices->entries;
}

uint16_t devices_step(const struct devices *devices, int64_t ms) {
    return (uint16_t)((uint64_t)ms >> devices->step_bits & DEVICES_STEP_MASK);
}

bool devices_faded(const struct devices *devices, uint16_t heard, uint16_t now) {
    uint32_t age = (uint32_t)(now - heard) & DEVICES_STEP_MASK;
    return age > devices->window && age <= DEVICES_STEP_MASK / 2;
}

static struct device_entry device_of(const struct further *entry) {
    return (struct device_entry){.session = entry->session, .route = entry->route, .heard = entry->heard};
}

static uint32_t first_of(const struct devices *devices, int64_t user) {
    const uint64_t *first = map_find(devices->users, (uint64_t)user);
    return first ? (uint32_t)*first : 0;
}

/* The user's chain begins there from now on; whether there is one. */
static bool set_first(struct devices *devices, int64_t user, uint32_t first) {
    if (first)
        *map_put(devices->users, (uint64_t)user, NULL) = first;
    else
        map_remove(devices->users, (uint64_t)user, NULL);
    return first;
}

static void push(struct devices *devices, int64_t user, const struct device_entry *device) {
    uint32_t at = devices->free;
    if (at) {
        devices->free = devices->entries[at].next;
    } else {
        if (devices->made == devices->room) {
            devices->room *= 2;
            devices->entries = mem_resize(devices->entries, devices->room, sizeof *devices->entries);
        }
        at = devices->made++;
    }
    devices->entries[at] = (struct further){.session = device->session,
                                            .next = first_of(devices, user),
                                            .route = (int16_t)device->route,
                                            .heard = device->heard};
    set_first(devices, user, at);
}

/* Takes an entry out of a chain; returns the one after it. */
static uint32_t drop(struct devices *devices, uint32_t at) {
    uint32_t next = devices->entries[at].next;
    devices->entries[at].next = devices->free;
    devices->free = at;
    return next;
}

size_t devices_list(const struct devices *devices, int64_t user, struct device_entry *list) {
    size_t count = 0;
    for (uint32_t at = first_of(devices, user); at; at = devices->entries[at].next)
        list[count++] = device_of(&devices->entries[at]);
    return count;
}

bool devices_renew(struct devices *devices, int64_t user, const struct device_entry *device) {
    uint32_t at = first_of(devices, user);
    while (at && devices->entries[at].session != device->session) at = devices->entries[at].next;
    if (!at) return false;
    struct further *entry = &devices->entries[at];
    entry->route = (int16_t)device->route;
    entry->heard = devices_later(entry->heard, device->heard);
    return true;
}

static bool is_silent_longer(const struct device_entry *one, const struct device_entry *other) {
    return one->heard != other->heard && devices_later(one->heard, other->heard) == other->heard;
}

bool devices_add(struct devices *devices, int64_t user, const struct device_entry *device, struct device_entry *own) {
    struct device_entry list[DEVICES_MAX];
    size_t count = devices_list(devices, user, list);
    push(devices, user, device);
    if (count + 2 <= DEVICES_MAX) return true;
    struct device_entry silent = is_silent_longer(device, own) ? *device : *own;
    for (size_t i = 0; i < count; i++)
        if (is_silent_longer(&list[i], &silent)) silent = list[i];
    if (silent.session == own->session) return devices_pop(devices, user, own);
    return devices_remove(devices, user, silent.session);
}

bool devices_pop(struct devices *devices, int64_t user, struct device_entry *device) {
    uint32_t at = first_of(devices, user);
    *device = device_of(&devices->entries[at]);
    return set_first(devices, user, drop(devices, at));
}

/* Drops the entries of a session (0: of none), and those that have faded by `now` (NULL: none has). */
static bool keep_others(struct devices *devices, int64_t user, int64_t session, const uint16_t *now) {
    uint32_t first = first_of(devices, user), *link = &first;
    while (*link) {
        struct further *entry = &devices->entries[*link];
        if (entry->session == session || (now && devices_faded(devices, entry->heard, *now)))
            *link = drop(devices, *link);
        else
            link = &entry->next;
    }
    return set_first(devices, user, first);
}

bool devices_remove(struct devices *devices, int64_t user, int64_t session) {
    return keep_others(devices, user, session, NULL);
}

bool devices_fade(struct devices *devices, int64_t user, uint16_t now) { return keep_others(devices, user, 0, &now); }

void devices_forget(struct devices *devices, int64_t user) {
    for (uint32_t at = first_of(devices, user); at;) at = drop(devices, at);
    set_first(devices, user, 0);
}
