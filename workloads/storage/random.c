/* random.c -- see random.h. */
#include "random.h"

#include <errno.h>

#include "../api/team.h"
#include "meter.h"

void         *random_rooms[LANES_MOST];
struct filler random_fillers[LANES_MOST];
uint64_t      random_seekers = 1;

static int (*perform_one)(unsigned member, uint64_t number);

static int work(unsigned member)
{
	uint64_t number;
	int      outcome = 0;

	while (!outcome && (number = team_take()) != TEAM_NONE) {
		uint64_t began = lane_began(&meter_lanes[member]);

		outcome = perform_one(member, number);
		lane_ended(&meter_lanes[member], began);
	}
	return outcome;
}

int random_run(uint64_t operations)
{
	return team_run(work, operations);
}

int random_begin(int flags, int (*perform)(unsigned member, uint64_t number))
{
	int outcome = phase_begin(flags, random_seekers);

	if (outcome)
		return outcome;
	/* As fio does: else a system may read ahead what is not asked for. */
	if ((errno = posix_fadvise(phase_file, 0, 0, POSIX_FADV_RANDOM)))
		return fail("posix_fadvise");
	for (unsigned i = 0; i < random_seekers; i++) {
		random_rooms[i] = area_room();
		if (!random_rooms[i])
			return fail("taking memory");
		if ((outcome = filler_make(&random_fillers[i], i + 1)))
			return outcome;
	}
	perform_one = perform;
	return random_seekers > 1 ? team_start((unsigned)random_seekers, NULL) : 0;
}

void random_end(void)
{
	team_end();
	for (unsigned i = 0; i < LANES_MOST; i++) {
		aligned_give(random_rooms[i]);
		filler_end(&random_fillers[i]);
	}
	phase_end();
}

int random_read(unsigned member, uint64_t block)
{
	ssize_t got = pread(phase_file, random_rooms[member], area_block, random_place(block));
	int     outcome = area_whole(got, "pread");

	return outcome ? outcome : area_check(random_rooms[member], block);
}

int random_write(uint64_t block, const void *from)
{
	return area_whole(pwrite(phase_file, from, area_block, random_place(block)), "pwrite");
}
