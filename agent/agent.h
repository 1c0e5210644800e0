/* agent.h -- answers requests, one a line, with records; see docs/reference/records.md. */
#ifndef STEELYARD_AGENT_H
#define STEELYARD_AGENT_H

/* Reads requests from standard input until "quit" or its end; works under `directory`. Returns an
 * exit status. */
int agent_loop(const char *directory);

/* The same in a directory of its own below that one, where others may write. */
int agent_loop_below(const char *directory);

/* Answers one trial request from a command line, and returns an exit status. */
int agent_once(const char *directory, int argc, char *argv[]);

/* An exit status: 0, or 1 when it has said on standard error why records could not be written. */
int records_status(void);

void hello_write(void);
void workloads_write(void);

#endif
