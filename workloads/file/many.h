/* many.h -- files created and removed one after another in the trial's directory.
 *
 * Their names are relative to the working directory, so that its depth does not matter. Functions
 * of type int return an outcome.
 */
#ifndef STEELYARD_MANY_H
#define STEELYARD_MANY_H

#include <stdint.h>

enum { MANY_SIZE_MOST = 1048576 };

/* Makes the trial's directory the working directory; the files will have `size` bytes. */
int many_begin(uint64_t size);

/* Create so many files; remove so many, in the order in which they were created. */
int many_create(uint64_t files);
int many_remove(uint64_t files);

/* Removes all there are. */
int many_remove_all(void);

/* For a teardown: removes all there are. */
void many_end(void);

#endif
