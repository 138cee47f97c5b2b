/* Random numbers for delays and spreads: other ones in each process, and nothing that a secret may depend on. The value is its
 * owner's, and so is the thread.
 */
#ifndef BASE_CHANCE_H
#define BASE_CHANCE_H

#include <stdint.h>

struct chance {
    uint64_t state;
};

struct chance chance_new(void); /* from the system's random numbers */
uint32_t chance_next(struct chance *chance);

#endif
