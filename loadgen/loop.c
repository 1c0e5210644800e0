/* loop.c -- one event loop: some of the clients, their connections and their times.
 *
 * A client that is free holds a connection or none. In a closed load it sends again after its
 * pause; in an open one the next arrival takes the client that became free last. An arrival that
 * finds none waits, and the first client to be free takes it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/random.h"
#include "arrivals.h"
#include "exchange.h"
#include "pauses.h"
#include "window.h"

enum { BACKLOG_MOST = 1 << 20 };
static const uint64_t retry_ns = 10000000;        /* after a connection could not be made */
static const uint64_t spread_most_ns = 100000000; /* over so much time the clients begin, or the
                                                     warm-up */

struct loop {
	struct exchanges        exchanges;
	const struct reference *reference;
	struct window           window;
	struct pauses           pauses;
	uint64_t                random;
	unsigned *free, free_count; /* a stack: of an open load, or of one by number */
	uint64_t *backlog, backlog_first, backlog_count; /* intended times, a ring */
	uint64_t  arrives;                               /* the next arrival of an open load */
	int       is_by_number;
	uint64_t  left; /* requests that have not begun, if it is by number */
	char     *request;
	uint32_t  request_length;
};

static int differs(struct exchanges *exchanges, const struct exchange *client, uint64_t offset,
                   const char *bytes, size_t length)
{
	const struct reference *reference = ((const struct loop *)exchanges->context)->reference;

	(void)client;
	return offset + length > reference->length ||
	       memcmp(reference->body + offset, bytes, length) != 0;
}

static int is_length(struct exchanges *exchanges, const struct exchange *client)
{
	const struct reference *reference = ((const struct loop *)exchanges->context)->reference;

	return !reference->is_fixed || client->response.received == reference->length;
}

static void begin(struct loop *loop, struct exchange *client, uint64_t intended)
{
	const struct options *options = loop->exchanges.options;

	loop->left--; /* not read in a load by time */
	client->intended = intended;
	client->expected = loop->reference->is_fixed ? loop->reference->length : 0;
	client->is_compared = loop->reference->is_fixed && options->verified > 0 &&
	                      random_share(&loop->random) < options->verified;
	if (window_has(&loop->window, intended))
		loop->window.result->started++;
	exchange_begin(&loop->exchanges, client, loop->request, loop->request_length);
}

/* Whether all requests of a number have begun: the first that fails is the last to do so. */
static int is_done(const struct loop *loop)
{
	return loop->is_by_number && (!loop->left || loop->window.has_failed);
}

/* Its intended time; the caller counts it out. */
static uint64_t next_in_backlog(struct loop *loop)
{
	uint64_t intended = loop->backlog[loop->backlog_first];

	loop->backlog_first = (loop->backlog_first + 1) % BACKLOG_MOST;
	return intended;
}

/* The client may send again, but not before `earliest`. */
static void make_free(struct loop *loop, struct exchange *client, uint64_t earliest)
{
	const struct options *options = loop->exchanges.options;
	uint64_t              now = loop->exchanges.now;
	unsigned              own = (unsigned)(client - loop->exchanges.all);

	if (options->rate == 0 && is_done(loop)) {
		loop->free[loop->free_count++] = own;
	} else if (options->rate == 0) {
		uint64_t wakes = now;

		if (options->think_ns)
			wakes += random_time(&loop->random, (double)options->think_ns,
			                     options->think);
		if (wakes < earliest)
			wakes = earliest;
		if (wakes == now && now < loop->window.closes)
			begin(loop, client, wakes);
		else
			pauses_add(&loop->pauses, wakes, own);
	} else if (earliest > now) {
		pauses_add(&loop->pauses, earliest, own);
	} else if (loop->backlog_count && !is_done(loop)) {
		loop->backlog_count--;
		begin(loop, client, next_in_backlog(loop));
	} else {
		loop->free[loop->free_count++] = own;
	}
}

static void ended(struct exchanges *exchanges, struct exchange *client, enum failure failure)
{
	struct loop *loop = exchanges->context;

	window_count(&loop->window, exchanges, client, failure);
	make_free(loop, client,
	          failure == FAILURE_CONNECT || failure == FAILURE_OWN ? exchanges->now + retry_ns
	                                                               : 0);
}

/* Whether an open load has arrivals to come. */
static int are_coming(const struct loop *loop)
{
	if (loop->is_by_number)
		return !is_done(loop) && loop->left > loop->backlog_count;
	return loop->arrives < loop->window.closes;
}

static void arrive(struct loop *loop)
{
	const struct options *options = loop->exchanges.options;
	struct result        *result = loop->window.result;

	while (loop->arrives <= loop->exchanges.now && are_coming(loop)) {
		uint64_t intended = loop->arrives;

		if (loop->free_count) {
			if (window_has(&loop->window, intended))
				histogram_add(&result->lag, loop->exchanges.now - intended);
			begin(loop, &loop->exchanges.all[loop->free[--loop->free_count]], intended);
		} else {
			if (window_has(&loop->window, intended))
				result->waited++;
			if (loop->backlog_count < BACKLOG_MOST) {
				uint64_t last = loop->backlog_first + loop->backlog_count++;

				loop->backlog[last % BACKLOG_MOST] = intended;
			} else {
				window_count_unsent(&loop->window, &loop->exchanges, intended,
				                    loop->window.drains);
			}
		}
		/* Each loop has its share of the rate. */
		loop->arrives += random_time(&loop->random,
		                             (double)SECOND_NS * options->clients /
		                                     (options->rate * loop->exchanges.count),
		                             options->arrivals);
	}
}

static void wake(struct loop *loop)
{
	const struct options *options = loop->exchanges.options;
	uint64_t              wakes;

	while ((wakes = pauses_first(&loop->pauses)) <= loop->exchanges.now) {
		struct exchange *client = &loop->exchanges.all[pauses_take(&loop->pauses)];

		if (options->rate != 0 || is_done(loop)) {
			make_free(loop, client, 0);
		} else if (loop->exchanges.now < loop->window.closes) {
			if (options->think_ns && window_has(&loop->window, wakes))
				histogram_add(&loop->window.result->lag,
				              loop->exchanges.now - wakes);
			begin(loop, client, wakes);
		}
		loop->exchanges.now = clock_ns();
	}
}

static uint64_t next_time(const struct loop *loop)
{
	uint64_t next = exchanges_overdue(&loop->exchanges), wakes = pauses_first(&loop->pauses);

	if (loop->exchanges.now >= loop->window.closes && !loop->backlog_count)
		return next;
	if (loop->exchanges.now < loop->window.closes && loop->window.closes < next)
		next = loop->window.closes;
	if (loop->backlog_count && loop->window.drains < next)
		next = loop->window.drains;
	if (wakes < next)
		next = wakes;
	if (loop->exchanges.options->rate != 0 && are_coming(loop) && loop->arrives < next)
		next = loop->arrives;
	return next;
}

/* After the window: what has begun in it may still end, up to its time. */
static int is_over(const struct loop *loop)
{
	if (loop->is_by_number ? !is_done(loop) : loop->exchanges.now < loop->window.closes)
		return 0;
	return !loop->exchanges.under_way && (loop->is_by_number || !loop->backlog_count);
}

static void go_on(struct loop *loop)
{
	struct epoll_event events[EVENTS_MOST];
	struct exchanges  *exchanges = &loop->exchanges;

	for (;;) {
		int got;

		exchanges->now = clock_ns();
		if (exchanges->options->rate != 0)
			arrive(loop);
		wake(loop);
		if (exchanges->now >= loop->window.drains)
			for (; loop->backlog_count; loop->backlog_count--)
				window_count_unsent(&loop->window, exchanges, next_in_backlog(loop),
				                    exchanges->now);
		exchanges_give_up_overdue(exchanges);
		if (is_over(loop))
			return;
		exchanges->may_gather = exchanges->options->rate == 0 && !is_done(loop);
		got = exchanges_wait(exchanges, events, next_time(loop));
		if (got < 0 && errno != EINTR) {
			loop->window.result->broken = errno;
			return;
		}
		for (int i = 0; i < got; i++) {
			exchanges_handle(exchanges, &events[i]);
			if (exchanges->options->rate != 0)
				arrive(loop);
		}
	}
}

static int prepare(struct loop *loop, const struct options *options, unsigned first, unsigned count)
{
	int      failed = exchanges_make(&loop->exchanges, options, count);
	size_t   room = REQUEST_MOST + options->data_length;
	int      length = -1;
	uint64_t spread = options->warmup_ns < spread_most_ns ? options->warmup_ns : spread_most_ns;

	loop->request = malloc(room);
	if (!failed && loop->request)
		length = request_write(options, options->connection, loop->request, room);
	if (failed || length < 0)
		return failed ? failed : errno;
	loop->request_length = (uint32_t)length;
	loop->exchanges.context = loop;
	loop->exchanges.ended = ended;
	loop->exchanges.differs = differs;
	loop->exchanges.is_length = is_length;
	loop->free = calloc(count, sizeof(*loop->free));
	loop->backlog = options->rate != 0 ? malloc(BACKLOG_MOST * sizeof(*loop->backlog)) : NULL;
	if (pauses_make(&loop->pauses, count) || !loop->free ||
	    (options->rate != 0 && !loop->backlog))
		return ENOMEM;
	loop->random = options->seed + first;
	random_next(&loop->random);
	for (unsigned i = count; i-- > 0;) {
		if (options->rate != 0 || loop->is_by_number)
			loop->free[loop->free_count++] = i;
		else /* not all at one moment, but all before the window, or within the first
		        pause */
			pauses_add(&loop->pauses,
			           loop->window.began +
			                   (uint64_t)(random_share(&loop->random) *
			                              (double)(options->think_ns + spread)),
			           i);
	}
	exchanges_resume(&loop->exchanges);
	loop->arrives = loop->exchanges.now = loop->window.began;
	return 0;
}

void loop_run(const struct options *options, const struct reference *reference, unsigned first,
              unsigned count, uint64_t began, struct result *result)
{
	struct loop *loop = calloc(1, sizeof(*loop));

	if (!loop) {
		result->broken = ENOMEM;
		return;
	}
	loop->reference = reference;
	window_begin(&loop->window, options, began, result);
	result->broken = prepare(loop, options, first, count);
	if (!result->broken)
		go_on(loop);
	window_end(&loop->window, &loop->exchanges);
	loop_close(loop);
}

struct loop *loop_open(const struct options *options, const struct reference *reference,
                       struct result *result)
{
	struct loop *loop = calloc(1, sizeof(*loop));

	if (!loop)
		return NULL;
	loop->reference = reference;
	loop->is_by_number = 1;
	window_always(&loop->window, result);
	errno = prepare(loop, options, 0, options->clients);
	if (!errno)
		return loop;
	loop_close(loop);
	return NULL;
}

int loop_perform(struct loop *loop, uint64_t requests)
{
	struct exchanges *exchanges = &loop->exchanges;

	loop->window.result->broken = 0;
	loop->left = requests;
	window_resume(&loop->window, exchanges);
	loop->arrives = exchanges->now;
	while (exchanges->options->rate == 0 && loop->free_count && loop->left)
		begin(loop, &exchanges->all[loop->free[--loop->free_count]], exchanges->now);
	go_on(loop);
	window_pause(&loop->window, exchanges);
	return loop->window.result->broken;
}

void loop_close(struct loop *loop)
{
	int kept = errno;

	if (!loop)
		return;
	exchanges_free(&loop->exchanges);
	pauses_free(&loop->pauses);
	free(loop->free);
	free(loop->backlog);
	free(loop->request);
	free(loop);
	errno = kept;
}
