/* The subjects and authors that the gateway remembers. */
#include "ingest/comments/known.h"
#include "unit/kit/kit.h"

TEST(subjects_are_known_until_another_needs_the_place) {
    struct known_subjects *known = known_subjects_new();
    struct known_subject entry = {.subject = "post:1", .owner = 5, .author = 6, .heard_ms = 9};
    assert_null(known_subjects_find(known, "post:1"));
    known_subjects_put(known, &entry);
    assert_int_equal(known_subjects_find(known, "post:1")->owner, 5);
    size_t found = 0;
    for (int i = 2; i < 20000; i++) {
        snprintf(entry.subject, sizeof entry.subject, "post:%d", i);
        entry.owner = i;
        known_subjects_put(known, &entry);
        assert_int_equal(known_subjects_find(known, entry.subject)->owner, i);
    }
    for (int i = 1; i < 20000; i++) {
        snprintf(entry.subject, sizeof entry.subject, "post:%d", i);
        const struct known_subject *one = known_subjects_find(known, entry.subject);
        if (one && i > 1) assert_int_equal(one->owner, i);
        found += one != NULL;
    }
    assert_true(found > 3000 && found <= 4096);
    known_subjects_forget(known, "post:19999");
    assert_null(known_subjects_find(known, "post:19999"));
    known_subjects_free(known);
}

TEST(authors_are_known) {
    struct known_authors *known = known_authors_new();
    struct comment_authors authors;
    int both = 0;
    assert_false(known_authors_find(known, 1, &authors));
    assert_false(known_authors_find(known, 0, &authors));
    for (int64_t id = 1; id < 200000; id += 2) {
        known_authors_put(known, id, id + 7, 0);
        assert_true(known_authors_find(known, id, &authors) && authors.comment == id + 7 && authors.root == id + 7);
        known_authors_put(known, id + 1, id + 8, id);
        if (known_authors_find(known, id + 1, &authors)) both++;
    }
    assert_int_equal(both, 100000);
    for (int64_t id = 1; id < 200000; id++)
        if (known_authors_find(known, id, &authors))
            assert_true(authors.comment == id + 7 && authors.root == (id % 2 ? id + 7 : id + 6));
    known_authors_free(known);
}

/* Far fewer than there are places: keys that meet do not push each other out, or likes would be refused while an owner is away. */
TEST(a_few_thousand_authors_are_all_known) {
    struct known_authors *known = known_authors_new();
    struct comment_authors authors;
    for (int64_t id = 1; id <= 2000; id++) known_authors_put(known, id, id + 7, 0);
    for (int64_t id = 1; id <= 2000; id++) assert_true(known_authors_find(known, id, &authors));
    known_authors_free(known);
}
