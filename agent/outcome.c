/* outcome.c -- the words by which a workload ends its trial. See workloads/api/workload.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "../workloads/api/workload.h"
#include "system.h"

/* Of each thread its own: the first thread's is the trial's. */
static _Thread_local char why[512];

int fail(const char *call)
{
	int error = errno; /* before anything can change it */

	snprintf(why, sizeof(why), "%s: %s", call, system_error(error));
	return OUTCOME_FAILED;
}

int fail_check(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why, sizeof(why), format, arguments);
	va_end(arguments);
	return OUTCOME_FAILED;
}

int unsupported(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why, sizeof(why), format, arguments);
	va_end(arguments);
	return OUTCOME_UNSUPPORTED;
}

const char *outcome_why(void)
{
	return why;
}
