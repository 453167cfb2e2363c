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

static inline guira_filter *new_filter(uint64_t capacity, uint64_t seed) {
    guira_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.capacity = capacity;
    options.seed = seed;
    options.seeded = 1;
    guira_filter *filter = NULL;
    OK(guira_filter_new(&options, &filter));
    return filter;
}

static inline guira_expiring *new_expiring(uint64_t capacity, uint64_t ttl_ns) {
    guira_expiring_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.capacity = capacity;
    options.ttl_ns = ttl_ns;
    options.epochs = 4;
    options.seed = 7;
    options.seeded = 1;
    guira_expiring *filter = NULL;
    OK(guira_expiring_new(&options, &filter));
    return filter;
}

#endif
