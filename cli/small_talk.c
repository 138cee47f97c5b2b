#include "cli/small_talk.h"

#include "base/config.h"
#include "base/hash.h"

static const char *const NEWS[] = {
    "Coffee at the corner is finally open again.",
    "The tram is late, as every Monday.",
    "First tomatoes from the balcony!",
    "Found a bakery that still does poppy seed rolls.",
    "Somebody plays the cello in the courtyard.",
    "Long run along the canal this morning.",
    "The library stays open until ten now.",
    "New bike, same hills.",
    "Moving boxes everywhere.",
    "The market was full of plums today.",
    "Three hours in a meeting about meetings.",
    "My neighbour's cat has moved in with us, it seems.",
    "The old cinema shows silent films on Thursdays.",
    "Rain all day, so I repaired the radio.",
    "Lost a glove near the bridge, blue wool.",
    "Learned to make dumplings from my aunt.",
    "The lake is warm enough to swim.",
    "Heard a nightingale in the middle of the city.",
    "Finished the book that everybody talks about.",
    "Our team won, if only by one point.",
    "Planted a cherry tree in the yard.",
    "There is a flea market behind the station.",
    "Grüße from the allotment garden.",
    "The bread turned out well this time.",
};

static const char *const AFTERTHOUGHTS[] = {
    "Anybody coming along?",     "Worth the detour.",     "I may stay all afternoon.",
    "Who has time on Saturday?", "Better than expected.", "Tell me if you are around.",
    "Next time with you all.",   "It made my day.",       "Not sure what to think of it.",
    "Back home by eight.",       "Pictures follow.",
};

void small_talk(struct buffer *out, uint64_t number) {
    uint64_t mixed = hash_u64(number);
    buffer_string(out, NEWS[mixed % ARRAY_SIZE(NEWS)]);
    size_t second = (mixed >> 32) % (2 * ARRAY_SIZE(AFTERTHOUGHTS));
    if (second >= ARRAY_SIZE(AFTERTHOUGHTS)) return;
    buffer_byte(out, ' ');
    buffer_string(out, AFTERTHOUGHTS[second]);
}
