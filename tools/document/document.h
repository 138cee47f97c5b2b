/* The parts of which the documents are made. One thread. */
#pragma once

#include "service/service.h"

extern const struct service_definition *const DOCUMENT_DAEMONS[]; /* the end is NULL */

/* Prints the daemons' tables on standard output, as one JSON object:
 *     {"version", "daemons": [{"name", "sections": [{"title", "properties": [{"name", "default", "allowed", "help"}]}]}]}
 * default: null where it must be given; allowed: empty where it is any text. */
void document_tables(void);

void document_questions(void); /* prints docs/QUESTIONS.md */
