// Null, misaligned, empty and absurd arguments, and snapshots of all kinds of origin.
#include "check.h"

// An address of nothing that a call may read.
#define MISALIGNED(type) ((type)(uintptr_t)0x1001)

static guira_status make(guira_options options) {
    guira_filter *filter = NULL;
    guira_status status = guira_filter_new(&options, &filter);
    CHECK((status == GUIRA_STATUS_OK) == (filter != NULL));
    guira_filter_free(filter);
    return status;
}

static void options(void) {
    enum { SIZE = sizeof(guira_options) };
    guira_filter *filter = NULL;
    guira_options whole = {.size = SIZE};
    INVALID("options is null", guira_filter_new(NULL, &filter));
    INVALID("filter is null", guira_filter_new(&whole, NULL));
    INVALID("multiple of 8", guira_filter_new(MISALIGNED(guira_options *), &filter));
    INVALID("multiple of 8", guira_filter_new(&whole, MISALIGNED(guira_filter **)));
    OK(make(whole));
    INVALID("size of options is 0", make((guira_options){.capacity = 5}));
    INVALID("size of options is 12", make((guira_options){.size = 12}));
    INVALID("size of options is 1844", make((guira_options){.size = UINT64_MAX - 7}));
    INVALID("too large", make((guira_options){.size = SIZE, .capacity = UINT64_MAX}));
    INVALID("less than the capacity", make((guira_options){.size = SIZE, .max_capacity = 5}));
    INVALID("rate", make((guira_options){.size = SIZE, .false_positive_rate = -1}));
    INVALID("fingerprint size 99", make((guira_options){.size = SIZE, .fingerprint_bits = 99}));
    INVALID("counter size 5", make((guira_options){.size = SIZE, .counter_bits = 5}));
    INVALID("counter_bits is 4294967296", make((guira_options){.size = SIZE, .counter_bits = (uint64_t)1 << 32}));
    INVALID("prefer is 2", make((guira_options){.size = SIZE, .prefer = 2}));
    INVALID("epochs is 1: it must be 0 without a TTL", make((guira_options){.size = SIZE, .epochs = 1}));
    OK(make((guira_options){.size = SIZE, .prefer = GUIRA_PREFER_SPACE}));

    // Options of an older header: what it did not have is 0, whatever follows.
    OK(make((guira_options){.size = 16, .capacity = 5, .prefer = 2, .ttl_ns = 1}));
    // Options of a newer header: what is new must not be used.
    struct { guira_options known; uint64_t news[2]; } newer = {{.size = SIZE + 16}, {0, 0}};
    OK(guira_filter_new(&newer.known, &filter));
    guira_filter_free(filter);
    newer.news[1] = 1;
    INVALID("byte 80", guira_filter_new(&newer.known, &filter));
    CHECK(filter == NULL);

    OK(make((guira_options){.size = SIZE, .ttl_ns = SECOND}));
    INVALID("TTL", make((guira_options){.size = SIZE, .ttl_ns = 1}));
    INVALID("epochs", make((guira_options){.size = SIZE, .ttl_ns = UINT64_MAX, .epochs = 99}));
    INVALID("prefer is 1: it must be 0 with a TTL", make((guira_options){.size = SIZE, .ttl_ns = SECOND, .prefer = 1}));
    INVALID("use one of [4, 8]", make((guira_options){.size = SIZE, .ttl_ns = SECOND, .counter_bits = 5}));
    INVALID("it must be 0, 4 or 8", make((guira_options){.size = SIZE, .ttl_ns = SECOND, .counter_bits = UINT64_MAX}));
    INVALID("at most 4 epochs", make((guira_options){.size = SIZE, .ttl_ns = SECOND, .counter_bits = 4, .epochs = 5}));
    INVALID("size of options", make((guira_options){.size = 4104}));
}

static void no_filter(guira_filter *none) {
    bool yes = true;
    size_t done = 5, count = 5;
    uint64_t number = 0, digest[2];
    guira_items items = guira_hashes(&number, 1);
    guira_bytes bytes = {MISALIGNED(uint8_t *), 5, 5}, other = bytes;
    INVALID("filter", guira_filter_add(none, "x", 1));
    INVALID("filter", guira_filter_add_unique(none, "x", 1, &yes));
    INVALID("filter", guira_filter_add_hash(none, 1));
    INVALID("filter", guira_filter_add_and_count(none, "x", 1, &count));
    INVALID("filter", guira_filter_add_and_count_hash(none, 1, &count));
    INVALID("filter", guira_filter_add_many(none, &items, &done));
    INVALID("filter", guira_filter_contains_many(none, &items, &yes));
    INVALID("filter", guira_filter_hash_str(none, "x", 1, &number));
    INVALID("filter", guira_filter_clear(none));
    INVALID("filter", guira_filter_digest(none, digest));
    INVALID("filter", guira_filter_to_bytes(none, &bytes));
    INVALID("filter", guira_filter_tick(none, NULL, NULL, &yes));
    INVALID("filter", guira_filter_refresh(none, "x", 1, &yes));
    CHECK(done == 0 && count == 5);
    // What a call makes is null or none if it fails, whatever was there.
    guira_filter *copy = MISALIGNED(guira_filter *);
    INVALID("filter", guira_filter_copy(none, &copy));
    INVALID("filter", guira_filter_to_bytes_at(none, &other, NULL, NULL));
    CHECK(other.data == NULL && other.len == 0 && other.capacity == 0);
    INVALID("filter", guira_filter_write_at(none, NULL, NULL, NULL, NULL));
    CHECK(copy == NULL && bytes.data == NULL && bytes.len == 0 && bytes.capacity == 0);
    CHECK(!guira_filter_contains(none, "x", 1) && !guira_filter_remove(none, "x", 1));
    CHECK(!guira_filter_contains_hash(none, 1) && !guira_filter_remove_hash(none, 1));
    CHECK(guira_filter_count(none, "x", 1) == 0 && guira_filter_len(none) == 0);
    CHECK(guira_filter_capacity(none) == 0 && guira_filter_seed(none) == 0);
    CHECK(guira_filter_epoch(none) == 0 && guira_filter_ttl_ns(none) == 0);
}

static void memory_of_items(void) {
    guira_filter *filter = new_filter(100, STAYS);
    bool results[4];
    uint64_t hashes[4] = {1, 2, 3, 4};
    INVALID("item is null", guira_filter_add(filter, NULL, 1));
    INVALID("item is null", guira_filter_add_and_count(filter, NULL, 1, NULL));
    INVALID("count is at", guira_filter_add_and_count_hash(filter, 1, MISALIGNED(size_t *)));
    INVALID("item cannot have", guira_filter_add(filter, "x", SIZE_MAX));
    INVALID("item cannot have", guira_filter_add(filter, (void *)(UINTPTR_MAX - 5), 10));
    CHECK(!guira_filter_contains(filter, NULL, 1) && !guira_filter_contains(filter, "x", SIZE_MAX));
    INVALID("text is not UTF-8", guira_filter_hash_str(filter, "a\xff", 2, hashes));
    INVALID("hash is null", guira_filter_hash_str(filter, "a", 1, NULL));
    INVALID("multiple of 8", guira_filter_digest(filter, MISALIGNED(uint64_t *)));

    INVALID("items is null", guira_filter_contains_many(filter, NULL, results));
    INVALID("multiple of 8", guira_filter_contains_many(filter, MISALIGNED(guira_items *), results));
    struct { guira_items items; const char *why; } wrong[] = {
        {guira_hashes(NULL, 1), "hashes is null"},
        {guira_hashes(MISALIGNED(uint64_t *), 1), "multiple of 8"},
        {guira_hashes(hashes, SIZE_MAX), "hashes cannot have"},
        {guira_hashes(hashes, SIZE_MAX / 8), "hashes cannot have"},
        {guira_rows(NULL, 4, 1), "rows is null"},
        {guira_rows(hashes, SIZE_MAX, 2), "exceed the address space"},
        {guira_rows(hashes, SIZE_MAX / 2 + 2, 1), "rows cannot have"},
        {guira_packed(hashes, 9, NULL, 1), "offsets is null"},
        {guira_packed(hashes, 9, hashes, SIZE_MAX), "offsets cannot have"},
        {guira_packed(NULL, 9, hashes, 3), "packed items is null"},
        {guira_packed(hashes, 3, hashes, 3), "the last offset is 4"},
        {guira_packed(hashes, 9, (uint64_t[]){5, 2}, 1), "less than the one before"},
        {guira_packed(hashes, 9, (uint64_t[]){0, UINT64_MAX}, 1), "the last offset"},
        {{.kind = 3}, "kind of items is 3"},
        {{.reserved = 1}, "reserved of items is 1"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        INVALID(wrong[i].why, guira_filter_contains_many(filter, &wrong[i].items, results));
        size_t done = 77;
        INVALID(wrong[i].why, guira_filter_add_many(filter, &wrong[i].items, &done));
        CHECK(done == 0 && guira_filter_len(filter) == 0);
    }
    // Rows of no bytes are items of no bytes.
    guira_items empty = guira_rows(NULL, 0, 4), items = guira_hashes(hashes, 4);
    OK(guira_filter_add_many(filter, &empty, NULL));
    CHECK(guira_filter_count(filter, NULL, 0) == 4);
    INVALID("results is null", guira_filter_contains_many(filter, &items, NULL));
    INVALID("multiple of 8", guira_filter_add_many(filter, &items, MISALIGNED(size_t *)));
    guira_filter_free(filter);
    guira_filter_free(NULL);
    // Null is nothing, and leaves the message as it is.
    INVALID("options is null", guira_filter_new(NULL, &filter));
    guira_bytes_free(NULL);
    CHECK(strstr(guira_last_message(), "options is null") != NULL);
}

static int stop_at_second(void *context, const uint8_t *data, size_t len) {
    (void)data, (void)len;
    return ++*(int *)context == 2 ? 42 : 0;
}

static ptrdiff_t read_nothing(void *context, uint8_t *buffer, size_t len) {
    (void)buffer, (void)len;
    return *(ptrdiff_t *)context;
}

static void snapshots(void) {
    guira_filter *filter = new_filter(10000, STAYS), *copy = filter;
    OK(guira_filter_add(filter, "ani", 3));
    guira_bytes bytes = {NULL, 0, 0};
    OK(guira_filter_to_bytes(filter, &bytes));
    CHECK(bytes.capacity >= bytes.len);
    REFUSED(GUIRA_STATUS_SNAPSHOT, "limit of 1000", guira_filter_from_bytes(bytes.data, bytes.len, 1000, 0, &copy));
    CHECK(copy == NULL);
    REFUSED(GUIRA_STATUS_SNAPSHOT, "truncated", guira_filter_from_bytes(bytes.data, bytes.len - 1, SIZE_MAX, 0, &copy));
    REFUSED(GUIRA_STATUS_SNAPSHOT, "truncated", guira_filter_from_bytes(NULL, 0, SIZE_MAX, 0, &copy));
    bytes.data[100] ^= 1;
    CHECK(guira_filter_from_bytes(bytes.data, bytes.len, SIZE_MAX, 0, &copy) == GUIRA_STATUS_SNAPSHOT);
    bytes.data[100] ^= 1;
    guira_bytes longer = {malloc(bytes.len + 3), bytes.len + 3, 0};
    CHECK(longer.data != NULL);
    memset(longer.data, 0, longer.len);
    memcpy(longer.data, bytes.data, bytes.len);
    REFUSED(GUIRA_STATUS_SNAPSHOT, "3 bytes follow", guira_filter_from_bytes(longer.data, longer.len, SIZE_MAX, 0, &copy));
    free(longer.data);
    bytes.data[0] ^= 1;
    REFUSED(GUIRA_STATUS_SNAPSHOT, "magic", guira_filter_from_bytes(bytes.data, bytes.len, SIZE_MAX, 0, &copy));

    int calls = 0;
    REFUSED(GUIRA_STATUS_STOPPED, "returned 42", guira_filter_write(filter, stop_at_second, &calls));
    CHECK(calls == 2);
    INVALID("callback is null", guira_filter_write(filter, NULL, NULL));
    INVALID("callback is null", guira_filter_read(NULL, NULL, SIZE_MAX, 0, &copy));
    ptrdiff_t result = -3;
    REFUSED(GUIRA_STATUS_STOPPED, "returned -3", guira_filter_read(read_nothing, &result, SIZE_MAX, 0, &copy));
    result = PTRDIFF_MAX;
    INVALID("for a buffer of", guira_filter_read(read_nothing, &result, SIZE_MAX, 0, &copy));
    result = 0;
    REFUSED(GUIRA_STATUS_SNAPSHOT, "truncated", guira_filter_read(read_nothing, &result, SIZE_MAX, 0, &copy));
    guira_bytes_free(&bytes);
    guira_filter_free(filter);
}

int main(void) {
    CHECK(guira_last_message()[0] == '\0');
    options();
    no_filter(NULL);
    no_filter(MISALIGNED(guira_filter *));
    memory_of_items();
    snapshots();
    puts("arguments.c: passed");
    return 0;
}
