/* chase.h -- what the latency workloads share: pointers in an area, each of which leads to the
 * next, in a cycle.
 *
 * A load cannot begin before the load that brings its address has ended, so each load of a chase
 * takes the latency. The order of the cycle is an array beside the area. After a batch it shows
 * where the chase must be, so that no load can be left out unnoticed.
 */
#ifndef STEELYARD_CHASE_H
#define STEELYARD_CHASE_H

#include "area.h"

struct chase {
	struct area area;                /* holds the pointers, and nothing else that is read */
	struct area order;               /* the elements' numbers, as the cycle comes by them */
	size_t      count;               /* of elements */
	size_t (*place)(size_t element); /* the byte of the area at which an element is */
	size_t   position;               /* in the order; where the next batch begins */
	uint32_t random;                 /* the state of the shuffling */
};

/* Follows the pointer by exactly one load from memory. */
#define CHASE(pointer) ((pointer) = *(void *volatile *)(pointer))

static inline void chase_unmap(struct chase *chase)
{
	area_unmap(&chase->area);
	area_unmap(&chase->order);
}

static inline uint32_t *chase_order(const struct chase *chase)
{
	return (uint32_t *)(void *)chase->order.start;
}

/* Maps an area for `count` elements (at least one) that will be visited in ascending order, and
 * does not touch its pages. Returns 0, or what fail() or unsupported() returned. */
static inline int chase_map(struct chase *chase, uint64_t size, uint64_t count)
{
	int outcome;

	chase->count = (size_t)(count ? count : 1);
	chase->position = 0;
	chase->random = 2463534242u;
	if (count > UINT32_MAX)
		return unsupported("elements are numbered by 32 bits, and there would be more");
	if ((outcome = area_map(&chase->area, size)) ||
	    (outcome = area_map(&chase->order, chase->count * sizeof(uint32_t))))
		return outcome;
	for (size_t i = 0; i < chase->count; i++)
		chase_order(chase)[i] = (uint32_t)i;
	return 0;
}

/* Puts the elements at `count` positions from `from` on into a random order (Fisher and Yates), the
 * same in every trial. Applied to all of them, the links form one random cycle, as by Sattolo's
 * algorithm, but only by random writes, which do not wait for each other. */
static inline void chase_shuffle(struct chase *chase, size_t from, size_t count)
{
	uint32_t *order = chase_order(chase) + from;

	for (size_t i = count; i > 1; i--) {
		size_t   other = (size_t)((uint64_t)next_number(&chase->random) * i >> 32);
		uint32_t held = order[i - 1];

		order[i - 1] = order[other];
		order[other] = held;
	}
}

/* The pointer to the element at a position of the order; positions wrap around. */
static inline void *chase_at(const struct chase *chase, size_t position)
{
	return chase->area.start + chase->place(chase_order(chase)[position % chase->count]);
}

/* Touches the area's pages, and writes the pointers. */
static inline void chase_link(const struct chase *chase)
{
	void **from = chase_at(chase, chase->count - 1);

	area_touch(&chase->area);
	for (size_t i = 0; i < chase->count; i++) {
		void *to = chase->area.start + chase->place(chase_order(chase)[i]);

		*from = to;
		from = to;
	}
}

/* The position after `loads` loads from `position`. */
static inline size_t chase_after(const struct chase *chase, size_t position, uint64_t loads)
{
	return (size_t)((position + loads) % chase->count);
}

/* Ends a batch of one chase: checks that `pointer` is where `loads` loads lead. */
static inline int chase_arrive(struct chase *chase, const void *pointer, uint64_t loads)
{
	chase->position = chase_after(chase, chase->position, loads);
	if (pointer != chase_at(chase, chase->position))
		return fail_check("the chase did not come to position %zu", chase->position);
	return 0;
}

/* A batch of one chase. */
static inline int chase_run(struct chase *chase, uint64_t loads)
{
	void *pointer = chase_at(chase, chase->position);

	REPEAT(loads, CHASE(pointer));
	return chase_arrive(chase, pointer, loads);
}

#endif
