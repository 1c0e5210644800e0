/* resources.c -- what processes have used. See ../system.h.
 *
 * Windows counts a process's page faults, and does not part those that had to be fetched from the
 * others: the count stands as the minor ones. Wine says 0 of them, which is no count.
 */
#include "../../workloads/api/windows/error.h"
#include "../system.h"
#include "children.h"
#include "wine.h"

#include <psapi.h>

int resource_is_known(enum resource resource)
{
	return resource == USER_NS || resource == SYSTEM_NS ||
	       (resource == FAULTS_MINOR && !wine_version());
}

void resources_used(struct resources *resources)
{
	FILETIME                made, ended, system, user;
	PROCESS_MEMORY_COUNTERS memory;
	struct children         children = children_used();

	*resources = (struct resources){ 0 };
	if (GetProcessTimes(GetCurrentProcess(), &made, &ended, &system, &user)) {
		resources->used[USER_NS] = filetime_ns(user) + children.user_ns;
		resources->used[SYSTEM_NS] = filetime_ns(system) + children.system_ns;
	}
	if (GetProcessMemoryInfo(GetCurrentProcess(), &memory, sizeof(memory)))
		resources->used[FAULTS_MINOR] = memory.PageFaultCount;
}

uint64_t resource_faults_major(void)
{
	return 0;
}
