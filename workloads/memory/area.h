/* area.h -- what the memory workloads share: areas of exactly the curve's size, and the cells that
 * prove that a batch made its passes.
 *
 * An area is mapped again at each size, so that it gets other pages; the system chooses the size of
 * the pages. Its contents are not zero, because some processors treat zeros specially.
 */
#ifndef STEELYARD_AREA_H
#define STEELYARD_AREA_H

#include <errno.h>
#include <string.h>

#include "../api/system.h"
#include "../api/workload.h"

/* The curve of all these workloads: sizes from 512 bytes to what memory allows. Every size is a
 * multiple of 512, so that unrolled passes have no remainder. */
#define AREA_SWEEP(value_, areas_, arrange_) \
	{ .name = "size",                    \
	  .unit = "bytes",                   \
	  .value = (value_),                 \
	  .from = 512,                       \
	  .steps = 1,                        \
	  .grain = 512,                      \
	  .areas = (areas_),                 \
	  .arrange = (arrange_) }

/* Up to this size, arrange compares a whole area. Above it, only the batches check it, by their
 * cells. */
enum { AREA_COMPARED_MOST = 64 << 20 };

struct area {
	unsigned char *start; /* on a page's boundary; NULL: there is none */
	size_t         size;
};

static inline void area_unmap(struct area *area)
{
	if (area->start)
		memory_give(area->start, area->size);
	area->start = NULL;
}

/* Replaces the area by a new one with untouched pages. Returns 0, or what fail() returned. */
static inline int area_map(struct area *area, uint64_t size)
{
	void *start = NULL;

	area_unmap(area);
	errno = ENOMEM;
	if ((size_t)size == size)
		start = memory_take((size_t)size);
	if (!start)
		return fail("taking memory");
	area->start = start;
	area->size = (size_t)size;
	return 0;
}

/* Sixteen bytes. The partial workloads handle only the first word of each cell. */
struct cell {
	uint32_t word[4];
};

static inline struct cell cell_read(const struct area *area, size_t number)
{
	struct cell cell;

	memcpy(&cell, area->start + number * sizeof(cell), sizeof(cell));
	return cell;
}

static inline void cell_write(const struct area *area, size_t number, struct cell cell)
{
	memcpy(area->start + number * sizeof(cell), &cell, sizeof(cell));
}

static inline struct cell cell_of(uint32_t word)
{
	return (struct cell){ { word, word, word, word } };
}

static inline size_t area_cells(const struct area *area)
{
	return area->size / sizeof(struct cell);
}

/* For passes that go word by word: the number of words in an area, the distance from one word that
 * is handled to the next, and WORDS_16, which does `work` with sixteen of them, by their places. */
static inline size_t area_words(const struct area *area)
{
	return area->size / sizeof(uint32_t);
}
#define STEP (4 / WORDS_PASSED)
/* clang-format off */
#define WORDS_4(work, from) \
	work((from) * STEP); work(((from) + 1) * STEP); work(((from) + 2) * STEP); work(((from) + 3) * STEP)
#define WORDS_16(work) WORDS_4(work, 0); WORDS_4(work, 4); WORDS_4(work, 8); WORDS_4(work, 12)
/* clang-format on */

/* The cells that are checked in a batch: the first, the last, and one drawn for each batch. */
enum { CELLS_JUDGED = 3 };

static inline void cells_draw(const struct area *area, size_t numbers[CELLS_JUDGED])
{
	static uint32_t state = 2463534242u;

	numbers[0] = 0;
	numbers[1] = area_cells(area) - 1;
	numbers[2] = (size_t)next_number(&state) % area_cells(area);
}

/* A number that is not 0 and that no batch has had before, to be written. */
static inline uint32_t number_draw(void)
{
	static uint32_t state = 123456789u;

	return next_number(&state);
}

/* What passes over a filled area must come to. */
struct sums {
	uint64_t eights;      /* of all words of eight bytes, modulo 2^64 */
	uint64_t fours;       /* of all words of four bytes */
	uint64_t one_in_four; /* of the first word of each cell */
};

/* Writes the whole area once, in ascending order, which touches its pages. */
static inline struct sums area_fill(const struct area *area)
{
	struct sums sums = { 0 };
	uint64_t    eights[2] = { 0, 0x9e3779b97f4a7c15u };

	for (size_t number = 0; number < area_cells(area); number++) {
		struct cell cell;

		eights[0] += 0xd1b54a32d192ed03u; /* odd: no two cells of an area are alike */
		eights[1] += 0x8cb92ba72f3d8dd7u;
		memcpy(&cell, eights, sizeof(cell));
		cell_write(area, number, cell);
		sums.eights += eights[0] + eights[1];
		sums.fours += (uint64_t)cell.word[0] + cell.word[1] + cell.word[2] + cell.word[3];
		sums.one_in_four += cell.word[0];
	}
	return sums;
}

/* Writes one byte to each page, in ascending order, to touch it; for areas whose contents come
 * later. */
static inline void area_touch(const struct area *area)
{
	size_t page = page_bytes();

	for (size_t at = 0; at < area->size; at += page)
		area->start[at] = 1;
}

#endif
