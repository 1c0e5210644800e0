/* doubles.h -- what stream and stream2 share: areas as arrays of doubles, the loop that both have, and the
 * elements by which a batch is judged. Bytes count as STREAM counts them: those read and those written.
 */
#ifndef STEELYARD_DOUBLES_H
#define STEELYARD_DOUBLES_H

#include "area.h"

static const double SCALAR = 3.0;

static uint64_t size, bytes;
static size_t   places[CELLS_JUDGED];

static inline double *doubles(const struct area *area)
{
	return (double *)(void *)area->start;
}

static inline size_t doubles_count(const struct area *area)
{
	return area->size / sizeof(double);
}

/* The pointers are restricted, because STREAM's arrays, being variables, cannot overlap either. */
static void copy_pass(double *restrict to, const double *restrict from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = from[i];
}

static inline void draw(const struct area *written)
{
	cells_draw(written, places);
	for (int i = 0; i < CELLS_JUDGED; i++)
		places[i] *= sizeof(struct cell) / sizeof(double);
}

static void spoil(const struct area *written)
{
	draw(written);
	for (int i = 0; i < CELLS_JUDGED; i++)
		doubles(written)[places[i]] = -1.0;
}

static int wrong(const char *loop, size_t place)
{
	return fail_check("%s is wrong at %zu", loop, place);
}

#endif
