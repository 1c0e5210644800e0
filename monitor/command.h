/* command.h -- the command that is watched: our child, held before its exec until the hooks are
 * on. */
#ifndef STEELYARD_COMMAND_H
#define STEELYARD_COMMAND_H

#include <stdint.h>
#include <sys/types.h>

#include "monitor.h"

/* Makes the child. It waits, and ends if we do. Returns its pid, or -1 with errno. */
pid_t command_hold(char *const command[]);
/* Lets it execute the command. */
void command_release(void);
/* Once it is a zombie, and before it is reaped: what it has cost in all, which the kernel tells its
 * parent without any privilege. May be called again. */
void command_look(void);
/* What is not known of it, or is a lower bound, from that look; its name; and how and when it
 * ended, where the backend has not seen that (LOST_END). The part before its exec, which was ours,
 * is taken off. */
void command_complete(struct process *process);
/* The largest resident set that it or a descendant had that was waited for; UNKNOWN. */
uint64_t command_peak_of_all(void);
/* Compares what all watched processes have cost with what wait4 has told of the command and of the
 * children that it waited for: LOST_COSTS if that is clearly more. */
void command_check(const struct order *order, const struct account *account, int has_own_counters);
/* The sentence for LOST_COSTS. Returns 0, or -1 if there is none. */
int command_say_costs(char *text, size_t room);
/* Once it has ended: the errno of an exec that failed, or 0. */
int command_failure(void);

#endif
