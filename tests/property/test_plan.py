"""Plans: what holds for every declaration that can be planned."""

import datetime as dt
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version

from fatwheel.declaration import parse
from fatwheel.declaration.schema import schema
from fatwheel.errors import DeclarationError
from fatwheel.plan import find_cell, make_plan
from fatwheel.targets import TEGRA, loads, toolkits
from tests.unit.plan.matrices import ROOT

CHECKS = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
RELEASES = ["12.8", "12.9", "13.0", "13.4"]
FAMILIES = {
    "sm9x": {"majors": [5, 6, 7, 8, 9]},
    "sm10x": {"majors": [10, 11], "base": "8.0"},
    "sm12x": {"majors": [12], "base": "8.0"},
}


@st.composite
def targets(draw, release):
    every = sorted(toolkits()[release].targets)
    return " ".join(map(str, draw(st.lists(st.sampled_from(every), min_size=1, max_size=6, unique=True))))


@st.composite
def documents(draw):
    """A declaration of one to three packages, all of one version, with further axes here and there."""
    releases = draw(st.lists(st.sampled_from(RELEASES), min_size=1, max_size=3, unique=True))
    arches = draw(st.lists(st.sampled_from(["x86_64", "aarch64"]), min_size=1, max_size=2, unique=True))
    cuda = {
        f"cu{release.replace('.', '')}": {
            "toolkit": release,
            "targets": {arch: draw(targets(release)) for arch in arches},
        }
        for release in releases
    }
    pythons = draw(st.lists(st.sampled_from(["3.11", "3.12", "3.13"]), max_size=3, unique=True))
    build = {"kind": "wheel", "command": ["make"]}
    main = {
        "name": draw(st.sampled_from(["mylib", "My.Lib_x"])),
        "per": ["cuda", "arch", *(["python"] if pythons else [])],
        "layout": draw(st.sampled_from(["family", "provider", "fat"])),
        "tag": "cp{python_nodot}-cp{python_nodot}" if pythons else "cp39-abi3",
        "manylinux": "2_28",
        "build": build,
    }
    packages = [main]
    if draw(st.booleans()):
        packages.insert(0, {"name": "data", "per": [], "build": build, "publish": "pypi"})
        main["needs"] = ["data"]
    if draw(st.booleans()):
        packages.append({"name": "top", "per": [], "build": {**build, "kind": "sdist"}, "needs": [main["name"]]})
    document = {
        "version": draw(st.sampled_from(["1.0", "1.0rc1", "2.3.post1", "1!4.5", "0.1.dev3"])),
        "packages": packages,
        "cuda": cuda,
        "families": FAMILIES,
        "channels": {"release": {}, "nightly": {"tag": "nightly-{date}"}},
    }
    if pythons:
        document["axes"] = {"python": pythons}
    return document


def plans(document):
    """Both plans of a declaration, by channel."""
    declaration = parse(yaml.safe_dump(document, sort_keys=False), Path(ROOT) / "generated.yaml")
    day = dt.date(2026, 12, 1)
    return declaration, {name: make_plan(declaration, name, date=day) for name in declaration.channels}


@CHECKS
@given(documents())
def test_ids_artifacts_and_files_are_never_used_twice_over_all_channels(document):
    _, made = plans(document)
    files = [c.wheel.lower() for plan in made.values() for c in plan.cells]
    assert len(set(files)) == len(files)
    for plan in made.values():
        for name in ("id", "artifact"):
            values = [getattr(c, name).lower() for c in plan.cells]
            assert len(set(values)) == len(values)


SCHEMA = Draft202012Validator(schema())


@CHECKS
@given(documents())
def test_the_json_schema_takes_what_can_be_planned(document):
    plans(document)
    assert not list(SCHEMA.iter_errors(document))


@CHECKS
@given(documents())
def test_every_file_name_is_read_back_by_packaging(document):
    _, made = plans(document)
    for one in (c for plan in made.values() for c in plan.cells):
        if one.wheel.endswith(".tar.gz"):
            name, version = parse_sdist_filename(one.wheel)
            tags = frozenset()
        else:
            name, version, _, tags = parse_wheel_filename(one.wheel)
        assert name == canonicalize_name(one.package)
        assert str(version) == one.full_version
        assert not tags or {tag.platform for tag in tags} <= {"any", f"manylinux_2_28_{one.arch}"}


@CHECKS
@given(documents())
def test_no_declared_target_is_lost(document):
    _, made = plans(document)
    rows = made["release"].excluded
    for label, cuda in document["cuda"].items():
        for arch, listed in cuda["targets"].items():
            held = {t for c in made["release"].cells if (c.cuda, c.arch) == (label, arch) for t in map(str, c.targets)}
            gone = {row.what for row in rows if row.id.startswith(f"{label}-{arch}-")}
            assert set(listed.split()) <= held | gone


@CHECKS
@given(documents())
def test_a_cell_covers_only_what_loads_its_code_and_belongs_to_its_family(document):
    _, made = plans(document)
    for one in made["release"].cells:
        for capability in one.covers:
            loading = [t for t in one.targets if loads(t, capability, one.toolkit)]
            assert loading
            if capability in TEGRA:
                assert capability in {t.capability for t in loading}
            if one.family in FAMILIES:
                assert capability.major in FAMILIES[one.family]["majors"]


@CHECKS
@given(documents())
def test_shims_require_each_provider_once_and_nothing_that_is_not_planned(document):
    _, made = plans(document)
    for plan in made.values():
        providers = {(c.cuda, f"{c.package}=={c.full_version}") for c in plan.cells if c.family and not c.shim}
        for shim in (c for c in plan.cells if c.shim):
            named = [r.split(" ;")[0] for r in shim.requires if "+" in r]
            assert len(named) == len(set(named))
            assert set(named) == {what for cuda, what in providers if cuda == shim.cuda}


@CHECKS
@given(documents())
def test_a_nightly_lies_between_the_last_release_and_the_next(document):
    _, made = plans(document)
    nightly = Version(made["nightly"].packages[0].version)
    assert Version(document["version"]) < nightly
    assert nightly.is_devrelease


@CHECKS
@given(documents())
def test_every_cell_is_found_by_its_id_and_by_a_selection_of_it(document):
    declaration, made = plans(document)
    for one in made["release"].cells[:4]:
        assert find_cell(declaration, one.id, "release") == one
        assert [c.id for c in make_plan(declaration, only=one.id).cells] == [one.id]


@CHECKS
@given(documents(), st.data())
def test_dropping_a_target_that_a_promise_needs_is_an_error(document, data):
    _, made = plans(document)
    promised = sorted({c for one in made["release"].cells for c in one.covers})
    if not promised:
        return
    capability = data.draw(st.sampled_from(promised))
    keepers = [one.id for one in made["release"].cells if capability in one.covers]
    pair = keepers[0].split("-")[:2]
    document["must_cover"] = [{"cells": "-".join([*pair, "*"]), "capabilities": str(capability)}]
    plans(document)
    label, arch = pair
    document["exclude"] = [{"cells": one, "reason": "gone"} for one in keepers if one.startswith(f"{label}-{arch}-")]
    with pytest.raises(DeclarationError):
        plans(document)
