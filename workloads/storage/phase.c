/* phase.c -- see phase.h. */
#include "phase.h"

#include <string.h>

int      phase_file = -1;
void    *phase_room;
uint64_t phase_sync = 1;

int phase_begin(int flags, uint64_t lanes)
{
	int outcome = area_make();

	if (outcome || (outcome = area_open(flags, &phase_file)) || (outcome = meter_begin(lanes)))
		return outcome;
	phase_room = area_room();
	return phase_room ? 0 : fail("taking memory");
}

int phase_begin_cached(int flags, const char *why)
{
	return area_is_direct() ? fail_check("cache is 'direct', and must be warm, cold or "
	                                     "limited: %s",
	                                     why)
	                        : phase_begin(flags, 1);
}

int phase_begin_new(void)
{
	int outcome = area_begin();

	if (outcome)
		return outcome;
	if (!strcmp(area_cache, "cold"))
		return fail_check("cache is 'cold', and must be warm, direct or limited: of a new "
		                  "file nothing is in the cache");
	return meter_begin(1);
}

int phase_begin_empty(int flags)
{
	int outcome = area_begin();

	if (outcome || (outcome = area_open(flags | O_CREAT | O_EXCL, &phase_file)))
		return outcome;
	return meter_begin(1);
}

static int before(uint64_t operations, uint64_t bytes)
{
	int outcome;

	meter_close();
	if ((outcome = area_arrange(operations, bytes)))
		return outcome;
	if (lseek(phase_file, 0, SEEK_SET))
		return fail("lseek");
	meter_open(operations, area_resident());
	return 0;
}

int phase_before_reading(uint64_t operations)
{
	return before(operations, operations * area_block);
}

int phase_before_writing(uint64_t operations)
{
	return before(operations, 0);
}

int phase_before_new(uint64_t operations)
{
	int outcome;

	meter_close();
	if ((outcome = area_renew()))
		return outcome;
	meter_open(operations, UINT64_MAX);
	return 0;
}

int phase_before_empty(uint64_t operations)
{
	meter_close();
	if (ftruncate(phase_file, 0) || fsync(phase_file))
		return fail("cutting the file");
	meter_open(operations, UINT64_MAX);
	return 0;
}

int phase_synced(void)
{
	return phase_sync && fsync(phase_file) ? fail("fsync") : 0;
}

int phase_closed(void)
{
	int outcome = phase_synced();

	if (close(phase_file) && !outcome)
		outcome = fail("close");
	phase_file = -1;
	return outcome;
}

void phase_end(void)
{
	if (phase_file >= 0)
		close(phase_file);
	aligned_give(phase_room);
	area_end();
	meter_end();
}
