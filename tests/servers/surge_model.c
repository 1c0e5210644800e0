/* surge_model.c -- writes SURGE's file set, its references and draws of its pauses as a record, for
 * a test that holds each distribution against the published one.
 *
 *     surge_model FILES TOP TAIL_PERMYRIAD SIZE_MOST CONTENT_SEED OFF_PERMILLE PAUSES_WITHIN
 * SESSION SEED DRAWS
 */
#include <stdio.h>
#include <stdlib.h>

#include "../../base/numbers.h"
#include "../../base/random.h"
#include "../../base/record.h"
#include "../../loadgen/surge/users.h"

static void describe_model(const struct users *users)
{
	const struct surge *surge = users->surge;

	record_text("digest", surge->digest);
	record_number("content_seed", surge->shape.seed);
	record_number("files", surge->shape.files);
	record_number("top", surge->shape.top);
	record_number("tail_permyriad", surge->shape.tail_permyriad);
	record_number("size_most", surge->shape.size_most);
	record_number("set_bytes", surge->bytes);
	record_number("sequence_files", surge->references);
	record_number("sequence_objects", surge->objects);
	record_number("sequence_bytes", surge->referenced_bytes);
	record_number("parallel", users->parallel);
	record_number("off_permille", users->off_permille);
	record_truth("pauses_within", users->pauses_within);
	record_number("session", users->session);
}

enum draw { DRAW_INACTIVE, DRAW_REST, DRAW_ACTIVE, DRAW_SESSION, DRAWS };

static uint64_t draw(const struct users *users, uint64_t *state, enum draw what)
{
	switch (what) {
	case DRAW_INACTIVE:
		return users_inactive_ns(users, state);
	case DRAW_REST:
		return users_rest_ns(users, state);
	case DRAW_ACTIVE:
		return users_active_ns(users, state);
	default:
		return draw_geometric(state, users->session);
	}
}

static int describe_all(const struct users *users, uint64_t seed, uint64_t draws)
{
	static const char *const names[DRAWS] = { "inactive_off_ns", "first_off_ns",
		                                  "active_off_ns", "session_objects" };
	const struct surge      *surge = users->surge;
	uint64_t                 room = surge->references + surge->shape.files + draws;
	uint64_t                *values = malloc(room * sizeof(*values));

	if (!values)
		return -1;
	record_open("model");
	describe_model(users);
	for (uint32_t i = 0; i < surge->shape.files; i++)
		values[i] = surge->sizes[i];
	record_numbers("sizes", values, surge->shape.files);
	for (uint32_t i = 0; i < surge->shape.files; i++)
		values[i] = surge->classes[i];
	record_numbers("classes", values, surge->shape.files);
	for (uint32_t i = 0; i < surge->references; i++)
		values[i] = surge->reference[i];
	record_numbers("reference", values, surge->references);
	for (uint32_t i = 0; i <= surge->objects; i++)
		values[i] = surge->object[i];
	record_numbers("object", values, surge->objects + 1);
	for (int what = 0; what < DRAWS; what++) {
		uint64_t state = seed + (uint64_t)what;

		random_next(&state);
		for (uint64_t i = 0; i < draws; i++)
			values[i] = draw(users, &state, (enum draw)what);
		record_numbers(names[what], values, draws);
	}
	record_close(1);
	free(values);
	return record_error() ? -1 : 0;
}

int main(int argc, char **argv)
{
	enum { FILES, TOP, TAIL, SIZE_MOST, CONTENT_SEED, OFF, WITHIN, SESSION, SEED, DRAWN, ALL };
	uint64_t       asked[ALL];
	struct surge   surge;
	struct content content = { NULL };
	struct users   users = { &surge, &content, .parallel = 2 };

	if (argc != ALL + 1)
		return 2;
	for (int i = 0; i < ALL; i++)
		if (parse_number(argv[i + 1], &asked[i]))
			return 2;
	if (surge_make(&surge, &(struct shape){ asked[CONTENT_SEED], asked[FILES], asked[TOP],
	                                        asked[TAIL], asked[SIZE_MOST] })) {
		perror("the file set cannot be made");
		return 1;
	}
	users.off_permille = asked[OFF];
	users.pauses_within = asked[WITHIN] != 0;
	users.session = (unsigned)asked[SESSION];
	return describe_all(&users, asked[SEED], asked[DRAWN]) != 0;
}
