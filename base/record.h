/* record.h -- writes records: one JSON object per line, as in docs/reference/records.md.
 *
 * A record is built in memory between record_open and record_close, and is written in one piece. A
 * process builds one at a time. A workload writes records only in its `tell`, and prints nothing
 * else.
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
/* Ends the line and writes it to `file`. Returns 0, or -1 with errno; then nothing is written any
 * more, because a line may have been cut short. */
int record_close(int file);
/* Writes lines that another process has made so. Returns likewise. */
int record_relay(int file, const char *lines, size_t count);
/* Why nothing is written any more, by errno; 0: all was. */
int record_error(void);

#endif
