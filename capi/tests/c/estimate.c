// What a filter will take is what it takes.
#include "check.h"

static void a_filter_takes_what_was_estimated(void) {
    guira_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.capacity = 1000;
    options.max_capacity = 100000;
    options.false_positive_rate = 0.01;
    guira_sizes sizes;
    OK(guira_estimate(&options, 20000, &sizes));
    CHECK(sizes.doublings > 3 && sizes.max_items == 100000 && sizes.copies >= 4);
    CHECK(sizes.bytes < sizes.bytes_at && sizes.bytes_at < sizes.max_bytes);
    CHECK(sizes.false_positive_rate > 0 && sizes.false_positive_rate <= 0.01);
    double bits = 8.0 * (double)sizes.max_bytes / 100000;
    CHECK(sizes.bits_per_item > bits - 0.01 && sizes.bits_per_item < bits + 0.01);

    guira_filter *filter = NULL;
    OK(guira_filter_new(&options, &filter));
    CHECK(guira_filter_memory_usage(filter) == sizes.bytes);
    guira_filter_free(filter);

    options.false_positive_rate = 2;
    INVALID("false-positive rate 2", guira_estimate(&options, 0, &sizes));
}

static void so_does_one_with_a_ttl(void) {
    guira_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.capacity = 1000;
    options.ttl_ns = 60000000000;
    guira_sizes sizes;
    OK(guira_estimate(&options, 1000, &sizes));
    CHECK(sizes.doublings == 0 && sizes.max_items == 1000);
    CHECK(sizes.bytes == sizes.bytes_at && sizes.bytes == sizes.max_bytes);

    guira_filter *filter = NULL;
    OK(guira_filter_new(&options, &filter));
    CHECK(guira_filter_memory_usage(filter) == sizes.bytes);
    guira_filter_free(filter);
    size_t copies = sizes.copies;
    options.counter_bits = 4;
    options.max_capacity = 20000;
    OK(guira_estimate(&options, 1000, &sizes));
    CHECK(sizes.copies > copies && sizes.doublings > 0 && sizes.bytes < sizes.max_bytes);
    OK(guira_filter_new(&options, &filter));
    CHECK(guira_filter_memory_usage(filter) == sizes.bytes);
    guira_filter_free(filter);
    INVALID("estimate", guira_estimate(&options, 0, NULL));
}

int main(void) {
    a_filter_takes_what_was_estimated();
    so_does_one_with_a_ttl();
    puts("estimate.c: passed");
    return 0;
}
