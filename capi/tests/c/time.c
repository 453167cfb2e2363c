// What a filter with a TTL answers while time passes, which the caller has, and one without a TTL to calls about
// time.
#include "check.h"

static uint64_t read_clock(void *context) { return *(uint64_t *)context; }

static void items_expire_and_can_be_refreshed(void) {
    guira_filter *filter = new_filter(1000, 4 * HOUR);
    CHECK(guira_filter_epoch_length_ns(filter) == HOUR);
    uint64_t now = 0;
    bool yes = false;
    OK(guira_filter_tick(filter, read_clock, &now, NULL));
    OK(guira_filter_add(filter, "old", 3));
    OK(guira_filter_add_unique(filter, "kept", 4, &yes));
    CHECK(yes);
    OK(guira_filter_refresh(filter, "absent", 6, &yes));
    CHECK(!yes);
    for (int epoch = 1; epoch <= 6; epoch++) {
        now += HOUR;
        OK(guira_filter_tick(filter, read_clock, &now, &yes));
        CHECK(yes && guira_filter_epoch(filter) == (uint64_t)epoch);
        OK(guira_filter_tick(filter, read_clock, &now, &yes));
        CHECK(!yes);
        OK(guira_filter_refresh(filter, "kept", 4, &yes));
        CHECK(yes);
        CHECK(guira_filter_contains(filter, "old", 3) == (epoch <= 4));
    }
    OK(guira_filter_add_or_refresh(filter, "kept", 4, &yes));
    CHECK(!yes);
    OK(guira_filter_add_or_refresh(filter, "old", 3, &yes));
    CHECK(yes && guira_filter_len(filter) == 2 && guira_filter_count(filter, "old", 3) == 1);
    CHECK(guira_filter_remove(filter, "old", 3));
    OK(guira_filter_advance(filter, &yes));
    CHECK(yes && guira_filter_epoch(filter) == 7);
    guira_filter_free(filter);

    // The clock of the library.
    filter = new_filter(1000, 4000000);
    OK(guira_filter_add(filter, "old", 3));
    while (guira_filter_contains(filter, "old", 3)) OK(guira_filter_tick(filter, NULL, NULL, NULL));
    guira_filter_free(filter);
}

static void by_hash(void) {
    guira_filter *filter = new_filter(1000, 4 * HOUR);
    bool yes = false;
    uint64_t hash = guira_filter_hash_bytes(filter, "ani", 3), other = guira_filter_hash_bytes(filter, "koel", 4);
    OK(guira_filter_add_hash(filter, hash));
    OK(guira_filter_refresh_hash(filter, hash, &yes));
    CHECK(yes && guira_filter_contains(filter, "ani", 3));
    OK(guira_filter_add_or_refresh_hash(filter, other, &yes));
    CHECK(yes && guira_filter_count_hash(filter, other) == 1);
    OK(guira_filter_add_or_refresh_hash(filter, other, &yes));
    CHECK(!yes && guira_filter_len(filter) == 2 && guira_filter_capacity(filter) == 1000);
    guira_filter_free(filter);
}

static void a_filter_grows_and_forgets(void) {
    enum { COUNT = 5000 };
    guira_options options = options_of(100, 4 * HOUR);
    options.max_capacity = COUNT;
    options.false_positive_rate = 1e-4;
    guira_filter *filter = made_of(options);
    CHECK(guira_filter_capacity(filter) < COUNT && guira_filter_max_capacity(filter) == COUNT);
    for (uint64_t hash = 1; hash <= COUNT; hash++) OK(guira_filter_add_hash(filter, hash * 0x9e3779b97f4a7c15));
    OK(guira_filter_finish_growth(filter));
    CHECK(guira_filter_capacity(filter) > 1000 && guira_filter_len(filter) == COUNT);
    for (uint64_t hash = 1; hash <= COUNT; hash++)
        CHECK(guira_filter_contains_hash(filter, hash * 0x9e3779b97f4a7c15));
    for (int epoch = 0; epoch < 5; epoch++) OK(guira_filter_advance(filter, NULL));
    CHECK(guira_filter_len(filter) == 0);
    guira_filter_free(filter);
}

// Counts are of the TTL, in a filter of one size and in one that grows.
static void counts_expire(uint64_t bits, bool grows) {
    enum { COUNT = 3000, EACH = 10, EPOCHS = 2 };
    guira_options options = options_of(grows ? 100 : 2 * COUNT, EPOCHS * HOUR);
    options.max_capacity = grows ? 2 * COUNT : 0;
    options.counter_bits = bits;
    options.epochs = EPOCHS;
    guira_filter *filter = made_of(options), *copy = NULL;
    CHECK(guira_filter_counter_bits(filter) == bits && guira_filter_epoch_length_ns(filter) == HOUR);
    CHECK((guira_filter_capacity(filter) < 2 * COUNT) == grows);
    uint64_t now = 0, hash = guira_filter_hash_bytes(filter, "ani", 3);
    size_t count = 0;
    OK(guira_filter_tick(filter, read_clock, &now, NULL));
    for (size_t hour = 0; hour < 6; hour++) {
        // Those of the TTL, and of the epoch that has begun.
        size_t before = EACH * (hour < EPOCHS ? hour : EPOCHS);
        CHECK(guira_filter_count(filter, "ani", 3) == before);
        for (size_t call = 1; call <= EACH; call++) {
            if (call % 2) OK(guira_filter_add_and_count(filter, "ani", 3, &count));
            else OK(guira_filter_add_and_count_hash(filter, hash, &count));
            CHECK(count == before + call);
        }
        if (hour == 3) {
            for (uint64_t i = 1; i <= COUNT; i++) OK(guira_filter_add_hash(filter, i * 0x9e3779b97f4a7c15));
            OK(guira_filter_finish_growth(filter));
            CHECK(guira_filter_capacity(filter) > COUNT / 4 && guira_filter_count_hash(filter, hash) == count);
        }
        now += HOUR;
        OK(guira_filter_tick(filter, read_clock, &now, NULL));
    }
    // A snapshot keeps the counts, and they expire in it, too.
    guira_bytes bytes = {NULL, 0, 0};
    OK(guira_filter_to_bytes_at(filter, &bytes, read_clock, &now));
    OK(guira_filter_from_bytes(bytes.data, bytes.len, SIZE_MAX, HOUR, &copy));
    CHECK(guira_filter_count(filter, "ani", 3) == EPOCHS * EACH && guira_filter_count(copy, "ani", 3) == EACH);
    guira_bytes_free(&bytes);
    guira_filter_free(copy);
    now += 100 * HOUR;
    OK(guira_filter_tick(filter, read_clock, &now, NULL));
    CHECK(guira_filter_count(filter, "ani", 3) == 0 && guira_filter_len(filter) == 0);
    // A call that is refused counts nothing.
    size_t calls = 0;
    while (guira_filter_add_and_count(filter, "ani", 3, &count) == GUIRA_STATUS_OK) CHECK(count == ++calls);
    CHECK(count == calls && calls >= (size_t)2 << bits && guira_filter_len(filter) == calls);
    guira_filter_free(filter);
}

static void many_items(void) {
    enum { COUNT = 700 };
    guira_filter *filter = new_filter(2 * COUNT, 4 * HOUR);
    uint32_t rows[COUNT];
    bool results[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) rows[i] = i;
    guira_items first = guira_rows(rows, 4, COUNT / 2), all = guira_rows(rows, 4, COUNT);
    size_t done = 0, yes = 0;
    OK(guira_filter_add_many(filter, &first, &done));
    CHECK(done == COUNT / 2);
    OK(guira_filter_advance(filter, NULL));
    OK(guira_filter_refresh_many(filter, &all, results, &done));
    for (int i = 0; i < COUNT; i++) {
        CHECK(i >= COUNT / 2 || results[i]);
        yes += results[i];
    }
    CHECK(done == COUNT && yes < COUNT / 2 + 20);
    OK(guira_filter_add_or_refresh_many(filter, &all, results, &done));
    for (int i = 0; i < COUNT / 2; i++) CHECK(!results[i]);
    OK(guira_filter_contains_many(filter, &all, results));
    for (int i = 0; i < COUNT; i++) CHECK(results[i]);
    guira_filter_free(filter);
}

// Items expire as if the filter had lived on.
static void a_snapshot_has_an_age(void) {
    guira_filter *filter = new_filter(1000, 4 * HOUR), *copy = NULL, *other = NULL;
    OK(guira_filter_add(filter, "ani", 3));
    guira_bytes bytes = {NULL, 0, 0};
    OK(guira_filter_to_bytes(filter, &bytes));
    OK(guira_filter_from_bytes(bytes.data, bytes.len, SIZE_MAX, 4 * HOUR, &copy));
    CHECK(guira_filter_contains(copy, "ani", 3) && guira_filter_epoch(copy) == 4);
    OK(guira_filter_copy(copy, &other));
    OK(guira_filter_advance(other, NULL));
    CHECK(!guira_filter_contains(other, "ani", 3) && guira_filter_contains(copy, "ani", 3));
    guira_bytes_free(&bytes);
    guira_filter_free(copy);
    guira_filter_free(other);
    guira_filter_free(filter);
}

// An item of a union is as young as in the filter that has seen it last.
static void unions_keep_the_younger(void) {
    guira_filter *here = new_filter(1000, 4 * HOUR), *there = new_filter(1000, 4 * HOUR);
    OK(guira_filter_add(here, "ani", 3));
    for (int epoch = 0; epoch < 3; epoch++) OK(guira_filter_advance(here, NULL));
    OK(guira_filter_add(there, "ani", 3));
    OK(guira_filter_union_with(here, there));
    CHECK(guira_filter_count(here, "ani", 3) == 1);
    for (int epoch = 0; epoch < 4; epoch++) OK(guira_filter_advance(here, NULL));
    CHECK(guira_filter_contains(here, "ani", 3));
    guira_filter_free(here);
    guira_filter_free(there);
}

// The calls about time: they change nothing.
static void a_filter_without_a_ttl_has_no_time(void) {
    guira_filter *filter = new_filter(1000, STAYS);
    bool yes = true;
    size_t done = 9;
    uint64_t now = 0, hash = 1;
    guira_items items = guira_hashes(&hash, 1);
    guira_bytes bytes = {(uint8_t *)&now, 1, 1};
    OK(guira_filter_add(filter, "ani", 3));
    UNSUPPORTED("no TTL", guira_filter_refresh(filter, "ani", 3, &yes));
    UNSUPPORTED("no TTL", guira_filter_add_or_refresh(filter, "koel", 4, &yes));
    UNSUPPORTED("no TTL", guira_filter_refresh_hash(filter, 1, &yes));
    UNSUPPORTED("no TTL", guira_filter_add_or_refresh_hash(filter, 1, &yes));
    UNSUPPORTED("no TTL", guira_filter_refresh_many(filter, &items, &yes, &done));
    UNSUPPORTED("no TTL", guira_filter_add_or_refresh_many(filter, &items, &yes, &done));
    UNSUPPORTED("no TTL", guira_filter_tick(filter, read_clock, &now, &yes));
    UNSUPPORTED("no TTL", guira_filter_advance(filter, NULL));
    UNSUPPORTED("no TTL", guira_filter_write_at(filter, append, &bytes, NULL, NULL));
    UNSUPPORTED("no TTL", guira_filter_to_bytes_at(filter, &bytes, NULL, NULL));
    CHECK(done == 0 && bytes.data == NULL && bytes.len == 0);
    CHECK(guira_filter_ttl_ns(filter) == 0 && guira_filter_epoch(filter) == 0);
    CHECK(guira_filter_epoch_length_ns(filter) == 0 && guira_filter_epoch_age_ns(filter) == 0);
    CHECK(guira_filter_len(filter) == 1 && guira_filter_contains(filter, "ani", 3));
    guira_filter_free(filter);
}

// What a process has after a restart in no time.
static guira_filter *restarted(guira_filter *filter, uint64_t *now, bool by_callback) {
    static uint8_t room[100000];
    guira_bytes bytes = {NULL, 0, 0}, written = {room, 0, sizeof room};
    guira_filter *made = NULL;
    if (by_callback) {
        OK(guira_filter_write_at(filter, append, &written, read_clock, now));
        OK(guira_filter_from_bytes(room, written.len, SIZE_MAX, 0, &made));
    } else {
        OK(guira_filter_to_bytes_at(filter, &bytes, read_clock, now));
        OK(guira_filter_from_bytes(bytes.data, bytes.len, SIZE_MAX, 0, &made));
        guira_bytes_free(&bytes);
    }
    guira_filter_free(filter);
    return made;
}

static void snapshots_keep_the_age_of_an_epoch(void) {
    for (int by_callback = 0; by_callback < 2; by_callback++) {
        // The clocks before and after a restart have nothing in common.
        uint64_t now = 1000 * HOUR;
        bool began = true;
        guira_filter *filter = new_filter(1000, 4 * HOUR);
        OK(guira_filter_tick(filter, read_clock, &now, NULL));
        OK(guira_filter_add(filter, "ani", 3));
        for (int quarter = 1; quarter <= 3; quarter++) {
            now += HOUR / 4;
            filter = restarted(filter, &now, by_callback);
            now = (uint64_t)quarter * 50 * HOUR;
            OK(guira_filter_tick(filter, read_clock, &now, &began));
            CHECK(!began);
        }
        now += HOUR / 4 - 1;
        OK(guira_filter_tick(filter, read_clock, &now, &began));
        CHECK(!began);
        now += 1;
        OK(guira_filter_tick(filter, read_clock, &now, &began));
        CHECK(began);
        CHECK(guira_filter_epoch(filter) == 1);
        guira_filter_free(filter);
    }
    // Null is the library's own clock, as it is for ticks.
    guira_filter *filter = new_filter(1000, 4 * HOUR);
    guira_bytes bytes = {NULL, 0, 0}, at = {NULL, 0, 0};
    OK(guira_filter_add(filter, "ani", 3));
    OK(guira_filter_to_bytes(filter, &bytes));
    OK(guira_filter_to_bytes_at(filter, &at, NULL, NULL));
    CHECK(at.len == bytes.len);
    guira_bytes_free(&at);
    // At one time the bytes are the same.
    static uint8_t room[100000];
    guira_bytes written = {room, 0, sizeof room};
    uint64_t now = HOUR;
    OK(guira_filter_write_at(filter, append, &written, read_clock, &now));
    OK(guira_filter_to_bytes_at(filter, &at, read_clock, &now));
    CHECK(written.len == at.len && memcmp(room, at.data, at.len) == 0);
    INVALID("callback is null", guira_filter_write_at(filter, NULL, NULL, NULL, NULL));
    guira_bytes_free(&bytes);
    guira_bytes_free(&at);
    guira_filter_free(filter);
}

enum { LENGTH = 1000000, EPOCHS = 6, TTL = EPOCHS * LENGTH, EVENTS = 120 };

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
        guira_options options = options_of(grows ? 64 : 4096, TTL);
        options.max_capacity = grows ? 4096 : 0;
        options.fingerprint_bits = grows ? 20 : 26;
        options.epochs = EPOCHS;
        options.seed = (uint64_t)log;
        guira_filter *filter = made_of(options);
        uint64_t now = 0, ticks[EVENTS + 1] = {0}, seen[EVENTS];
        size_t ticked = 1, items = 0;
        OK(guira_filter_tick(filter, read_clock, &now, NULL));
        for (int event = 0; event < EVENTS; event++) {
            now += random_gap();
            bool is_tick = random_below(2) == 0, yes = false;
            if (is_tick) {
                OK(guira_filter_tick(filter, read_clock, &now, &yes));
                ticks[ticked++] = now;
            } else {
                size_t item = items && random_below(4) == 0 ? random_below(items) : items++;
                OK(guira_filter_add_or_refresh(filter, (const char *)&item, sizeof item, &yes));
                seen[item] = now;
            }
            for (size_t item = 0; item < items; item++) {
                uint64_t most = seen[item] + TTL + LENGTH + gap_after(ticks, ticked, seen[item]);
                bool found = guira_filter_contains(filter, (const char *)&item, sizeof item);
                CHECK(found || now >= seen[item] + TTL);
                CHECK(!found || !is_tick || now < most);
            }
        }
        guira_filter_free(filter);
    }
}

int main(void) {
    items_expire_and_can_be_refreshed();
    by_hash();
    a_filter_grows_and_forgets();
    for (int grows = 0; grows < 2; grows++) {
        counts_expire(4, grows);
        counts_expire(8, grows);
    }
    many_items();
    a_snapshot_has_an_age();
    unions_keep_the_younger();
    a_filter_without_a_ttl_has_no_time();
    snapshots_keep_the_age_of_an_epoch();
    items_of_logs_expire_on_time_whatever_their_gaps(false);
    items_of_logs_expire_on_time_whatever_their_gaps(true);
    puts("time.c: passed");
    return 0;
}
