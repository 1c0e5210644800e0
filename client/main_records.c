/* main_records.c -- see main_records.h. */
#include "main_records.h"

#include "../base/record.h"
#include "../loadgen/surge/describe.h"

static void write_histogram(const char *of, const struct histogram *histogram)
{
	static uint64_t values[HISTOGRAM_BUCKETS], counts[HISTOGRAM_BUCKETS];
	size_t          count = 0;

	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		if (histogram->counts[i]) {
			values[count] = histogram_value(i);
			counts[count++] = histogram->counts[i];
		}
	record_open("histogram");
	record_text("of", of);
	record_numbers("values_ns", values, count);
	record_numbers("counts", counts, count);
	record_close(1);
}

static void write_series(const struct options *options, const struct result *all)
{
	static uint64_t column[SECONDS_MOST];
	size_t          count = (size_t)(options->window_ns / SECOND_NS); /* whole ones */

	record_open("series");
	for (size_t i = 0; i < count; i++)
		column[i] = all->seconds[i].answers;
	record_numbers("answers", column, count);
	for (size_t i = 0; i < count; i++)
		column[i] = all->seconds[i].bytes;
	record_numbers("bytes", column, count);
	for (size_t i = 0; i < count; i++)
		column[i] = all->seconds[i].failures;
	record_numbers("failures", column, count);
	record_close(1);
}

static void write_objects(const struct options *options, const struct users *users,
                          const struct result *all)
{
	record_open("surge");
	describe_model(users);
	record_real("objects_offered", users_offered(users, options->clients));
	record_number("objects", all->objects);
	record_number("objects_begun", all->objects_begun);
	record_number("objects_failed", all->objects_failed);
	record_number("objects_lost", all->objects_lost);
	record_number("sequence_permille", all->sequence_permille);
	record_close(1);
	write_histogram("object", &all->object);
}

void write_load(const struct options *options, const struct reference *reference,
                const struct users *users, const struct result *all, uint64_t elapsed_ns,
                double busy_most)
{
	record_open("load");
	record_number("protocol", 1);
	record_number("window_ns", options->window_ns);
	record_number("elapsed_ns", elapsed_ns);
	record_number("answers", all->answers);
	record_number("bytes", all->bytes);
	record_number("verified", all->verified);
	record_truth("body_fixed", reference->is_fixed);
	record_number("body_bytes", reference->length);
	record_number("connections", all->waits.tally.connections);
	record_number("connecting_ns", all->waits.tally.connecting_ns);
	record_number("closed", all->waits.tally.closed);
	record_number("resent", all->waits.tally.resent);
	record_number("longest_ns", all->waits.longest_ns);
	record_number("stalled_ns", all->waits.tally.stalled_ns);
	record_number("requests", all->requests + REFERENCE_REQUESTS);
	record_number("started", all->started);
	record_number("waited", all->waited);
	record_number("unsent", all->unsent);
	record_object("failures");
	for (int i = 0; i < SERVER_FAILURES; i++)
		record_number(failure_names[i], all->failures[i]);
	record_object_close();
	record_text("malformed", all->malformed);
	record_object("own_limits");
	for (int i = 0; i < OWN_LIMITS; i++)
		if (all->lacked[i])
			record_number(own_limits[i].name, all->lacked[i]);
	record_object_close();
	record_number("user_ns", all->user_ns);
	record_number("system_ns", all->system_ns);
	record_real("busy_most", busy_most);
	record_close(1);
	write_histogram("latency", &all->latency);
	write_histogram("intended", &all->intended);
	write_histogram("lag", &all->lag);
	write_histogram("silences", &all->waits.silences);
	write_series(options, all);
	if (users)
		write_objects(options, users, all);
}
