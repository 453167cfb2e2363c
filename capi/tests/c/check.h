// What the tests in C share.
#ifndef CHECK_H
#define CHECK_H

#include "guira.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                   \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stderr, "%s:%d: not true: %s; the last message is \"%s\"\n", __FILE__, \
                    __LINE__, #condition, guira_last_message());                           \
            exit(1);                                                                       \
        }                                                                                  \
    } while (0)

#define OK(call) CHECK((call) == GUIRA_STATUS_OK)

// The call is refused, and the message has the text.
#define REFUSED(status, text, call)                               \
    do {                                                          \
        CHECK((call) == (status));                                \
        CHECK(strstr(guira_last_message(), (text)) != NULL);      \
    } while (0)

#define INVALID(text, call) REFUSED(GUIRA_STATUS_INVALID, text, call)
#define UNSUPPORTED(text, call) REFUSED(GUIRA_STATUS_UNSUPPORTED, text, call)

// TTLs of filters in tests; 0 is none.
static const uint64_t STAYS = 0, SECOND = 1000000000, HOUR = 3600000000000;

static inline guira_options options_of(uint64_t capacity, uint64_t ttl_ns) {
    guira_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.capacity = capacity;
    options.ttl_ns = ttl_ns;
    options.epochs = ttl_ns ? 4 : 0;
    options.seed = 7;
    options.seeded = 1;
    return options;
}

static inline guira_filter *made_of(guira_options options) {
    guira_filter *filter = NULL;
    OK(guira_filter_new(&options, &filter));
    return filter;
}

static inline guira_filter *new_filter(uint64_t capacity, uint64_t ttl_ns) {
    return made_of(options_of(capacity, ttl_ns));
}

static inline guira_filter *seeded(uint64_t seed) {
    guira_options options = options_of(1000, STAYS);
    options.seed = seed;
    return made_of(options);
}

// Takes the bytes of a snapshot, as a `guira_write`.
static inline int append(void *context, const uint8_t *data, size_t len) {
    guira_bytes *into = context;
    CHECK(data != NULL && len > 0 && into->len + len <= into->capacity);
    memcpy(into->data + into->len, data, len);
    into->len += len;
    return 0;
}

#endif
