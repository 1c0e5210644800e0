/* many.c -- see many.h. */
#include "many.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "../workload.h"

static struct {
	int      directory;
	uint64_t size;
	uint64_t removed, made; /* files removed..made-1 exist */
} s = { .directory = -1 };

static unsigned char content[MANY_SIZE_MOST];

/* Eight digits of sixteen: printf would be a tenth of the time. */
static void name_of(uint64_t number, char name[9])
{
	for (int digit = 7; digit >= 0; digit--, number >>= 4)
		name[digit] = "0123456789abcdef"[number & 15];
	name[8] = 0;
}

int many_begin(uint64_t size)
{
	uint32_t state = 2463534242u;

	s.directory = open(trial_directory(), O_RDONLY | O_DIRECTORY);
	if (s.directory < 0)
		return fail("open");
	s.size = size;
	for (size_t i = 0; i < size; i++)
		content[i] = (unsigned char)(next_number(&state) >> 24);
	return 0;
}

static int create_one(void)
{
	char    name[9];
	int     file;
	ssize_t put = 0;

	name_of(s.made, name);
	file = openat(s.directory, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (file < 0)
		return fail("openat");
	s.made++;
	if (s.size)
		put = write(file, content, s.size);
	if (put < 0) {
		int outcome = fail("write");

		close(file);
		return outcome;
	}
	if (close(file))
		return fail("close");
	if ((uint64_t)put != s.size)
		return fail_check("%zd of %llu bytes written", put, (unsigned long long)s.size);
	return 0;
}

int many_create(uint64_t files)
{
	int outcome = 0;

	while (files-- && !outcome)
		outcome = create_one();
	return outcome;
}

int many_remove(uint64_t files)
{
	char name[9];

	for (; files; files--, s.removed++) {
		name_of(s.removed, name);
		if (unlinkat(s.directory, name, 0))
			return fail("unlinkat");
	}
	/* The next batch has the same names again. */
	if (s.removed == s.made)
		s.removed = s.made = 0;
	return 0;
}

int many_remove_all(void)
{
	return many_remove(s.made - s.removed);
}

void many_end(void)
{
	if (s.directory < 0)
		return;
	many_remove_all();
	close(s.directory);
	s.directory = -1;
}
