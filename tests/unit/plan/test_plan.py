"""What a channel plans: layouts, selections, exclusions, proof, and notes on what was probably not meant."""

import datetime as dt
import json

import pytest

from fatwheel.declaration import load, parse
from fatwheel.errors import DeclarationError, UsageError
from fatwheel.plan import find_cell, find_warnings, make_plan
from fatwheel.plan.resume import keep_missing
from fatwheel.records.manifest import Manifest, ManifestAsset
from fatwheel.records.plan import Plan
from fatwheel.records.release import AssetRecord, ReleaseJournal, ReleaseRecord
from fatwheel.targets import dotted
from tests.unit.plan.matrices import EXAMPLES, ONE, one


def ids(plan):
    return [c.id for c in plan.cells]


def test_families_make_one_wheel_each_with_their_base(tmp_path):
    plan = make_plan(one(tmp_path))
    assert ids(plan)[:2] == ["cu130-x86_64-sm9x", "cu130-x86_64-sm12x"]
    assert dotted(plan.cells[1].targets) == "8.0 12.0f"
    assert dotted(plan.cells[1].covers) == "12.0 12.1"
    assert plan.cells[1].full_version == "1.0+cu130.sm12x"


def test_providers_make_one_wheel_a_target_and_a_shim(tmp_path):
    plan = make_plan(one(tmp_path, layout="provider", aarch64='"9.0a"'))
    assert ids(plan) == [
        "cu130-x86_64-sm80", "cu130-x86_64-sm90a", "cu130-x86_64-sm120f", "cu130-aarch64-sm90a", "cu130-shim"
    ]  # fmt: skip
    assert plan.cells[0].package == "mylib-sm80"
    assert plan.cells[0].wheel == "mylib_sm80-1.0+cu130-cp39-abi3-manylinux_2_28_x86_64.whl"
    assert dotted(plan.cells[0].covers) == "8.0 8.6 8.9"


def test_a_fat_wheel_holds_everything(tmp_path):
    plan = make_plan(one(tmp_path, layout="fat"))
    assert ids(plan) == ["cu130-x86_64-all", "cu130-aarch64-all"]
    assert (plan.cells[0].family, plan.cells[0].local_version) == (None, "cu130")


def test_ptx_covers_nothing_by_itself(tmp_path):
    plan = make_plan(one(tmp_path, layout="fat", x86_64="8.0+PTX 9.0-virtual", aarch64='"9.0"'))
    assert dotted(plan.cells[0].targets) == "8.0+PTX 9.0-virtual"
    assert dotted(plan.cells[0].covers) == "8.0 8.6 8.9"


def test_a_family_without_native_targets_is_left_out_and_shown(tmp_path):
    plan = make_plan(one(tmp_path, aarch64="8.0 9.0a"))
    assert "cu130-aarch64-sm12x" not in ids(plan)
    assert [(row.id, row.what) for row in plan.excluded] == [("cu130-aarch64-sm12x", "cell")]
    assert plan.excluded[0].reason == "cu130 aarch64 has no target of sm12x"


def test_excluded_targets_and_cells_keep_their_reasons(tmp_path):
    more = """\
exclude:
  - {cells: "*-x86_64-sm9x", targets: 9.0a, reason: too large}
  - {cells: "*-aarch64-sm12x", reason: no such machine}
  - {cells: "*-x86_64-sm12x", targets: 12.0f, reason: later}
"""
    plan = make_plan(one(tmp_path, more))
    assert ids(plan) == ["cu130-x86_64-sm9x", "cu130-aarch64-sm9x"]
    assert dotted(plan.cells[0].targets) == "8.0"
    assert [(row.id.removeprefix("cu130-"), row.what, row.reason) for row in plan.excluded] == [
        ("x86_64-sm9x", "9.0a", "too large"),
        ("x86_64-sm12x", "12.0f", "later"),
        ("x86_64-sm12x", "cell", "all native targets are excluded"),
        ("aarch64-sm12x", "cell", "no such machine"),
    ]


def test_a_package_may_be_part_of_some_channels_only(tmp_path):
    source = (
        EXAMPLES["flashinfer-providers"]
        .read_text()
        .replace("    publish: pypi\n    needs", "    publish: pypi\n    channels: [release]\n    needs")
    )
    declaration = parse(source, tmp_path / "matrix.yaml")
    assert "flashinfer-python" in ids(make_plan(declaration))
    nightly = make_plan(declaration, "nightly")
    assert "flashinfer-python" not in ids(nightly)
    assert [p.name for p in nightly.packages] == ["flashinfer-cubin", "flashinfer-jit-cache"]


def test_families_without_a_gpu_runner_are_not_proven_to_the_last_page(tmp_path):
    more = "runners: {smoke: {sm9x: {x86_64: gpu}}}\n"
    plan = make_plan(one(tmp_path, more))
    assert [(row.family, row.arch, dotted(row.covers)) for row in plan.not_proven] == [
        ("sm12x", "x86_64", "12.0 12.1"),
        ("sm9x", "aarch64", "8.0 8.6 8.9 9.0"),
        ("sm12x", "aarch64", "12.0 12.1"),
    ]
    assert plan.cells[0].smoke == "gpu"


def test_a_provider_is_proven_by_the_runner_of_its_own_or_of_its_family(tmp_path):
    more = "runners: {smoke: {sm9x: {x86_64: gpu-any}, sm90a: {x86_64: gpu-hopper}}}\n"
    plan = make_plan(one(tmp_path, more, layout="provider"))
    assert [c.smoke for c in plan.cells[:3]] == ["gpu-any", "gpu-hopper", None]


def test_unknown_channels_globs_and_cells_are_usage_errors_with_near_misses(tmp_path):
    declaration = one(tmp_path)
    with pytest.raises(UsageError, match="channel 'nightly' is not declared"):
        make_plan(declaration, "nightly")
    with pytest.raises(UsageError, match="did you mean cu130-x86_64-sm9x"):
        make_plan(declaration, only="cu130-x86_64-sm9")
    with pytest.raises(UsageError, match="did you mean cu130-x86_64-sm12x"):
        find_cell(declaration, "cu130-x86_64-sm12")


def test_a_plan_is_read_back_as_it_was_written(tmp_path):
    plan = make_plan(load(EXAMPLES["flashinfer-providers"]))
    plan.write(tmp_path / "plan.json")
    assert Plan.read(tmp_path / "plan.json") == plan


def test_equal_declarations_plan_equal_bytes():
    day = dt.date(2026, 12, 1)
    plans = [make_plan(load(EXAMPLES["torch"]), date=day).to_json() for _ in range(2)]
    assert plans[0] == plans[1]


# -- resume -------------------------------------------------------------------------------------------------------


def _record(plan, *, live):
    assets = [AssetRecord(name=c.wheel, outcome="uploaded" if c.id in live else "failed") for c in plan.cells]
    return ReleaseRecord(tag=plan.tag, store="dir:x", published=False, assets=assets)


def test_a_resumed_plan_holds_exactly_what_is_not_live(tmp_path):
    declaration = one(tmp_path)
    plan = make_plan(declaration)
    _record(plan, live=set(ids(plan)) - {"cu130-aarch64-sm9x"}).write(tmp_path / "record.json")
    rest = keep_missing(declaration, plan, tmp_path / "record.json")
    assert ids(rest) == ["cu130-aarch64-sm9x"]
    assert [p.cells for p in rest.packages] == [1]
    assert [(row.family, row.arch) for row in rest.not_proven] == [("sm9x", "aarch64")]
    assert rest.warnings[0] == "resumed: 3 of 4 files are uploaded according to record.json"


def test_a_wheel_that_the_record_does_not_know_is_missing(tmp_path):
    declaration = one(tmp_path)
    plan = make_plan(declaration)
    ReleaseRecord(tag=plan.tag, store="dir:x", published=False, assets=[]).write(tmp_path / "record.json")
    assert ids(keep_missing(declaration, plan, tmp_path / "record.json")) == ids(plan)


def test_the_manifest_of_a_release_serves_as_well(tmp_path):
    declaration = one(tmp_path)
    plan = make_plan(declaration)
    held = ManifestAsset(name=plan.cells[0].wheel, size=1, sha256="0" * 64)
    Manifest(tag=plan.tag, assets=[held]).write(tmp_path / "manifest.json")
    assert ids(keep_missing(declaration, plan, tmp_path / "manifest.json")) == ids(plan)[1:]


def test_what_only_looks_like_a_record_is_refused(tmp_path):
    declaration = one(tmp_path)
    plan = make_plan(declaration)
    plan.write(tmp_path / "plan.json")
    record = json.loads(_record(plan, live=set()).to_json())
    del record["store"]
    (tmp_path / "record.json").write_text(json.dumps(record))
    for name in ("plan.json", "record.json"):
        with pytest.raises(UsageError, match="invalid ReleaseRecord: store"):
            keep_missing(declaration, plan, tmp_path / name)


def test_the_journal_of_a_killed_run_serves_as_well(tmp_path):
    declaration = one(tmp_path)
    plan = make_plan(declaration)
    assets = [AssetRecord(name=plan.cells[0].wheel, outcome="uploaded")]
    ReleaseJournal(store="dir:x", tag=plan.tag, files=[], assets=assets).write(tmp_path / "record.json")
    assert ids(keep_missing(declaration, plan, tmp_path / "record.json")) == ids(plan)[1:]


def test_a_record_of_another_tag_or_of_nothing_is_refused(tmp_path):
    declaration = one(tmp_path)
    plan = make_plan(declaration)
    ReleaseRecord(tag="v0.9", store="dir:x", published=True, assets=[]).write(tmp_path / "record.json")
    with pytest.raises(UsageError, match=r"the record has tag v0\.9, but the plan has v1\.0"):
        keep_missing(declaration, plan, tmp_path / "record.json")
    (tmp_path / "record.json").write_text("{}")
    with pytest.raises(UsageError, match="invalid ReleaseRecord"):
        keep_missing(declaration, plan, tmp_path / "record.json")


# -- notes --------------------------------------------------------------------------------------------------------


FAT = ONE.format(version="1.0", layout="fat", x86_64='"8.0"', aarch64='"8.0"')


def notes(declaration):
    return [f"{p.line}: {p.what}" for p in find_warnings(declaration)]


def test_it_is_said_what_a_plain_install_takes(tmp_path):
    assert notes(one(tmp_path)) == [
        "3: `pip install mylib` installs +cu130.sm9x on every machine, regardless of its GPU"
    ]
    assert notes(one(tmp_path, layout="fat")) == []
    assert notes(one(tmp_path, layout="provider")) == []


def test_a_bare_target_beside_its_suffixed_twin_is_noted(tmp_path):
    found = notes(one(tmp_path, layout="fat", x86_64="8.0 10.0 10.0a"))
    assert found == [
        "12: cu130 x86_64: 10.0 is declared besides 10.0a, but code that requires the suffix cannot use it"
    ]


def test_a_target_for_no_known_gpu_and_ptx_that_reaches_nobody_are_noted(tmp_path):
    thor = FAT.replace("13.0", "12.9").replace("cu130", "cu129").replace('aarch64: "8.0"', "aarch64: 10.1a")
    assert notes(parse(thor, tmp_path / "matrix.yaml")) == ["12: cu129 aarch64: no known GPU runs 10.1a"]
    found = notes(one(tmp_path, layout="fat", x86_64="8.0 9.0a+PTX"))
    assert found == ["12: cu130 x86_64: PTX of 9.0a runs only where its machine code does"]


def test_a_label_that_reads_like_another_toolkit_is_noted(tmp_path):
    found = notes(parse(FAT.replace("  cu130:", "  cu129:"), tmp_path / "matrix.yaml"))
    assert found == ["10: label cu129 suggests a CUDA version other than 13.0"]


def test_compression_on_cuda_12_and_partial_immutable_releases_are_noted(tmp_path):
    source = FAT.replace('  cu130:\n    toolkit: "13.0"', '  cu129:\n    compress: size\n    toolkit: "12.9"')
    source += "channels: {release: {immutable: true, completeness: partial}}\n"
    found = notes(parse(source, tmp_path / "matrix.yaml"))
    assert found == [
        "11: cu129: compressed machine code of CUDA 12 requires driver 550.54.14 or later; otherwise 525 is enough",
        "17: release: nothing can be added to a partial release in an immutable repository",
    ]


def test_labels_by_which_pip_prefers_an_older_axis_are_noted(tmp_path):
    text = EXAMPLES["torch"].read_text().replace('torch: ["2.13", "2.14"]', 'torch: ["2.9", "2.14"]')
    assert not any("prefer" in note for note in notes(parse(text, tmp_path / "matrix.yaml")))
    found = find_warnings(
        parse(text.replace("{cuda}torch{torch}", "{cuda}torch{torch_nodot}"), tmp_path / "matrix.yaml")
    )
    assert [(p.line, p.what, p.help) for p in found if "prefer" in p.what] == [
        (
            15,
            (
                "pip and uv prefer +cu130torch29 (torch 2.9) over +cu130torch214 (torch 2.14), because they compare "
                "mixed letters and digits as text"
            ),
            "write {torch} instead of {torch_nodot}; separate numbers compare as numbers",
        )
    ]


def test_a_package_on_pypi_that_needs_one_that_is_not_there_is_noted(tmp_path):
    text = EXAMPLES["flashinfer-providers"].read_text()
    needing = text.replace("needs: [flashinfer-cubin]", "needs: [flashinfer-cubin, flashinfer-jit-cache]")
    assert not any("PyPI" in note for note in notes(parse(text, tmp_path / "matrix.yaml")))
    assert [note for note in notes(parse(needing, tmp_path / "matrix.yaml")) if "PyPI" in note] == [
        (
            "45: flashinfer-python is published on PyPI but needs flashinfer-jit-cache, which is not, so a plain "
            "install fails"
        )
    ]


def test_promises_are_for_what_is_released_and_not_for_what_only_nightlies_have(tmp_path):
    more = """\
must_cover: [{capabilities: 8.0 12.0}]
channels:
  release: {}
  nightly: {select: ['*-sm9x'], tag: '{date}'}
"""
    assert ids(make_plan(one(tmp_path, more), "nightly")) == ["cu130-x86_64-sm9x", "cu130-aarch64-sm9x"]
    more = more.replace("release: {}", "release: {select: ['*-x86_64-*']}")
    assert ids(make_plan(one(tmp_path, more))) == ["cu130-x86_64-sm9x", "cu130-x86_64-sm12x"]
    with pytest.raises(DeclarationError, match=r"covers 12\.0, .* only with cells that are not released"):
        make_plan(one(tmp_path, more.replace("'*-x86_64-*'", "'*-x86_64-sm9x'")))


def test_a_free_threaded_python_bears_its_t_in_the_abi_tag_alone(tmp_path):
    text = """\
version: "1.0"
packages:
  - {name: one, per: [python], tag: "cp{python_nodot}-cp{python_nodot}", build: {kind: wheel, command: [make]}}
axes: {python: ["3.13", "3.13t", "3.14"]}
"""
    plan = make_plan(parse(text, tmp_path / "matrix.yaml"))
    assert [c.wheel for c in plan.cells] == [
        "one-1.0-cp313-cp313-any.whl", "one-1.0-cp313-cp313t-any.whl", "one-1.0-cp314-cp314-any.whl",
    ]  # fmt: skip
    literal = text.replace("cp{python_nodot}-cp{python_nodot}", "cp313t-cp{python_nodot}")
    with pytest.raises(DeclarationError, match="only the ABI tag has the t: write cp313-cp313t"):
        make_plan(parse(literal, tmp_path / "matrix.yaml"))
