/* calls.c -- names of system calls: the build's own headers (call-names makes the tables), and what
 * came since. */
#include "monitor.h"

#include <stddef.h>

struct table {
	const char *const *names;
	size_t             count;
};

static const char *const native_names[] = {
#include "calls_native.inc"
};
static const char *const names_32[] = {
#include "calls_32.inc"
	"",
};

/* From Linux 6.2 on; the same numbers on all processors. */
static const char *const later_names[] = {
	[451] = "cachestat",         [452] = "fchmodat2",        [453] = "map_shadow_stack",
	[454] = "futex_wake",        [455] = "futex_wait",       [456] = "futex_requeue",
	[457] = "statmount",         [458] = "listmount",        [459] = "lsm_get_self_attr",
	[460] = "lsm_set_self_attr", [461] = "lsm_list_modules", [462] = "mseal",
	[463] = "setxattrat",        [464] = "getxattrat",       [465] = "listxattrat",
	[466] = "removexattrat",     [467] = "open_tree_attr",   [468] = "file_getattr",
	[469] = "file_setattr",
};

const char *call_name(enum abi abi, uint32_t number)
{
	const struct table tables[2] = {
		abi == ABI_32 ? (struct table){ names_32, sizeof names_32 / sizeof *names_32 }
			      : (struct table){ native_names,
		                                sizeof native_names / sizeof *native_names },
		{ later_names, sizeof later_names / sizeof *later_names },
	};

	for (int i = 0; i < 2; i++)
		if (number < tables[i].count && tables[i].names[number] &&
		    tables[i].names[number][0])
			return tables[i].names[number];
	return NULL;
}
