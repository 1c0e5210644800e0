/* processors.c -- see processors.h. */
#include "kernel/processors.h"

#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "kernel/procfs.h"

const char processors_unknown[] =
	"nothing here says which processors there are: neither /sys/devices/system/cpu nor /proc/stat can "
	"be read";

struct set {
	unsigned char has[PROCESSOR_NUMBERS];
};

static void add(struct set *set, int number)
{
	if (number >= 0 && number < PROCESSOR_NUMBERS)
		set->has[number] = 1;
}

/* A list as "0-3,8". */
static void add_from_sys(struct set *set)
{
	FILE *file = fopen("/sys/devices/system/cpu/online", "re");
	int   first, last;

	while (file && fscanf(file, "%d", &first) == 1) {
		last = first;
		if (fscanf(file, "-%d", &last) < 0)
			last = first;
		for (; first <= last && first < PROCESSOR_NUMBERS; first++)
			add(set, first);
		if (fgetc(file) != ',')
			break;
	}
	if (file)
		fclose(file);
}

/* Lines "cpu3 ...", of those that are on. */
static void add_from_proc(struct set *set)
{
	FILE *file = procfs_file("stat");
	char  line[4096] = "";
	int   number;

	while (file && fgets(line, sizeof line, file))
		if (isdigit((unsigned char)line[3]) && sscanf(line, "cpu%d ", &number) == 1)
			add(set, number);
	if (file)
		fclose(file);
}

/* Those that we may run on: none can mask that, but a control group may keep us from others. */
static void add_our_own(struct set *set)
{
	static cpu_set_t own[PROCESSOR_NUMBERS / CPU_SETSIZE];

	memset(own, 0, sizeof own);
	if (sched_getaffinity(0, sizeof own, own))
		return;
	for (int i = 0; i < PROCESSOR_NUMBERS; i++)
		if (CPU_ISSET_S((size_t)i, sizeof own, own))
			add(set, i);
}

static void find(struct set *set)
{
	memset(set, 0, sizeof *set);
	add_from_sys(set);
	add_from_proc(set);
	add_our_own(set);
}

size_t processors_on(int numbers[], size_t most)
{
	static struct set set;
	size_t            count = 0;

	find(&set);
	for (int i = 0; i < PROCESSOR_NUMBERS; i++)
		if (set.has[i] && count++ < most)
			numbers[count - 1] = i;
	return count;
}

int processors_text(char *text, size_t room)
{
	static struct set set;
	size_t            filled = 0;

	find(&set);
	for (int first = 0, last; first < PROCESSOR_NUMBERS; first = last + 1) {
		last = first;
		if (!set.has[first])
			continue;
		while (last + 1 < PROCESSOR_NUMBERS && set.has[last + 1])
			last++;
		filled += (size_t)snprintf(text + filled, room - filled, "%s%d-%d",
		                           filled ? "," : "", first, last);
		if (filled >= room)
			return -1;
	}
	return filled ? 0 : -1;
}
