"""Says in words for people what a workload does: a phrase that stands in a list, and after "slower at".

The one table of such phrases. tests/test_findings.py holds that every workload has one.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from steelyard.quantities import size_bytes

PHRASES = {
    "null": "the empty loop",
    "funcall": "function calls",
    "sieve": "the sieve of Eratosthenes",
    "fourier": "Fourier coefficients (pow, sin, cos)",
    "assignment": "an assignment problem",
    "neural_net": "a neural network",
    "lu_decomposition": "linear equations (LU decomposition)",
    "linpack": "linear equations (LINPACK, one machine code)",
    "linpack_compiled": "linear equations (LINPACK, compiled)",
    "numeric_sort": "sorting numbers",
    "string_sort": "sorting strings",
    "bitfield": "bit fields",
    "emulated_float": "emulated floating point",
    "huffman": "Huffman compression",
    "idea": "the IDEA cipher",
    "integer_operations": "32-bit integer arithmetic",
    "long_operations": "64-bit integer arithmetic",
    "float_operations": "32-bit floating point",
    "double_operations": "64-bit floating point",
    "syscall": "a system call that does nothing (getppid)",
    "read_zero": "reading one byte of /dev/zero",
    "write_null": "writing one byte to /dev/null",
    "stat_file": "looking up a file (stat)",
    "fstat_file": "an open file's status (fstat)",
    "open_close": "opening and closing a file",
    "select_files": "select over many files",
    "select_sockets": "select over many connections",
    "poll_files": "poll over many files",
    "poll_sockets": "poll over many connections",
    "epoll_sockets": "epoll over many connections",
    "signal_install": "installing a signal handler",
    "signal_catch": "catching a signal",
    "protection_fault": "catching a forbidden write (SIGSEGV)",
    "lock_pass": "passing a turn by file locks",
    "mutex_pass": "passing a turn by mutexes",
    "semaphore": "passing a turn by semaphores",
    "semaphore_system_v": "passing a turn by System V semaphores",
    "page_fault": "first touch of a page of a mapped file",
    "anonymous_fault": "first touch of a page of new memory",
    "map_unmap": "mapping and unmapping a file (mmap)",
    "clock_read": "reading the clock",
    "clock_call": "reading the clock by a system call",
    "yield": "giving the processor away (yield)",
    "futex_wake": "a futex wake with nobody waiting",
    "futex_pass": "passing a turn between threads (futex)",
    "known_calls": "a program of known system calls",
    "shell": "a shell script",
    "fork_exit": "a process that only ends (fork, exit)",
    "fork_exec": "starting a program (fork, exec)",
    "vfork_exec": "starting a program (vfork, exec)",
    "spawn": "starting a program (posix_spawn)",
    "fork_shell": "starting a program by a shell",
    "thread_create": "starting a thread",
    "command": "a command line",
    "linpack_processes": "many computing processes at once",
    "linpack_limit": "as many computing processes as fit",
    "context_switch": "switching between processes",
    "context_switch_threads": "switching between threads",
    "pipe_transfer": "records through a pipe",
    "pipe_latency": "a byte through a pipe and back",
    "unix_stream_latency": "a byte through a UNIX socket and back",
    "unix_datagram_latency": "a UNIX datagram there and back",
    "pipe_bandwidth": "bulk data through a pipe",
    "unix_stream_bandwidth": "bulk data through a UNIX socket",
    "disktest": "records in a file",
    "file_create": "creating a file",
    "file_remove": "removing a file",
    "file_write": "writing a file",
    "file_read": "reading a file",
    "file_read_cached": "reading a cached file",
    "map_read_cached": "reading a cached file through a mapping",
    "file_sequential_write": "writing a large file",
    "file_rewrite": "changing a large file block by block",
    "file_sequential_read": "reading a large file",
    "file_character_write": "writing a large file by putc",
    "file_character_read": "reading a large file by getc",
    "file_byte_write": "writing a file by one call a byte",
    "file_byte_read": "reading a file by one call a byte",
    "file_random_read": "reading a large file at random",
    "file_random_write": "writing to a large file at random",
    "file_random_update": "changing a large file at random",
    "file_queue_read": "reading a large file at random (io_uring)",
    "file_queue_write": "writing to a large file at random (io_uring)",
    "file_mapped_read": "reading a large file through a mapping",
    "file_mapped_write": "changing a large file through a mapping",
    "file_commit": "a write that must reach the device",
    "file_append": "appending to a file",
    "file_allocate": "finding room for a file (fallocate)",
    "file_truncate": "cutting a file (ftruncate)",
    "file_copy": "copying a large file",
    "fio": "a job of fio",
    "directory_create": "creating many files",
    "directory_stat": "the status of many files",
    "directory_delete": "deleting many files",
    "directory_list": "listing many files",
    "directory_make": "making and removing a directory",
    "file_rename": "renaming a file",
    "file_link": "linking a file",
    "tcp_latency": "a byte through TCP and back",
    "tcp_echo": "requests to a TCP server",
    "udp_latency": "a UDP datagram there and back",
    "tcp_connect": "making a TCP connection",
    "tcp_bandwidth": "bulk data through TCP",
    "http_get": "fetching a small page (HTTP)",
    "http_transfer": "fetching a large page (HTTP)",
    "tcp_request": "TCP requests and responses between two ends",
    "tcp_request_flows": "TCP requests and responses over the number of flows",
    "tcp_send": "sending a TCP stream to a far end",
    "tcp_send_sizes": "sending a TCP stream over the size of a write",
    "tcp_receive": "receiving a TCP stream from a far end",
    "tcp_both": "TCP streams both ways at once",
    "tcp_sendfile": "sending a file over TCP (sendfile)",
    "tcp_splice": "sending a file over TCP (splice)",
    "tcp_zerocopy": "sending over TCP without copying (MSG_ZEROCOPY)",
    "tcp_connect_request": "a TCP connection for each request",
    "tcp_connection": "a TCP connection to a far end",
    "udp_request": "UDP requests and responses between two ends",
    "udp_send": "datagrams that arrive over UDP",
    "rpc_tcp": "a remote procedure call over TCP",
    "rpc_udp": "a remote procedure call over UDP",
    "memory_read": "reading memory",
    "memory_read_words": "reading memory word by word",
    "memory_read_partial": "reading one word in four of memory",
    "memory_write": "writing memory",
    "memory_write_words": "writing memory word by word",
    "memory_write_partial": "writing one word in four of memory",
    "memory_read_write": "incrementing memory word by word",
    "memory_read_write_partial": "incrementing one word in four of memory",
    "web_requests": "requests to a web server",
    "web_users": "users of a web server",
    "web_saturation": "what a web server holds",
    "mail_messages": "messages to a mail server",
    "database_insert": "inserting rows into a database",
    "database_select": "fetching rows from a database",
    "database_update": "changing rows in a database",
    "database_mixture": "a table's life in a database",
    "web_series": "a series of requests to a web server",
    "memory_copy": "copying memory",
    "memory_copy_libc": "copying memory (memcpy)",
    "memory_copy_words": "copying memory word by word",
    "memory_copy_partial": "copying one word in four of memory",
    "memory_zero": "zeroing memory (memset)",
    "stream": "streaming arrays",
    "stream2": "streaming arrays (STREAM2)",
    "memory_latency": "random access to memory",
    "memory_latency_sequential": "access to memory in order",
    "memory_parallelism": "several accesses to memory at once",
    "memory_tlb": "access to many pages (TLB)",
    "memory_line": "access to neighbours in memory (cache lines)",
}

# In kernel groups, yet a library's or the processor's work alone.
_OUTSIDE_THE_KERNEL = ("clock_read", "map_read_cached")


@dataclass(frozen=True, slots=True)
class GroupWords:
    """What a group of workloads is called."""

    name: str  # after "slower at", and as a subject
    verb: str  # "is" or "are"
    many: str  # several of its metrics
    explained: str = ""  # where the name alone might be misunderstood
    enters_kernel: bool = False


GROUPS = {
    "syscall": GroupWords("system calls", "are", "system calls", "calls, faults, signals", True),
    "process": GroupWords(
        "processes", "are", "kinds of process work", "starting programs and threads, switching", True
    ),
    "ipc": GroupWords("messages between processes", "are", "kinds of messages", "pipes, sockets", True),
    "network": GroupWords("the network", "is", "kinds of network work", "over loopback", True),
    "server": GroupWords("servers", "are", "figures of servers", "under load", True),
    "file": GroupWords("files", "are", "kinds of file work", "", True),
    "storage": GroupWords("storage", "is", "kinds of work on storage", "large files, many files", True),
    "memory": GroupWords("memory", "is", "kinds of memory access"),
    "cpu": GroupWords("computing", "is", "kinds of computing"),
}

# Metrics that are what the phrase already says.
_PLAIN_METRICS = ("time", "bandwidth", "switch", "count")
_LEVELS: Mapping[str, Callable[[int], str]] = {
    "copies": lambda level: "1 copy" if level == 1 else f"{level} copies",
    "place": lambda level: "one processor" if level == 1 else f"{level} processors",
    "processes": lambda level: f"{level} processes",
    "descriptors": lambda level: f"{level} of them",
    "size": lambda level: "no data" if level == 0 else size_bytes(level),
    "memory": lambda level: f"{level} KiB of memory",
    "requests": lambda level: f"{level:,} requests",
    "clients": lambda level: "1 client" if level == 1 else f"{level:,} clients",
    "user_equivalents": lambda level: f"{level:,} users",
    "library": lambda level: "through stdio" if level else "by sockets alone",
    "random": lambda level: "at random" if level else "in order",
    "shared": lambda level: "in one directory" if level else "in directories of their own",
}

# What loads report beside the time of a request.
_METRICS = {
    "server": "the server's processor time",
    "client": "the load generator's processor time",
    "processor": "processor time of the process",
    "machine": "processor time of the whole machine",
    "device_read": "read from the device",
    "device_written": "written to the device",
    "resident": "in the cache before",
    "latency_50": "median latency",
    "latency_90": "latency of 90 %",
    "latency_99": "latency of 99 %",
    "latency_99_9": "latency of 99.9 %",
    "latency_mean": "mean latency",
    "request": "time from one request to the next",
}

# Metrics that can be told together; every other one is told by itself.
_PROCESSOR_TIMES = ("server", "client", "processor", "machine", "demand", "near", "far", "rest")

Parameters = Iterable[tuple[str, int | str]]


def of_group(group: str) -> GroupWords:
    """The words for a group; one of another version is called by its name."""
    return GROUPS.get(group) or GroupWords(group, "is", f"metrics of {group}")


def enters_kernel(workload: str, group: str) -> bool:
    """Whether an operation of the workload goes through the kernel."""
    return of_group(group).enters_kernel and workload not in _OUTSIDE_THE_KERNEL


def of_metric(workload: str, parameters: Parameters, metric: str, *, told: Iterable[str] = ()) -> str:
    """What is measured, in words. Parameters are named if they are in `told`."""
    phrase = PHRASES.get(workload) or workload.replace("_", " ")
    words = [] if metric in _PLAIN_METRICS else [_METRICS.get(metric) or metric.replace("_", " ")]
    named = set(told)
    words += [_level(name, level) for name, level in parameters if name in named]
    return f"{phrase}: {', '.join(words)}" if words else phrase


def aspect_of(metric: str) -> str:
    """What of an operation the metric is: "latency", whatever the quantile; empty for its time or rate."""
    if metric in _PLAIN_METRICS:
        return ""
    if metric.startswith("latency_"):
        return "latency"
    if metric in _PROCESSOR_TIMES:
        return "processor time"
    return _METRICS.get(metric) or metric.replace("_", " ")


def with_aspect(aspect: str, common: tuple[str, ...]) -> tuple[str, ...]:
    """What phrases have in common, and first their aspect, unless that says it already."""
    return common if not aspect or any(aspect in one for one in common) else (aspect, *common)


def shared(told: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """What is measured, and what else all these phrases of one workload have in common."""
    heads, parts = zip(*(_taken_apart(one) for one in told), strict=True)
    return heads[0], tuple(part for part in parts[0] if all(part in others for others in parts))


def _taken_apart(phrase: str) -> tuple[str, list[str]]:
    head, _, rest = phrase.partition(": ")
    return head, rest.split(", ") if rest else []


def _level(name: str, level: int | str) -> str:
    said = _LEVELS.get(name)
    if name == "server" and isinstance(level, str):
        return level
    return said(level) if said and isinstance(level, int) else f"{name.replace('_', ' ')} {level}"


def varied(cells: Iterable[tuple[str, Parameters]]) -> Mapping[str, frozenset[str]]:
    """By workload, the parameters that tell its cells apart."""
    levels: dict[str, dict[str, set[int | str | None]]] = {}
    members: dict[str, list[dict[str, int | str]]] = {}
    for workload, parameters in cells:
        members.setdefault(workload, []).append(dict(parameters))
    for workload, entries in members.items():
        names = {name for one in entries for name in one}
        levels[workload] = {name: {one.get(name) for one in entries} for name in names}
    return {
        workload: frozenset(name for name, values in entries.items() if len(values) > 1)
        for workload, entries in levels.items()
    }
