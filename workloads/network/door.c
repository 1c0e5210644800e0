/* door.c -- see door.h. */
#include "door.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../api/system.h"

int door_make(struct door *door, int listener, const char *token)
{
	int flags = fcntl(listener, F_GETFL);

	memset(door, 0, sizeof(*door));
	door->listener = listener;
	door->token = token;
	/* Who has connected may be gone before it is accepted. */
	return flags < 0 || fcntl(listener, F_SETFL, flags | O_NONBLOCK) ? -1 : 0;
}

/* Returns the socket, which no longer waits. */
static int take_out(struct door *door, unsigned which)
{
	int socket = door->waiting[which].socket;

	door->count--;
	memmove(&door->waiting[which], &door->waiting[which + 1],
	        (door->count - which) * sizeof(door->waiting[0]));
	return socket;
}

static void put_in(struct door *door, int socket, int is_served)
{
	if (door->count == DOOR_PLACES)
		close(take_out(door, 0));
	memset(&door->waiting[door->count], 0, sizeof(door->waiting[0]));
	door->waiting[door->count].socket = socket;
	door->waiting[door->count].is_served = is_served;
	door->waiting[door->count++].since_ns = clock_ns();
}

void door_dismiss(struct door *door, int socket)
{
	put_in(door, socket, 1);
}

void door_close(struct door *door)
{
	while (door->count)
		close(take_out(door, door->count - 1));
}

static int is_token(const char *said, const char *token)
{
	unsigned char difference = 0;

	for (size_t i = 0; i < TOKEN_ROOM; i++) {
		difference |= (unsigned char)(*said++ ^ *token);
		token += *token != 0;
	}
	return !difference;
}

/* Returns 1 if it may come in, 0 if it is to wait on, -1 if it is to go. */
static int hear(struct door *door, unsigned which)
{
	union message *said = &door->waiting[which].said;
	size_t        *got = &door->waiting[which].got;
	ssize_t        more;

	if (door->waiting[which].is_served)
		return -1;
	more = recv(door->waiting[which].socket, said->all + *got,
	            door->token ? sizeof(*said) - *got : 1,
	            MSG_DONTWAIT | (door->token ? 0 : MSG_PEEK));
	if (more < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (more <= 0)
		return -1;
	*got += (size_t)more;
	if (!door->token)
		return 1;
	return *got < sizeof(*said) ? 0 : is_token(said->is.token, door->token) ? 1 : -1;
}

static int milliseconds_left(const struct door *door)
{
	uint64_t ends_ns;

	if (!door->count)
		return -1;
	ends_ns = door->waiting[0].since_ns + DOOR_PATIENCE_S * (uint64_t)1000000000;
	return clock_ns() < ends_ns ? (int)((ends_ns - clock_ns()) / 1000000) + 1 : 0;
}

static int accept_one(struct door *door)
{
	int one = accept(door->listener, NULL, NULL);

	if (one >= 0)
		put_in(door, one, 0);
	else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
		if (!door->count)
			return -1;
		close(take_out(door, 0)); /* its place is for who comes now */
	} else if (errno == EBADF || errno == EINVAL || errno == ENOTSOCK)
		return -1;
	return 0;
}

int door_next(struct door *door, union message *said)
{
	for (;;) {
		struct pollfd polled[DOOR_PLACES + 1];
		unsigned      count = door->count;

		for (unsigned i = 0; i < count; i++)
			polled[i] = (struct pollfd){ .fd = door->waiting[i].socket,
				                     .events = POLLIN };
		polled[count] = (struct pollfd){ .fd = door->listener, .events = POLLIN };
		if (poll(polled, count + 1, milliseconds_left(door)) < 0 && errno != EINTR)
			return -1;
		/* From the last on, so that what is taken out moves none that is still to come. */
		for (unsigned i = count; i-- > 0;) {
			int heard = polled[i].revents ? hear(door, i) : 0;

			if (heard > 0 && said)
				*said = door->waiting[i].said;
			if (heard > 0)
				return take_out(door, i);
			if (heard < 0)
				close(take_out(door, i));
		}
		while (door->count && !milliseconds_left(door))
			close(take_out(door, 0));
		if (polled[count].revents && accept_one(door))
			return -1;
	}
}
