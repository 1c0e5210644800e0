/* exits.c -- see exits.h. The protocol is that of Documentation/accounting/taskstats.rst. */
#include "kernel/exits.h"

#include <ctype.h>
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kernel/processors.h"

/* Some 20,000 ended tasks between two readings. */
enum { SOCKET_BUFFER = 16 << 20, MESSAGE_ROOM = 4096 };
enum { LIST_ROOM = 4096 }; /* of the numbers of processors */
/* Of an attribute and of a message of generic netlink; both are aligned already. */
enum {
	ATTRIBUTE_HEAD = sizeof(struct nlattr),
	MESSAGE_HEAD = NLMSG_HDRLEN + sizeof(struct genlmsghdr)
};

struct message {
	struct nlmsghdr   netlink;
	struct genlmsghdr generic;
	char              attributes[LIST_ROOM + 64];
};

static int say(char *why, size_t room, const char *what)
{
	snprintf(why, room, "%s: %s", what, strerror(errno));
	return -1;
}

static size_t aligned(size_t length)
{
	return (length + 3) & ~(size_t)3;
}

static int open_netlink(void)
{
	struct sockaddr_nl us = { .nl_family = AF_NETLINK };
	int                file = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);

	if (file >= 0 && bind(file, (struct sockaddr *)&us, sizeof us)) {
		close(file);
		return -1;
	}
	return file;
}

/* Sends a command with one attribute, and asks for an answer or an acknowledgement. */
static int tell(int file, uint16_t family, uint8_t command, uint16_t attribute, const void *value,
                size_t length)
{
	struct message message = {
		.netlink = { .nlmsg_type = family, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK },
		.generic = { .cmd = command, .version = 1 },
	};
	struct nlattr head = { .nla_type = attribute,
		               .nla_len = (uint16_t)(ATTRIBUTE_HEAD + length) };

	memcpy(message.attributes, &head, sizeof head);
	memcpy(message.attributes + ATTRIBUTE_HEAD, value, length);
	message.netlink.nlmsg_len = (uint32_t)(MESSAGE_HEAD + aligned(head.nla_len));
	return send(file, &message, message.netlink.nlmsg_len, 0) < 0 ? -1 : 0;
}

/* The attribute of that type among these, or NULL. */
static const struct nlattr *attribute_of(const void *from, size_t length, uint16_t type)
{
	const char *place = from;

	while (length >= sizeof(struct nlattr)) {
		const struct nlattr *here = (const void *)place;
		size_t               step = aligned(here->nla_len);

		if (here->nla_len < sizeof *here || step > length)
			return NULL;
		if ((here->nla_type & NLA_TYPE_MASK) == type)
			return here;
		place += step;
		length -= step;
	}
	return NULL;
}

static const void *content(const struct nlattr *attribute, size_t *length)
{
	*length = attribute->nla_len - ATTRIBUTE_HEAD;
	return (const char *)attribute + ATTRIBUTE_HEAD;
}

/* Answers of the kernel come before send returns: nothing is waited for. Reads answers up to the
 * acknowledgement; the attributes of one that is no error are copied to `answer`. Returns their
 * length, or -1 with errno. */
static ssize_t answer_of(int file, char *answer, size_t room)
{
	ssize_t found = 0;

	for (;;) {
		_Alignas(struct nlmsghdr) char buffer[MESSAGE_ROOM];
		ssize_t          count = recv(file, buffer, sizeof buffer, MSG_DONTWAIT);
		struct nlmsghdr *head = (void *)buffer;

		if (count < 0)
			return -1;
		for (; NLMSG_OK(head, (size_t)count); head = NLMSG_NEXT(head, count)) {
			size_t length = head->nlmsg_len - MESSAGE_HEAD;

			if (head->nlmsg_type == NLMSG_ERROR) {
				const struct nlmsgerr *error = NLMSG_DATA(head);

				errno = -error->error;
				return error->error ? -1 : found;
			}
			if (length > room)
				continue;
			memcpy(answer, (char *)head + MESSAGE_HEAD, length);
			found = (ssize_t)length;
		}
	}
}

static int find_family(struct exits *exits)
{
	_Alignas(8) char     answer[MESSAGE_ROOM];
	ssize_t              length;
	const struct nlattr *id;

	if (tell(exits->asking, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME,
	         TASKSTATS_GENL_NAME, sizeof TASKSTATS_GENL_NAME))
		return -1;
	length = answer_of(exits->asking, answer, sizeof answer);
	if (length < 0)
		return -1;
	id = attribute_of(answer, (size_t)length, CTRL_ATTR_FAMILY_ID);
	if (!id) {
		errno = ENOENT;
		return -1;
	}
	memcpy(&exits->family, (const char *)id + ATTRIBUTE_HEAD, sizeof exits->family);
	return 0;
}

/* The processors that there may be, as /sys has them; "" without. */
static void possible_processors(char *list, size_t room)
{
	FILE *file = fopen("/sys/devices/system/cpu/possible", "re");

	if (!file || !fgets(list, (int)room, file) || !isdigit((unsigned char)*list))
		*list = '\0';
	if (file)
		fclose(file);
	list[strcspn(list, "\n")] = '\0';
}

static int listen_on(struct exits *exits, const char *processors)
{
	char nothing[8];

	return tell(exits->file, exits->family, TASKSTATS_CMD_GET,
	            TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, processors, strlen(processors) + 1) ||
	                       answer_of(exits->file, nothing, 0) < 0
	               ? -1
	               : 0;
}

/* On those that there may be and those that are on: either list may be masked. The kernel refuses
 * all if it knows one of them not. */
static int listen_on_all(struct exits *exits)
{
	char   list[LIST_ROOM];
	size_t length;

	possible_processors(list, sizeof list / 2);
	length = strlen(list);
	if (length)
		list[length++] = ',';
	if (!processors_text(list + length, sizeof list - length) && !listen_on(exits, list))
		return 0;
	if (!length)
		return -1;
	list[length - 1] = '\0';
	return listen_on(exits, list);
}

int exits_open(struct exits *exits, char *why, size_t why_room)
{
	int size = SOCKET_BUFFER;

	*exits = (struct exits){ .file = -1, .asking = -1 };
	exits->file = open_netlink();
	exits->asking = open_netlink();
	if (exits->file < 0 || exits->asking < 0)
		say(why, why_room, "netlink socket");
	else if (find_family(exits))
		say(why, why_room, "the kernel has no taskstats");
	else {
		if (setsockopt(exits->file, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size))
			setsockopt(exits->file, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
		if (!listen_on_all(exits))
			return 0;
		say(why, why_room, "taskstats, which needs CAP_NET_ADMIN in the first namespaces");
	}
	exits_close(exits);
	return -1;
}

void exits_close(struct exits *exits)
{
	/* The kernel forgets a listener that is gone. */
	if (exits->file >= 0)
		close(exits->file);
	if (exits->asking >= 0)
		close(exits->asking);
	exits->file = exits->asking = -1;
}

/* From the kernel's struct, of which an older kernel sends less and a newer one more. */
static void take(const void *from, size_t length, struct task_account *account)
{
	struct taskstats raw;

	memset(&raw, 0, sizeof raw);
	memcpy(&raw, from, length < sizeof raw ? length : sizeof raw);
	figures_forget(account->figure, ALL);
	account->thread = (pid_t)raw.ac_pid;
	account->pid = raw.version >= 12 ? (pid_t)raw.ac_tgid : 0;
	account->exit_code = (int)raw.ac_exitcode;
	snprintf(account->program, sizeof account->program, "%.15s", raw.ac_comm);
	/* What the names promise is the other way round: "real" is the ticks, "virtual" the
	 * scheduler's ns. */
	account->figure[run_ns] = raw.cpu_run_virtual_total;
	account->figure[cpu_user_ns] = raw.ac_utime * 1000;
	account->figure[cpu_system_ns] = raw.ac_stime * 1000;
	account->figure[wait_ns] = raw.cpu_delay_total;
	account->figure[faults_minor] = raw.ac_minflt;
	account->figure[faults_major] = raw.ac_majflt;
	account->figure[switches_voluntary] = raw.nvcsw;
	account->figure[switches_involuntary] = raw.nivcsw;
	/* All input and output is rounded down to multiples of 1024 by the kernel (bacct_add_tsk
	 * and its like in kernel/tsacct.c), numbers of calls too: too little of those remains to be
	 * said. */
	account->figure[characters_read] = raw.read_char;
	account->figure[characters_written] = raw.write_char;
	account->figure[bytes_read] = raw.read_bytes;
	account->figure[bytes_written] = raw.write_bytes;
	account->figure[bytes_cancelled] = raw.cancelled_write_bytes;
	if (raw.hiwater_vm)
		account->figure[virtual_peak] = raw.hiwater_vm * 1024;
	if (raw.hiwater_rss)
		account->figure[memory_peak] = raw.hiwater_rss * 1024;
}

/* Of a message's attributes those of one task; the sum that follows a group's last thread is passed
 * over. */
static int task_of(const void *attributes, size_t length, struct task_account *account)
{
	const struct nlattr *both = attribute_of(attributes, length, TASKSTATS_TYPE_AGGR_PID);
	const struct nlattr *stats;
	const void          *inside;

	if (!both)
		return 0;
	inside = content(both, &length);
	stats = attribute_of(inside, length, TASKSTATS_TYPE_STATS);
	if (!stats)
		return 0;
	inside = content(stats, &length);
	take(inside, length, account);
	return 1;
}

int exits_next(struct exits *exits, struct task_account *account)
{
	for (;;) {
		_Alignas(struct nlmsghdr) char buffer[MESSAGE_ROOM];
		ssize_t count = recv(exits->file, buffer, sizeof buffer, MSG_DONTWAIT);
		const struct nlmsghdr *head = (const void *)buffer;

		if (count < 0 && errno == ENOBUFS) {
			lost[LOST_EVENTS]++;
			continue;
		}
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return 0;
		if (!NLMSG_OK(head, (size_t)count) || head->nlmsg_type != exits->family)
			continue;
		if (task_of(buffer + MESSAGE_HEAD, head->nlmsg_len - MESSAGE_HEAD, account))
			return 1;
	}
}

int exits_ask(struct exits *exits, pid_t thread, struct task_account *account)
{
	_Alignas(8) char answer[MESSAGE_ROOM];
	uint32_t         number = (uint32_t)thread;
	ssize_t          length;

	if (tell(exits->asking, exits->family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_PID, &number,
	         sizeof number))
		return -1;
	length = answer_of(exits->asking, answer, sizeof answer);
	return length > 0 && task_of(answer, (size_t)length, account) ? 0 : -1;
}
