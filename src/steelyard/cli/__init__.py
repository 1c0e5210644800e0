"""The command line: a file for each family of verbs, which wires the rooms together and prints.

Standard output is data, standard error is progress and advice. What reckons and draws is imported by the
verbs that need it, when they run, so that --help answers at once.

Each module imports only from earlier ones: verb, output, measuring, watch_options, watching, loading,
building, rebooting, listing, archiving, parser.
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from steelyard import interruption, streams
from steelyard.cli import output, parser
from steelyard.errors import SteelyardError


def main(argv: Sequence[str] | None = None) -> int:
    """Does what the arguments say and returns the exit status: 0 done, 1 failed, 2 usage, 77
    unsupported here, 130 interrupted."""
    try:
        verb, options = parser.read(sys.argv[1:] if argv is None else argv)
        _put_in_order()
        with interruption.told_apart():
            return verb.run(options)
    except SystemExit as leaving:  # argparse has printed its help or its complaint
        return int(leaving.code or 0)
    except SteelyardError as error:
        streams.tell(str(error))
        return error.exit_status
    except KeyboardInterrupt:
        streams.tell("interrupted")
        return output.INTERRUPTED
    except BrokenPipeError:  # whoever read us has read enough
        return 0
    except (OSError, UnicodeError) as error:
        streams.tell(str(error))
        return 1


def entry() -> NoReturn:
    """The installed command. The first Ctrl-C ends what is being done, and what is known is reported; a
    second one, and a request to terminate, end that too: all is put in order first."""
    streams.put_in_order()
    interruption.take()
    status = main()
    status = streams.finish() or status
    interruption.ignore()
    sys.exit(status)


def _put_in_order() -> None:
    """What a run that was killed together with its guards has left is put back first, whatever is asked."""
    from steelyard.systems import ledger, scratch

    for sentence in ledger.put_back_leftovers() + scratch.clear(Path(tempfile.gettempdir())):
        streams.tell(sentence)
