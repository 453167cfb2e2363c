// Unions of filters. The oldest header that is supported has none, so they have a file of their own.
#include "check.h"

// Each item is then in as often as in the filter that had it most often.
static void filters(void) {
    guira_filter *here = new_filter(1000, 7), *there = new_filter(1000, 7), *other = new_filter(1000, 8);
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
    INVALID("itself", guira_filter_union_with(here, here));
    INVALID("hasher", guira_filter_union_with(here, other));
    INVALID("null", guira_filter_union_with(here, NULL));
    INVALID("null", guira_filter_union_with(NULL, here));
    guira_filter_free(here);
    guira_filter_free(there);
    guira_filter_free(other);
}

// The item is then as young as in the filter that has seen it last.
static void expiring_filters(void) {
    guira_expiring *here = new_expiring(1000, 4000000000), *there = new_expiring(1000, 4000000000);
    OK(guira_expiring_add(here, "ani", 3));
    for (int epoch = 0; epoch < 3; epoch++) OK(guira_expiring_advance(here, NULL));
    OK(guira_expiring_add(there, "ani", 3));
    OK(guira_expiring_union_with(here, there));
    CHECK(guira_expiring_count(here, "ani", 3) == 1);
    for (int epoch = 0; epoch < 4; epoch++) OK(guira_expiring_advance(here, NULL));
    CHECK(guira_expiring_contains(here, "ani", 3));
    INVALID("itself", guira_expiring_union_with(here, here));
    INVALID("null", guira_expiring_union_with(here, NULL));
    guira_expiring_free(here);
    guira_expiring_free(there);
}

int main(void) {
    filters();
    expiring_filters();
    puts("union.c: passed");
    return 0;
}
