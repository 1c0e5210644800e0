/* histogram.h -- counts of latencies with three significant digits, in HdrHistogram's layout.
 *
 * Values from 1 ns to 68 s; a bucket is at most 1/1024 as wide as its values are large, so that
 * histograms add up exactly.
 */
#ifndef STEELYARD_HISTOGRAM_H
#define STEELYARD_HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_BITS = 11, HISTOGRAM_OCTAVES = 26 };
enum { HISTOGRAM_BUCKETS = (HISTOGRAM_OCTAVES + 1) << (HISTOGRAM_BITS - 1) };

struct histogram {
	uint64_t counts[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *histogram, uint64_t value);
void histogram_merge(struct histogram *into, const struct histogram *from);
/* The least value of a bucket. */
uint64_t histogram_value(unsigned bucket);
/* The buckets that hold something, 16 of them as one, so that one is at most 1/64 as wide as its
 * values are large: the least value of each and how many there are. Both have room for
 * HISTOGRAM_WIDE. Returns how many. */
enum { HISTOGRAM_WIDE = HISTOGRAM_BUCKETS / 16 };
unsigned histogram_wide(const struct histogram *histogram, uint64_t values[], uint64_t counts[]);
/* What this share of all values does not exceed, and the mean, by the least values of buckets; of
 * none 0. */
uint64_t histogram_quantile(const struct histogram *histogram, double share);
double histogram_mean(const struct histogram *histogram);

#endif
