/* starling-comments: owns subjects. It decides commands about their comments, and answers pages of threads. docs/COMMENTS.md says what
 * it promises. */
#ifndef COMMENTS_COMMENTS_H
#define COMMENTS_COMMENTS_H

#include "service/service.h"

extern const struct service_definition COMMENTS_SERVICE;

#endif
