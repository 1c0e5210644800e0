"""Says in words for people what a workload does: a phrase that stands in a list, and before a size.

The one table of such phrases. tests/report/test_findings.py holds that every workload has one.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from steelyard.quantities import number_of, size_bytes

PHRASES = {
    "null": "the empty loop",
    "funcall": "function calls",
    "funcall_assignment": "assignments by a function",
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
    "syscall": "a null system call (getppid)",
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
    "protection_fault": "catching a protection fault (SIGSEGV)",
    "lock_pass": "handoff by file lock",
    "mutex_pass": "handoff by mutex",
    "semaphore": "handoff by semaphore",
    "semaphore_system_v": "handoff by System V semaphore",
    "page_fault": "page fault on a mapped file",
    "anonymous_fault": "page fault on new memory",
    "map_unmap": "mapping and unmapping a file (mmap)",
    "map_file": "mapping a file (mmap)",
    "unmap_file": "unmapping a file (munmap)",
    "clock_read": "reading the clock",
    "clock_call": "reading the clock by a system call",
    "yield": "yielding the processor (sched_yield)",
    "futex_wake": "futex wake without a waiter",
    "futex_pass": "handoff between threads (futex)",
    "known_calls": "a program with known system calls",
    "shell": "a shell script",
    "fork_exit": "creating a process (fork, exit)",
    "fork_exec": "starting a program (fork, exec)",
    "vfork_exec": "starting a program (vfork, exec)",
    "spawn": "starting a program (posix_spawn)",
    "fork_shell": "starting a program through a shell",
    "thread_create": "starting a thread",
    "command": "the command",
    "linpack_processes": "many computing processes at once",
    "linpack_limit": "as many computing processes as fit",
    "parallel_sort": "sorting by several processes",
    "parallel_product": "multiplying matrices by several processes",
    "context_switch": "switching between processes",
    "context_switch_threads": "switching between threads",
    "pipe_transfer": "records through a pipe",
    "pipe_latency": "pipe round trip",
    "unix_stream_latency": "UNIX socket round trip",
    "unix_datagram_latency": "UNIX datagram round trip",
    "pipe_bandwidth": "bulk data through a pipe",
    "unix_stream_bandwidth": "bulk data through a UNIX socket",
    "memory_used": "memory in use",
    "disk_used": "room taken on the disk",
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
    "file_byte_write": "writing a file byte by byte",
    "file_byte_read": "reading a file byte by byte",
    "file_random_read": "reading a large file at random",
    "file_random_write": "writing to a large file at random",
    "file_random_update": "changing a large file at random",
    "file_queue_read": "reading a large file at random (io_uring)",
    "file_queue_write": "writing to a large file at random (io_uring)",
    "file_mapped_read": "reading a large file through a mapping",
    "file_mapped_write": "changing a large file through a mapping",
    "file_commit": "synchronous write",
    "file_append": "appending to a file",
    "file_allocate": "allocating space for a file (fallocate)",
    "file_truncate": "truncating a file (ftruncate)",
    "file_copy": "copying a large file",
    "fio": "fio job",
    "directory_create": "creating many files",
    "directory_stat": "the status of many files",
    "directory_read": "reading many small files",
    "directory_delete": "deleting many files",
    "directory_list": "listing many files",
    "directory_make": "making and removing a directory",
    "file_rename": "renaming a file",
    "file_link": "linking a file",
    "tcp_latency": "TCP round trip",
    "tcp_echo": "requests to a TCP server",
    "udp_latency": "a UDP datagram there and back",
    "socket_bind": "making and binding a socket",
    "tcp_connect": "making a TCP connection",
    "tcp_bandwidth": "bulk data through TCP",
    "http_get": "fetching a small page (HTTP)",
    "http_transfer": "fetching a large page (HTTP)",
    "tcp_request": "TCP request and response",
    "tcp_request_flows": "TCP request and response by number of flows",
    "tcp_send": "sending a TCP stream to a far end",
    "tcp_send_sizes": "sending a TCP stream by write size",
    "tcp_receive": "receiving a TCP stream from a far end",
    "tcp_both": "TCP streams in both directions at once",
    "tcp_sendfile": "sending a file over TCP (sendfile)",
    "tcp_splice": "sending a file over TCP (splice)",
    "tcp_zerocopy": "sending over TCP without copying (MSG_ZEROCOPY)",
    "tcp_connect_request": "a TCP connection for each request",
    "tcp_connection": "a TCP connection to a far end",
    "udp_request": "UDP request and response",
    "udp_send": "UDP datagrams delivered",
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
    "web_load": "a load on a web server",
    "web_requests": "requests to a web server",
    "web_users": "users of a web server",
    "web_saturation": "saturation of a web server",
    "mail_messages": "messages to a mail server",
    "database_insert": "inserting rows into a database",
    "database_select": "fetching rows from a database",
    "database_update": "changing rows in a database",
    "database_mixture": "creating, using and dropping a database table",
    "web_series": "a series of requests to a web server",
    "memory_copy": "copying memory",
    "memory_copy_libc": "copying memory (memcpy)",
    "memory_copy_words": "copying memory word by word",
    "memory_copy_partial": "copying one word in four of memory",
    "memory_zero": "zeroing memory (memset)",
    "stream": "streaming arrays",
    "stream2": "streaming arrays (STREAM2)",
    "memory_latency": "random access to memory",
    "memory_latency_sequential": "sequential access to memory",
    "memory_parallelism": "parallel accesses to memory",
    "memory_tlb": "access to many pages (TLB)",
    "memory_line": "access to adjacent words (cache lines)",
}

# In kernel groups, yet a library's or the processor's work alone.
_OUTSIDE_THE_KERNEL = ("clock_read", "map_read_cached")


@dataclass(frozen=True, slots=True)
class GroupWords:
    """The names of a group of workloads."""

    name: str  # before a size ("system calls 180×"), and after "in"
    many: str  # several of its metrics
    explained: str = ""  # where the name alone might be misunderstood
    enters_kernel: bool = False


GROUPS = {
    "syscall": GroupWords("system calls", "system calls", "calls, faults, signals", True),
    "process": GroupWords(
        "processes", "process operations", "starting programs and threads, switching", True
    ),
    "ipc": GroupWords("messages between processes", "message operations", "pipes, sockets", True),
    "network": GroupWords("network", "network operations", "over loopback", True),
    "server": GroupWords("servers", "server metrics", "under load", True),
    "file": GroupWords("files", "file operations", "", True),
    "storage": GroupWords("storage", "storage operations", "large files, many files", True),
    "memory": GroupWords("memory", "kinds of memory access"),
    "cpu": GroupWords("computing", "kinds of computing"),
    "footprint": GroupWords("the footprint", "kinds of footprint", "memory and disk in use"),
}

# Metrics that are what the phrase already says.
_PLAIN_METRICS = ("time", "bandwidth", "switch", "count")
_LEVELS: Mapping[str, Callable[[int], str]] = {
    "copies": lambda level: number_of(level, "copy", "copies"),
    "place": lambda level: "one processor" if level == 1 else f"{level} processors",
    "processes": lambda level: number_of(level, "process", "processes"),
    "descriptors": lambda level: f"{level} of them",
    "size": lambda level: "no data" if level == 0 else size_bytes(level),
    "memory": lambda level: f"{level} KiB of memory",
    "requests": lambda level: number_of(level, "request"),
    "clients": lambda level: number_of(level, "client"),
    "user_equivalents": lambda level: number_of(level, "user"),
    "library": lambda level: "through stdio" if level else "by sockets alone",
    "random": lambda level: "at random" if level else "in order",
    "shared": lambda level: "in one directory" if level else "in separate directories",
}

# What loads report beside the time of a request.
_METRICS = {
    "server": "the server's processor time",
    "client": "the load generator's processor time",
    "processor": "processor time of the process",
    "machine": "processor time of the whole machine",
    "device_read": "bytes read from the device",
    "device_written": "bytes written to the device",
    "resident": "cached before the start",
    "latency_50": "median latency",
    "latency_90": "p90 latency",
    "latency_99": "p99 latency",
    "latency_99_9": "p99.9 latency",
    "latency_mean": "mean latency",
    "object_latency_50": "median latency of an object",
    "object_latency_90": "p90 latency of an object",
    "object_latency_99": "p99 latency of an object",
    "object_latency_99_9": "p99.9 latency of an object",
    "objects": "time between objects",
    "objects_offered": "time between objects, if the server took none",
    "connecting": "time of connecting",
    "longest_wait": "longest wait",
    "silent": "time without any answer",
    "failed": "requests that failed",
    "request": "time between requests",
}

# Metrics that can be listed together; every other one is listed by itself.
_PROCESSOR_TIMES = ("server", "client", "processor", "machine", "demand", "near", "far", "rest")

Parameters = Iterable[tuple[str, int | str]]


def of_group(group: str) -> GroupWords:
    """The words for a group; one of another version is called by its name."""
    return GROUPS.get(group) or GroupWords(group, "is", f"metrics of {group}")


def enters_kernel(workload: str, group: str) -> bool:
    """True if an operation of the workload enters the kernel."""
    return of_group(group).enters_kernel and workload not in _OUTSIDE_THE_KERNEL


def of_metric(workload: str, parameters: Parameters, metric: str, *, told: Iterable[str] = ()) -> str:
    """The measured quantity in words. Parameters are named if they are in `told`."""
    phrase = PHRASES.get(workload) or workload.replace("_", " ")
    words = [] if metric in _PLAIN_METRICS else [_METRICS.get(metric) or metric.replace("_", " ")]
    named = set(told)
    words += [_level(name, level) for name, level in parameters if name in named]
    return f"{phrase}: {', '.join(words)}" if words else phrase


def aspect_of(metric: str) -> str:
    """The aspect of an operation: "latency", whatever the quantile; empty for its time or rate."""
    if metric in _PLAIN_METRICS:
        return ""
    if metric.startswith("latency_"):
        return "latency"
    if metric in _PROCESSOR_TIMES or metric.endswith("processor time"):
        return "processor time"
    return _METRICS.get(metric) or metric.replace("_", " ")


def with_aspect(aspect: str, common: tuple[str, ...]) -> tuple[str, ...]:
    """The common parts of phrases, preceded by their aspect unless they contain it."""
    return common if not aspect or any(aspect in one for one in common) else (aspect, *common)


def shared(told: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The measured quantity, and the other parts that all these phrases of one workload share."""
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
    """The parameters that distinguish a workload's cells, by workload."""
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
