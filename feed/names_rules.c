#include "feed/names_rules.h"

#include <string.h>

const char *name_command_complaint(const struct name_command *command, struct name_step *step) {
    struct name_step read = {.kind = command->kind, .user = command->user, .number = command->number};
    bool own = command->kind == NAME_COMMAND_WISH || command->kind == NAME_COMMAND_GIVE_UP;
    if (command->user < 0) return "the user is negative";
    if (own ? command->number != 0 : command->number < 1) return "the wish has no number, or one that it must not have";
    if (command->kind == NAME_COMMAND_GIVE_UP) {
        if (command->handle.size) return "it gives up, and names a handle";
    } else if (!handle_read(command->handle.data, command->handle.size, read.handle)) {
        return "a handle has 3 to 30 of a-z, 0-9 and _";
    }
    *step = read;
    return NULL;
}

static void put(struct name_steps *out, enum name_command_kind kind, int64_t user, const char *handle, int64_t number) {
    struct name_step *step = &out->items[out->count++];
    *step = (struct name_step){.kind = kind, .user = user, .number = number};
    strcpy(step->handle, handle);
}

/* ---- the user's owner ---- */

static void release(const struct name_of_user *name, int64_t user, struct name_steps *out) {
    if (name->handle[0]) put(out, NAME_COMMAND_RELEASE, user, name->handle, name->granted);
}

/* The wish that is under way does not count any more: its number is not the newest now. */
static void overtake(struct name_of_user *name) {
    name->number++;
    name->wish[0] = name->refused[0] = '\0';
}

static bool wish(struct name_of_user *name, const struct name_step *step, struct name_steps *out) {
    if (strcmp(name->wish, step->handle) == 0) { // the grant may have been lost: it is asked for again
        put(out, NAME_COMMAND_GRANT, step->user, name->wish, name->number);
        return false;
    }
    bool has = strcmp(name->handle, step->handle) == 0;
    if (has && !name->wish[0] && !name->refused[0]) return false;
    overtake(name);
    if (has) return true;
    strcpy(name->wish, step->handle);
    put(out, NAME_COMMAND_GRANT, step->user, name->wish, name->number);
    return true;
}

static bool give_up(struct name_of_user *name, const struct name_step *step, struct name_steps *out) {
    if (!name->handle[0] && !name->wish[0]) return false;
    release(name, step->user, out);
    overtake(name);
    name->handle[0] = '\0';
    name->granted = 0;
    return true;
}

/* The step answers the wish that is under way. */
static bool answers(const struct name_of_user *name, const struct name_step *step) {
    return step->number == name->number && strcmp(step->handle, name->wish) == 0;
}

static bool granted(struct name_of_user *name, const struct name_step *step, struct name_steps *out) {
    bool again = step->number == name->granted && strcmp(step->handle, name->handle) == 0;
    if (again) return false;
    if (!answers(name, step)) {
        put(out, NAME_COMMAND_RELEASE, step->user, step->handle, step->number);
        return false;
    }
    release(name, step->user, out);
    strcpy(name->handle, name->wish);
    name->granted = name->number;
    name->wish[0] = '\0';
    return true;
}

static bool taken(struct name_of_user *name, const struct name_step *step) {
    if (!answers(name, step)) return false;
    strcpy(name->refused, name->wish);
    name->wish[0] = '\0';
    return true;
}

bool name_decide_user(struct name_of_user *name, const struct name_step *step, struct name_steps *out) {
    out->count = 0;
    switch (step->kind) {
    case NAME_COMMAND_WISH: return wish(name, step, out);
    case NAME_COMMAND_GIVE_UP: return give_up(name, step, out);
    case NAME_COMMAND_GRANTED: return granted(name, step, out);
    case NAME_COMMAND_TAKEN: return taken(name, step);
    case NAME_COMMAND_GRANT:
    case NAME_COMMAND_RELEASE: break;
    }
    return false;
}

/* ---- the handle's owner ---- */

bool name_decide_handle(struct name_of_handle *name, const struct name_step *step, struct name_steps *out) {
    bool own = name->user == step->user, same = own && name->number == step->number;
    out->count = 0;
    if (step->kind == NAME_COMMAND_RELEASE) {
        if (same) *name = (struct name_of_handle){.user = -1};
        return same;
    }
    if (step->kind != NAME_COMMAND_GRANT) return false;
    if (own && step->number < name->number) return false; // the user has it for a later wish
    bool free = name->user < 0;
    put(out, free || own ? NAME_COMMAND_GRANTED : NAME_COMMAND_TAKEN, step->user, step->handle, step->number);
    if (same || !(free || own)) return false;
    *name = (struct name_of_handle){.user = step->user, .number = step->number};
    return true;
}
