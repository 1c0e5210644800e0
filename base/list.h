/* list.h -- arrays that grow. */
#ifndef STEELYARD_LIST_H
#define STEELYARD_LIST_H

#include <stddef.h>

/* Returns the list with room for one entry more than the `count` that it has, perhaps at another
 * place; NULL with errno if there is no memory, and then the list stays as it is. `room` is how
 * many entries it has room for, and `size` the bytes of one. An empty list is NULL without room. */
void *list_room(void *list, size_t count, size_t *room, size_t size);

#endif
