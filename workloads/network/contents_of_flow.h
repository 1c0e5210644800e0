/* contents_of_flow.h -- a file in memory with the bytes that a flow sends, for tcp_sendfile and
 * tcp_splice.
 */
#ifndef STEELYARD_CONTENTS_OF_FLOW_H
#define STEELYARD_CONTENTS_OF_FLOW_H

#include <sys/mman.h>
#include <unistd.h>

#include "streams.h"

static int contents = -1; /* all flows read it at places of their own */

static inline int contents_make(void)
{
#ifdef __linux__
	unsigned char bytes[4096];

	contents = memfd_create("steelyard", MFD_CLOEXEC);
	if (contents < 0)
		return errno == ENOSYS
		               ? unsupported("this kernel has no files in memory (memfd_create)")
		               : fail("memfd_create");
	memset(bytes, 0x33, sizeof(bytes));
	for (uint64_t at = 0; at < size; at += sizeof(bytes))
		if (write_whole(contents, bytes, sizeof(bytes)))
			return fail("write");
	return 0;
#else
	return unsupported("sendfile and splice are measured as Linux has them");
#endif
}

static inline void contents_close(void)
{
	flows_close();
	if (contents >= 0)
		close(contents);
	contents = -1;
}

#endif
