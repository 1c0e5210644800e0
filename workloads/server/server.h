/* server.h -- a server that a trial starts for itself.
 *
 * The parameter `server` is its description: what a file of src/steelyard/servers/ says, as lines
 * (docs/servers.md). The server runs in the trial's directory and listens on a loopback port that the
 * system has chosen. It ends with the trial, however that ends: with it end all processes that
 * descend from it, in sessions and groups of their own too.
 *
 * A workload calls, in its setup, server_prepare, then server_file for what is to be served, then
 * server_start; and in its teardown server_end. Functions return outcomes (workload.h).
 */
#ifndef STEELYARD_SERVER_H
#define STEELYARD_SERVER_H

#include <stddef.h>
#include <stdint.h>

enum { SERVER_MOST = 6000 };
extern char server_description[SERVER_MOST + 1];

#define SERVER_PARAMETER \
	STRING("server", "the server's description, or the name of one", server_description, SERVER_MOST)

/* Reads the description and makes the server's directory with its files. */
int server_prepare(void);
/* Writes a file for the server; the name is relative to its directory. */
int server_file(const char *name, const void *bytes, size_t count);
/* Starts it and waits until it is ready. */
int server_start(void);
uint16_t server_port(void);
/* What the description says for a word, such as `speaks`; or `initial`. */
const char *server_says(const char *word, const char *initial);
/* Where it works, as an absolute path. */
const char *server_directory(void);
/* 0 while the server runs; else a failure that says how it ended, with its last words. */
int server_check(void);
/* The processor time, in ns, that all its processes have used so far, those that have ended too; and
 * what of it in system mode, as finely as the system says. 0 where it does not say. Of a server that is a
 * library, and not started: this process's. */
struct server_time {
	uint64_t all_ns, system_ns;
};
struct server_time server_processor_time(void);
/* Ends it, by its own signal and then, if it stays, by SIGKILL. */
void server_end(void);

#endif
