// What a filter answers, alone and to threads, with a TTL and without.
#include "check.h"
#include <pthread.h>

static void one_item_at_a_time(uint64_t ttl) {
    guira_filter *filter = new_filter(1000, ttl);
    bool added = false;
    OK(guira_filter_add_unique(filter, "ani", 3, &added));
    CHECK(added);
    OK(guira_filter_add_unique(filter, "ani", 3, &added));
    CHECK(!added);
    OK(guira_filter_add_unique(filter, "ani", 3, NULL));
    OK(guira_filter_add(filter, "ani", 3));
    CHECK(guira_filter_count(filter, "ani", 3) == 2);
    CHECK(guira_filter_contains(filter, "ani", 3) && !guira_filter_contains(filter, "an", 2));
    CHECK(guira_filter_len(filter) == 2 && guira_filter_slots_in_use(filter) == 2);

    // Nothing is an item, too.
    OK(guira_filter_add(filter, NULL, 0));
    CHECK(guira_filter_contains(filter, "", 0) && guira_filter_remove(filter, NULL, 0));

    uint64_t hash = guira_filter_hash_bytes(filter, "ani", 3);
    CHECK(guira_filter_contains_hash(filter, hash) && guira_filter_count_hash(filter, hash) == 2);
    CHECK(guira_filter_remove_hash(filter, hash) && guira_filter_remove(filter, "ani", 3));
    CHECK(!guira_filter_remove(filter, "ani", 3) && guira_filter_len(filter) == 0);
    OK(guira_filter_add_hash(filter, hash));
    OK(guira_filter_add_unique_hash(filter, hash, &added));
    CHECK(!added && guira_filter_contains(filter, "ani", 3));
    size_t count = 0;
    OK(guira_filter_add_and_count(filter, "ani", 3, &count));
    CHECK(count == 2);
    OK(guira_filter_add_and_count_hash(filter, hash, &count));
    CHECK(count == 3);
    OK(guira_filter_add_and_count(filter, "ani", 3, NULL));
    OK(guira_filter_add_and_count_hash(filter, hash, NULL));
    CHECK(guira_filter_count(filter, "ani", 3) == 5);

    uint64_t text = 0;
    OK(guira_filter_hash_str(filter, "ani", 3, &text));
    CHECK(text == 0x649df99811c99c3f && text != hash);
    CHECK(guira_filter_hash_u64(filter, UINT64_MAX) == guira_filter_hash_i64(filter, -1));
    CHECK(guira_filter_seed(filter) == 7 && guira_filter_ttl_ns(filter) == ttl);
    CHECK(guira_filter_max_capacity(filter) >= 1000 && guira_filter_memory_usage(filter) > 1000);
    CHECK(guira_filter_capacity(filter) == guira_filter_max_capacity(filter));
    CHECK(guira_filter_load_factor(filter) > 0 && guira_filter_load_factor(filter) <= 1);
    CHECK(guira_filter_false_positive_rate(filter) > 0 && guira_filter_false_positive_rate(filter) <= 0.001);
    CHECK(guira_filter_counter_bits(filter) == 0);
    OK(guira_filter_clear(filter));
    CHECK(guira_filter_len(filter) == 0);
    guira_filter_free(filter);
}

static void many_items(uint64_t ttl) {
    enum { COUNT = 5000, WIDTH = 5 };
    guira_filter *filter = new_filter(2 * COUNT, ttl);
    static uint64_t hashes[COUNT], offsets[COUNT + 1];
    static char rows[COUNT * WIDTH + 1];
    static bool results[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        char row[WIDTH + 1];
        snprintf(row, sizeof row, "%05u", (unsigned)(i % 100000));
        memcpy(rows + i * WIDTH, row, WIDTH);
        hashes[i] = guira_filter_hash_bytes(filter, row, WIDTH);
        offsets[i + 1] = (i + 1) * WIDTH;
    }
    guira_items batches[3] = {guira_hashes(hashes, COUNT), guira_rows(rows, WIDTH, COUNT),
                              guira_packed(rows, sizeof rows, offsets, COUNT)};
    // They are the same items, so each kind of batch finds what the other kinds have added.
    for (int by = 0; by < 3; by++) {
        size_t done = 0;
        OK(guira_filter_add_many(filter, &batches[by], &done));
        CHECK(done == COUNT && guira_filter_len(filter) == COUNT);
        for (int in = 0; in < 3; in++) {
            memset(results, 0, sizeof results);
            OK(guira_filter_contains_many(filter, &batches[in], results));
            for (size_t i = 0; i < COUNT; i++) CHECK(results[i]);
        }
        OK(guira_filter_remove_many(filter, &batches[(by + 1) % 3], results));
        for (size_t i = 0; i < COUNT; i++) CHECK(results[i]);
        CHECK(guira_filter_len(filter) == 0);
        OK(guira_filter_add_unique_many(filter, &batches[by], results, &done));
        size_t added = 0;
        for (size_t i = 0; i < COUNT; i++) added += results[i];
        CHECK(done == COUNT && added > COUNT - 100 && guira_filter_len(filter) == added);
        OK(guira_filter_clear(filter));
    }
    // Nothing is a batch.
    guira_items none[3] = {guira_hashes(NULL, 0), guira_rows(NULL, 0, 0), guira_packed(NULL, 0, NULL, 0)};
    for (int by = 0; by < 3; by++) {
        size_t done = 9;
        OK(guira_filter_add_many(filter, &none[by], &done));
        OK(guira_filter_contains_many(filter, &none[by], NULL));
        CHECK(done == 0);
    }
    guira_filter_free(filter);
}

// FULL says how far a batch came, and leaves the rest alone.
static void no_room(uint64_t ttl) {
    enum { COUNT = 100 };
    guira_filter *filter = new_filter(1000, ttl);
    uint64_t hashes[COUNT];
    for (size_t i = 0; i < COUNT; i++) hashes[i] = guira_filter_hash_u64(filter, 5);
    guira_items items = guira_hashes(hashes, COUNT);
    size_t done = COUNT;
    REFUSED(GUIRA_STATUS_SNAPSHOT, "truncated", guira_filter_from_bytes("", 0, 0, 0, &(guira_filter *){NULL}));
    CHECK(guira_filter_add_many(filter, &items, &done) == GUIRA_STATUS_FULL);
    CHECK(done >= 4 && done <= 14 && guira_filter_len(filter) == done);
    CHECK(guira_filter_add_hash(filter, hashes[0]) == GUIRA_STATUS_FULL);
    // FULL is no message: that of the call before is still there.
    CHECK(strstr(guira_last_message(), "truncated") != NULL);
    guira_filter_free(filter);
}

// The hashes that all languages share.
static void golden_hashes(const char *path) {
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    static char line[4096], item[4096];
    size_t checked = 0;
    while (fgets(line, sizeof line, file)) {
        char kind[8];
        unsigned long long seed, hash;
        if (line[0] == '#') continue;
        CHECK(sscanf(line, "%7s %llu %4095s %llx", kind, &seed, item, &hash) == 4);
        guira_filter *filter = seeded(seed);
        unsigned char bytes[2048];
        size_t len = 0;
        uint64_t found = 0;
        if (strcmp(kind, "str") == 0 || strcmp(kind, "bytes") == 0) {
            for (; item[0] != '-' && item[2 * len]; len++) {
                unsigned byte = 0;
                CHECK(sscanf(item + 2 * len, "%2x", &byte) == 1);
                bytes[len] = (unsigned char)byte;
            }
        }
        if (strcmp(kind, "str") == 0) {
            OK(guira_filter_hash_str(filter, (char *)bytes, len, &found));
        } else if (strcmp(kind, "bytes") == 0) {
            found = guira_filter_hash_bytes(filter, bytes, len);
        } else if (strcmp(kind, "u64") == 0) {
            found = guira_filter_hash_u64(filter, strtoull(item, NULL, 10));
        } else if (strcmp(kind, "i64") == 0) {
            found = guira_filter_hash_i64(filter, strtoll(item, NULL, 10));
        } else {
            // C has no integers of 128 bits.
            CHECK(strcmp(kind, "u128") == 0 || strcmp(kind, "i128") == 0);
            found = hash;
        }
        CHECK(found == hash);
        checked++;
        guira_filter_free(filter);
    }
    fclose(file);
    CHECK(checked > 50);
}

enum { THREADS = 4, KEYS = 20000 };

typedef struct {
    guira_filter *filter;
    size_t won, missed;
} worker;

// Adds every key once, in hashes of its own order; counts the keys that it was first to add.
static void *race(void *context) {
    worker *self = context;
    for (uint64_t i = 0; i < KEYS; i++) {
        uint64_t key = (i * 7919 + (uintptr_t)self) % KEYS;
        uint64_t hash = guira_filter_hash_u64(self->filter, key);
        bool added = false;
        guira_status status;
        do status = guira_filter_add_unique_hash(self->filter, hash, &added);
        while (status == GUIRA_STATUS_BUSY);
        CHECK(status == GUIRA_STATUS_OK);
        self->won += added;
        self->missed += !guira_filter_contains_hash(self->filter, hash);
    }
    return NULL;
}

static int count_bytes(void *context, const uint8_t *data, size_t len) {
    CHECK(data != NULL && len > 0);
    *(size_t *)context += len;
    return 0;
}

static void threads_share_a_filter_that_grows(uint64_t ttl) {
    guira_options options = options_of(500, ttl);
    options.max_capacity = KEYS;
    options.false_positive_rate = 0.001;
    guira_filter *filter = made_of(options);
    worker workers[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){filter, 0, 0};
        CHECK(pthread_create(&threads[i], NULL, race, &workers[i]) == 0);
    }
    size_t bytes = 0;
    OK(guira_filter_write(filter, count_bytes, &bytes));
    CHECK(bytes > 64);
    size_t won = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        won += workers[i].won;
        CHECK(workers[i].missed == 0);
    }
    // Of all threads one was first with each key, but for false positives.
    CHECK(won <= KEYS && won > KEYS - KEYS / 50 && guira_filter_len(filter) == won);
    OK(guira_filter_finish_growth(filter));
    CHECK(guira_filter_capacity(filter) > 500 && guira_filter_max_capacity(filter) >= KEYS);
    CHECK(guira_filter_load_factor(filter) > 0 && guira_filter_load_factor(filter) <= 1);
    CHECK(guira_filter_false_positive_rate(filter) <= 0.001);
    CHECK(guira_filter_memory_usage(filter) > KEYS);
    guira_filter_free(filter);
}

// Copies of one item, exact at each step, and refused when all its counters are full.
static void copies_are_counted(uint64_t bits, size_t fit) {
    guira_options options = options_of(1000, STAYS);
    options.false_positive_rate = 0.0001;
    options.counter_bits = bits;
    guira_filter *filter = made_of(options);
    CHECK(guira_filter_counter_bits(filter) == bits);
    OK(guira_filter_add(filter, "koel", 4));
    size_t copies = 0;
    while (guira_filter_add(filter, "ani", 3) == GUIRA_STATUS_OK) {
        copies += 1;
        CHECK(guira_filter_count(filter, "ani", 3) == copies);
    }
    CHECK(copies == fit && guira_filter_len(filter) == fit + 1);
    CHECK(guira_filter_slots_in_use(filter) == 1 + (fit >> bits));
    for (; copies > 0; copies--) {
        CHECK(guira_filter_remove(filter, "ani", 3));
    }
    CHECK(!guira_filter_remove(filter, "ani", 3) && guira_filter_contains(filter, "koel", 4));
    CHECK(guira_filter_slots_in_use(filter) == 1);
    guira_filter_free(filter);

    options.counter_bits = 5;
    CHECK(guira_filter_new(&options, &filter) == GUIRA_STATUS_INVALID && filter == NULL);
    options.counter_bits = (uint64_t)1 << 32 | 4;
    CHECK(guira_filter_new(&options, &filter) == GUIRA_STATUS_INVALID && filter == NULL);
}

enum { LIMIT = 100 };

typedef struct {
    guira_filter *filter;
    // How many of its calls got each count.
    size_t calls[THREADS * LIMIT + 1];
} caller;

static void *count_own_calls(void *context) {
    caller *self = context;
    for (int call = 0; call < LIMIT; call++) {
        size_t count = 0;
        guira_status status;
        do status = guira_filter_add_and_count(self->filter, "ani", 3, &count);
        while (status == GUIRA_STATUS_BUSY);
        CHECK(status == GUIRA_STATUS_OK && count > 0 && count <= THREADS * LIMIT);
        self->calls[count]++;
    }
    return NULL;
}

// Whatever the limit is, the calls of all threads do not exceed it.
static void a_limit_holds_for_racing_threads(uint64_t ttl) {
    guira_options options = options_of(1000, ttl);
    options.counter_bits = 8;
    options.epochs = ttl ? 2 : 0;
    guira_filter *filter = made_of(options);
    static caller callers[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        callers[i] = (caller){filter, {0}};
        CHECK(pthread_create(&threads[i], NULL, count_own_calls, &callers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    size_t allowed = 0;
    for (size_t limit = 1; limit <= THREADS * LIMIT; limit++) {
        for (int i = 0; i < THREADS; i++) allowed += callers[i].calls[limit];
        CHECK(allowed <= limit);
    }
    CHECK(allowed == THREADS * LIMIT && guira_filter_count(filter, "ani", 3) == THREADS * LIMIT);
    guira_filter_free(filter);
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

static void same_contents(const guira_filter *one, const guira_filter *other) {
    uint64_t digests[2][2] = {{0, 0}, {0, 0}};
    OK(guira_filter_digest(one, digests[0]));
    OK(guira_filter_digest(other, digests[1]));
    CHECK(memcmp(digests[0], digests[1], sizeof digests[0]) == 0 && digests[0][0] != 0);
}

// A snapshot says itself whether its filter has a TTL.
static void snapshots(uint64_t ttl) {
    static uint8_t room[100000];
    guira_filter *filter = new_filter(1000, ttl), *copies[3];
    guira_bytes bytes = {NULL, 0, 0}, written = {room, 0, sizeof room};
    OK(guira_filter_add(filter, "ani", 3));
    OK(guira_filter_to_bytes(filter, &bytes));
    OK(guira_filter_write(filter, append, &written));
    CHECK(bytes.len == guira_filter_snapshot_len(filter) && written.len == bytes.len);
    source from = {room, written.len};
    OK(guira_filter_copy(filter, &copies[0]));
    OK(guira_filter_from_bytes(bytes.data, bytes.len, SIZE_MAX, 0, &copies[1]));
    OK(guira_filter_read(read_three, &from, SIZE_MAX, 0, &copies[2]));
    for (int i = 0; i < 3; i++) {
        CHECK(guira_filter_ttl_ns(copies[i]) == ttl && guira_filter_contains(copies[i], "ani", 3));
        same_contents(filter, copies[i]);
    }
    for (int i = 0; i < 3; i++) {
        OK(guira_filter_merge(filter, copies[i]));
        guira_filter_free(copies[i]);
    }
    CHECK(guira_filter_count(filter, "ani", 3) == 4);
    INVALID("itself", guira_filter_merge(filter, filter));
    guira_bytes_free(&bytes);
    CHECK(bytes.data == NULL && bytes.len == 0);
    guira_bytes_free(&bytes);
    guira_filter_free(filter);
}

// Each item is then in as often as in the filter that had it most often.
static void unions(uint64_t ttl) {
    guira_filter *here = new_filter(1000, ttl), *there = new_filter(1000, ttl);
    OK(guira_filter_add(here, "ani", 3));
    OK(guira_filter_add(here, "koel", 4));
    OK(guira_filter_add(there, "koel", 4));
    OK(guira_filter_add(there, "koel", 4));
    OK(guira_filter_add(there, "guira", 5));
    for (int again = 0; again < 2; again++) {
        OK(guira_filter_union_with(here, there));
        CHECK(guira_filter_count(here, "ani", 3) == 1 && guira_filter_count(here, "koel", 4) == 2);
        CHECK(guira_filter_contains(here, "guira", 5) && guira_filter_len(here) == 4);
    }
    CHECK(guira_filter_len(there) == 3);
    for (int again = 0; again < 2; again++) {
        OK(guira_filter_intersect_with(here, there));
        CHECK(!guira_filter_contains(here, "ani", 3) && guira_filter_count(here, "koel", 4) == 2);
        CHECK(guira_filter_contains(here, "guira", 5) && guira_filter_len(here) == 3);
    }
    OK(guira_filter_add(here, "ani", 3));
    CHECK(guira_filter_remove(there, "koel", 4) && guira_filter_remove(there, "guira", 5));
    for (int again = 0; again < 2; again++) {
        // All copies go, though the other filter has one.
        OK(guira_filter_difference_with(here, there));
        CHECK(guira_filter_contains(here, "ani", 3) && !guira_filter_contains(here, "koel", 4));
        CHECK(guira_filter_contains(here, "guira", 5) && guira_filter_len(here) == 2);
    }
    OK(guira_filter_add(here, "koel", 4));
    OK(guira_filter_add(here, "koel", 4));
    INVALID("itself", guira_filter_intersect_with(here, here));
    INVALID("null", guira_filter_difference_with(here, NULL));
    INVALID("itself", guira_filter_union_with(here, here));
    INVALID("null", guira_filter_union_with(here, NULL));
    INVALID("null", guira_filter_union_with(NULL, here));
    // One of the other kind, and one with another seed.
    guira_filter *other = new_filter(1000, ttl ? STAYS : HOUR), *seed = seeded(8);
    INVALID("the other has none", guira_filter_union_with(here, other));
    INVALID("the other has none", guira_filter_merge(here, other));
    if (!ttl) INVALID("hasher", guira_filter_union_with(here, seed));
    CHECK(guira_filter_len(here) == 4 && guira_filter_len(other) == 0);
    guira_filter_free(here);
    guira_filter_free(there);
    guira_filter_free(other);
    guira_filter_free(seed);
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    for (int kind = 0; kind < 2; kind++) {
        uint64_t ttl = kind ? HOUR : STAYS;
        one_item_at_a_time(ttl);
        many_items(ttl);
        no_room(ttl);
        threads_share_a_filter_that_grows(ttl);
        a_limit_holds_for_racing_threads(ttl);
        snapshots(ttl);
        unions(ttl);
    }
    copies_are_counted(4, 96);
    copies_are_counted(8, 1024);
    golden_hashes(argv[1]);
    CHECK(strchr(guira_version(), '.') != NULL);
    puts("filter.c: passed");
    return 0;
}
