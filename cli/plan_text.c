#include "cli/plan_text.h"

#include <math.h>
#include <string.h>

#include "base/config.h"
#include "base/mem.h"
#include "base/text.h"

/* Three digits: "7.25", "950", "12.3 k", "1.20 M"; "-": there is no number. */
static void put_amount(struct buffer *out, double value) {
    static const char *const UNITS[] = {"", " k", " M", " G", " T", " P"};
    size_t unit = 0;
    if (isnan(value)) {
        buffer_string(out, "-");
        return;
    }
    while (value >= 999.5 && unit + 1 < ARRAY_SIZE(UNITS)) {
        value /= 1000;
        unit++;
    }
    int digits = value == floor(value) || value >= 100 ? 0 : value >= 10 ? 1 : 2;
    buffer_format(out, "%.*f%s", digits, value, UNITS[unit]);
}

static void put_bytes(struct buffer *out, double value) {
    put_amount(out, value);
    if (!isnan(value)) buffer_string(out, strchr("kMGTP", out->data[out->size - 1]) ? "B" : " B");
}

static void put_right(struct buffer *out, double value, int width, bool bytes) {
    struct buffer cell = {.data = NULL};
    if (bytes)
        put_bytes(&cell, value);
    else
        put_amount(&cell, value);
    buffer_format(out, "%*s", width, buffer_cstring(&cell));
    buffer_free(&cell);
}

static void put_named(struct buffer *out, double value, const char *name) {
    put_amount(out, value);
    buffer_format(out, " %s", name);
}

static void put_load(struct buffer *out, const struct plan_load *load, const struct plan *plan) {
    put_named(out, load->online, "online of ");
    put_named(out, load->users, "users a day: ");
    put_named(out, plan->reports, "reports/s, ");
    put_named(out, plan->deliveries, "deliveries/s, ");
    put_named(out, plan->frames, "frames/s, ");
    put_named(out, plan->hellos, "new connections/s");
    if (load->posts + load->pages > 0) {
        buffer_string(out, "\n");
        put_named(out, load->posts, "posts/s (");
        put_named(out, plan->hot, "of them hot), ");
        put_named(out, plan->entries, "inbox entries/s, ");
        put_named(out, load->pages, "pages/s");
    }
    buffer_string(out, "\n\n");
}

static void put_totals(struct buffer *out, const struct plan_load *load, const struct plan *plan) {
    buffer_format(out, "Partitions: %.0f, of deliveries %.0f. ", plan->partitions, plan->routes);
    put_named(out, plan->cores, "cores are busy, of ");
    buffer_format(out, "%.0f machines with ", plan->machines);
    put_named(out, load->cores, "cores, ");
    put_amount(out, load->memory_gb);
    buffer_string(out, " GB and ");
    put_amount(out, load->disk_tb);
    buffer_string(out, " TB each.\n");
}

void plan_text(struct buffer *out, const struct plan_load *load, const struct plan *plan) {
    put_load(out, load, plan);
    buffer_format(out, "%-13s%9s%10s%9s%10s%10s%10s%9s  %s\n", "tier", "cores", "processes", "memory", "disk", "in/s",
                  "out/s", "brokers", "limit");
    for (int i = 0; i < TIER_COUNT; i++) {
        const struct plan_tier *tier = &plan->tiers[i];
        if (tier->processes == 0) continue;
        buffer_format(out, "%-13s", tier->name);
        put_right(out, tier->cores, 9, false);
        if (isnan(tier->processes))
            buffer_format(out, "%10s", "-");
        else
            buffer_format(out, "%10.0f", tier->processes);
        put_right(out, tier->memory, 9, true);
        put_right(out, tier->disk, 10, true);
        put_right(out, tier->in, 10, true);
        put_right(out, tier->out, 10, true);
        put_right(out, i == TIER_BROKER ? 0 : tier->broker_cores, 9, false);
        buffer_format(out, "  %s\n", tier->limit);
    }
    buffer_string(
        out, "\nMemory is of one process, all else of the whole tier; brokers: the cores that it keeps busy there.\n");
    if (!isnan(plan->machines)) put_totals(out, load, plan);
    for (size_t i = 0; i < plan->warning_count; i++) buffer_format(out, "- %s\n", plan->warnings[i]);
    if (plan->refused) buffer_string(out, "There is no plan for this load in one deployment.\n");
}

static void put_member(struct buffer *out, const char *before, const char *name, double value) {
    buffer_format(out, "%s\"%s\":", before, name);
    if (isfinite(value))
        text_double(out, value);
    else
        buffer_string(out, "null");
}

void plan_json(struct buffer *out, const struct plan_load *load, const struct plan *plan) {
    buffer_format(out, "{\"refused\":%s", plan->refused ? "true" : "false");
    put_member(out, ",", "online", load->online);
    put_member(out, ",", "reports_per_s", plan->reports);
    put_member(out, ",", "deliveries_per_s", plan->deliveries);
    put_member(out, ",", "frames_per_s", plan->frames);
    put_member(out, ",", "hellos_per_s", plan->hellos);
    put_member(out, ",", "batches_per_s", plan->batches);
    put_member(out, ",", "entries_per_s", plan->entries);
    put_member(out, ",", "hot_posts_per_s", plan->hot);
    put_member(out, ",", "partitions", plan->partitions);
    put_member(out, ",", "delivery_partitions", plan->routes);
    put_member(out, ",", "cores", plan->cores);
    put_member(out, ",", "machines", plan->machines);
    buffer_string(out, ",\"tiers\":[");
    for (int i = 0; i < TIER_COUNT; i++) {
        const struct plan_tier *tier = &plan->tiers[i];
        buffer_format(out, "%s{\"tier\":\"%s\"", i ? "," : "", tier->name);
        put_member(out, ",", "cores", tier->cores);
        put_member(out, ",", "processes", tier->processes);
        put_member(out, ",", "memory_bytes", tier->memory);
        put_member(out, ",", "disk_bytes", tier->disk);
        put_member(out, ",", "in_bytes_per_s", tier->in);
        put_member(out, ",", "out_bytes_per_s", tier->out);
        put_member(out, ",", "broker_cores", tier->broker_cores);
        put_member(out, ",", "machines", tier->machines);
        buffer_format(out, ",\"limit\":\"%s\"}", tier->limit);
    }
    buffer_string(out, "],\"warnings\":[");
    for (size_t i = 0; i < plan->warning_count; i++) {
        if (i) buffer_byte(out, ',');
        text_quote(out, plan->warnings[i], strlen(plan->warnings[i]));
    }
    buffer_string(out, "]}");
}
