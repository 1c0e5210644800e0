/* command.h -- the command that is watched: our child, held before its exec until the hooks are on. */
#ifndef STEELYARD_COMMAND_H
#define STEELYARD_COMMAND_H

#include <sys/types.h>

/* Makes the child. It waits, and ends if we do. Returns its pid, or -1 with errno. */
pid_t command_hold(char *const command[]);
/* Lets it execute the command. */
void command_release(void);
/* Once it has ended: the errno of an exec that failed, or 0. */
int command_failure(void);

#endif
