#include "users/sharing_words.h"

#include <stddef.h>

#include "event/records.h"

const char *const SHARING_WORDS[] = {
    [SHARING_OFF] = "off", [SHARING_FRIENDS] = "friends", [SHARING_PUBLIC] = "public", NULL};
