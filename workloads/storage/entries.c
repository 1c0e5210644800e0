/* entries.c -- see entries.h. */
#include "entries.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../api/handle.h"

uint64_t entries_count = 1000, entries_random, entries_beside, entries_shared, entries_sync = 1;
uint64_t entries_size;

#ifdef __linux__
static struct {
	uint32_t *order; /* of the numbers below `count` */
	uint64_t  count;
	uint64_t  exist;     /* how many files there are */
	uint64_t  beyond;    /* all of them have numbers below that */
	char      prefix[8]; /* tells copies apart in a shared directory */
	int       directory;
	int       is_inside;
} s = { .directory = -1 };

/* The trial's directory is the copy's, below one that all copies have, which is removed with what
 * is in it when all have ended: one that removed it when it is empty would take it from under
 * another. */
static int enter_shared(void)
{
	const char *copy = strrchr(trial_directory(), '/');

	if (!copy || strlen(copy + 1) >= sizeof(s.prefix) - 1)
		return fail_check("the trial's directory has no number");
	strcpy(s.prefix, copy + 1);
	strcat(s.prefix, "-");
	if (mkdir("../shared", 0700) && errno != EEXIST)
		return fail("mkdir");
	return chdir("../shared") ? fail("chdir") : 0;
}

int entries_begin(void)
{
	int outcome = handle_begin();

	if (outcome || (entries_shared && (outcome = enter_shared())))
		return outcome;
	s.is_inside = 1;
	s.directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s.directory < 0)
		return fail("opening the directory");
	return meter_begin(1);
}

/* By hand: printf would be a tenth of the time. */
static const char *name_of(uint64_t number, char name[ENTRY_NAME])
{
	size_t length = strlen(s.prefix);

	memcpy(name, s.prefix, length);
	for (int digit = 7; digit >= 0; digit--, number >>= 4)
		name[length + (size_t)digit] = "0123456789abcdef"[number & 15];
	name[length + 8] = 0;
	return name;
}

uint32_t entries_number(uint64_t number)
{
	number %= s.count;
	return s.order ? s.order[number] : (uint32_t)number;
}

const char *entries_name(uint64_t number, char name[ENTRY_NAME])
{
	return name_of(entries_number(number), name);
}

/* The number of a file, plus one, as it stands at both of its ends. */
static uint32_t mark_of(uint64_t number)
{
	return (uint32_t)number + 1;
}

int entries_check(const unsigned char *data, uint32_t number)
{
	uint32_t first, last;

	memcpy(&first, data, sizeof(first));
	memcpy(&last, data + entries_size - sizeof(last), sizeof(last));
	return first == mark_of(number) && last == mark_of(number)
	               ? 0
	               : fail_check("a file has other data than file %u", number);
}

static int write_data(int file, uint64_t number)
{
	static unsigned char data[ENTRY_SIZE_MOST];
	static uint32_t      state;
	uint32_t             mark = mark_of(number);

	if (!state)
		for (size_t i = (state = 2463534242u, 0); i < sizeof(data); i++)
			data[i] = (unsigned char)(next_number(&state) >> 24);
	memcpy(data, &mark, sizeof(mark));
	memcpy(data + entries_size - sizeof(mark), &mark, sizeof(mark));
	return write_whole(file, data, entries_size);
}

static int arrange_order(uint64_t count)
{
	if (count == s.count)
		return 0;
	free(s.order);
	s.order = NULL;
	s.count = count;
	if (!entries_random)
		return 0;
	s.order = malloc(count * sizeof(*s.order));
	if (!s.order)
		return fail("malloc");
	random_order(s.order, (uint32_t)count);
	return 0;
}

static int remove_all(void)
{
	char name[ENTRY_NAME];

	for (uint64_t i = 0; i < s.beyond && s.exist; i++) {
		if (!unlink(name_of(i, name)))
			s.exist--;
		else if (errno != ENOENT)
			return fail("unlink");
	}
	s.exist = s.beyond = 0;
	return 0;
}

/* Sees to it, untimed, that the files 0..count-1 exist, and no others. */
static int arrange(uint64_t count)
{
	char name[ENTRY_NAME];
	int  outcome = 0, changes = s.exist != count || s.beyond != count;

	if (s.exist != count || s.beyond != count)
		outcome = remove_all();
	for (; !outcome && s.beyond < count; s.beyond++, s.exist++) {
		int file = open(name_of(s.beyond, name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		                0600);

		if (file < 0)
			return fail("creating a file");
		if (entries_size && write_data(file, s.beyond))
			outcome = fail("write");
		if (close(file) && !outcome)
			outcome = fail("close");
	}
	if (!outcome && changes && syncfs(s.directory))
		outcome = fail("syncfs");
	return outcome;
}

static int before(uint64_t operations, uint64_t count, uint64_t exist)
{
	int outcome;

	meter_close();
	if (count > ENTRIES_MOST)
		return fail_check("a batch of %llu files is more than %d",
		                  (unsigned long long)count, ENTRIES_MOST);
	if ((outcome = arrange_order(count)) || (outcome = arrange(exist)))
		return outcome;
	s.beyond = count;
	meter_open(operations, UINT64_MAX);
	return 0;
}

int entries_before_making(uint64_t operations)
{
	return before(operations, operations, 0);
}

int entries_before_asking(uint64_t operations)
{
	return before(operations, entries_count, entries_count);
}

int entries_before(uint64_t operations)
{
	return before(operations, entries_beside, entries_beside);
}

int entries_before_removing(uint64_t operations)
{
	return before(operations, operations, operations);
}

void entries_made(void)
{
	s.exist++;
}

void entries_removed(void)
{
	s.exist--;
}

int entries_synced(void)
{
	return entries_sync && syncfs(s.directory) ? fail("syncfs") : 0;
}

void entries_end(void)
{
	if (s.is_inside)
		remove_all();
	if (s.directory >= 0)
		close(s.directory);
	free(s.order);
	meter_end();
}
#else
int entries_begin(void)
{
	return unsupported("bringing one file system to its device is a call of Linux");
}

void entries_end(void)
{
}

int entries_before_making(uint64_t operations)
{
	(void)operations;
	return OUTCOME_FAILED;
}

int entries_before_asking(uint64_t operations)
{
	(void)operations;
	return OUTCOME_FAILED;
}

int entries_before_removing(uint64_t operations)
{
	(void)operations;
	return OUTCOME_FAILED;
}

int entries_before(uint64_t operations)
{
	(void)operations;
	return OUTCOME_FAILED;
}

const char *entries_name(uint64_t number, char name[ENTRY_NAME])
{
	(void)number;
	return name;
}

uint32_t entries_number(uint64_t number)
{
	return (uint32_t)number;
}

int entries_check(const unsigned char *data, uint32_t number)
{
	(void)data;
	(void)number;
	return OUTCOME_FAILED;
}

void entries_made(void)
{
}

void entries_removed(void)
{
}

int entries_synced(void)
{
	return OUTCOME_FAILED;
}
#endif
