/* Reads the topic `hot-posts`, all partitions, from the beginning, into the lists of hot posts (feed/hot.h), and edits of all posts into
 * those that were edited lately (feed/edited.h). Loop's thread. */
#pragma once

#include "copies/copies.h"
#include "feed/edited.h"
#include "feed/hot.h"

struct hot_posts;

struct hot_posts_options {
    uv_loop_t *loop;
    const struct kafka_settings *kafka;
    struct log *log;
    struct metrics *metrics;
    int32_t partitions;
    int64_t keep_ms;
    struct kafka_producer *dead_letters; /* borrowed */
    void *context;
    void (*on_ready)(void *context); /* all that was there has been read */
    /* A post has come into the lists, or gone from them. first: its author had none before. */
    void (*on_post)(void *context, int64_t author, int64_t id, bool first);
    void (*on_gone)(void *context, int64_t author, int64_t id);
    void (*on_edit)(void *context, int64_t id);
};

int hot_posts_new(const struct hot_posts_options *options, struct hot_posts **posts, struct error *error);
void hot_posts_free(struct hot_posts *posts); /* NULL is fine */
struct hot *hot_posts_lists(struct hot_posts *posts);
const struct edited *hot_posts_edited(const struct hot_posts *posts); /* lives as long */

void hot_posts_second(struct hot_posts *posts); /* forgets what is too old */
