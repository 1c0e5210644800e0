/* channel.h -- the three pipes between the agent and each trial process.
 *
 * up: lines from the trial process, records among them. down: the agent's answer. gate: nobody
 * writes; it ends for all copies at once when the agent closes its only writing end.
 */
#ifndef STEELYARD_CHANNEL_H
#define STEELYARD_CHANNEL_H

#include <stddef.h>

#include "../base/compiler.h"

enum { CHANNEL_UP = 3, CHANNEL_DOWN = 4, CHANNEL_GATE = 5 };

/* Batches of one turn. */
enum { TURN_BATCHES_MOST = 16 };

/* In the trial process. Each returns 0, or -1 with errno. */
FORMAT_OF(1, 2) int channel_say(const char *format, ...);
int channel_hear(char *line, size_t room);
int channel_wait_for_gate(void);

#endif
