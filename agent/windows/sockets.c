/* sockets.c -- the sockets of Windows (Winsock 2). See workloads/api/sockets.h.
 *
 * A socket of the system's own protocols is a handle of the kernel, which processes inherit. But
 * Winsock keeps a list of a process's own besides, and an inherited handle is not in it: under Wine
 * such a socket can receive and not send. A duplicate that Winsock itself makes of it is in the
 * list. WSASocket makes handles that are inherited unless it is told not to, and what accept
 * returns is as the listener was.
 */
#include "../../workloads/api/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <winsock2.h>

#include "../../workloads/api/windows/error.h"
#include "wine.h"

/* Winsock keeps its errors where Windows keeps all of them, and says not to rely on that. */
static int socket_failed(void)
{
	return windows_failed_as((DWORD)WSAGetLastError());
}

static int done(int answer)
{
	return answer == SOCKET_ERROR ? socket_failed() : answer;
}

int sockets_begin(void)
{
	static int has_begun;
	WSADATA    about;
	int        error = has_begun ? 0 : WSAStartup(MAKEWORD(2, 2), &about);

	if (error)
		return windows_failed_as((DWORD)error);
	has_begun = 1;
	return 0;
}

int sockets_inherit(socket_t *mine, socket_t *other)
{
	WSAPROTOCOL_INFOA about;
	SOCKET            own;

	if (sockets_begin())
		return -1;
	/* Not closesocket: these two are not in its list. */
	if (other) {
		CloseHandle((HANDLE)*other);
		*other = -1;
	}
	if (WSADuplicateSocketA((SOCKET)*mine, GetCurrentProcessId(), &about))
		return socket_failed();
	own = WSASocketA(FROM_PROTOCOL_INFO, FROM_PROTOCOL_INFO, FROM_PROTOCOL_INFO, &about, 0,
	                 WSA_FLAG_OVERLAPPED);
	if (own == INVALID_SOCKET)
		return socket_failed();
	CloseHandle((HANDLE)*mine);
	*mine = (socket_t)own;
	return 0;
}

static socket_t make(enum socket_kind kind, DWORD flags)
{
	int    type = kind == SOCKET_STREAM ? SOCK_STREAM : SOCK_DGRAM;
	SOCKET made = WSASocketA(AF_INET, type, 0, NULL, 0, flags);

	return made == INVALID_SOCKET ? socket_failed() : (socket_t)made;
}

/* As socket() makes it. */
socket_t socket_make(enum socket_kind kind)
{
	return make(kind, WSA_FLAG_OVERLAPPED);
}

socket_t socket_make_plain(enum socket_kind kind)
{
	return make(kind, 0);
}

static struct sockaddr_in address_of(uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET };

	address.sin_port = htons(port);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return address;
}

int socket_bind_any(socket_t one)
{
	struct sockaddr_in address = address_of(0);

	return done(bind((SOCKET)one, (struct sockaddr *)&address, sizeof(address)));
}

int socket_port(socket_t one, uint16_t *port)
{
	struct sockaddr_in address;
	int                length = sizeof(address);

	if (getsockname((SOCKET)one, (struct sockaddr *)&address, &length))
		return socket_failed();
	*port = ntohs(address.sin_port);
	return 0;
}

int socket_bind(socket_t one, uint16_t *port)
{
	return socket_bind_any(one) || socket_port(one, port) ? -1 : 0;
}

int socket_listen(socket_t one, int backlog)
{
	return done(listen((SOCKET)one, backlog));
}

int socket_connect(socket_t one, uint16_t port)
{
	struct sockaddr_in address = address_of(port);

	return done(connect((SOCKET)one, (struct sockaddr *)&address, sizeof(address)));
}

socket_t socket_accept(socket_t listener)
{
	SOCKET accepted = accept((SOCKET)listener, NULL, NULL);

	return accepted == INVALID_SOCKET ? socket_failed() : (socket_t)accepted;
}

int socket_close(socket_t one)
{
	return done(closesocket((SOCKET)one));
}

int socket_is_joined(socket_t one, socket_t other)
{
	struct sockaddr_in mine, its;
	int                length = sizeof(mine);

	if (getpeername((SOCKET)one, (struct sockaddr *)&mine, &length))
		return 0;
	length = sizeof(its);
	return !getsockname((SOCKET)other, (struct sockaddr *)&its, &length) &&
	       mine.sin_port == its.sin_port && mine.sin_addr.s_addr == its.sin_addr.s_addr;
}

int socket_discard(socket_t one)
{
	u_long waiting;
	char   bytes[2048];

	while (!ioctlsocket((SOCKET)one, FIONREAD, &waiting) && waiting)
		if (recv((SOCKET)one, bytes, sizeof(bytes), 0) < 0)
			return socket_failed();
	return 0;
}

int socket_send_at_once(socket_t one)
{
	static const BOOL at_once = TRUE;

	return done(setsockopt((SOCKET)one, IPPROTO_TCP, TCP_NODELAY, (const char *)&at_once,
	                       sizeof(at_once)));
}

int socket_end_by_reset(socket_t one)
{
	static const struct linger reset = { .l_onoff = 1, .l_linger = 0 };

	return done(setsockopt((SOCKET)one, SOL_SOCKET, SO_LINGER, (const char *)&reset,
	                       sizeof(reset)));
}

int sockets_say_goodbye(void)
{
	return wine_version() != NULL;
}

/* Here the option is a number of milliseconds, and no struct timeval. */
int socket_wait_at_most(socket_t one, int patience_s)
{
	DWORD patience_ms = (DWORD)patience_s * 1000;

	return done(setsockopt((SOCKET)one, SOL_SOCKET, SO_RCVTIMEO, (const char *)&patience_ms,
	                       sizeof(patience_ms)));
}

static int as_int(size_t bytes)
{
	return bytes < INT32_MAX ? (int)bytes : INT32_MAX;
}

ssize_t socket_receive(socket_t one, void *into, size_t room)
{
	return done(recv((SOCKET)one, into, as_int(room), 0));
}

ssize_t socket_send(socket_t one, const void *from, size_t bytes)
{
	return done(send((SOCKET)one, from, as_int(bytes), 0));
}

ssize_t socket_read(socket_t one, void *into, size_t room)
{
	return socket_receive(one, into, room);
}

ssize_t socket_write(socket_t one, const void *from, size_t bytes)
{
	return socket_send(one, from, bytes);
}

ssize_t socket_write_parts(socket_t one, const struct socket_part parts[2])
{
	WSABUF buffers[2];
	DWORD  sent;

	for (int i = 0; i < 2; i++)
		buffers[i] = (WSABUF){ .len = (ULONG)parts[i].count,
			               .buf = (char *)(uintptr_t)parts[i].bytes };
	return WSASend((SOCKET)one, buffers, 2, &sent, 0, NULL, NULL) ? socket_failed()
	                                                              : (ssize_t)sent;
}

int socket_read_whole(socket_t one, void *into, size_t bytes)
{
	size_t got = 0;

	while (got < bytes) {
		ssize_t more = socket_receive(one, (char *)into + got, bytes - got);

		if (more == 0)
			errno = 0;
		if (more <= 0)
			return -1;
		got += (size_t)more;
	}
	return 0;
}

int socket_write_whole(socket_t one, const void *from, size_t bytes)
{
	size_t put = 0;

	while (put < bytes) {
		ssize_t more = socket_send(one, (const char *)from + put, bytes - put);

		if (more < 0)
			return -1;
		put += (size_t)more;
	}
	return 0;
}

/* fclose closes a handle, which is not all that closesocket does: so the stream has a duplicate. */
FILE *socket_stream(socket_t plain, const char *mode)
{
	HANDLE own;
	int    file;
	FILE  *stream;

	if (!DuplicateHandle(GetCurrentProcess(), (HANDLE)plain, GetCurrentProcess(), &own, 0,
	                     FALSE, DUPLICATE_SAME_ACCESS)) {
		windows_failed();
		return NULL;
	}
	file = _open_osfhandle((intptr_t)own, _O_BINARY);
	if (file < 0) {
		CloseHandle(own);
		return NULL;
	}
	stream = _fdopen(file, mode);
	if (!stream)
		_close(file);
	return stream;
}

/* They are numbers of Windows, which errno carries beyond the C library's. */
enum socket_trouble socket_trouble(int error)
{
	switch (windows_error(error)) {
	case WSAECONNRESET:
		return SOCKET_RESET;
	case WSAETIMEDOUT:
		return SOCKET_TOO_LATE;
	case WSAEAFNOSUPPORT:
	case WSAEPROTONOSUPPORT:
	case WSAEADDRNOTAVAIL:
	case WSAENETUNREACH:
	case WSAENETDOWN:
	case WSASYSNOTREADY:
		return SOCKET_NO_NETWORK;
	default:
		return SOCKET_FAILED;
	}
}
