"""Targets: their spellings, their toolkits, and the devices that run them."""

from pathlib import Path

import pytest

from fatwheel.errors import UsageError
from fatwheel.targets import (
    KNOWN_CAPABILITIES,
    Capability,
    Target,
    covers,
    jits,
    loads,
    nearest,
    parse_target,
    parse_targets,
    render,
    runs,
    toolkit,
    toolkits,
)
from fatwheel.targets.table import DATA, read_ptxas, table_with

RECORDINGS = Path(__file__).resolve().parents[1] / "data" / "ptxas"


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("9.0", Target(9, 0)),
        ("9.0a", Target(9, 0, "a")),
        ("12.0f", Target(12, 0, "f")),
        ("9.0+PTX", Target(9, 0, "", "both")),
        ("9.0a+PTX", Target(9, 0, "a", "both")),
        ("90", Target(9, 0)),
        ("100", Target(10, 0)),
        ("121a", Target(12, 1, "a")),
        ("90-real", Target(9, 0)),
        ("90a-real", Target(9, 0, "a")),
        ("90-virtual", Target(9, 0, "", "virtual")),
        ("sm_90a", Target(9, 0, "a")),
        ("sm_120f", Target(12, 0, "f")),
        ("compute_90", Target(9, 0, "", "virtual")),
        ("compute_100f", Target(10, 0, "f", "virtual")),
        ("sm90a", Target(9, 0, "a")),
        ("sm120f", Target(12, 0, "f")),
    ],
)
def test_every_spelling_is_read(text, target):
    assert parse_target(text) == target


@pytest.mark.parametrize(
    "text",
    ["", "9", "0", "1210", "9.0A", "90b", "9.00", "sm-90", "SM90", "compute_90-real", "sm_90-virtual", "9.0a10.0",
     "+PTX", "9.0+ptx", "٩.0", "09.0", "10.0 ", "native", "all", "Hopper", "Ampere+Tegra"],
)  # fmt: skip
def test_what_is_no_target_is_refused_with_a_remedy(text):
    with pytest.raises(UsageError) as caught:
        parse_target(text)
    assert caught.value.help


@pytest.mark.parametrize("text", ["8.0 9.0a 12.0f", "8.0;9.0a;12.0f", "8.0,9.0a,12.0f", " 8.0,  90a ; sm_120f\n"])
def test_lists_are_separated_by_spaces_commas_and_semicolons(text):
    assert parse_targets(text) == (Target(8, 0), Target(9, 0, "a"), Target(12, 0, "f"))


@pytest.mark.parametrize("text", ["", "  ", "8.0,,9.0", "8.0;", ";8.0", "8.0, ,9.0"])
def test_an_empty_place_in_a_list_is_refused(text):
    with pytest.raises(UsageError, match="empty"):
        parse_targets(text)


def test_a_bare_number_is_machine_code_but_to_cmake_it_is_ptx_as_well():
    assert parse_targets("90 90a-real") == (Target(9, 0), Target(9, 0, "a"))
    assert parse_targets("90;90a-real", "cmake") == (Target(9, 0, "", "both"), Target(9, 0, "a"))


@pytest.mark.parametrize("text", ["-gencode=arch=compute_90a,code=sm_80", "-gencode=arch=compute_90", "90a"])
def test_flags_that_name_no_single_target_are_refused(text):
    with pytest.raises(UsageError):
        parse_targets(text, "nvcc")


@pytest.mark.parametrize(
    ("spelling", "written"),
    [
        ("dotted", "8.0 9.0a 12.0a"),
        ("flashinfer", "8.0 9.0a 12.0a"),
        ("torch", "8.0;9.0a;12.0a"),
        ("cmake", "80-real;90a-real;120a-real"),
        ("nvcc", ("-gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_90a,code=sm_90a "
                 "-gencode=arch=compute_120a,code=sm_120a")),
        ("provider", "sm80 sm90a sm120a"),
    ],
)  # fmt: skip
def test_each_consumer_gets_its_own_form(spelling, written):
    assert render(parse_targets("12.0a 8.0 9.0a"), spelling) == written


@pytest.mark.parametrize(
    ("spelling", "text", "written"),
    [
        ("torch", "8.0 9.0+PTX", "8.0;9.0+PTX"),
        ("cmake", "8.0 9.0+PTX compute_100", "80-real;90;100-virtual"),
        ("nvcc", "9.0+PTX", "-gencode=arch=compute_90,code=[compute_90,sm_90]"),
        ("nvcc", "compute_90", "-gencode=arch=compute_90,code=compute_90"),
        ("flashinfer", "7.5 12.0f 12.1a", "7.5 12.0f 12.1a"),
    ],
)
def test_ptx_and_families_are_written_where_they_can_be(spelling, text, written):
    assert render(parse_targets(text), spelling) == written


@pytest.mark.parametrize(
    ("spelling", "text"),
    [
        ("flashinfer", "9.0a+PTX"),
        ("flashinfer", "compute_80"),
        ("flashinfer", "9.0"),
        ("flashinfer", "12.1"),
        ("torch", "12.0f"),
        ("torch", "compute_90"),
        ("torch", "8.8"),
        ("torch", "10.1a"),
        ("provider", "9.0+PTX"),
        ("fortran", "9.0"),
    ],
)
def test_what_a_consumer_cannot_say_is_an_error_with_a_remedy(spelling, text):
    with pytest.raises(UsageError) as caught:
        render(parse_targets(text), spelling)
    assert caught.value.help


# -- toolkits -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("release", toolkits())
def test_the_table_is_what_the_recorded_ptxas_of_each_release_says(release):
    row = toolkit(release)
    said = (RECORDINGS / f"{row.ptxas}.{kind}.txt" for kind in ("help", "version"))
    assert read_ptxas(*(path.read_text() for path in said)) == row


def test_every_recording_has_its_row():
    recorded = {path.name.removesuffix(".help.txt") for path in RECORDINGS.glob("*.help.txt")}
    assert recorded == {row.ptxas for row in toolkits().values()}


@pytest.mark.parametrize(("text", "version"), [("", "release 13.0, V13.0.88"), ("--gpu-name\n 'sm_90'", "no release")])
def test_what_no_ptxas_printed_makes_no_row(text, version):
    with pytest.raises(UsageError, match="in the output of ptxas"):
        read_ptxas(text, version)


def test_a_row_is_put_into_the_table_without_touching_the_others():
    table = DATA.read_text()
    for row in toolkits().values():
        assert table_with(row, table) == table
    new = read_ptxas(
        "--gpu-name <x> (-arch)\n 'compute_90','sm_90','sm_90a'.\n Default value: 'sm_75'", "release 14.0, V14.0.1"
    )
    lines = table_with(new, table).splitlines()
    assert lines[-2] == '  "14.0": {"ptxas": "14.0.1", "targets": "90 90a"}'
    assert lines[:-3] == table.splitlines()[:-2]


def test_an_unknown_toolkit_names_the_known_ones():
    with pytest.raises(UsageError) as caught:
        toolkit("12.7")
    assert "12.6, 12.8" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "release", "instead"),
    [
        ("11.0a", "12.9", "10.1a"),
        ("10.1a", "13.0", "11.0a"),
        ("11.0f", "12.8", "10.1a"),
        ("10.3a", "12.8", "10.0"),
        ("10.7a", "13.0", "10.3"),
        ("12.1a", "12.8", "12.0"),
        ("12.0f", "12.8", "12.0a"),
        ("9.0f", "13.0", "9.0a"),
        ("8.0a", "13.0", "8.0"),
        ("8.8", "12.9", "8.6"),
        ("7.0", "13.0", None),
        ("10.0+PTX", "12.6", None),
        ("12.1+PTX", "12.8", "12.0+PTX"),
    ],
)
def test_the_nearest_target_would_do_in_the_place_of_one_that_is_not_compiled(text, release, instead):
    assert not toolkit(release).compiles(parse_target(text))
    assert nearest(parse_target(text), release) == (parse_target(instead) if instead else None)


# -- what runs where ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("device", "text", "release", "expected"),
    [
        # The same major, the same or a higher minor.
        ("8.9", "8.6", "13.0", True),
        ("8.9", "8.0", "13.0", True),
        ("8.0", "8.6", "13.0", False),
        ("8.9", "9.0", "13.0", False),
        ("9.0", "8.9", "13.0", False),
        ("9.0", "9.0", "13.0", True),
        ("10.3", "10.0", "13.0", True),
        ("10.7", "10.3", "13.0", True),
        ("12.1", "12.0", "13.0", True),
        ("11.0", "10.0", "13.0", False),
        # a: one capability.
        ("9.0", "9.0a", "13.0", True),
        ("10.3", "10.0a", "13.0", False),
        ("10.3", "10.3a", "13.0", True),
        ("12.1", "12.0a", "13.0", False),
        ("12.1", "12.1a", "13.0", True),
        # f: the family, as far as the toolkit knows it.
        ("10.3", "10.0f", "13.0", True),
        ("12.1", "12.0f", "13.0", True),
        ("12.0", "12.1f", "13.0", False),
        ("11.0", "10.0f", "13.0", False),
        ("10.7", "10.0f", "13.4", True),
        ("10.7", "10.0f", "12.9", False),
        ("11.0", "10.1f", "12.9", False),
        # PTX: a plain target goes to all that is later, the others no further than their machine code.
        ("10.3", "9.0+PTX", "13.0", True),
        ("9.0", "8.0+PTX", "13.0", True),
        ("11.0", "10.0+PTX", "13.0", True),
        ("8.9", "compute_90", "13.0", False),
        ("10.3", "10.0a+PTX", "13.0", False),
        ("12.0", "10.0f+PTX", "13.0", False),
        ("12.1", "compute_120f", "13.0", True),
        # Jetson and desktop.
        ("8.7", "8.0", "13.0", False),
        ("8.7", "8.6", "13.0", False),
        ("8.7", "8.7", "13.0", True),
        ("8.9", "8.7", "13.0", False),
        ("8.7", "8.0+PTX", "13.0", True),
        ("11.0", "11.0a", "13.0", True),
        ("7.2", "7.0", "12.9", False),
    ],
)
def test_code_runs_where_the_rules_say(device, text, release, expected):
    assert runs(parse_target(text), Capability.parse(device), release) is expected


def test_ptx_alone_loads_nowhere_and_machine_code_alone_is_compiled_by_no_driver():
    assert not any(loads(parse_target("compute_80"), c, "13.0") for c in KNOWN_CAPABILITIES)
    assert not any(jits(parse_target("8.0"), c, "13.0") for c in KNOWN_CAPABILITIES)


def test_covers_counts_machine_code_within_the_majors_that_are_held():
    targets = parse_targets("8.0 9.0+PTX 12.0f")
    assert list(map(str, covers(targets, None, "13.0"))) == ["8.0", "8.6", "8.9", "9.0", "12.0", "12.1"]
    assert list(map(str, covers(targets, [12], "13.0"))) == ["12.0", "12.1"]
    assert covers(parse_targets("compute_80"), None, "13.0") == ()


@pytest.mark.parametrize("text", ["9", "9.0a", "0.9", "09.0", "9.00", "", "٩.0"])
def test_what_is_no_capability_is_refused(text):
    with pytest.raises(UsageError):
        Capability.parse(text)
