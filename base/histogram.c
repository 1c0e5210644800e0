/* histogram.c -- see histogram.h. The first 2048 values have a bucket each; each octave beyond has
 * 1024. */
#include "histogram.h"

enum { HALF = 1 << (HISTOGRAM_BITS - 1) };

static unsigned bucket_of(uint64_t value)
{
	unsigned octave = 0;

	if (value >> HISTOGRAM_BITS)
		octave = 64u - (unsigned)__builtin_clzll(value) - HISTOGRAM_BITS;
	if (octave >= HISTOGRAM_OCTAVES)
		return HISTOGRAM_BUCKETS - 1;
	return octave * HALF + (unsigned)(value >> octave);
}

void histogram_add(struct histogram *histogram, uint64_t value)
{
	histogram->counts[bucket_of(value)]++;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		into->counts[i] += from->counts[i];
}

uint64_t histogram_value(unsigned bucket)
{
	unsigned octave = bucket < 2 * HALF ? 0 : bucket / HALF - 1;

	return (uint64_t)(bucket - octave * HALF) << octave;
}

unsigned histogram_wide(const struct histogram *histogram, uint64_t values[], uint64_t counts[])
{
	enum { EACH = HISTOGRAM_BUCKETS / HISTOGRAM_WIDE };
	unsigned found = 0;

	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i += EACH) {
		uint64_t count = 0;

		for (unsigned part = i; part < i + EACH; part++)
			count += histogram->counts[part];
		if (count) {
			values[found] = histogram_value(i);
			counts[found++] = count;
		}
	}
	return found;
}

uint64_t histogram_quantile(const struct histogram *histogram, double share)
{
	uint64_t total = 0, below = 0;
	unsigned bucket = 0;

	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		total += histogram->counts[i];
	for (; bucket < HISTOGRAM_BUCKETS - 1; bucket++) {
		below += histogram->counts[bucket];
		if ((double)below >= share * (double)total)
			break;
	}
	return histogram_value(bucket);
}

double histogram_mean(const struct histogram *histogram)
{
	double total = 0, sum = 0;

	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		total += (double)histogram->counts[i];
		sum += (double)histogram->counts[i] * (double)histogram_value(i);
	}
	return total > 0 ? sum / total : 0;
}
