/* many.c -- see many.h. */
#include "many.h"

#include <string.h>

#include "../api/handle.h"
#include "../api/system.h"
#include "../api/workload.h"

enum { DIRECTORIES = 16 };

static struct {
	char     directories[DIRECTORIES][sizeof("XXXXXX")];
	unsigned entered; /* of them */
	uint64_t size;
	uint64_t removed, made; /* files removed..made-1 exist */
} s;

static unsigned char content[MANY_SIZE_MOST];

/* Eight digits of sixteen: printf would be a tenth of the time. */
static void name_of(uint64_t number, name_letter name[9])
{
	for (int digit = 7; digit >= 0; digit--, number >>= 4)
		name[digit] = NAME("0123456789abcdef")[number & 15];
	name[8] = 0;
}

static int create_one(void)
{
	name_letter name[9];
	handle      file;
	ssize_t     put = 0;

	name_of(s.made, name);
	file = handle_open(name, HANDLE_NEW);
	if (file == NO_HANDLE)
		return fail("creating a file");
	s.made++;
	if (s.size)
		put = handle_write(file, content, s.size);
	if (put < 0) {
		int outcome = fail("write");

		handle_close(file);
		return outcome;
	}
	if (handle_close(file))
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
	name_letter name[9];

	for (; files; files--, s.removed++) {
		name_of(s.removed, name);
		if (handle_remove(name))
			return fail("removing a file");
	}
	/* The next batch has the same names again. */
	if (s.removed == s.made)
		s.removed = s.made = 0;
	return 0;
}

static int enter_next(void)
{
	const char *directory = s.directories[s.entered++ % DIRECTORIES];

	if (handle_begin())
		return OUTCOME_FAILED;
	return handle_enter(directory) ? fail("entering a directory") : 0;
}

int many_begin(uint64_t size)
{
	uint32_t state = 2463534242u;
	int      outcome = handle_begin();

	s.size = size;
	for (size_t i = 0; i < size; i++)
		content[i] = (unsigned char)(next_number(&state) >> 24);
	directory_spread(".");
	for (int i = 0; i < DIRECTORIES && !outcome; i++) {
		strcpy(s.directories[i], "XXXXXX");
		if (directory_make_fresh(s.directories[i]))
			outcome = fail("making a directory");
	}
	/* The first file in a directory takes longer: what that needs is read in. */
	for (int i = 0; i < DIRECTORIES && !outcome; i++)
		if (!(outcome = enter_next()) && !(outcome = many_create(1)))
			outcome = many_remove(1);
	return outcome;
}

int many_next(void)
{
	int outcome = many_remove(s.made - s.removed);

	return outcome ? outcome : enter_next();
}

void many_end(void)
{
	many_remove(s.made - s.removed);
}
