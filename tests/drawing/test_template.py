"""The template: the charts' JavaScript that comes with the package draws what altair writes, and bears its
licences."""

import re

import altair

from steelyard.report import template


def versions() -> dict[str, tuple[int, ...]]:
    head = template.BUNDLE.read_text(encoding="utf-8").partition("\n")[0]
    return {
        name: tuple(map(int, version.split("."))) for name, version in re.findall(r"([\w-]+)@([\d.]+)", head)
    }


def test_vega_lite_is_of_the_version_whose_schema_altair_writes() -> None:
    schema = tuple(map(int, altair.SCHEMA_VERSION.removeprefix("v").split(".")))

    ours = versions()["vega-lite"]

    assert ours[0] == schema[0]
    assert ours >= schema, "scripts/vega-bundle makes a newer one"


def test_the_bundle_can_stand_in_a_page_and_names_its_licence() -> None:
    text = template.BUNDLE.read_text(encoding="utf-8")

    assert list(versions()) == ["vega", "vega-lite", "vega-embed"]
    assert "</script" not in text
    assert "sourceMappingURL" not in text
    assert "BSD-3-Clause" in text[:1000]


def test_the_licences_of_all_that_is_in_the_bundle_come_along() -> None:
    licences = template.BUNDLE.with_name("LICENSES").read_text(encoding="utf-8")

    holders = {
        name for line in re.findall(r"^-{80}\n(.*)$", licences, re.MULTILINE) for name in line.split(", ")
    }
    assert {*versions(), "d3-array", "topojson-client", "semver", "fast-json-patch"} <= holders
    assert licences.count("Redistributions in binary form must reproduce") >= 3
