// No panic leaves a call: each returns INTERNAL, or the value that the manual names. For a library
// with the feature `faults`, in which calls panic on demand.
#include "check.h"

void guira_fault_panic(bool panic);

#define INTERNAL(call) REFUSED(GUIRA_STATUS_INTERNAL, "panicked: on demand", call)

static int write_nothing(void *context, const uint8_t *data, size_t len) {
    (void)context, (void)data, (void)len;
    return 0;
}

static ptrdiff_t read_nothing(void *context, uint8_t *buffer, size_t len) {
    (void)context, (void)buffer, (void)len;
    return 0;
}

static uint64_t read_clock(void *context) {
    (void)context;
    return 0;
}

static void filters(uint64_t ttl) {
    guira_options options = options_of(100, ttl);
    guira_filter *f = made_of(options), *other = NULL;
    bool yes = false;
    size_t done = 0;
    uint64_t number = 0, digest[2];
    guira_items items = guira_hashes(&number, 1);
    guira_bytes bytes = {NULL, 0, 0};
    guira_sizes sizes;
    OK(guira_filter_add(f, "x", 1));
    guira_fault_panic(true);
    INTERNAL(guira_filter_new(&options, &other));
    INTERNAL(guira_estimate(&options, 1, &sizes));
    INTERNAL(guira_filter_copy(f, &other));
    INTERNAL(guira_filter_merge(f, f));
    INTERNAL(guira_filter_union_with(f, f));
    INTERNAL(guira_filter_intersect_with(f, f));
    INTERNAL(guira_filter_difference_with(f, f));
    INTERNAL(guira_filter_clear(f));
    INTERNAL(guira_filter_digest(f, digest));
    INTERNAL(guira_filter_finish_growth(f));
    INTERNAL(guira_filter_add(f, "x", 1));
    INTERNAL(guira_filter_add_unique(f, "x", 1, &yes));
    INTERNAL(guira_filter_add_hash(f, 1));
    INTERNAL(guira_filter_add_and_count(f, "x", 1, &done));
    INTERNAL(guira_filter_add_and_count_hash(f, 1, &done));
    INTERNAL(guira_filter_add_unique_hash(f, 1, &yes));
    INTERNAL(guira_filter_add_many(f, &items, &done));
    INTERNAL(guira_filter_add_unique_many(f, &items, &yes, &done));
    INTERNAL(guira_filter_contains_many(f, &items, &yes));
    INTERNAL(guira_filter_remove_many(f, &items, &yes));
    INTERNAL(guira_filter_hash_str(f, "x", 1, &number));
    INTERNAL(guira_filter_write(f, write_nothing, NULL));
    INTERNAL(guira_filter_to_bytes(f, &bytes));
    INTERNAL(guira_filter_from_bytes(NULL, 0, 0, 0, &other));
    INTERNAL(guira_filter_read(read_nothing, NULL, 0, 0, &other));
    INTERNAL(guira_filter_refresh(f, "x", 1, &yes));
    INTERNAL(guira_filter_add_or_refresh(f, "x", 1, &yes));
    INTERNAL(guira_filter_refresh_hash(f, 1, &yes));
    INTERNAL(guira_filter_add_or_refresh_hash(f, 1, &yes));
    INTERNAL(guira_filter_refresh_many(f, &items, &yes, &done));
    INTERNAL(guira_filter_add_or_refresh_many(f, &items, &yes, &done));
    INTERNAL(guira_filter_write_at(f, write_nothing, NULL, read_clock, NULL));
    INTERNAL(guira_filter_to_bytes_at(f, &bytes, read_clock, NULL));
    INTERNAL(guira_filter_tick(f, read_clock, NULL, &yes));
    INTERNAL(guira_filter_advance(f, &yes));
    INTERNAL(guira_filter_create_shared("x", &options, 0, &other));
    INTERNAL(guira_filter_open_shared("x", &other));
    INTERNAL(guira_filter_open_or_create_shared("x", &options, 0, &other, &yes));
    INTERNAL(guira_filter_attach(f));
    INTERNAL(guira_filter_repair(f, &done));
    INTERNAL(guira_filter_recount(f, &done));
    INTERNAL(guira_filter_participants(f, &done, &done, &number));
    INTERNAL(guira_filter_create_memfd(&options, 0, &other));
    INTERNAL(guira_filter_copy_to_shared(f, "x", 0, &other));
    INTERNAL(guira_filter_copy_to_memfd(f, 0, &other));
    INTERNAL(guira_filter_from_memfd(0, &other));
    INTERNAL(guira_filter_open_reader("x", &other));
    INTERNAL(guira_filter_reader_from_memfd(0, &other));
    INTERNAL(guira_filter_was_closed_cleanly(f, &yes));
    CHECK(!guira_filter_is_shared(f) && guira_filter_memfd(f) == -1);
    // A lookup that fails must not say that an item is absent.
    CHECK(guira_filter_contains(f, "y", 1) && guira_filter_contains_hash(f, 1));
    CHECK(!guira_filter_remove(f, "x", 1) && !guira_filter_remove_hash(f, 1));
    CHECK(guira_filter_count(f, "x", 1) == 0 && guira_filter_count_hash(f, 1) == 0);
    CHECK(guira_filter_len(f) == 0 && guira_filter_capacity(f) == 0 && guira_filter_max_capacity(f) == 0);
    CHECK(guira_filter_memory_usage(f) == 0 && guira_filter_snapshot_len(f) == 0);
    CHECK(guira_filter_slots_in_use(f) == 0 && guira_filter_counter_bits(f) == 0);
    CHECK(guira_filter_load_factor(f) <= 0 && guira_filter_false_positive_rate(f) <= 0);
    CHECK(guira_filter_seed(f) == 0 && guira_filter_hash_bytes(f, "x", 1) == 0);
    CHECK(guira_filter_hash_u64(f, 1) == 0 && guira_filter_hash_i64(f, 1) == 0);
    CHECK(guira_filter_ttl_ns(f) == 0 && guira_filter_epoch(f) == 0);
    CHECK(guira_filter_epoch_length_ns(f) == 0 && guira_filter_epoch_age_ns(f) == 0);
    guira_bytes_free(&bytes);
    // It is not freed, and can be afterwards.
    guira_filter_free(f);
    guira_fault_panic(false);
    CHECK(guira_filter_contains(f, "x", 1) && guira_filter_len(f) == 1);
    guira_filter_free(f);
}

int main(void) {
    filters(STAYS);
    filters(HOUR);
    CHECK(guira_version() != NULL);
    puts("panics.c: passed");
    return 0;
}
