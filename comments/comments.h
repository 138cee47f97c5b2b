/* starling-comments: owns subjects. It decides commands about their comments, and answers pages of threads. docs/COMMENTS.md says what
 * it promises. */
#pragma once

#include "service/service.h"

extern const struct service_definition COMMENTS_SERVICE;
