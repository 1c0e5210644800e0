/* numbers.c -- see numbers.h. */
#include "numbers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int parse_number(const char *text, uint64_t *value)
{
	if (!*text || strspn(text, "0123456789") != strlen(text))
		return -1;
	errno = 0;
	*value = strtoull(text, NULL, 10);
	return errno ? -1 : 0;
}

int take_number(char **rest, uint64_t *value)
{
	char *word = strtok_r(*rest, " ", rest);

	return word ? parse_number(word, value) : -1;
}
