/* resources.c -- what processes have used, by getrusage, and may use. See ../system.h. */
#include "../../base/posix/timespec.h"
#include "../../base/posix/usage.h"
#include "../../workloads/api/workload.h"
#include "../system.h"

int resource_is_known(enum resource resource)
{
	struct rusage now;

	(void)resource;
	return !usage_try(RUSAGE_SELF, &now) && !usage_try(RUSAGE_CHILDREN, &now);
}

void resources_used(struct resources *resources)
{
	static const int who[2] = { RUSAGE_SELF, RUSAGE_CHILDREN };
	uint64_t        *used = resources->used;

	*resources = (struct resources){ 0 };
	for (int i = 0; i < 2; i++) {
		struct rusage now;

		usage_try(who[i], &now);
		used[USER_NS] += timeval_ns(now.ru_utime);
		used[SYSTEM_NS] += timeval_ns(now.ru_stime);
		used[FAULTS_MINOR] += (uint64_t)now.ru_minflt;
		used[FAULTS_MAJOR] += (uint64_t)now.ru_majflt;
		used[SWITCHES_VOLUNTARY] += (uint64_t)now.ru_nvcsw;
		used[SWITCHES_INVOLUNTARY] += (uint64_t)now.ru_nivcsw;
		used[BLOCKS_READ] += (uint64_t)now.ru_inblock;
		used[BLOCKS_WRITTEN] += (uint64_t)now.ru_oublock;
	}
}

uint64_t resource_faults_major(void)
{
	struct rusage now;

	usage_try(RUSAGE_SELF, &now);
	return (uint64_t)now.ru_majflt;
}

int files_allow(uint64_t count)
{
	uint64_t most = files_take(count);

	if (most >= count)
		return 0;
	return unsupported("it needs %llu open files, and this system allows %llu",
	                   (unsigned long long)(count + FILES_BESIDES),
	                   (unsigned long long)(most + FILES_BESIDES));
}
