/* write.h -- records of the monitor: what only main needs besides monitor.h's. */
#ifndef STEELYARD_WRITE_H
#define STEELYARD_WRITE_H

#include "monitor.h"

/* Where records go, and for which detail (it decides what stands for a call in a reading). */
void write_to(int file, enum detail detail);
/* From now on nothing is written of single processes: marks say what all cost, and nobody has to
 * read meanwhile. */
void write_marks_only(void);
/* Processes of which there were records so far. */
uint64_t write_processes(void);
/* Whether a record could not be written: they have no reader, or the disk is full. */
int write_is_broken(void);
/* Ends the record that record_open has begun. */
void write_close(void);
void write_known(const char *key, uint64_t value); /* UNKNOWN as null */
void write_figures(const uint64_t figure[FIGURES], unsigned kinds);
/* Within a record: the object "total", like a process. */
void write_total(const struct process *total);
/* Each call's number and errors that have changed since `before` (NULL: all). */
void write_calls_briefly(const struct process *process, const struct process *before);

#endif
