/* Epochs against a plain model: which of them may be committed, whatever the order of acknowledgements. */
#include "deliver/epochs.h"
#include "unit/kit/kit.h"
#include "unit/lib/event/samples.h"

TEST(test_epochs_settle_in_order) {
    struct epochs *epochs = kit_epochs();
    assert_int_equal(epochs_open(epochs), 1);
    assert_int_equal(epochs_settled(epochs), 1);
    assert_int_equal(epochs_expect(epochs), 1);
    assert_true(epochs_close(epochs));
    assert_int_equal(epochs_expect(epochs), 2);
    assert_true(epochs_close(epochs));
    assert_true(epochs_close(epochs)); // an empty one
    assert_int_equal(epochs_settled(epochs), 1);
    epochs_acknowledge(epochs, 2);
    assert_int_equal(epochs_settled(epochs), 1);
    epochs_acknowledge(epochs, 1);
    assert_int_equal(epochs_settled(epochs), 4);
    assert_int_equal(epochs_open(epochs), 4);
}

TEST(test_too_many_unsettled) {
    struct epochs *epochs = kit_epochs();
    int closed = 0;
    epochs_expect(epochs);
    while (epochs_close(epochs)) closed++;
    assert_int_equal(closed, EPOCHS_MAX - 1);
    assert_int_equal(epochs_open(epochs), EPOCHS_MAX);
    epochs_acknowledge(epochs, 1);
    assert_int_equal(epochs_settled(epochs), EPOCHS_MAX);
    assert_true(epochs_close(epochs));
}

TEST(test_forgetting) {
    struct epochs *epochs = kit_epochs();
    uint64_t lost = epochs_expect(epochs);
    assert_true(epochs_close(epochs));
    epochs_forget(epochs);
    assert_int_equal(epochs_settled(epochs), epochs_open(epochs));
    uint64_t next = epochs_expect(epochs);
    assert_true(next > lost);
    epochs_acknowledge(epochs, lost); // of what is forgotten
    assert_true(epochs_close(epochs));
    assert_int_equal(epochs_settled(epochs), next);
    epochs_acknowledge(epochs, next);
    assert_int_equal(epochs_settled(epochs), next + 1);
}

/* The model: every thing that was sent, one by one, and which epoch it belongs to. */
enum { THINGS = 3000 };

struct model {
    uint64_t epoch_of[THINGS];
    bool acknowledged[THINGS];
    int count;
    uint64_t open, forgotten; /* epochs before it are settled, whatever became of them */
};

static uint64_t model_settled(const struct model *model) {
    uint64_t settled = model->open;
    for (int i = 0; i < model->count; i++) {
        if (model->acknowledged[i] || model->epoch_of[i] < model->forgotten) continue;
        if (model->epoch_of[i] < settled) settled = model->epoch_of[i];
    }
    return settled;
}

static void run_history(uint64_t seed) {
    struct epochs *epochs = kit_epochs();
    struct model model = {.count = 0, .open = 1, .forgotten = 1};
    unsigned slow = 1 + (unsigned)sample_below(&seed, 6); // of how many acknowledgements one comes
    while (model.count < THINGS) {
        uint64_t dice = sample_below(&seed, 100);
        if (dice < 45) {
            assert_int_equal(epochs_expect(epochs), model.open);
            model.epoch_of[model.count++] = model.open;
        } else if (dice < 85) {
            int thing = model.count ? (int)sample_below(&seed, (uint64_t)model.count) : 0;
            if (sample_below(&seed, slow)) thing = model.count - 1 - (int)sample_below(&seed, 8);
            if (thing < 0 || thing >= model.count || model.acknowledged[thing]) continue;
            model.acknowledged[thing] = true;
            epochs_acknowledge(epochs, model.epoch_of[thing]);
        } else if (dice < 99) {
            bool room = model.open - model_settled(&model) + 1 < EPOCHS_MAX;
            assert_int_equal(epochs_close(epochs), room);
            model.open += room;
        } else if (sample_below(&seed, 20) == 0) {
            epochs_forget(epochs);
            model.forgotten = ++model.open;
        }
        assert_int_equal(epochs_open(epochs), model.open);
        assert_int_equal(epochs_settled(epochs), model_settled(&model));
    }
    for (int i = 0; i < model.count; i++) {
        if (!model.acknowledged[i]) epochs_acknowledge(epochs, model.epoch_of[i]);
    }
    assert_int_equal(epochs_settled(epochs), model.open);
}

TEST(test_random_histories) {
    for (uint64_t seed = 0; seed < 20; seed++) run_history(seed);
}
