/* users.c -- see users.h. One event loop; a user is some numbers, and one or more exchanges.
 *
 * The objects' order is that of the model's sequence over all users: who is ready takes the next
 * one. With several loops each takes every n-th object. A user begins in the middle of a pause, so
 * that the load is from the first moment on what it will be.
 */
#include "users.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/random.h"
#include "../exchange.h"
#include "../pauses.h"
#include "../window.h"

static const uint64_t retry_ns = 10000000; /* so long a user waits at least after a failure */

struct user {
	uint64_t random;
	uint64_t due;          /* when the object was to begin */
	uint64_t since, spent; /* while files of it were under way */
	uint32_t next, end;    /* files in the sequence */
	uint32_t objects_left; /* of the session */
	uint16_t under_way, pausing;
	uint8_t  is_in_object, is_base_due, has_failed, has_lacked;
};

struct crowd {
	struct exchanges    exchanges;
	const struct users *users;
	struct window       window;
	struct pauses pauses; /* of exchanges; a user that is in no object pauses with its first */
	struct user  *all;
	unsigned      count, parallel, in_object;
	uint64_t      random;           /* which bodies are compared */
	uint64_t object, stride, taken; /* the next object, how far to the one after it, how many so
	                                   far */
	int                is_by_number;
	uint64_t           ended, due; /* files, if it is by number */
	char              *requests;   /* for every file; all are equally long */
	uint32_t           request_length;
	int                event, got; /* which of these was handled last, and how many there are */
	struct epoll_event events[EVENTS_MOST]; /* no event is reported twice, so the rest stay */
};

/* -- Pauses -- */

/* Up to eleven days, which no load lasts: what is left of a Pareto time has no mean, and may be
 * anything. */
static uint64_t scaled(const struct users *users, double seconds)
{
	if (seconds > 1e6)
		seconds = 1e6;
	return (uint64_t)(seconds * (double)SECOND_NS * (double)users->off_permille / 1000);
}

uint64_t users_inactive_ns(const struct users *users, uint64_t *state)
{
	return scaled(users, draw_pareto(state, inactive_off));
}

uint64_t users_rest_ns(const struct users *users, uint64_t *state)
{
	return scaled(users, draw_pareto_rest(state, inactive_off));
}

uint64_t users_active_ns(const struct users *users, uint64_t *state)
{
	double seconds;

	if (!users->pauses_within)
		return 0;
	do
		seconds = draw_weibull(state, active_off);
	while (seconds > ACTIVE_OFF_MOST);
	return scaled(users, seconds);
}

double users_offered(const struct users *users, unsigned count)
{
	double mean = inactive_off.least * inactive_off.alpha / (inactive_off.alpha - 1);

	return users->off_permille ? count / (mean * (double)users->off_permille / 1000) : 0;
}

/* -- A user's round: an object's files, a pause -- */

static struct user *user_of(const struct crowd *crowd, const struct exchange *exchange)
{
	return &crowd->all[(unsigned)(exchange - crowd->exchanges.all) / crowd->parallel];
}

static void begin_session(const struct crowd *crowd, struct user *user)
{
	user->objects_left = draw_geometric(&user->random, crowd->users->session);
}

/* It may have ended, and even its object, on return: where no connection can be made. */
static void begin_file(struct crowd *crowd, struct exchange *exchange, uint64_t due)
{
	struct user          *user = user_of(crowd, exchange);
	const struct options *options = crowd->exchanges.options;

	if (!user->under_way++)
		user->since = crowd->exchanges.now;
	exchange->what = crowd->users->surge->reference[user->next++];
	exchange->intended = due;
	exchange->is_compared = options->verified > 0 &&
	                        random_share(&crowd->random) < options->verified;
	if (window_has(&crowd->window, due))
		crowd->window.result->started++;
	exchange_begin(&crowd->exchanges, exchange,
	               crowd->requests + (size_t)exchange->what * crowd->request_length,
	               crowd->request_length);
}

static void begin_object(struct crowd *crowd, struct exchange *exchange, uint64_t due)
{
	const struct surge *surge = crowd->users->surge;
	struct user        *user = user_of(crowd, exchange);

	user->next = surge->object[crowd->object];
	user->end = surge->object[crowd->object + 1];
	crowd->object = (crowd->object + crowd->stride) % surge->objects;
	crowd->taken++;
	user->due = due;
	user->spent = 0;
	user->has_failed = user->has_lacked = 0;
	user->is_in_object = user->is_base_due = 1;
	crowd->in_object++;
	if (window_has(&crowd->window, due))
		crowd->window.result->objects_begun++;
	begin_file(crowd, exchange, due);
}

static void end_object(struct crowd *crowd, unsigned own)
{
	struct user   *user = &crowd->all[own];
	struct result *result = crowd->window.result;
	uint64_t       now = crowd->exchanges.now, off;

	user->is_in_object = 0;
	crowd->in_object--;
	if (window_has(&crowd->window, user->due) && !user->has_lacked)
		histogram_add(&result->object, user->spent);
	if (window_has(&crowd->window, now)) {
		result->objects += !user->has_failed;
		result->objects_failed += user->has_failed && !user->has_lacked;
		result->objects_lost += user->has_lacked;
	}
	if (!--user->objects_left) {
		for (unsigned i = 0; i < crowd->parallel; i++)
			exchange_disconnect(&crowd->exchanges.all[own * crowd->parallel + i]);
		begin_session(crowd, user);
	}
	off = users_inactive_ns(crowd->users, &user->random);
	if (user->has_failed && off < retry_ns)
		off = retry_ns;
	pauses_add(&crowd->pauses, now + off, own * crowd->parallel);
}

/* Gives the user's idle connections files, or ends the object if nothing of it is left. */
static void go_on_with_object(struct crowd *crowd, struct user *user)
{
	unsigned own = (unsigned)(user - crowd->all) * crowd->parallel;

	/* The load is over, and this object has had its time. */
	if (user->next < user->end &&
	    crowd->exchanges.now >= crowd->window.closes + crowd->exchanges.options->timeout_ns) {
		user->has_failed = 1;
		user->next = user->end;
	}
	for (unsigned i = own; i < own + crowd->parallel && user->next + user->pausing < user->end;
	     i++) {
		struct exchange *idle = &crowd->exchanges.all[i];
		uint64_t         off;

		if (idle->state != EXCHANGE_IDLE || idle->is_pausing)
			continue;
		off = users_active_ns(crowd->users, &user->random);
		if (off) {
			idle->is_pausing = 1;
			user->pausing++;
			pauses_add(&crowd->pauses, crowd->exchanges.now + off, i);
		} else {
			begin_file(crowd, idle, crowd->exchanges.now);
		}
	}
	if (user->is_in_object && !user->under_way && !user->pausing && user->next == user->end)
		end_object(crowd, own / crowd->parallel);
}

static void ended(struct exchanges *exchanges, struct exchange *exchange, enum failure failure)
{
	struct crowd *crowd = exchanges->context;
	struct user  *user = user_of(crowd, exchange);

	window_count(&crowd->window, exchanges, exchange, failure);
	crowd->ended++;
	if (!--user->under_way)
		user->spent += exchanges->now - user->since;
	if (failure != FAILURES) {
		user->has_failed = 1;
		user->has_lacked |= failure == FAILURE_OWN;
		if (user->is_base_due)
			user->next = user->end; /* what it would have embedded is unknown */
	}
	user->is_base_due = 0;
	go_on_with_object(crowd, user);
}

static int differs(struct exchanges *exchanges, const struct exchange *exchange, uint64_t offset,
                   const char *bytes, size_t length)
{
	const struct users *users = ((const struct crowd *)exchanges->context)->users;

	return offset + length > users->surge->sizes[exchange->what] ||
	       !content_is(users->content, exchange->what, offset, bytes, length);
}

static int is_length(struct exchanges *exchanges, const struct exchange *exchange)
{
	const struct crowd *crowd = exchanges->context;

	return exchange->response.received == crowd->users->surge->sizes[exchange->what];
}

/* -- Time -- */

static void wake(struct crowd *crowd)
{
	uint64_t due;

	while ((due = pauses_first(&crowd->pauses)) <= crowd->exchanges.now) {
		struct exchange *exchange = &crowd->exchanges.all[pauses_take(&crowd->pauses)];
		struct user     *user = user_of(crowd, exchange);

		if (!user->is_in_object && crowd->exchanges.now >= crowd->window.closes)
			continue;
		if (window_has(&crowd->window, due))
			histogram_add(&crowd->window.result->lag, crowd->exchanges.now - due);
		if (!user->is_in_object) {
			begin_object(crowd, exchange, due);
		} else {
			exchange->is_pausing = 0;
			user->pausing--;
			if (user->next < user->end)
				begin_file(crowd, exchange, due);
			else
				go_on_with_object(crowd, user);
		}
		crowd->exchanges.now = clock_ns();
	}
}

static uint64_t next_time(const struct crowd *crowd)
{
	uint64_t next = exchanges_overdue(&crowd->exchanges), wakes = pauses_first(&crowd->pauses);

	if (wakes < next)
		next = wakes;
	if (crowd->exchanges.now < crowd->window.closes && crowd->window.closes < next)
		next = crowd->window.closes;
	return next;
}

/* After the window: objects that have begun in it may still end. */
static int is_over(const struct crowd *crowd)
{
	if (crowd->is_by_number)
		return crowd->ended >= crowd->due || crowd->window.has_failed;
	return crowd->exchanges.now >= crowd->window.closes && !crowd->in_object;
}

static void go_on(struct crowd *crowd)
{
	struct exchanges *exchanges = &crowd->exchanges;

	for (;;) {
		exchanges->now = clock_ns();
		wake(crowd);
		exchanges_give_up_overdue(exchanges);
		if (is_over(crowd))
			return;
		if (crowd->event >= crowd->got) {
			crowd->event = 0;
			crowd->got = exchanges_wait(exchanges, crowd->events, next_time(crowd));
			if (crowd->got < 0 && errno != EINTR) {
				crowd->window.result->broken = errno;
				return;
			}
		}
		for (; crowd->event < crowd->got && !is_over(crowd); crowd->event++) {
			exchanges_handle(exchanges, &crowd->events[crowd->event]);
			wake(crowd);
		}
	}
}

/* -- From the beginning to the end -- */

/* The files lie where the path's last '/' is. Returns 0, or an errno. */
static int write_requests(struct crowd *crowd, const struct options *options)
{
	struct options of_file = *options;
	const char    *slash = strrchr(options->path, '/');
	size_t         prefix = (size_t)(slash + 1 - options->path),
		       files = crowd->users->surge->shape.files;
	char           path[REQUEST_MOST], request[REQUEST_MOST];

	if (prefix + CONTENT_PATH_ROOM > sizeof(path))
		return EMSGSIZE;
	memcpy(path, options->path, prefix);
	of_file.path = path;
	for (uint32_t i = 0; i < files; i++) {
		int length;

		content_path(i, path + prefix);
		length = request_write(&of_file, options->connection, request, sizeof(request));
		if (length < 0)
			return errno;
		if (!crowd->requests) {
			crowd->request_length = (uint32_t)length;
			crowd->requests = malloc(files * (size_t)length);
		}
		if (!crowd->requests)
			return ENOMEM;
		memcpy(crowd->requests + (size_t)i * crowd->request_length, request,
		       crowd->request_length);
	}
	return 0;
}

static int prepare(struct crowd *crowd, const struct options *options, unsigned first)
{
	int failed;

	crowd->parallel = options->connection == CONNECTION_HTTP10 ? 1 : crowd->users->parallel;
	failed = exchanges_make(&crowd->exchanges, options, crowd->count * crowd->parallel);

	if (failed || (failed = write_requests(crowd, options)))
		return failed;
	crowd->exchanges.context = crowd;
	crowd->exchanges.ended = ended;
	crowd->exchanges.differs = differs;
	crowd->exchanges.is_length = is_length;
	crowd->all = calloc(crowd->count, sizeof(*crowd->all));
	/* A user pauses once, or once for each connection. */
	if (!crowd->all || pauses_make(&crowd->pauses, crowd->count * crowd->parallel))
		return ENOMEM;
	crowd->random = options->seed + first;
	crowd->object = (uint64_t)first * options->threads / options->clients;
	crowd->stride = options->threads;
	for (unsigned i = 0; i < crowd->count; i++) {
		struct user *user = &crowd->all[i];

		user->random = options->seed ^ (uint64_t)(first + i + 1) << 32;
		random_next(&user->random);
		begin_session(crowd, user);
		pauses_add(&crowd->pauses,
		           crowd->window.began + users_rest_ns(crowd->users, &user->random),
		           i * crowd->parallel);
	}
	exchanges_resume(&crowd->exchanges);
	crowd->exchanges.now = crowd->window.began;
	return 0;
}

void users_run(const struct options *options, const struct users *users, unsigned first,
               unsigned count, uint64_t began, struct result *result)
{
	struct crowd *crowd = calloc(1, sizeof(*crowd));

	if (!crowd) {
		result->broken = ENOMEM;
		return;
	}
	crowd->users = users;
	crowd->count = count;
	window_begin(&crowd->window, options, began, result);
	result->broken = prepare(crowd, options, first);
	if (!result->broken)
		go_on(crowd);
	window_end(&crowd->window, &crowd->exchanges);
	result->sequence_permille = crowd->taken * crowd->stride * 1000 / users->surge->objects;
	users_close(crowd);
}

struct crowd *users_open(const struct options *options, const struct users *users,
                         struct result *result)
{
	struct crowd *crowd = calloc(1, sizeof(*crowd));

	if (!crowd)
		return NULL;
	crowd->users = users;
	crowd->count = options->clients;
	crowd->is_by_number = 1;
	window_always(&crowd->window, result);
	errno = prepare(crowd, options, 0);
	if (!errno)
		return crowd;
	users_close(crowd);
	return NULL;
}

int users_perform(struct crowd *crowd, uint64_t files)
{
	crowd->window.result->broken = 0;
	crowd->due = crowd->ended + files;
	window_resume(&crowd->window, &crowd->exchanges);
	go_on(crowd);
	window_pause(&crowd->window, &crowd->exchanges);
	return crowd->window.result->broken;
}

void users_close(struct crowd *crowd)
{
	int kept = errno;

	if (!crowd)
		return;
	exchanges_free(&crowd->exchanges);
	pauses_free(&crowd->pauses);
	free(crowd->all);
	free(crowd->requests);
	free(crowd);
	errno = kept;
}
