/* many.h -- files created and removed one after another, each batch's in a directory of its own.
 *
 * What creating a file takes can depend on the place in the file system. ext4 without a journal
 * gives the number of a removed file to no other for a minute or more, and looks at all such
 * numbers nearby before it finds a free one: where others have removed a thousand files, the next
 * one takes three times as long. So batches go round in several directories, which lie apart. Names
 * are relative to the working directory, so that its depth does not matter. Functions of type int
 * return an outcome.
 */
#ifndef STEELYARD_MANY_H
#define STEELYARD_MANY_H

#include <stdint.h>

enum { MANY_SIZE_MOST = 1048576 };

/* Makes the directories, and enters one; the files will have `size` bytes. */
int many_begin(uint64_t size);

/* Before a batch: removes all there are, and enters the next directory. */
int many_next(void);

/* Create that many files; remove that many, in the order of their creation. */
int many_create(uint64_t files);
int many_remove(uint64_t files);

/* For a teardown: removes all there are. */
void many_end(void);

#endif
