/* many.h -- files made and removed one after another in the trial's directory.
 *
 * They are named relative to the working directory, so that how deep it lies is no part of the time.
 * Functions of type int return an outcome.
 */
#ifndef STEELYARD_MANY_H
#define STEELYARD_MANY_H

#include <stdint.h>

enum { MANY_SIZE_MOST = 1048576 };

/* Makes the trial's directory the working directory; the files will have `size` bytes. */
int many_begin(uint64_t size);

/* Makes so many files; removes so many, in the order in which they were made. */
int many_create(uint64_t files);
int many_remove(uint64_t files);

/* Removes all there are. */
int many_remove_all(void);

/* For a teardown: removes all there are. */
void many_end(void);

#endif
