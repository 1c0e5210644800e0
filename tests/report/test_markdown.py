"""A comparison as Markdown: the answer, and a table in which text is no markup."""

from dataclasses import replace

import pytest
from comparisons import compared, evaluation

from steelyard.report import markdown


def test_it_has_the_answer_and_a_table_for_each_system(capsys: pytest.CaptureFixture[str]) -> None:
    slower, named = compared("syscall", 20.0), compared("fork_exec", 3.0)

    markdown.print_evaluation(evaluation(slower, replace(named, metric="a|b <i>_x_")))

    first, *lines = capsys.readouterr().out.splitlines()
    rows = [one for one in lines if one.startswith("|")]
    assert (first[:2], first[-2:]) == ("**", "**")
    assert rows[0].count(" | ") == rows[1].count(" | ") == 5
    assert rows[1] == "| --- | --- | --- | --- | --- | --- |"
    assert len(rows) == 4
    assert "a\\|b \\<i\\>\\_x\\_" in rows[3]
