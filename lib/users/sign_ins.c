#include "users/sign_ins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "event/topics.h"
#include "json/json.h"
#include "rpc/ask.h"
#include "service/peers.h"

enum { TIMEOUT_MS = 3000, DECIDED_MS = 2000, SLOTS = 64 * 1024, WAITING_MAX = 10000, OK = 200, NONE_YET = 202 };

struct known_user {
    char *external; /* NULL: the slot is empty */
    int64_t user;
};

struct sign_ins {
    struct peers *feeds; /* NULL: they are not asked any more */
    size_t waiting;
    struct known_user slots[SLOTS]; /* by the text's number: a newer one takes the place of an older one */
};

struct number_question {
    struct sign_ins *sign_ins;
    bool decides; /* a text without a number gets one */
    void *context;
    sign_ins_answer *done;
    char external[EXTERNAL_ID_SIZE];
};

struct text_question {
    struct sign_ins *sign_ins;
    int64_t user;
    void *context;
    sign_ins_answer *done;
};

int sign_ins_new(struct service *service, const char *group, int32_t partitions, struct sign_ins **out,
                 struct error *error) {
    if (service_settings(service)->auth_user_ids != SERVICE_IDS_DIRECTORY) return 0;
    struct sign_ins *made = mem_zero(1, sizeof *made);
    int code = peers_new(
        &(struct peers_options){
            .loop = service_loop(service),
            .settings = service_kafka(service),
            .group = group,
            .topic = &TOPIC_POST_COMMANDS, // the feed processes own the partitions of all topics of users alike
            .partitions = partitions,
            .token = service_settings(service)->peer_token,
        },
        &made->feeds, error);
    if (code)
        free(made);
    else
        *out = made;
    return code;
}

void sign_ins_stop(struct sign_ins *sign_ins) {
    if (!sign_ins) return;
    struct peers *feeds = sign_ins->feeds;
    sign_ins->feeds = NULL;
    peers_free(feeds);
}

void sign_ins_free(struct sign_ins *sign_ins) {
    if (!sign_ins) return;
    for (size_t i = 0; i < SLOTS; i++) free(sign_ins->slots[i].external);
    free(sign_ins);
}

static size_t slot_of(const char *external) { return hash_fold((uint64_t)external_id_number(external)) % SLOTS; }

/* False: it is not remembered. */
static bool recall(const struct sign_ins *sign_ins, const char *external, int64_t *user) {
    const struct known_user *known = sign_ins ? &sign_ins->slots[slot_of(external)] : NULL;
    if (!known || !known->external || strcmp(known->external, external) != 0) return false;
    *user = known->user;
    return true;
}

bool sign_ins_know(const struct sign_ins *sign_ins, struct auth_claims *claims) {
    return !claims->external[0] || recall(sign_ins, claims->external, &claims->user);
}

static void remember(struct sign_ins *sign_ins, const char *external, int64_t user) {
    struct known_user *slot = &sign_ins->slots[slot_of(external)];
    free(slot->external);
    *slot = (struct known_user){.external = mem_string(external), .user = user};
}

static void answered(void *context, int code, unsigned status, const char *text, size_t size) {
    struct number_question *question = context;
    json_t *reply = code == 0 && status == OK ? json_parse(text, size, NULL) : NULL;
    int64_t user = -1;
    question->sign_ins->waiting--;
    if (!json_want_int(reply, "user", 0, INT64_MAX, &user, NULL))
        remember(question->sign_ins, question->external, user);
    else if (question->decides || code || status != NONE_YET)
        code = -EAGAIN;
    json_decref(reply);
    question->done(question->context, code, user, question->external);
    free(question);
}

static void ask(struct sign_ins *sign_ins, const char *external, bool decides, void *context, sign_ins_answer *done) {
    int64_t user;
    if (recall(sign_ins, external, &user)) {
        done(context, 0, user, external);
        return;
    }
    if (!sign_ins->feeds || sign_ins->waiting == WAITING_MAX) {
        done(context, -EAGAIN, -1, external);
        return;
    }
    struct number_question *question =
        MEM_NEW(&(struct number_question){.sign_ins = sign_ins, .decides = decides, .context = context, .done = done});
    strcpy(question->external, external);
    sign_ins->waiting++;
    rpc_ask(sign_ins->feeds, &ASK_SIGNED_IN,
            RPC_VALUES(RPC_INT(USER, external_id_number(external)), RPC_TEXT(EXTERNAL, question->external),
                       RPC_INT(WAIT_MS, decides ? DECIDED_MS : 0)),
            TIMEOUT_MS, answered, question);
}

void sign_ins_ask(struct sign_ins *sign_ins, const char *external, void *context, sign_ins_answer *done) {
    ask(sign_ins, external, true, context, done);
}

void sign_ins_find(struct sign_ins *sign_ins, const char *external, void *context, sign_ins_answer *done) {
    ask(sign_ins, external, false, context, done);
}

/* ---- the text of a number ---- */

static void text_answered(void *context, int code, unsigned status, const char *text, size_t size) {
    struct text_question *question = context;
    json_t *reply = code == 0 && status == OK ? json_parse(text, size, NULL) : NULL;
    const json_t *externals = json_object_get(reply, "externals");
    size_t place = (size_t)(question->user - external_id_base(question->user));
    const json_t *item = json_array_get(externals, place);
    const char *external = json_is_string(item) ? json_string_value(item) : "";
    question->sign_ins->waiting--;
    question->done(question->context, json_is_array(externals) ? 0 : -EAGAIN, question->user, external);
    json_decref(reply);
    free(question);
}

void sign_ins_text(struct sign_ins *sign_ins, int64_t user, void *context, sign_ins_answer *done) {
    int64_t base = external_id_base(user);
    if (!sign_ins || !external_id_is_number(user)) {
        done(context, 0, user, "");
    } else if (!sign_ins->feeds || sign_ins->waiting == WAITING_MAX) {
        done(context, -EAGAIN, user, "");
    } else {
        sign_ins->waiting++;
        rpc_ask(sign_ins->feeds, &ASK_EXTERNALS, RPC_VALUES(RPC_INT(USER, base)), TIMEOUT_MS, text_answered,
                MEM_NEW(&(struct text_question){sign_ins, user, context, done}));
    }
}
