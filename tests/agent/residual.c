/* Prints the residual twice: from the machine code's bytes, and from its source. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "workloads/cpu/linp.h"

int main(void)
{
	linp_function *solve;
	void          *pages = mmap(NULL, linp_code.count, PROT_READ | PROT_WRITE,
	                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(pages, linp_code.bytes, linp_code.count);
	mprotect(pages, linp_code.count, PROT_READ | PROT_EXEC);
	memcpy(&solve, &pages, sizeof(solve));
	printf("%a %a\n", solve(), linp());
	return 0;
}
