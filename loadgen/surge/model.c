/* model.c -- see model.h. */
#include "model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/random.h"

const struct lognormal size_body = { 9.357, 1.318 }, stack_distance = { 1.5, 0.8 };
const struct pareto    size_tail = { 133000, 1.1 }, request_size = { 1000, 1 },
		       embedded_files = { 1, 2.43 }, inactive_off = { 1, 1.5 };
const struct weibull   active_off = { 1.46, 0.382 };

/* What each part draws from, so that a change of one part leaves the others as they are. */
enum part { PART_SIZES, PART_ORDER, PART_DISTANCES, PART_OBJECTS };

static uint64_t state_of(const struct shape *shape, enum part part)
{
	uint64_t state = shape->seed * 8 + part;

	random_next(&state);
	return state;
}

uint32_t surge_count(const struct shape *shape, uint32_t file)
{
	return (uint32_t)(shape->top / (file + 1));
}

/* -- Sizes, and which file has which -- */

static double draw_size(uint64_t *state, const struct shape *shape)
{
	double most = (double)shape->size_most, size;

	if (shape->tail_permyriad && draw_below(state, 10000) < shape->tail_permyriad) {
		size = size_tail.least;
	} else {
		do
			size = draw_lognormal(state, size_body);
		while (size > most || (shape->tail_permyriad && size > size_tail.least));
	}
	if (size < size_tail.least)
		return size;
	do
		size = draw_pareto(state, size_tail);
	while (size > most);
	return size;
}

static int larger_first(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x < y) - (x > y);
}

/* The share of requests for files larger than that. */
static double larger_share(double size)
{
	return size < request_size.least ? 1 : request_size.least / size; /* alpha is 1 */
}

/* The next place from `at` that is not taken; `next` leads past those that are. */
static uint32_t not_taken(uint32_t *next, uint32_t at)
{
	while (next[at] != at)
		at = next[at] = next[next[at]];
	return at;
}

/* The free file whose count is nearest to `wanted`. Files are one place up in `up` and `down`: 0
 * and files + 1 are the ends. */
static uint32_t nearest(const struct shape *shape, uint32_t *up, uint32_t *down, double wanted)
{
	uint32_t least = 1, most = (uint32_t)shape->files, above, below;

	while (least < most) { /* the first place whose count is not above what is wanted */
		uint32_t middle = least + (most - least) / 2;

		if (surge_count(shape, middle - 1) > wanted)
			least = middle + 1;
		else
			most = middle;
	}
	above = not_taken(down, least);
	below = not_taken(up, least);
	if (!above)
		return below;
	if (below > shape->files)
		return above;
	return surge_count(shape, above - 1) - wanted < wanted - surge_count(shape, below - 1)
	               ? above
	               : below;
}

/* From the largest size down, each goes to the file that leaves the share of requests for larger
 * files nearest to what the model says: so the error is least in the tail. */
static int match_sizes(struct surge *surge, uint32_t *sizes)
{
	uint32_t  files = (uint32_t)surge->shape.files;
	uint32_t *up = malloc((files + 2) * sizeof(*up)),
		 *down = malloc((files + 2) * sizeof(*down));
	double given = 0;

	for (uint32_t i = 0; up && down && i < files + 2; i++)
		up[i] = down[i] = i;
	for (uint32_t i = 0; up && down && i < files; i++) {
		double   lower = i + 1 < files ? larger_share(sizes[i + 1]) : 1;
		double   due = surge->references * (larger_share(sizes[i]) + lower) / 2;
		uint32_t place = nearest(&surge->shape, up, down, due - given);

		given += surge_count(&surge->shape, place - 1);
		surge->sizes[place - 1] = sizes[i];
		up[place] = place + 1;
		down[place] = place - 1;
	}
	free(up);
	free(down);
	return up && down ? 0 : -1;
}

static int make_files(struct surge *surge)
{
	const struct shape *shape = &surge->shape;
	uint32_t            files = (uint32_t)shape->files;
	uint64_t            state = state_of(shape, PART_SIZES);
	uint32_t           *sizes = malloc(files * sizeof(*sizes));
	int                 failed;

	if (!sizes)
		return -1;
	for (uint32_t i = 0; i < files; i++) {
		sizes[i] = (uint32_t)draw_size(&state, shape);
		if (!sizes[i])
			sizes[i] = 1;
		surge->bytes += sizes[i];
		surge->references += surge_count(shape, i);
	}
	qsort(sizes, files, sizeof(*sizes), larger_first);
	failed = match_sizes(surge, sizes);
	free(sizes);
	for (uint32_t i = 0; !failed && i < files; i++)
		surge->referenced_bytes += (uint64_t)surge->sizes[i] * surge_count(shape, i);
	return failed;
}

/* 30, 38 and 32 of a hundred files. Of the references, embedded files have 1.373 times as many as
 * base files have: that is the mean number of files that a base file embeds. */
static void assign_classes(struct surge *surge)
{
	static const double due[FILE_CLASSES] = { 0.2908, 0.3991, 0.3101 };
	uint64_t            files = surge->shape.files;
	uint64_t            left[FILE_CLASSES] = { files * 30 / 100, files * 38 / 100, 0 };
	double              given[FILE_CLASSES] = { 0 }, all = 0;

	left[FILE_LONER] = files - left[FILE_BASE] - left[FILE_EMBEDDED];
	for (uint32_t i = 0; i < files; i++) {
		double count = surge_count(&surge->shape, i);
		int    most = -1;

		all += count;
		for (int one = 0; one < FILE_CLASSES; one++)
			if (left[one] && (most < 0 || due[one] * all - given[one] >
			                                      due[most] * all - given[most]))
				most = one;
		surge->classes[i] = (uint8_t)most;
		surge->class_files[most]++;
		given[most] += count;
		left[most]--;
	}
}

/* -- The order of references -- */

/* Draws a depth of the stack of files, and takes a file from about there: of those from two thirds
 * to one and a half times as deep, each with a probability in proportion to the references that are
 * left of it. Returns how deep it lies, from 1. */
static uint32_t draw_depth(uint64_t *state, const uint32_t *stack, uint32_t height,
                           const uint32_t *left)
{
	double   drawn = draw_lognormal(state, stack_distance) + 0.5;
	uint32_t depth = drawn < 1 ? 1 : drawn < height ? (uint32_t)drawn : height;
	uint32_t first = (2 * depth + 2) / 3, last = depth + depth / 2;
	uint64_t all = 0, chosen;

	if (last > height)
		last = height;
	for (uint32_t i = first; i <= last; i++)
		all += left[stack[height - i]];
	chosen = random_next(state) % all;
	for (depth = first; chosen >= left[stack[height - depth]]; depth++)
		chosen -= left[stack[height - depth]];
	return depth;
}

/* Fills `order` with files, each as often as it is to be asked for. A file that has had all of its
 * references leaves the stack. */
static int order_references(const struct surge *surge, uint32_t *order)
{
	uint32_t  height = (uint32_t)surge->shape.files;
	uint32_t *stack = malloc(height * sizeof(*stack)), *left = malloc(height * sizeof(*left));
	uint64_t  state = state_of(&surge->shape, PART_ORDER);

	for (uint32_t i = 0; stack && left && i < height; i++) {
		uint32_t other = draw_below(&state, i + 1);

		left[i] = surge_count(&surge->shape, i);
		stack[i] = stack[other];
		stack[other] = i;
	}
	state = state_of(&surge->shape, PART_DISTANCES);
	while (stack && left && height) {
		uint32_t depth = draw_depth(&state, stack, height, left),
			 file = stack[height - depth];

		memmove(stack + height - depth, stack + height - depth + 1,
		        (depth - 1) * sizeof(*stack));
		*order++ = file;
		if (--left[file])
			stack[height - 1] = file;
		else
			height--;
	}
	free(stack);
	free(left);
	return stack && left ? 0 : -1;
}

/* How many files each reference to a base file embeds, so that all embedded references are given
 * out. */
static int draw_embedded(const struct surge *surge, uint8_t *counts, uint32_t bases,
                         uint32_t embedded)
{
	uint64_t state = state_of(&surge->shape, PART_OBJECTS), all = 0;

	if (embedded < bases || embedded > (uint64_t)bases * EMBEDDED_MOST) {
		errno = EDOM;
		return -1;
	}
	for (uint32_t i = 0; i < bases; i++) {
		double drawn;

		do
			drawn = draw_pareto(&state, embedded_files);
		while (drawn >= EMBEDDED_MOST + 1);
		counts[i] = (uint8_t)drawn;
		all += counts[i];
	}
	while (all != embedded) {
		uint32_t one = draw_below(&state, bases);

		if (all > embedded && counts[one] > 1) {
			counts[one]--;
			all--;
		} else if (all < embedded && counts[one] < EMBEDDED_MOST) {
			counts[one]++;
			all++;
		}
	}
	return 0;
}

/* Each base file takes the next embedded files along: objects, in the order of their first
 * files. */
static void form_objects(struct surge *surge, const uint32_t *order, const uint8_t *counts)
{
	uint32_t embedded = 0, at = 0;

	for (uint32_t i = 0; i < surge->references; i++) {
		uint32_t follow = 0;

		if (surge->classes[order[i]] == FILE_EMBEDDED)
			continue;
		if (surge->classes[order[i]] == FILE_BASE)
			follow = *counts++;
		surge->object[surge->objects++] = at;
		surge->reference[at++] = order[i];
		while (follow) {
			uint32_t file = order[embedded++];

			if (surge->classes[file] == FILE_EMBEDDED) {
				surge->reference[at++] = file;
				follow--;
			}
		}
	}
	surge->object[surge->objects] = at;
}

static int make_sequence(struct surge *surge)
{
	uint32_t  of_class[FILE_CLASSES] = { 0 };
	uint32_t *order = malloc(surge->references * sizeof(*order));
	uint8_t  *counts = NULL;
	int       failed = !order || order_references(surge, order);

	for (uint32_t i = 0; i < surge->shape.files; i++)
		of_class[surge->classes[i]] += surge_count(&surge->shape, i);
	surge->reference = malloc(surge->references * sizeof(*surge->reference));
	surge->object = malloc((of_class[FILE_BASE] + of_class[FILE_LONER] + 1) *
	                       sizeof(*surge->object));
	counts = malloc(of_class[FILE_BASE] + 1);
	if (!failed)
		failed = !surge->reference || !surge->object || !counts ||
		         draw_embedded(surge, counts, of_class[FILE_BASE], of_class[FILE_EMBEDDED]);
	if (!failed)
		form_objects(surge, order, counts);
	free(order);
	free(counts);
	return failed ? -1 : 0;
}

/* -- All of it -- */

static void take_number(struct sha256 *digest, uint64_t number)
{
	uint8_t bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(number >> 8 * i);
	sha256_take(digest, bytes, sizeof(bytes));
}

static void digest_of(struct surge *surge)
{
	struct sha256 digest;

	sha256_begin(&digest);
	take_number(&digest, surge->shape.seed); /* the bytes of every file follow from it and from
	                                            the file's number */
	take_number(&digest, surge->shape.files);
	for (uint32_t i = 0; i < surge->shape.files; i++) {
		take_number(&digest, surge->sizes[i]);
		take_number(&digest, surge->classes[i]);
	}
	take_number(&digest, surge->objects);
	for (uint32_t i = 0; i <= surge->objects; i++)
		take_number(&digest, surge->object[i]);
	for (uint32_t i = 0; i < surge->references; i++)
		take_number(&digest, surge->reference[i]);
	sha256_end(&digest, surge->digest);
}

int surge_make(struct surge *surge, const struct shape *shape)
{
	*surge = (struct surge){ .shape = *shape };
	surge->sizes = calloc(shape->files, sizeof(*surge->sizes));
	surge->classes = calloc(shape->files, sizeof(*surge->classes));
	if (!surge->sizes || !surge->classes || make_files(surge))
		return -1;
	assign_classes(surge);
	if (make_sequence(surge))
		return -1;
	digest_of(surge);
	return 0;
}

void surge_free(struct surge *surge)
{
	free(surge->sizes);
	free(surge->classes);
	free(surge->reference);
	free(surge->object);
	*surge = (struct surge){ 0 };
}
