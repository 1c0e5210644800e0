/* record.h -- writes records: one JSON object a line, as docs/records.md has them.
 *
 * A record is built in memory between record_open and record_close, and leaves in one piece. A process
 * builds one at a time. Of the workloads those write records that have a `tell`; nobody else prints.
 */
#ifndef STEELYARD_RECORD_H
#define STEELYARD_RECORD_H

#include <stddef.h>
#include <stdint.h>

void record_open(const char *kind);
void record_text(const char *key, const char *value); /* NULL is written as null */
void record_number(const char *key, uint64_t value);
void record_real(const char *key, double value); /* to the last bit */
void record_truth(const char *key, int value);
void record_numbers(const char *key, const uint64_t values[], size_t count);
/* The same, where UINT64_MAX stands for what is not known, and is written as null. */
void record_known(const char *key, const uint64_t values[], size_t count);
void record_null(const char *key);
void record_object(const char *key); /* or, with a NULL key, an object in a list */
void record_object_close(void);
void record_list(const char *key);
void record_list_close(void);
/* Ends the line and writes it to `file`. Returns 0, or -1 with errno. */
int record_close(int file);

#endif
