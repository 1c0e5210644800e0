/* heapsort.h -- the heapsort of integers that numeric_sort and parallel_sort do. */
#ifndef STEELYARD_HEAPSORT_H
#define STEELYARD_HEAPSORT_H

#include <stddef.h>
#include <stdint.h>

/* Lets `value` sink from `hole` into a heap of `count` elements until neither below is more. */
static void sink(int32_t *heap, size_t hole, int32_t value, size_t count)
{
	size_t below;

	while ((below = 2 * hole + 1) < count) {
		if (below + 1 < count && heap[below] < heap[below + 1])
			below++;
		if (value >= heap[below])
			break;
		heap[hole] = heap[below];
		hole = below;
	}
	heap[hole] = value;
}

/* At least one element. */
static void heapsort_integers(int32_t *array, size_t count)
{
	for (size_t i = count / 2; i-- > 0;)
		sink(array, i, array[i], count);
	for (size_t last = count - 1; last > 0; last--) {
		int32_t value = array[last];

		array[last] = array[0];
		sink(array, 0, value, last);
	}
}

#endif
