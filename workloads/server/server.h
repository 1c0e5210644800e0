/* server.h -- a server that a trial starts for itself.
 *
 * The parameter `server` is its description: what a file of src/steelyard/servers/ says, as lines
 * (servers.md). The server listens on a loopback port that the system has chosen, in a network
 * of the trial's own where the system allows that: then nobody else reaches it. It ends with the
 * trial, however that ends: with it end all processes that descend from it, in sessions and groups
 * of their own too.
 *
 * Where the agent is root, the server may have another user's rights. Its directory is then this
 * process's while it is filled, and nobody else comes into it; server_start hands it over, and from
 * then on nothing is written there with root's rights. What this process keeps for itself is beside
 * it.
 *
 * A server that runs already (running.h) is not started: of these functions server_check and
 * server_processor_ns know it, and server_prepare refuses it.
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

#define SERVER_PARAMETER                                                                     \
	STRING("server", "the server's description, or the name of one", server_description, \
	       SERVER_MOST)

/* Reads the description and makes the server's directory with its files. */
int server_prepare(void);
/* Writes a file for the server, before it is started; the name is relative to its directory, and
 * new there. */
int server_file(const char *name, const void *bytes, size_t count);
/* Starts it and waits until it is ready. */
int server_start(void);
uint16_t server_port(void);
/* What the description says for a word, such as `speaks`; or `initial`. */
const char *server_says(const char *word, const char *initial);
/* The password of this trial, by which its clients, and nobody else, are let in. */
const char *server_secret(void);
/* Where it works, as an absolute path. */
const char *server_directory(void);
/* 0 while the server runs; else a failure that says how it ended, with its last words. */
int server_check(void);
/* What a client's outcome is due to: a server that has died says more than its clients. */
int server_explain(int outcome);
/* The processor time, in ns, that all its processes have used so far, those that have ended too; 0
 * where the system does not say. Of a server that is a library, and not started: this process's. */
uint64_t server_processor_ns(void);
/* Says in a record where every user of the system could ask the server while it was measured. */
void server_tell(uint64_t copy, int file);
/* Ends it, by its own signal and then, if it stays, by SIGKILL. */
void server_end(void);

#endif
