/* running.c -- see running.h. */
#include "running.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/numbers.h"
#include "../../loadgen/address.h"
#include "../api/workload.h"
#include "description.h"
#include "server.h"

enum { DATA_MOST = 16 << 20 };

static struct {
	struct description description;
	struct options     options;
	char               headers[REQUEST_MOST];
	char               data[SERVER_MOST + 1];
	uint64_t           pid;
} s;

int running_is_described(void)
{
	return !strncmp(server_description, "running ", 8) ||
	       strstr(server_description, "\nrunning ") != NULL;
}

static const char *argument_of(const char *kind)
{
	return description_argument(&s.description, kind, "");
}

static int read_address(void)
{
	const char *address = argument_of("running");
	uint64_t    port;
	int         kind;

	if (parse_number(argument_of("port"), &port) || port < 1 || port > 65535)
		return fail_check("the server's port is '%.20s', and must be 1 to 65535",
		                  argument_of("port"));
	kind = address_read(address, (uint16_t)port, &s.options);
	if (kind == ADDRESS_NONE)
		return fail_check("'%.60s' is no IPv4 or IPv6 address", address);
	if (kind == ADDRESS_NO_ZONE)
		return fail_check("'%.60s' has a zone that is no network interface here", address);
	return kind == ADDRESS_LOOPBACK || !strcmp(argument_of("allow"), address)
	               ? 0
	               : fail_check("%.60s is not loopback: a load on another host must be allowed",
	                            address);
}

static int read_headers(void)
{
	const struct entry *entry = NULL;

	s.headers[0] = 0;
	while ((entry = description_next(&s.description, "header", entry))) {
		size_t used = strlen(s.headers);

		if (snprintf(s.headers + used, sizeof(s.headers) - used, "%s\r\n",
		             entry->argument) >= (int)(sizeof(s.headers) - used))
			return fail_check("the request's headers are too long");
	}
	s.options.headers = s.headers;
	return 0;
}

/* A file's bytes stay until the trial's process ends. */
static int read_file(const char *path)
{
	FILE *file = fopen(path, "rbe");
	char *bytes = file ? malloc(DATA_MOST + 1) : NULL;

	if (bytes)
		s.options.data_length = fread(bytes, 1, DATA_MOST + 1, file);
	if (!bytes || ferror(file))
		return fail_check("the request's body, %.200s, cannot be read: %s", path,
		                  strerror(errno));
	fclose(file);
	s.options.data = bytes;
	return s.options.data_length > DATA_MOST
	               ? fail_check("the request's body, %.200s, has more than 16 MiB", path)
	               : 0;
}

static int read_data(void)
{
	const struct entry *entry = description_next(&s.description, "data", NULL);
	const char         *next = entry ? entry->lines : NULL;

	if (*argument_of("data_file"))
		return read_file(argument_of("data_file"));
	if (!entry)
		return 0;
	s.data[0] = 0;
	for (int i = 0; i < entry->count; i++, next += strlen(next) + 1) {
		strcat(s.data, i ? "\n" : ""); /* all of them are shorter than the description */
		strcat(s.data, next + 1);
	}
	s.options.data = s.data;
	s.options.data_length = strlen(s.data);
	return 0;
}

int running_prepare(void)
{
	const char *pid;
	int         outcome = description_read(server_description, &s.description);

	s.options = (struct options){ 0 };
	if (outcome || (outcome = read_address()) || (outcome = read_headers()) ||
	    (outcome = read_data()))
		return outcome;
	pid = argument_of("pid");
	s.pid = 0;
	if (*pid && parse_number(pid, &s.pid))
		return fail_check("the server's process is '%.20s', which is no number", pid);
	return 0;
}

void running_options(struct options *options)
{
	options->address = s.options.address;
	options->address_length = s.options.address_length;
	options->host = argument_of("host");
	options->path = argument_of("path");
	options->method = *argument_of("method") ? argument_of("method") : NULL;
	options->headers = s.options.headers;
	options->data = s.options.data;
	options->data_length = s.options.data_length;
}

pid_t running_pid(void)
{
	return (pid_t)s.pid;
}
