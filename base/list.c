/* list.c -- see list.h. */
#include "list.h"

#include <stdlib.h>

void *list_room(void *list, size_t count, size_t *room, size_t size)
{
	size_t wanted = *room ? 2 * *room : 64;

	if (count < *room)
		return list;
	list = realloc(list, wanted * size);
	if (list)
		*room = wanted;
	return list;
}
