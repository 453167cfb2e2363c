// What an expiring filter answers while time passes, which the caller has.
#include "check.h"

static uint64_t read_clock(void *context) { return *(uint64_t *)context; }

enum { SECOND = 1000000000 };

static void items_expire_and_can_be_refreshed(void) {
    guira_expiring *filter = new_expiring(1000, (uint64_t)4 * SECOND);
    CHECK(guira_expiring_epoch_length_ns(filter) == SECOND);
    uint64_t now = 0;
    bool yes = false;
    OK(guira_expiring_tick(filter, read_clock, &now, NULL));
    OK(guira_expiring_add(filter, "old", 3));
    OK(guira_expiring_add_unique(filter, "kept", 4, &yes));
    CHECK(yes);
    OK(guira_expiring_refresh(filter, "absent", 6, &yes));
    CHECK(!yes);
    for (int second = 1; second <= 6; second++) {
        now += SECOND;
        OK(guira_expiring_tick(filter, read_clock, &now, &yes));
        CHECK(yes && guira_expiring_epoch(filter) == (uint64_t)second);
        OK(guira_expiring_tick(filter, read_clock, &now, &yes));
        CHECK(!yes);
        OK(guira_expiring_refresh(filter, "kept", 4, &yes));
        CHECK(yes);
        CHECK(guira_expiring_contains(filter, "old", 3) == (second <= 4));
    }
    OK(guira_expiring_add_or_refresh(filter, "kept", 4, &yes));
    CHECK(!yes);
    OK(guira_expiring_add_or_refresh(filter, "old", 3, &yes));
    CHECK(yes && guira_expiring_len(filter) == 2 && guira_expiring_count(filter, "old", 3) == 1);
    CHECK(guira_expiring_remove(filter, "old", 3));
    OK(guira_expiring_advance(filter, &yes));
    CHECK(yes && guira_expiring_epoch(filter) == 7);
    guira_expiring_free(filter);

    // The clock of the library.
    filter = new_expiring(1000, 4000000);
    OK(guira_expiring_add(filter, "old", 3));
    while (guira_expiring_contains(filter, "old", 3)) OK(guira_expiring_tick(filter, NULL, NULL, NULL));
    guira_expiring_free(filter);
}

static void by_hash(void) {
    guira_expiring *filter = new_expiring(1000, (uint64_t)4 * SECOND);
    bool yes = false;
    uint64_t hash = guira_expiring_hash_bytes(filter, "ani", 3), text = 0;
    OK(guira_expiring_hash_str(filter, "ani", 3, &text));
    CHECK(text == 0x649df99811c99c3f && guira_expiring_seed(filter) == 7);
    CHECK(guira_expiring_hash_u64(filter, UINT64_MAX) == guira_expiring_hash_i64(filter, -1));
    OK(guira_expiring_add_hash(filter, hash));
    OK(guira_expiring_add_unique_hash(filter, hash, &yes));
    CHECK(!yes && guira_expiring_contains_hash(filter, hash));
    OK(guira_expiring_refresh_hash(filter, hash, &yes));
    CHECK(yes && guira_expiring_contains(filter, "ani", 3));
    OK(guira_expiring_add_or_refresh_hash(filter, text, &yes));
    CHECK(yes && guira_expiring_count_hash(filter, text) == 1);
    CHECK(guira_expiring_remove_hash(filter, hash) && guira_expiring_len(filter) == 1);
    CHECK(guira_expiring_capacity(filter) == 1000 && guira_expiring_memory_usage(filter) > 1000);
    CHECK(guira_expiring_load_factor(filter) > 0);
    CHECK(guira_expiring_false_positive_rate(filter) <= 0.001);
    OK(guira_expiring_clear(filter));
    CHECK(guira_expiring_len(filter) == 0);
    guira_expiring_free(filter);
}

static void a_filter_grows_and_forgets(void) {
    enum { COUNT = 5000 };
    guira_expiring_options options = {.size = sizeof options, .ttl_ns = (uint64_t)4 * SECOND, .capacity = 100,
                                      .max_capacity = COUNT, .false_positive_rate = 1e-4, .epochs = 4};
    guira_expiring *filter = NULL;
    OK(guira_expiring_new(&options, &filter));
    CHECK(guira_expiring_capacity(filter) < COUNT && guira_expiring_max_capacity(filter) == COUNT);
    for (uint64_t hash = 1; hash <= COUNT; hash++) OK(guira_expiring_add_hash(filter, hash * 0x9e3779b97f4a7c15));
    OK(guira_expiring_finish_growth(filter));
    CHECK(guira_expiring_capacity(filter) > 1000 && guira_expiring_len(filter) == COUNT);
    for (uint64_t hash = 1; hash <= COUNT; hash++)
        CHECK(guira_expiring_contains_hash(filter, hash * 0x9e3779b97f4a7c15));
    for (int epoch = 0; epoch < 5; epoch++) OK(guira_expiring_advance(filter, NULL));
    CHECK(guira_expiring_len(filter) == 0);
    guira_expiring_free(filter);
}

static void many_items(void) {
    enum { COUNT = 700 };
    guira_expiring *filter = new_expiring(2 * COUNT, (uint64_t)4 * SECOND);
    uint32_t rows[COUNT];
    bool results[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) rows[i] = i;
    guira_items first = guira_rows(rows, 4, COUNT / 2), all = guira_rows(rows, 4, COUNT);
    size_t done = 0, yes = 0;
    OK(guira_expiring_add_many(filter, &first, &done));
    CHECK(done == COUNT / 2);
    OK(guira_expiring_advance(filter, NULL));
    OK(guira_expiring_refresh_many(filter, &all, results, &done));
    for (int i = 0; i < COUNT; i++) {
        CHECK(i >= COUNT / 2 || results[i]);
        yes += results[i];
    }
    CHECK(done == COUNT && yes < COUNT / 2 + 20);
    OK(guira_expiring_add_or_refresh_many(filter, &all, results, &done));
    for (int i = 0; i < COUNT / 2; i++) CHECK(!results[i]);
    OK(guira_expiring_contains_many(filter, &all, results));
    for (int i = 0; i < COUNT; i++) CHECK(results[i]);
    OK(guira_expiring_add_unique_many(filter, &all, results, &done));
    for (int i = 0; i < COUNT; i++) CHECK(!results[i]);
    size_t len = guira_expiring_len(filter);
    OK(guira_expiring_remove_many(filter, &first, results));
    for (int i = 0; i < COUNT / 2; i++) CHECK(results[i]);
    CHECK(guira_expiring_len(filter) == len - COUNT / 2);
    guira_expiring_free(filter);
}

typedef struct {
    const uint8_t *data;
    size_t len;
} source;

static ptrdiff_t read_three(void *context, uint8_t *buffer, size_t len) {
    source *from = context;
    size_t count = from->len < 3 ? from->len : 3;
    CHECK(len >= count);
    memcpy(buffer, from->data, count);
    from->data += count;
    from->len -= count;
    return (ptrdiff_t)count;
}

static int append(void *context, const uint8_t *data, size_t len) {
    guira_bytes *into = context;
    CHECK(into->len + len <= into->capacity);
    memcpy(into->data + into->len, data, len);
    into->len += len;
    return 0;
}

static void snapshots(void) {
    guira_expiring *filter = new_expiring(1000, (uint64_t)4 * SECOND), *copy = NULL, *other = NULL;
    OK(guira_expiring_add(filter, "ani", 3));
    guira_bytes bytes = {NULL, 0, 0};
    OK(guira_expiring_to_bytes(filter, &bytes));
    CHECK(bytes.len == guira_expiring_snapshot_len(filter));
    OK(guira_expiring_from_bytes(bytes.data, bytes.len, SIZE_MAX, (uint64_t)4 * SECOND, &copy));
    CHECK(guira_expiring_contains(copy, "ani", 3) && guira_expiring_epoch(copy) == 4);
    OK(guira_expiring_copy(copy, &other));
    OK(guira_expiring_advance(other, NULL));
    CHECK(!guira_expiring_contains(other, "ani", 3));
    guira_expiring_free(other);

    uint8_t room[100000];
    guira_bytes written = {room, 0, sizeof room};
    OK(guira_expiring_write(filter, append, &written));
    // Their times differ.
    CHECK(written.len == bytes.len);
    source from = {room, written.len};
    OK(guira_expiring_read(read_three, &from, SIZE_MAX, 0, &other));
    uint64_t digests[2][2] = {{0, 0}, {0, 0}};
    OK(guira_expiring_digest(filter, digests[0]));
    OK(guira_expiring_digest(other, digests[1]));
    CHECK(memcmp(digests[0], digests[1], sizeof digests[0]) == 0 && digests[0][0] != 0);

    OK(guira_expiring_add(other, "koel", 4));
    OK(guira_expiring_merge(filter, other));
    CHECK(guira_expiring_contains(filter, "koel", 4));
    INVALID("itself", guira_expiring_merge(filter, filter));
    guira_bytes_free(&bytes);
    CHECK(bytes.data == NULL && bytes.len == 0);
    guira_bytes_free(&bytes);
    guira_expiring_free(copy);
    guira_expiring_free(other);
    guira_expiring_free(filter);
}

// What a process has after a restart in no time.
static guira_expiring *restarted(guira_expiring *filter, uint64_t *now, bool by_callback) {
    static uint8_t room[100000];
    guira_bytes bytes = {NULL, 0, 0}, written = {room, 0, sizeof room};
    guira_expiring *made = NULL;
    if (by_callback) {
        OK(guira_expiring_write_at(filter, append, &written, read_clock, now));
        OK(guira_expiring_from_bytes(room, written.len, SIZE_MAX, 0, &made));
    } else {
        OK(guira_expiring_to_bytes_at(filter, &bytes, read_clock, now));
        OK(guira_expiring_from_bytes(bytes.data, bytes.len, SIZE_MAX, 0, &made));
        guira_bytes_free(&bytes);
    }
    guira_expiring_free(filter);
    return made;
}

static void snapshots_keep_the_age_of_an_epoch(void) {
    for (int by_callback = 0; by_callback < 2; by_callback++) {
        // The clocks before and after a restart have nothing in common.
        uint64_t now = (uint64_t)1000 * SECOND;
        bool began = true;
        guira_expiring *filter = new_expiring(1000, (uint64_t)4 * SECOND);
        OK(guira_expiring_tick(filter, read_clock, &now, NULL));
        OK(guira_expiring_add(filter, "ani", 3));
        for (int quarter = 1; quarter <= 3; quarter++) {
            now += SECOND / 4;
            filter = restarted(filter, &now, by_callback);
            now = (uint64_t)(quarter * 50) * SECOND;
            OK(guira_expiring_tick(filter, read_clock, &now, &began));
            CHECK(!began);
        }
        now += SECOND / 4 - 1;
        OK(guira_expiring_tick(filter, read_clock, &now, &began));
        CHECK(!began);
        now += 1;
        OK(guira_expiring_tick(filter, read_clock, &now, &began));
        CHECK(began);
        CHECK(guira_expiring_epoch(filter) == 1);
        guira_expiring_free(filter);
    }
    // Null is the library's own clock, as it is for ticks.
    guira_expiring *filter = new_expiring(1000, (uint64_t)4 * SECOND);
    guira_bytes bytes = {NULL, 0, 0}, at = {NULL, 0, 0};
    OK(guira_expiring_add(filter, "ani", 3));
    OK(guira_expiring_to_bytes(filter, &bytes));
    OK(guira_expiring_to_bytes_at(filter, &at, NULL, NULL));
    CHECK(at.len == bytes.len);
    guira_bytes_free(&at);
    // At one time the bytes are the same.
    static uint8_t room[100000];
    guira_bytes written = {room, 0, sizeof room};
    uint64_t now = SECOND;
    OK(guira_expiring_write_at(filter, append, &written, read_clock, &now));
    OK(guira_expiring_to_bytes_at(filter, &at, read_clock, &now));
    CHECK(written.len == at.len && memcmp(room, at.data, at.len) == 0);
    INVALID("callback is null", guira_expiring_write_at(filter, NULL, NULL, NULL, NULL));
    guira_bytes_free(&bytes);
    guira_bytes_free(&at);
    guira_expiring_free(filter);
}

enum { LENGTH = 1000, EPOCHS = 6, TTL = EPOCHS * LENGTH, EVENTS = 120 };

static uint64_t state = 1;

// A number below `end`.
static uint64_t random_below(uint64_t end) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33) % end;
}

// Mostly a part of an epoch, and 100 TTLs at most.
static uint64_t random_gap(void) {
    static const uint64_t most[] = {1, LENGTH / 2, LENGTH / 2, 2 * LENGTH, TTL, 3 * TTL, 100 * TTL};
    return random_below(most[random_below(sizeof most / sizeof *most)]);
}

// The longest time between two ticks of which one was in the epoch after `seen`.
static uint64_t gap_after(const uint64_t *ticks, size_t count, uint64_t seen) {
    uint64_t longest = 0;
    for (size_t i = 1; i < count; i++) {
        bool beside = ticks[i] >= seen && ticks[i - 1] <= seen + LENGTH;
        if (beside && ticks[i] - ticks[i - 1] > longest) longest = ticks[i] - ticks[i - 1];
    }
    return longest;
}

// The clock goes on between the ticks: items come at any time, and are seen again.
static void items_of_logs_expire_on_time_whatever_their_gaps(bool grows) {
    for (int log = 0; log < 1000; log++) {
        guira_expiring_options options;
        memset(&options, 0, sizeof options);
        options.size = sizeof options;
        options.ttl_ns = TTL;
        options.capacity = grows ? 64 : 4096;
        options.max_capacity = grows ? 4096 : 0;
        options.fingerprint_bits = grows ? 20 : 26;
        options.epochs = EPOCHS;
        options.seed = (uint64_t)log;
        options.seeded = 1;
        guira_expiring *filter = NULL;
        OK(guira_expiring_new(&options, &filter));
        uint64_t now = 0, ticks[EVENTS + 1] = {0}, seen[EVENTS];
        size_t ticked = 1, items = 0;
        OK(guira_expiring_tick(filter, read_clock, &now, NULL));
        for (int event = 0; event < EVENTS; event++) {
            now += random_gap();
            bool is_tick = random_below(2) == 0, yes = false;
            if (is_tick) {
                OK(guira_expiring_tick(filter, read_clock, &now, &yes));
                ticks[ticked++] = now;
            } else {
                size_t item = items && random_below(4) == 0 ? random_below(items) : items++;
                OK(guira_expiring_add_or_refresh(filter, (const char *)&item, sizeof item, &yes));
                seen[item] = now;
            }
            for (size_t item = 0; item < items; item++) {
                uint64_t most = seen[item] + TTL + LENGTH + gap_after(ticks, ticked, seen[item]);
                bool found = guira_expiring_contains(filter, (const char *)&item, sizeof item);
                CHECK(found || now >= seen[item] + TTL);
                CHECK(!found || !is_tick || now < most);
            }
        }
        guira_expiring_free(filter);
    }
}

int main(void) {
    items_expire_and_can_be_refreshed();
    by_hash();
    a_filter_grows_and_forgets();
    many_items();
    snapshots();
    snapshots_keep_the_age_of_an_epoch();
    items_of_logs_expire_on_time_whatever_their_gaps(false);
    items_of_logs_expire_on_time_whatever_their_gaps(true);
    puts("expiring.c: passed");
    return 0;
}
