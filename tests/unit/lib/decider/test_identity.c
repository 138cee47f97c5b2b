/* Tests identity.c and command_offset.c. The name of a process's transactions, and the offsets of commands as state. */
#include <signal.h>
#include <sys/resource.h>

#include "base/bytes.h"
#include "decider/command_offset.h"
#include "decider/identity.h"
#include "event/codec.h"
#include "unit/kit/kit.h"

TEST(an_identity_is_kept) {
    char *folder = kit_folder(), file[64], *a, *b;
    snprintf(file, sizeof file, "%s/data/router/identity", folder);
    assert_int_equal(identity_load("", file, &a, &failure), 0);
    assert_int_equal(strlen(a), 32);
    assert_int_equal(identity_load("", file, &b, &failure), 0);
    assert_string_equal(a, b);
    free(b);
    assert_int_equal(identity_load("router-1", file, &b, &failure), 0);
    assert_string_equal(b, "router-1");
    free(b);
    // Half a name is none.
    kit_write(file, "0123");
    assert_int_equal(identity_load(NULL, file, &b, &failure), 0);
    assert_string_not_equal(a, b);
    free(a);
    free(b);
    assert_true(identity_load("", "/proc/no/such", &b, &failure) < 0);
    assert_int_equal(identity_transactional("s.", "routers", "one", folder, &b, &failure), 0);
    assert_string_equal(b, "s.routers-one");
    free(b);
}

/* A disk that has room for half a name takes it, and says so only at the next write. */
TEST(a_name_that_is_not_written_whole_is_an_error) {
    char *folder = kit_folder(), file[64], *name;
    struct error error = {.text = ""};
    struct rlimit whole, half;
    snprintf(file, sizeof file, "%s/identity", folder);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &whole), 0);
    half = (struct rlimit){.rlim_cur = 10, .rlim_max = whole.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &half), 0);
    int code = identity_load("", file, &name, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &whole), 0);
    assert_int_equal(code, -EFBIG);
    assert_non_null(strstr(error.text, "identity"));
    assert_int_equal(access(file, F_OK), -1);
}

TEST(command_offsets_are_what_the_generated_codec_writes) {
    static const int64_t VALUES[] = {0, 1, 63, 64, 8191, 8192, 1234567890123, INT64_C(1) << 62};
    struct codec *codec = kit_codec();
    for (size_t i = 0; i < sizeof VALUES / sizeof *VALUES; i++) {
        struct command_offset record = {.next = VALUES[i]}, read;
        FREED_BUFFER theirs = {.size = 0};
        uint8_t ours[COMMAND_OFFSET_BYTES];
        int64_t next;
        size_t size = command_offset_put(ours, VALUES[i]);
        event_encode_command_offset(&theirs, &record);
        assert_int_equal(size, theirs.size);
        assert_memory_equal(ours, theirs.data, size);
        assert_int_equal(command_offset_get(theirs.data, theirs.size, &next), 0);
        assert_int_equal(next, VALUES[i]);
        assert_int_equal(event_decode_command_offset(codec, ours, size, &read, NULL), 0);
        assert_int_equal(read.next, VALUES[i]);
        for (size_t cut = 0; cut < size; cut++) {
            FREED uint8_t *part = mem_alloc(cut);
            memcpy(part, ours, cut);
            assert_int_equal(command_offset_get(part, cut, &next), -EBADMSG);
        }
    }
}

TEST(what_is_no_command_offset_is_refused) {
    uint8_t value[COMMAND_OFFSET_BYTES + 1];
    int64_t next = 77;
    size_t size = command_offset_put(value, -5);
    assert_int_equal(command_offset_get(value, size, &next), -EBADMSG);
    size = command_offset_put(value, INT64_MAX);
    assert_int_equal(command_offset_get(value, size, &next), -EBADMSG);
    size = command_offset_put(value, 5);
    assert_int_equal(command_offset_get(value, size + 1, &next), -EBADMSG);
    value[0] = 1;
    assert_int_equal(command_offset_get(value, size, &next), -EBADMSG);
    value[0] = 0;
    value[4] = 2;
    assert_int_equal(command_offset_get(value, size, &next), -EBADMSG);
    assert_int_equal(command_offset_get(NULL, 0, &next), -EBADMSG);
    assert_int_equal(next, 77);
}
