/* reports.c -- see reports.h. */
#include "reports.h"

#include <string.h>

#include "../../base/record.h"
#include "../api/processor_time.h"
#include "server.h"

uint64_t reported_ns;

static struct {
	struct histogram *latencies;
	struct histogram  told; /* what they were when they were reported: they may be gone by
	                           then */
	uint64_t operations, requests;
	uint64_t server_ns, server_before_ns, client_ns, client_before_ns;
	int      is_open; /* a batch's server time has not been added yet */
} s;

void reports_begin(struct histogram *latencies)
{
	memset(&s, 0, sizeof(s));
	s.latencies = latencies;
}

/* The server's processes are looked through between batches, where nothing is timed. */
static void take_server_ns(void)
{
	uint64_t now = server_processor_ns();

	if (s.is_open && now > s.server_before_ns)
		s.server_ns += now - s.server_before_ns;
	s.is_open = 0;
	s.server_before_ns = now;
}

int reports_before(uint64_t operations)
{
	int forgets = operations != s.operations;

	take_server_ns();
	if (forgets) {
		s.operations = operations;
		s.requests = s.server_ns = s.client_ns = 0;
		memset(s.latencies, 0, sizeof(*s.latencies));
	}
	s.client_before_ns = own_processor_ns();
	return forgets;
}

void reports_after(uint64_t requests)
{
	s.client_ns += own_processor_ns() - s.client_before_ns;
	s.requests += requests;
	s.is_open = 1;
}

int report_ns(double value)
{
	reported_ns = (uint64_t)(value + 0.5);
	return 0;
}

int report_server(uint64_t operations)
{
	(void)operations;
	take_server_ns();
	return report_ns((double)s.server_ns / (double)(s.requests ? s.requests : 1));
}

int report_client(uint64_t operations)
{
	(void)operations;
	return report_ns((double)s.client_ns / (double)(s.requests ? s.requests : 1));
}

int report_quantile(const struct histogram *latencies, double share)
{
	return report_ns((double)histogram_quantile(latencies, share));
}

int report_latency_50(uint64_t operations)
{
	(void)operations;
	s.told = *s.latencies;
	return report_quantile(s.latencies, 0.5);
}

int report_latency_90(uint64_t operations)
{
	(void)operations;
	return report_quantile(s.latencies, 0.9);
}

int report_latency_99(uint64_t operations)
{
	(void)operations;
	return report_quantile(s.latencies, 0.99);
}

int report_latency_99_9(uint64_t operations)
{
	(void)operations;
	return report_quantile(s.latencies, 0.999);
}

void reports_tell_histogram(uint64_t copy, const char *metric, const struct histogram *histogram,
                            int file)
{
	static uint64_t values[HISTOGRAM_WIDE], counts[HISTOGRAM_WIDE];
	unsigned        count = histogram_wide(histogram, values, counts);

	if (!count)
		return;
	record_open("histogram");
	record_number("copy", copy);
	record_text("metric", metric);
	record_numbers("values_ns", values, count);
	record_numbers("counts", counts, count);
	record_close(file);
}

void reports_tell(uint64_t copy, int file)
{
	server_tell(copy, file);
	reports_tell_histogram(copy, "latency", &s.told, file);
}
