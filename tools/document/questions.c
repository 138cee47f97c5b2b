#include <inttypes.h>
#include <stdio.h>

#include "rpc/questions.h"
#include "tools/document/document.h"

static const char HEAD[] =
    "# Questions between daemons\n\n<!-- Generated from lib/rpc/questions.c: change that, not this page. -->\n\n"
    "Gateways, edges and the command ask the process that owns the key, the first part of the path, over HTTP (`peer.listen`, with the bearer\n"
    "token `peer.token`). Answers are JSON. 421: another process owns the key, ask that one; 503: nobody does yet, ask again; 400: an argument is\n"
    "out of its range; 404: what is asked about is not there. A page has `next`, which the next question gives as `after`; it is null at the\n"
    "end. Questions with `offset` and `wait_ms` wait until the command at that offset is decided. In brackets: what holds where nothing is given.\n";

static void print_rule(const char *before, const struct rpc_rule *rule) {
    bool needed = rule->kind == RPC_NUMBERS ? rule->absent < rule->min : rule->min > 0;
    printf("%s`%s`", before, RPC_NAMES[rule->arg]);
    if (rule->kind != RPC_NUMBERS) {
        if (rule->max < INT64_MAX) printf(" of at most %" PRId64 " bytes", rule->max);
    } else if (rule->max < INT64_MAX) {
        printf(" %" PRId64 " to %" PRId64, rule->min > 0 ? rule->min : 0, rule->max);
    }
    if (rule->kind == RPC_NUMBERS && rule->absent > 0 && rule->absent < INT64_MAX)
        printf(" [%" PRId64 "]", rule->absent);
    if (needed) printf(" (must be given)");
}

static void print_question(const struct rpc_question *question) {
    printf("| `/peer/%s", question->start);
    for (size_t i = 0; i < RPC_PARTS_MAX && question->parts[i]; i++) printf("/{%s}", RPC_NAMES[question->parts[i]]);
    printf("` | %s | ", question->what);
    for (size_t i = 0; i < RPC_RULES_MAX && question->rules[i].arg; i++) print_rule(i ? ", " : "", &question->rules[i]);
    printf(" |\n");
}

void document_questions(void) {
    printf("%s", HEAD);
    for (const struct rpc_answerer *of = RPC_ANSWERERS; of->name; of++) {
        printf("\n## Of %s\n\n| path | answer | arguments |\n|---|---|---|\n", of->name);
        for (size_t i = 0; of->questions[i]; i++) print_question(of->questions[i]);
    }
}
