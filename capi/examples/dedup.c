// Prints each line of the standard input the first time it is seen, with several threads that share
// one filter: `dedup [THREADS] <in >out`. Lines come out in any order. At the false-positive rate, here
// one in a million, a line that was not seen is dropped.
//
// Threads hash their lines and add them in batches, so that cache misses overlap.
#include <guira.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 256, BYTES = 1 << 16, MOST_THREADS = 64 };

static guira_filter *seen;
static pthread_mutex_t input = PTHREAD_MUTEX_INITIALIZER, output = PTHREAD_MUTEX_INITIALIZER;

static void give_up(const char *what, guira_status status) {
    fprintf(stderr, "dedup: %s: %s\n", what,
            status == GUIRA_STATUS_FULL ? "the filter is full" : guira_last_message());
    exit(1);
}

// Lines one after the other, and where each begins: the layout of guira_packed.
typedef struct {
    char *data;
    size_t size, room, count;
    uint64_t offsets[BATCH + 1];
    bool added[BATCH];
} lines;

static void read_lines(lines *batch) {
    batch->size = batch->count = 0;
    pthread_mutex_lock(&input);
    while (batch->count < BATCH && batch->size < BYTES) {
        static char *line;
        static size_t room;
        ssize_t len = getline(&line, &room, stdin);
        if (len < 0) break;
        if (batch->room < batch->size + (size_t)len) {
            batch->room = 2 * (batch->size + (size_t)len);
            batch->data = realloc(batch->data, batch->room);
            if (!batch->data) abort();
        }
        memcpy(batch->data + batch->size, line, (size_t)len);
        batch->size += (size_t)len;
        batch->offsets[++batch->count] = batch->size;
    }
    pthread_mutex_unlock(&input);
}

// Adds the lines, and calls again for those that other threads were in the way of.
static void add_lines(lines *batch) {
    size_t from = 0, done = 0;
    while (from < batch->count) {
        guira_items rest = guira_packed(batch->data, batch->size, batch->offsets + from, batch->count - from);
        guira_status status = guira_filter_add_unique_many(seen, &rest, batch->added + from, &done);
        if (status != GUIRA_STATUS_OK && status != GUIRA_STATUS_BUSY) give_up("cannot add", status);
        from += done;
    }
}

static void *work(void *unused) {
    lines batch = {0};
    for (;;) {
        read_lines(&batch);
        if (batch.count == 0) break;
        add_lines(&batch);
        pthread_mutex_lock(&output);
        for (size_t i = 0; i < batch.count; i++) {
            if (!batch.added[i]) continue;
            fwrite(batch.data + batch.offsets[i], 1, (size_t)(batch.offsets[i + 1] - batch.offsets[i]), stdout);
        }
        pthread_mutex_unlock(&output);
    }
    free(batch.data);
    return unused;
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 4;
    if (count < 1 || count > MOST_THREADS) {
        fprintf(stderr, "dedup: %s threads: use 1 to %d\n", argv[1], MOST_THREADS);
        return 2;
    }
    guira_options options = {
        .size = sizeof options,
        .capacity = 1 << 17,
        .max_capacity = 1 << 24,
        .false_positive_rate = 0.000001,
    };
    guira_status status = guira_filter_new(&options, &seen);
    if (status != GUIRA_STATUS_OK) give_up("cannot make a filter", status);
    pthread_t threads[MOST_THREADS];
    for (int i = 0; i < count; i++) {
        if (pthread_create(&threads[i], NULL, work, NULL) != 0) abort();
    }
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    fprintf(stderr, "%zu different lines in %zu bytes of memory\n", guira_filter_len(seen),
            guira_filter_memory_usage(seen));
    guira_filter_free(seen);
    return 0;
}
