/* agent.h -- answers requests, one a line, with records; see docs/records.md. */
#ifndef STEELYARD_AGENT_H
#define STEELYARD_AGENT_H

/* Reads requests from standard input until "quit" or its end; works under `directory`. */
int agent_loop(const char *directory);

/* Answers one trial request from a command line, and returns an exit status. */
int agent_once(const char *directory, int argc, char *argv[]);

void hello_write(void);
void workloads_write(void);

#endif
