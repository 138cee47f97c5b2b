#include "ingest/products.h"

#include "ingest/comments/parts.h"
#include "ingest/feed/parts.h"
#include "ingest/moderation/client.h"
#include "ingest/nearby/parts.h"
#include "ingest/places/parts.h"

const struct product *const PRODUCTS[PRODUCTS_COUNT] = {&NEARBY_PRODUCT,   &PLACES_PRODUCT,     &FEED_PRODUCT,
                                                        &COMMENTS_PRODUCT, &MODERATION_PRODUCT, &ACCOUNT_PRODUCT};

const struct config_section *const PRODUCT_SECTIONS[] = {
    &NEARBY_SECTION,           &PLACES_GATEWAY_SECTION,     &FEED_GATEWAY_SECTION,
    &COMMENTS_GATEWAY_SECTION, &MODERATION_GATEWAY_SECTION, NULL};

const char *const PRODUCT_CONDITIONS[] = {"producer", "copies", "registry", NULL};

struct product_groups product_groups(void) {
    const struct nearby_settings *nearby = NEARBY_SECTION.values;
    const struct feed_gateway_settings *feed = FEED_GATEWAY_SECTION.values;
    const struct comments_gateway_settings *comments = COMMENTS_GATEWAY_SECTION.values;
    const struct places_gateway_settings *places = PLACES_GATEWAY_SECTION.values;
    const struct moderation_gateway_settings *moderation = MODERATION_GATEWAY_SECTION.values;
    return (struct product_groups){.routers = nearby->router_group,
                                   .feeds = feed->group,
                                   .comments = comments->group,
                                   .places = places->group,
                                   .moderators = moderation->group,
                                   .sinks = nearby->history_group};
}
