"""A study's figures state what they draw as the paper does."""

import json
from dataclasses import replace

from comparisons import of_one_system

from steelyard.analysis.model import Level
from steelyard.drawing import study_figures
from steelyard.statistics.signed_rank import Estimate
from steelyard.study import study_file
from steelyard.study.model import Restatement, StudyFigure

TIMES = {1: 4e6, 2: 2e6, 4: 1e6}  # ns, by clients
FIGURE = StudyFigure("1", "Throughput", "lines", ("web_requests",), "clients", "time", "")


def _drawn(stated: Restatement, kind: str = "lines") -> dict[str, object]:
    levels = tuple(
        Level(
            "native",
            "web_requests",
            (("clients", clients), ("size", 1024)),
            f"web_requests clients={clients}",
            "server",
            "time",
            "ns per request",
            "lower",
            Estimate(time, time / 2, time * 2, 0.95),
        )
        for clients, time in TIMES.items()
    )
    one = replace(FIGURE, stated=stated, kind=kind)
    study = replace(study_file.read("web"), figures=(one,))
    (picture,) = study_figures.of_study(of_one_system(*levels), study)
    return {"spec": json.dumps(picture.panels[0].specs) if picture.panels else ""}


def test_a_rate_rises_where_the_time_falls_and_its_axis_says_so() -> None:
    for kind in ("lines", "bars"):
        spec = str(_drawn(Restatement(is_rate=True), kind)["spec"])

        assert '"value": 250.0' in spec
        assert '"value": 1000.0, "low": 500.0, "high": 2000.0' in spec
        assert "+ '/s'" in spec
        assert "'s'" not in spec.replace("'/s'", "")


def test_a_bandwidth_is_what_each_operation_moves() -> None:
    spec = str(_drawn(Restatement(moves="size"))["spec"])

    assert '"value": 1.024, "low": 0.512, "high": 2.048' in spec
    assert "B/s" in spec


def test_what_lacks_the_parameter_is_not_drawn() -> None:
    assert _drawn(Restatement(moves="block"))["spec"] == ""


def test_no_figure_apologises_for_being_upside_down() -> None:
    notes = {name: [one.note for one in study_file.read(name).figures] for name in study_file.bundled()}

    assert not [(name, note) for name, many in notes.items() for note in many if "these are times" in note]
