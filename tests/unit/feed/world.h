/* The feed's protocol on the real stores, effects, inboxes and pages, with logs in memory instead of Kafka: owners of three partitions
 * that crash, lose disks and take turns. Pages are compared with brute force (tests/unit/feed/test_histories.c).
 *
 *     commands --> follows, posts, visibility, blocks (logs) --> owner: stores --> effects --> timelines, requests, hot (logs) --> owners
 *
 * A rule of the protocol can be left out, which must lead to wrong pages.
 */
#pragma once

#include <stdint.h>

enum feed_rule {
    RULE_NONE,
    RULE_EFFECTS, /* after a take-over effects are carried out from the group's offset on, though the state is further */
    RULE_ATTACH, /* whoever takes over reads state up to the ends of that moment; timelines go on from the store's offset */
    RULE_KEPT,      /* where timelines are not kept from that offset on, all inboxes are forgotten */
    RULE_BACKLOG,   /* who is followed sends his newest posts to the new follower */
    RULE_REQUEST,   /* the new follower's owner asks for them, too */
    RULE_REBUILD,   /* an inbox that is not complete is no page */
    RULE_HORIZON,   /* posts at or below the horizon are asked for at their authors' owners */
    RULE_FOLLOWING, /* a page shows only whom the reader follows now */
    RULE_CONTENT,   /* a page shows only posts that their author's owner still has */
    RULE_DEDUPE,    /* a post that came by both ways is shown once */
    RULE_VERSION,   /* a kept text of a lower version than the reader's owner knows is asked for again */
    RULE_HIDDEN, /* all processes hear of a post that is hidden, and leave it out of pages: a gateway may keep its text */
    RULE_SILENCE,  /* a store is restored in silence */
    RULE_RESTORED, /* an owner neither asks nor answers before its state is read */
    RULE_SIGHTS,   /* blocks and who sees posts are read from where the store is, too */
    RULE_ASKED,    /* a follow that the author has not accepted is none */
    RULE_BLOCKED,  /* a page leaves out authors across a block, whose end of the follow is not decided yet */
    FEED_RULES
};

extern const char *const FEED_RULE_NAMES[FEED_RULES];

struct feed_world;
struct feed_world *feed_world_new(void); /* stores in a kit_folder() */
void feed_world_free(struct feed_world *world);

/* One history of that seed, from new users on. Returns how many users have a wrong page, or may see posts of whom they may not, or not
 * of whom they may, at its end. */
int feed_world_history(struct feed_world *world, uint64_t seed, enum feed_rule without);
