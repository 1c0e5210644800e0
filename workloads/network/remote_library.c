/* remote_library.c -- the functions of remote.h with library_ before them, by libtirpc, Sun's RPC.
 *
 * A static program is built without it (STEELYARD_RPC is not defined), because libtirpc needs
 * GSSAPI, which Debian has only as a shared library; library_start then says so.
 *
 * Neither the program nor its port is announced to anybody: no portmapper need run, and the client
 * is handed its socket or the address. The library's older functions (clnttcp_create,
 * svcudp_create) make the same clients and servers, but read /etc/netconfig on the way, and bind a
 * reserved port where they may.
 */
#include "remote.h"

#include "../api/workload.h"

#ifdef STEELYARD_RPC

#include <arpa/inet.h>
#include <sys/socket.h>

#include <rpc/rpc.h>

#include "loopback.h"

enum { END = REMOTE_NEXT + 1 };

/* The library's type for these is of a function of any arguments, and it passes two. */
#define ON_WIRE(function) ((xdrproc_t)(void (*)(void))(function))

/* The library sends a datagram again only after 15 s: so never. */
static const struct timeval patience = { .tv_sec = 5 };

static struct {
	int                ends[2]; /* the client's, the server's */
	struct sockaddr_in address; /* the server's, over UDP */
	enum transport     transport;
	CLIENT            *client;
	pid_t              server;
} s = { .ends = { -1, -1 }, .server = -1 };

static void dispatch(struct svc_req *request, SVCXPRT *transport)
{
	unsigned number;

	switch (request->rq_proc) {
	case REMOTE_NEXT:
		if (!svc_getargs(transport, ON_WIRE(xdr_u_int), (void *)&number)) {
			svcerr_decode(transport);
			return;
		}
		number = remote_next(number);
		svc_sendreply(transport, ON_WIRE(xdr_u_int), (void *)&number);
		break;
	case NULLPROC:
		svc_sendreply(transport, ON_WIRE(xdr_void), NULL);
		break;
	case END:
		svc_sendreply(transport, ON_WIRE(xdr_void), NULL);
		svc_exit(); /* svc_run returns */
		break;
	default:
		svcerr_noproc(transport);
	}
}

/* The other process: the library's own loop, until it is asked to end. */
static void serve(void)
{
	SVCXPRT *transport;

	loopback_close(&s.ends[0]);
	transport = s.transport == OVER_TCP ? svc_fd_create(s.ends[1], 0, 0)
	                                    : svc_dg_create(s.ends[1], 0, 0);
	if (transport && svc_reg(transport, REMOTE_PROGRAM, REMOTE_VERSION, dispatch, NULL))
		svc_run();
}

static int make_sockets(void)
{
	uint16_t ports[2];
	int      outcome;

	if (s.transport == OVER_TCP)
		return loopback_stream(s.ends);
	if ((outcome = loopback_begin()))
		return outcome;
	for (int end = 0; end < 2; end++)
		if ((outcome = loopback_bind(SOCKET_DATAGRAM, &s.ends[end], &ports[end])))
			return outcome;
	s.address = socket_address(ports[1]);
	return loopback_join(s.ends, ports);
}

static int make_client(void)
{
	socklen_t     length = sizeof(s.address);
	struct netbuf address = { .maxlen = sizeof(s.address),
		                  .len = sizeof(s.address),
		                  .buf = &s.address };

	if (s.transport == OVER_TCP) {
		if (getpeername(s.ends[0], (struct sockaddr *)&s.address, &length))
			return fail("getpeername");
		s.client = clnt_vc_create(s.ends[0], &address, REMOTE_PROGRAM, REMOTE_VERSION, 0,
		                          0);
	} else {
		s.client = clnt_dg_create(s.ends[0], &address, REMOTE_PROGRAM, REMOTE_VERSION, 0,
		                          0);
	}
	return s.client ? 0 : fail_check("%s", clnt_spcreateerror("making the RPC client"));
}

static int broken(const char *call)
{
	return fail_check("%s", clnt_sperror(s.client, call));
}

static enum clnt_stat call_empty(rpcproc_t procedure)
{
	return clnt_call(s.client, procedure, ON_WIRE(xdr_void), NULL, ON_WIRE(xdr_void), NULL,
	                 patience);
}

int library_start(enum transport transport)
{
	int outcome;

	s.transport = transport;
	if ((outcome = make_sockets()))
		return outcome;
	s.server = partner_start(serve, NULL, 0);
	if (s.server < 0)
		return fail("fork");
	loopback_close(&s.ends[1]);
	if ((outcome = make_client()))
		return outcome;
	return call_empty(NULLPROC) ? broken("the first call") : 0;
}

int library_call(uint64_t operations)
{
	static unsigned number;

	while (operations--) {
		unsigned asked = number++, answer = asked;

		if (clnt_call(s.client, REMOTE_NEXT, ON_WIRE(xdr_u_int), (void *)&asked,
		              ON_WIRE(xdr_u_int), (void *)&answer, patience) != RPC_SUCCESS)
			return broken("the remote procedure call");
		if (answer != number)
			return fail_check("after %u came %u", asked, answer);
	}
	return 0;
}

void library_end(void)
{
	if (s.client) {
		call_empty(END);
		clnt_destroy(s.client);
	}
	loopback_close(&s.ends[0]);
	loopback_close(&s.ends[1]);
	partner_end(&s.server);
}

#else

int library_start(enum transport transport)
{
	(void)transport;
	return unsupported("this program was built without an RPC library");
}

int library_call(uint64_t operations)
{
	(void)operations;
	return fail_check("this program was built without an RPC library");
}

void library_end(void)
{
}

#endif
