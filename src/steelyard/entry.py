"""The installed command: requests to end are heard before anything else is imported.

Before our first line Python answers a Ctrl-C with a traceback. So the command that `make` writes
(scripts/command) starts Python with the signal held back, and it is let in here. pip's own command cannot do
that: so that its first line comes soon, this module imports only what Python has imported itself. `signal`
takes milliseconds to import, and comes by its other name.
"""

import _signal as signal  # type: ignore[import-not-found]
import os


def entry() -> None:
    """Does what the command's arguments say, and exits."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            try:  # noqa: SIM105  contextlib would have to be imported
                signal.signal(number, _leave)
            except OSError:  # what comes next is refused it as well, and says so
                pass
    if os.environ.pop("STEELYARD_HELD", "") == str(os.getpid()):  # systems/held.c
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        _take_name()
    from steelyard import cli  # takes a tenth of a second, in which a person may press Ctrl-C

    cli.entry()


def _take_name() -> None:
    """Names the process as the kernel names a script's: by its file, not by what executes it."""
    try:
        with open("/proc/self/comm", "wb") as name:
            name.write(b"steelyard")
    except OSError:
        pass


def _leave(number: int, frame: object) -> None:
    """Ends the process: nothing has begun that would have to be put in order. An exception would be shown by
    Python, or swallowed by an import."""
    try:  # noqa: SIM105  contextlib would have to be imported
        os.write(2, b"steelyard: interrupted\n")
    except OSError:
        pass
    os._exit(130)
