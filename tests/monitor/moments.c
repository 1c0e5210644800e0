/* moments [DEED [DIRECTORY]] -- a process and its child, each of which prints its number and when
 * it ran, by CLOCK_BOOTTIME: from its first instruction of ours to its last. The child has 300 page
 * faults.
 *
 *	hides		the process may not be dumped from then on
 *	untraced	the child is made so that a tracer does not follow it
 *	into DIRECTORY	the child is made into that control group
 */
#include <fcntl.h>
#include <inttypes.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGES = 300, PAGE = 4096 };

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int tell(uint64_t first)
{
	char line[96];
	int  length = snprintf(line, sizeof line, "%d %" PRIu64 " %" PRIu64 "\n", (int)getpid(),
	                       first, now());

	return write(STDOUT_FILENO, line, (size_t)length) == length ? 0 : -1;
}

static _Noreturn void child(void)
{
	uint64_t first = now();
	char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
	                    -1, 0);

	if (memory == MAP_FAILED)
		_exit(90);
	madvise(memory, PAGES * PAGE, MADV_NOHUGEPAGE);
	for (int i = 0; i < PAGES; i++)
		memory[i * PAGE] = 1;
	_exit(tell(first) ? 91 : 0);
}

static long make(const char *deed, const char *directory)
{
	struct clone_args how = { .exit_signal = SIGCHLD };

	if (!strcmp(deed, "hides") && prctl(PR_SET_DUMPABLE, 0))
		return -1;
	if (!strcmp(deed, "untraced"))
		how.flags = CLONE_UNTRACED;
	if (!strcmp(deed, "into")) {
		how.flags = CLONE_INTO_CGROUP;
		how.cgroup = (unsigned)open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	return syscall(SYS_clone3, &how, sizeof how);
}

int main(int count, char *words[])
{
	uint64_t first = now();
	long     pid = make(count > 1 ? words[1] : "", count > 2 ? words[2] : "");
	int      status;

	if (pid == 0)
		child();
	if (pid < 0 || waitpid((pid_t)pid, &status, 0) != pid || status)
		return 92;
	return tell(first) ? 93 : 4;
}
