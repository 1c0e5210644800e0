"""The command line: a file for each family of verbs, which wires the rooms together and prints.

Standard output is data, standard error is progress and advice. What reckons and draws is imported by the
verbs that need it, when they run, so that --help answers at once.

Each module imports only from earlier ones: verb, output, own_commands, measuring, gating, watch_options,
watching, loading, building, rebooting, listing, archiving, parser, completion.
"""

import errno
import os
import resource
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from steelyard import home, interruption, libraries, standstill, streams
from steelyard.cli import output, parser
from steelyard.cli.verb import written_by
from steelyard.errors import SteelyardError, Unsupported, in_words
from steelyard.text import quoted


def main(argv: Sequence[str] | None = None) -> int:
    """Does what the arguments say and returns the exit status: 0 done, 1 failed, 2 usage, 77
    unsupported here, 130 interrupted."""
    standstill.begin()
    try:
        verb, options = parser.read(sys.argv[1:] if argv is None else argv)
        _need_proc()
        _put_in_order()
        files = written_by(options)
        for flag, path in files.items():
            output.may_be_written(flag, path)
        with interruption.told_apart():
            if verb.shares_output:  # with a command, which has standard output for itself
                return verb.run(options)
            with output.directed(files.get("--output")):
                return verb.run(options)
    except SystemExit as leaving:  # argparse has printed its help or its complaint
        return int(leaving.code or 0)
    except SteelyardError as error:
        streams.tell(f"{error}{_limit(error)}")
        return error.exit_status
    except KeyboardInterrupt:
        streams.tell("interrupted")
        return output.INTERRUPTED
    except MemoryError:
        streams.tell(": ".join(part for part in ("there is too little memory", libraries.in_words()) if part))
        return 1
    except BrokenPipeError:  # the reader has closed the pipe
        return 0
    except OSError as error:
        return _told(error)
    except UnicodeError as error:
        streams.tell(str(error))
        return 1


def _need_proc() -> None:
    """Raises Unsupported where processes and open files cannot be looked at: so systems could not be parked,
    and tables not be read."""
    if not os.path.lexists("/proc/self/fd/2"):  # which there is: streams.put_in_order
        raise Unsupported(
            "'/proc' is not mounted, may not be read, or belongs to another process namespace, and nothing "
            "works without it: mount -t proc proc /proc"
        )


def _told(error: OSError) -> int:
    """Says what failed, and returns the exit status."""
    streams.tell(f"{_named(error)}: {in_words(error)}{_limit(error)}")
    return 1


def _named(error: OSError) -> str:
    """The subject of the failure: a file, or the source line of a call that the kernel, or a sandbox,
    refused.
    """
    if error.filename:
        return quoted(error.filename)
    frames = traceback.extract_tb(error.__traceback__)
    return f"the kernel refused {quoted(frames[-1].line)}" if frames and frames[-1].line else "a call failed"


def entry() -> NoReturn:
    """The installed command. The first Ctrl-C ends what is being done, and what is known is reported; a
    second one, and a request to terminate, end that too: all is put in order first."""
    try:
        if "_ARGCOMPLETE" in os.environ:  # a shell asks what may follow
            from steelyard.cli import completion

            completion.answer()
        streams.put_in_order()
        interruption.take()
        standstill.take()
        status = main()
        status = streams.finish() or status
    except KeyboardInterrupt:  # asked again, while the first request was being answered
        status = output.INTERRUPTED
    except OSError as error:  # a sandbox lets no one choose what a signal does
        status = _told(error)
    with suppress(OSError):
        interruption.ignore()
    sys.exit(status)


def _limit(error: BaseException | None) -> str:
    """The limit that the error, or its cause, has met, and how to raise it; "" for other errors."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:  # causes can go round in a circle
        seen.add(id(error))
        if isinstance(error, OSError) and error.errno == errno.EMFILE:
            most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            return (
                f": this process may have at most {most} (ulimit -n {max(1024, 2 * most)} raises the limit)"
            )
        if isinstance(error, OSError) and error.errno == errno.ENFILE:
            return ": this machine has reached its limit (sysctl fs.file-max)"
        error = error.__cause__ or error.__context__
    return ""


def _put_in_order() -> None:
    """First clean up after a run that was killed together with its guards, whatever the command."""
    from steelyard.systems import ledger, scratch

    restored = ledger.put_back_leftovers()
    cleared: list[str] = []
    with suppress(Unsupported):  # most commands need no temporary directory
        cleared = scratch.clear(home.temporary())
    for sentence in (*restored.done, *restored.left, *cleared):
        streams.tell(sentence)
