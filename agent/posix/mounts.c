/* mounts.c -- see mounts.h. */
#include "../../workloads/api/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* /proc/self/mountinfo writes a space in a name as \040. */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (*text == '\\' && strspn(text + 1, "01234567") >= 3) {
			*to++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 |
			               (text[3] - '0'));
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	*to = 0;
}

static int lies_in(const char *directory, const char *mount)
{
	size_t length = strlen(mount);

	return !strcmp(mount, "/") || (!strncmp(directory, mount, length) &&
	                               (directory[length] == '/' || directory[length] == 0));
}

/* The word of that number, from 0, in a line of words with one space between; cut off behind. Take
 * later words of a line first. */
static char *word_of(char *words, int number)
{
	while (number--) {
		words = strchr(words, ' ');
		if (!words)
			return NULL;
		words++;
	}
	words[strcspn(words, " \n")] = 0;
	return *words ? words : NULL;
}

/* Adds the words of `more`, which commas divide, to those of `words`, but for what is there. */
static void add_words(char *words, size_t room, char *more)
{
	char *word, *rest = more;

	while ((word = strsep(&rest, ","))) {
		size_t length = strlen(words), size = strlen(word);
		char  *found = words;

		if (!size)
			continue;
		while ((found = strstr(found, word)) &&
		       ((found > words && found[-1] != ',') || (found[size] && found[size] != ',')))
			found++;
		if (!found && length + size + 1 < room)
			snprintf(words + length, room - length, ",%s", word);
	}
}

/* Takes the line apart. Returns the mount point, or NULL if it is not understood. */
static char *read_line(char *line, struct mount *into)
{
	char *dash = strstr(line, " - "), *point, *options, *device, *type, *source, *more;

	if (!dash)
		return NULL;
	more = word_of(dash + 3, 2);
	source = word_of(dash + 3, 1);
	type = word_of(dash + 3, 0);
	*dash = 0;
	options = word_of(line, 5);
	point = word_of(line, 4);
	device = word_of(line, 2);
	if (!point || !options || !type || !device)
		return NULL;
	unescape(point);
	if (source)
		unescape(source);
	snprintf(into->type, sizeof(into->type), "%s", type);
	snprintf(into->options, sizeof(into->options), "%s", options);
	if (more)
		add_words(into->options, sizeof(into->options), more);
	snprintf(into->device, sizeof(into->device), "%s", device);
	snprintf(into->source, sizeof(into->source), "%s", source ? source : "");
	return point;
}

int mount_of(const char *directory, const char *root, struct mount *found)
{
	char         path[PATH_MAX], line[8192], *point;
	size_t       longest = 0;
	int          is_known = 0;
	struct mount one;
	FILE        *mounts;

	*found = (struct mount){ 0 };
	snprintf(path, sizeof(path), "%s/proc/self/mountinfo", root);
	mounts = fopen(path, "r");
	while (mounts && fgets(line, sizeof(line), mounts)) {
		point = read_line(line, &one);
		if (point && lies_in(directory, point) && strlen(point) >= longest) {
			longest = strlen(point);
			*found = one;
			is_known = 1;
		}
	}
	if (mounts)
		fclose(mounts);
	return is_known ? 0 : -1;
}

#ifdef __linux__
int sync_file_system(const char *directory)
{
	int file = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), status, failure;

	if (file < 0)
		return -1;
	status = syncfs(file);
	failure = errno;
	close(file);
	errno = failure;
	return status;
}
#endif
