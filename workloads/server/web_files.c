/* web_files.c -- see web_files.h. */
#include "web_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "running.h"

struct web_users_order web_users_order = {
	.parallel = 1,
	.session = 8,
	.off_permille = 1000,
	.shape = { .seed = 1, .files = 500, .size_most = 1000000 },
};

static struct {
	struct surge   surge;
	struct content content;
} s;

static int make(void)
{
	web_users_order.shape.top = web_users_order.shape.files;
	return surge_make(&s.surge, &web_users_order.shape) || content_make(&s.content, &s.surge)
	               ? fail("making the file set")
	               : 0;
}

static int start_server(void)
{
	char directory[CONTENT_MOST + 1];
	int  outcome;

	if ((outcome = server_prepare()) || (outcome = server_file("content/page", "ready", 5)))
		return outcome;
	snprintf(directory, sizeof(directory), "%s/content", server_directory());
	if (content_write(&s.content, &s.surge, directory))
		return fail("writing the file set");
	return server_start();
}

/* Whether the server that runs serves these very files: it must have their digest. */
static int check_served(const struct options *options)
{
	struct options   of_digest = *options;
	struct reference found;
	char             path[REQUEST_MOST], why[256];
	const char      *name = strrchr(options->path, '/');
	int              outcome = 0, prefix = name ? (int)(name + 1 - options->path) : 0;

	snprintf(path, sizeof(path), "%.*s%s", prefix, options->path, CONTENT_DIGEST);
	of_digest.path = path;
	if (reference_fetch(&of_digest, &found, why, sizeof(why)))
		outcome = fail_check("%.200s: %s", path, why);
	else if (found.length != strlen(s.surge.digest) ||
	         memcmp(found.body, s.surge.digest, found.length))
		outcome = fail_check(
			"the server serves another file set than this: at %.200s stands another "
			"digest than %s (content names the directory for the files)",
			path, s.surge.digest);
	free(found.body);
	return outcome;
}

static int write_for_running(void)
{
	const char *directory = web_users_order.content;

	if (!*directory || !content_write(&s.content, &s.surge, directory))
		return 0;
	return fail_check("content is %.200s: the files cannot be written: %s", directory,
	                  strerror(errno));
}

int web_files_serve(uint64_t count, struct options *options, struct users *users)
{
	uint64_t files = count * web_users_order.parallel;
	int      outcome, runs = running_is_described();

	if ((outcome = web_allow_files(files)) || (outcome = runs ? running_prepare() : 0) ||
	    (outcome = make()) || (outcome = runs ? write_for_running() : start_server()))
		return outcome;
	web_options(options, "/");
	options->clients = (unsigned)count;
	*users = (struct users){
		.surge = &s.surge,
		.content = &s.content,
		.parallel = (unsigned)web_users_order.parallel,
		.off_permille = web_users_order.off_permille,
		.pauses_within = web_users_order.pauses_within != 0,
		.session = (unsigned)web_users_order.session,
	};
	return runs ? check_served(options) : 0;
}

void web_files_end(void)
{
	server_end();
	content_free(&s.content);
	surge_free(&s.surge);
}
