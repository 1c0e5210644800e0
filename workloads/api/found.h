/* found.h -- for workloads that execute what they find on the system: says which program it was.
 *
 * Two systems may have another `sort`, and then a difference is also between these. A workload
 * calls this in its setup for each program that it will execute. After the measurement the trial's
 * record "program" says the file's real path, its digest, and the first line of what it says to
 * --version.
 */
#ifndef STEELYARD_API_FOUND_H
#define STEELYARD_API_FOUND_H

/* `name` is what the program is called, `path` the file that is executed; both are copied. */
void program_found(const char *name, const char *path);

#endif
