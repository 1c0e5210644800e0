/* meter.c -- see meter.h. */
#include "meter.h"

#include <stdlib.h>

#include "../api/processor_time.h"
#include "area.h"
#include "residence.h"

enum {
	CLOCK_SHARE = 100,
	EVERY_MOST = 4096,
	CLOCK_TRIES = 64,
	MACHINE_LEAST_NS = 200000000, /* twenty of its ticks: else one or none would tell */
};

uint64_t    meter_reported;
struct lane meter_lanes[LANES_MOST];

/* What is counted up over batches. */
struct counts {
	uint64_t      processor_ns, machine_ns, elapsed_ns;
	struct device device;
};

static struct {
	uint64_t      lanes, clock_ns;
	uint64_t      operations, done; /* in a batch, in all measured ones */
	uint64_t      resident_most, began_ns;
	struct counts before, sum;
	int           is_open, has_machine, has_device;
} m;

static uint64_t clock_cost(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < CLOCK_TRIES; i++) {
		uint64_t first = clock_ns(), second = (clock_ns(), clock_ns());

		if (second - first < least)
			least = second - first;
	}
	return least / 2 + 1;
}

int meter_begin(uint64_t lanes)
{
	m.lanes = lanes;
	m.clock_ns = clock_cost();
	for (uint64_t i = 0; i < lanes; i++) {
		meter_lanes[i] = (struct lane){
			.latencies = calloc(1, sizeof(struct histogram)),
			.state = (uint32_t)i * 2654435761u | 1,
			.until = 1,
		};
		if (!meter_lanes[i].latencies)
			return fail("calloc");
	}
	return 0;
}

void meter_end(void)
{
	for (uint64_t i = 0; i < m.lanes; i++)
		free(meter_lanes[i].latencies);
}

void lane_note(struct lane *lane, uint64_t began_ns)
{
	uint64_t took_ns = clock_ns() - began_ns, every;

	histogram_add(lane->latencies, took_ns);
	lane->timed++;
	lane->timed_ns += took_ns;
	every = 1 + 2 * m.clock_ns * CLOCK_SHARE * lane->timed / (lane->timed_ns + 1);
	if (every > EVERY_MOST)
		every = EVERY_MOST;
	/* At random, because a file system may do its work at every so manyth. */
	lane->until = 1 + next_number(&lane->state) % (uint32_t)(2 * every - 1);
}

/* ---- What it costs ---- */

static struct counts counts_now(void)
{
	struct counts now = { .processor_ns = own_processor_ns(), .machine_ns = machine_busy().ns };

	m.has_machine = now.machine_ns > 0;
#ifdef __linux__
	m.has_device = !device_counted(&now.device);
#endif
	return now;
}

void meter_close(void)
{
	uint64_t      elapsed_ns = clock_ns() - m.began_ns;
	struct counts now;

	if (!m.is_open)
		return;
	m.is_open = 0;
	now = counts_now();
	m.done += m.operations;
	m.sum.elapsed_ns += elapsed_ns;
	m.sum.processor_ns += now.processor_ns - m.before.processor_ns;
	/* May fall: idle time comes in ticks. */
	m.sum.machine_ns += now.machine_ns - m.before.machine_ns;
	m.sum.device.read_bytes += now.device.read_bytes - m.before.device.read_bytes;
	m.sum.device.written_bytes += now.device.written_bytes - m.before.device.written_bytes;
}

void meter_open(uint64_t operations, uint64_t resident)
{
	if (operations != m.operations || m.began_ns < trial_start_ns()) {
		m.operations = operations;
		m.done = m.resident_most = 0;
		m.sum = (struct counts){ 0 };
		for (uint64_t i = 0; i < m.lanes; i++)
			memset(meter_lanes[i].latencies, 0, sizeof(struct histogram));
	}
	if (resident == UINT64_MAX || resident > m.resident_most)
		m.resident_most = resident;
	m.before = counts_now();
	m.before.processor_ns = own_processor_ns(); /* without what counting took */
	m.is_open = 1;
	m.began_ns = clock_ns();
}

/* ---- What is reported ---- */

static int report(double value)
{
	meter_reported = (uint64_t)(value + 0.5);
	return 0;
}

static int report_share(uint64_t sum, int is_known, uint64_t unknown)
{
	meter_close();
	if (is_known && m.done)
		return report((double)sum / (double)m.done);
	meter_reported = unknown;
	return 0;
}

static int report_quantile(double share)
{
	meter_close();
	for (uint64_t lane = 1; lane < m.lanes; lane++) {
		histogram_merge(meter_lanes[0].latencies, meter_lanes[lane].latencies);
		memset(meter_lanes[lane].latencies, 0, sizeof(struct histogram));
	}
	meter_reported = histogram_quantile(meter_lanes[0].latencies, share);
	return 0;
}

/* The last batch's data are checked here, because no batch comes after it. */
int meter_latency_50(uint64_t operations)
{
	(void)operations;
	report_quantile(0.5);
	return area_came();
}

int meter_latency_99(uint64_t operations)
{
	(void)operations;
	return report_quantile(0.99);
}

int meter_latency_99_9(uint64_t operations)
{
	(void)operations;
	return report_quantile(0.999);
}

int meter_processor(uint64_t operations)
{
	(void)operations;
	return report_share(m.sum.processor_ns, 1, 0);
}

int meter_machine(uint64_t operations)
{
	(void)operations;
	int is_known = m.has_machine && m.sum.elapsed_ns >= MACHINE_LEAST_NS;

	return report_share((int64_t)m.sum.machine_ns > 0 ? m.sum.machine_ns : 0, is_known, 0);
}

int meter_device_read(uint64_t operations)
{
	(void)operations;
	return report_share(m.sum.device.read_bytes, m.has_device, UINT64_MAX);
}

int meter_device_written(uint64_t operations)
{
	(void)operations;
	return report_share(m.sum.device.written_bytes, m.has_device, UINT64_MAX);
}

/* Of the whole file, before a batch, at most. */
int meter_resident(uint64_t operations)
{
	(void)operations;
	meter_reported = m.resident_most;
	return 0;
}
