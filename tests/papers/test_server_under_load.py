"""What a monitor that reads at intervals says of a server: in each interval under load, and in the mean."""

from pathlib import Path

import pytest
from known_records import BEGAN, SECOND, end, head, process, reading, told

from steelyard.analysis import usage
from steelyard.analysis.model import Evaluation, SystemFacts, UsageFigure
from steelyard.archive.experiments import StoredExperiment
from steelyard.drawing import study_figures
from steelyard.errors import StudyError
from steelyard.papers import cell_tables
from steelyard.papers.source import NOTHING
from steelyard.statistics.signed_rank import Estimate
from steelyard.study import study_file
from steelyard.study.model import AT, OF_SERVER
from steelyard.systems import monitors

STUDY = study_file.read("kretschek-surge")


def _figures(*, every_s: int | None = 1) -> dict[str, int]:
    """A server that is under load from second 2 to 7: 100 reads, 50 writes and 30 faults a second, a tenth of
    the time in user mode and a fifth in system mode; its start makes 900 faults and 5 reads. The trial's own
    process does ten times as much."""
    lines = [head(every_ns=every_s and every_s * SECOND)]
    for second in range(1, 11) if every_s else ():
        loaded = min(max(second - 2, 0), 5)
        for pid, times in ((7, 10), (8, 1)):
            figures = {
                "reads": 5 + 100 * loaded,
                "writes": 50 * loaded,
                "faults_minor": 900 + 20 * loaded,
                "faults_major": 10 * loaded,
                "cpu_user_ns": loaded * SECOND // 10,
                "cpu_system_ns": loaded * SECOND // 5,
            }
            known = {name: times * value for name, value in figures.items()}
            lines.append(reading(second, pid, **known))
    ended = {"end_ns": BEGAN + 10 * SECOND}
    lines += [
        process(8, generation=1, program="apache2", parent=7, **ended),
        process(7, program="steelyard-load", **ended),
        end(10),
    ]
    return {metric: value for metric, _, value in monitors._READERS["steelyard-watch"](told(*lines).decode())}


def test_only_intervals_under_load_count_and_only_the_server_s_processes() -> None:
    found = _figures()

    scaled = {name: found[name] / parts for name, (_, parts) in OF_SERVER.items()}
    assert scaled == {
        "server in user mode": 10.0,
        "server in system mode": 20.0,
        "server faults": 30.0,
        "server reads": 100.0,
        "server writes": 50.0,
    }
    points = {name: value for name, value in found.items() if name.startswith(f"server reads{AT}")}
    assert points == {f"server reads{AT}{ms}": 100_000 for ms in (1000, 2000, 3000)}


def test_without_intervals_nothing_is_said_of_a_server() -> None:
    assert not [name for name in _figures(every_s=None) if name.startswith("server")]


def _evaluation() -> Evaluation:
    parameters = (("server", "apache-prefork"), ("user_equivalents", 1800))
    figures = {"server reads": 150.0, **{f"server reads{AT}{ms}": 150.0 + ms for ms in (500, 1000, 1500)}}
    return Evaluation(
        experiment=StoredExperiment(Path("none"), {}),
        baseline="native",
        systems=tuple(SystemFacts(name, 1, False, {}, {}, None) for name in ("native", "life")),
        comparisons=(),
        gains=(),
        costs=(),
        blocks=0,
        trials=0,
        tallies=tuple(
            UsageFigure(
                "life", "web_users", parameters, "web_users", what, usage._unit(what), Estimate(value)
            )
            for what, value in figures.items()
        ),
    )


def test_table_5_has_them_in_the_paper_s_units_beside_the_paper_s() -> None:
    table = cell_tables.table_of(_evaluation(), STUDY.cell_tables[1])

    row = dict(zip(table.headings, table.rows[2], strict=True))
    assert row["Apache 1.3.22, reads"] == "201.54 1/s"
    assert row["life, reads"] == "150 /s"
    assert not [heading for heading in table.headings if heading.startswith("native")], "it has no monitor"
    assert table.rows[0][table.headings.index("life, reads")] == NOTHING


def test_figure_4_is_over_time_and_each_level_a_panel() -> None:
    pictures = {picture.title: picture for picture in study_figures.of_study(_evaluation(), STUDY)}

    (panel,) = next(one for title, one in pictures.items() if "Figure 4: reads" in title).panels
    assert panel.title == "user_equivalents = 1,800"
    assert '{"x": 0.5, "system": "life", "value": 650.0}' in str(panel.specs["wide"]).replace("'", '"')
    (other,) = [one for title, one in pictures.items() if "Figure 4: writes" in title]
    assert not other.panels


@pytest.mark.parametrize(
    ("line", "said"),
    [('metric = "time"', "server faults"), ('metric = "server reads"\nrate = true', "bars"), ("", "series")],
)
def test_a_series_is_of_what_a_monitor_says_of_a_server(line: str, said: str) -> None:
    text = (
        'name = "s"\ntitle = "s"\n[[workload]]\nname = "null"\n[[figure]]\nname = "1"\ntitle = "t"\n'
        f'kind = "series"\nworkloads = ["null"]\nover = "copies"\nlevels = [1]\n{line}\n'
    )
    with pytest.raises(StudyError, match=said):
        study_file.parse(text, file="my.toml")
