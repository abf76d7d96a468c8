"""Which wheel the installer chooses for which machine, and its errors if none fits."""

import importlib.util
import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from fatwheel.targets import COMPRESSED_CODE_DRIVER, MINIMUM_DRIVERS, toolkit

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "install_wheel.py"


def _load():
    spec = importlib.util.spec_from_file_location("install_wheel", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


tool = _load()

COVERS = {"sm9x": ["7.5", "8.0", "8.6", "8.9", "9.0"], "sm10x": ["10.0", "10.3"], "sm12x": ["12.0", "12.1"]}


def row(version="1.0", *, cuda="cu130", family="sm9x", arch="x86_64", covers=None, size=1000, project="demo", **more):
    label = ".".join(part for part in (cuda, family) if part)
    full = f"{version}+{label}" if label else version
    tag = "py3-none-any" if arch is None else f"cp39-abi3-manylinux_2_28_{arch}"
    return {
        "file": f"{project}-{full}-{tag}.whl", "project": project, "version": full, "nightly": "dev" in version,
        "page": f"{cuda}/{family}/{project}/", "cuda": cuda, "family": family, "arch": arch, "bytes": size,
        "covers": COVERS.get(family) if covers is None else covers, "sha256": "0" * 64,
        "url": f"https://example.org/v{version}/x.whl", **more,
    }  # fmt: skip


RELEASE = [row(cuda=cuda, family=family) for cuda in ("cu129", "cu130") for family in COVERS]


def machine(*capabilities, cuda=(13, 0)):
    return tool.Machine(tuple(tool.Gpu(c, f"GPU {c}") for c in capabilities), cuda, "580.1", "NVML")


def python(**facts):
    return tool.Python("python", (3, 11), glibc=(2, 36), **facts)


def choose(*capabilities, rows=RELEASE, cuda=(13, 0), found=None, **wish):
    if "version" in wish:
        wish["version"] = tool.Version.parse(wish["version"])
    return tool.choose_wheel(
        rows, tool.Request("demo", **wish), machine(*capabilities, cuda=cuda), python(installed=found or {})
    )


@pytest.mark.parametrize(
    ("capabilities", "version"),
    [
        (("9.0",), "1.0+cu130.sm9x"),
        (("12.1",), "1.0+cu130.sm12x"),
        (("10.3",), "1.0+cu130.sm10x"),
        (("8.6", "8.9"), "1.0+cu130.sm9x"),
        (("9.0", "9.0"), "1.0+cu130.sm9x"),
    ],
)
def test_one_wheel_that_covers_every_gpu_is_taken(capabilities, version):
    assert choose(*capabilities)[0]["version"] == version


def test_gpus_that_no_single_wheel_covers_are_named_with_the_wheels_that_cover_each():
    with pytest.raises(tool.InstallError) as stop:
        choose("9.0", "12.0")
    assert stop.value.code == 5
    assert "9.0 is covered by 1.0+cu130.sm9x" in stop.value.what
    assert "12.0 is covered by 1.0+cu130.sm12x" in stop.value.what
    assert "--sm-family" in stop.value.help


def test_a_wheel_of_all_families_serves_a_mixed_machine():
    fat = row(family=None, covers=[c for family in COVERS.values() for c in family], size=9000)
    assert choose("9.0", "12.0", rows=[*RELEASE, fat])[0] is fat


def test_the_smaller_of_two_wheels_that_fit_is_taken():
    fat = row(family=None, covers=[c for family in COVERS.values() for c in family], size=9000)
    assert choose("9.0", rows=[fat, *RELEASE])[0]["family"] == "sm9x"


def test_no_gpu_is_an_error_that_lists_the_families():
    with pytest.raises(tool.InstallError, match=r"no GPU found \(checked NVML\)") as stop:
        choose()
    assert "sm10x, sm12x, sm9x" in stop.value.help


def test_a_gpu_too_old_for_all_wheels_is_an_error_that_lists_what_is_covered():
    with pytest.raises(tool.InstallError, match=r"covers compute capability 7\.0") as stop:
        choose("7.0")
    assert "7.5, 8.0, 8.6, 8.9, 9.0, 10.0, 10.3, 12.0, 12.1" in stop.value.help


def test_a_gpu_that_another_cuda_version_covers_is_pointed_to_it():
    rows = [row(cuda="cu130"), row(cuda="cu140", family="sm10x", covers=["10.7"])]
    with pytest.raises(tool.InstallError) as stop:
        choose("10.7", rows=rows)
    assert "a wheel for cu140 covers it: use --cuda-version" in stop.value.help


def test_a_gpu_in_the_order_of_labels_is_never_decisive():
    assert choose("12.0", rows=RELEASE)[0]["family"] == choose("12.0", rows=RELEASE[::-1])[0]["family"] == "sm12x"


@pytest.mark.parametrize(
    ("driver", "label"),
    [((13, 0), "cu130"), ((13, 5), "cu134"), ((13, 2), "cu130"), ((12, 9), "cu129"), ((12, 4), "cu129")],
)
def test_the_driver_decides_the_cuda_version(driver, label):
    rows = [row(cuda=cuda) for cuda in ("cu129", "cu130", "cu134")]
    assert choose("9.0", rows=rows, cuda=driver)[0]["cuda"] == label


def test_a_newer_minor_version_is_taken_where_no_native_one_covers_the_gpu():
    rows = [row(cuda="cu130"), row(cuda="cu134", family="sm10x", covers=["10.7"])]
    assert choose("10.7", rows=rows, cuda=(13, 0))[0]["cuda"] == "cu134"


def test_a_driver_too_old_for_every_wheel_is_an_error():
    with pytest.raises(
        tool.InstallError, match=r"no wheel for a matching CUDA version: the driver supports CUDA 12\.8"
    ) as stop:
        choose("9.0", rows=[row(cuda="cu130")], cuda=(12, 8))
    assert "CUDA 13: 580" in stop.value.help


def test_an_installed_torch_comes_before_the_driver():
    found = {"torch": {"version": "2.11.0+cu129", "cuda": "cu129", "embedded": None}}
    assert choose("9.0", found=found)[0]["cuda"] == "cu129"


def test_a_torch_of_another_cuda_major_is_an_error():
    found = {"torch": {"version": "2.11.0+cu118", "cuda": "11.8", "embedded": None}}
    with pytest.raises(tool.InstallError, match=r"torch 2\.11\.0\+cu118 uses cu118"):
        choose("9.0", found=found)


def test_a_torch_without_cuda_leaves_it_to_the_driver():
    assert (
        choose("9.0", found={"torch": {"version": "2.11.0+cpu", "cuda": None, "embedded": None}})[0]["cuda"] == "cu130"
    )


def test_without_driver_and_torch_the_cuda_version_must_be_given():
    with pytest.raises(tool.InstallError, match="cannot determine the CUDA version"):
        choose("9.0", cuda=None)
    assert choose("9.0", cuda=None, version="1.0+cu129.sm9x")[0]["cuda"] == "cu129"


@pytest.mark.parametrize("text", ["cu130", "130", "13.0", "CU130", "13.0.2"])
def test_a_cuda_version_is_read_in_every_spelling(text):
    assert tool.parse_cuda_label(text) == "cu130"


@pytest.mark.parametrize(
    ("label", "release"), [("cu92", (9, 2)), ("cu118", (11, 8)), ("cu130", (13, 0)), ("cu1310", (13, 10))]
)
def test_a_label_stands_for_a_release(label, release):
    assert tool.parse_cuda_release(label) == release


@pytest.mark.parametrize("text", ["13", "cuda13", "", "13.x"])
def test_another_cuda_version_is_a_usage_error(text):
    with pytest.raises(tool.InstallError) as stop:
        tool.parse_cuda_label(text)
    assert stop.value.code == 2


def test_a_given_family_is_taken_without_a_gpu():
    assert choose(family="sm12x")[0]["version"] == "1.0+cu130.sm12x"


def test_a_given_family_that_does_not_cover_the_gpu_is_taken_with_a_warning():
    chosen, notes = choose("9.0", family="sm12x")
    assert chosen["family"] == "sm12x"
    assert any("warning: this wheel does not cover" in note and "9.0" in note for note in notes)


def test_a_family_that_is_not_there_is_an_error_that_lists_those_that_are():
    with pytest.raises(tool.InstallError, match="no wheel of family sm11x") as stop:
        choose(family="sm11x")
    assert "sm10x, sm12x, sm9x" in stop.value.help


def test_a_given_label_is_taken_whole():
    chosen, notes = choose("9.0", version="1.0+cu129.sm12x")
    assert chosen["version"] == "1.0+cu129.sm12x"
    assert any(note.startswith("warning: ") for note in notes)


def test_the_newest_release_is_taken_where_no_version_is_given():
    rows = [row("0.9"), row("0.10"), row("0.11rc1"), row("0.12.dev20260508")]
    assert choose("9.0", rows=rows)[0]["version"] == "0.10+cu130.sm9x"


def test_a_family_that_the_newest_release_lacks_is_not_taken_from_an_older_one():
    rows = [row("0.8", family="sm12x"), row("0.9", family="sm12x"), row("0.9.1"), row("1.0")]
    with pytest.raises(tool.InstallError, match="of this version") as stop:
        choose("12.0", rows=rows)
    assert "or install demo==0.9, which has a matching wheel" in stop.value.help


def test_a_nightly_is_the_newest_dev_version():
    rows = [row("1.0"), row("1.1.dev20260507"), row("1.1.dev20260508")]
    assert choose("9.0", rows=rows, nightly=True)[0]["version"] == "1.1.dev20260508+cu130.sm9x"


def test_a_nightly_of_a_release_version_is_refused_with_the_reason():
    with pytest.raises(
        tool.InstallError, match=r"--nightly conflicts with demo==1\.0: nightlies have \.dev versions"
    ) as stop:
        choose("9.0", version="1.0", nightly=True)
    assert stop.value.code == 2


def test_a_version_that_is_not_there_is_an_error_that_lists_those_that_are():
    with pytest.raises(tool.InstallError) as stop:
        choose("9.0", version="2.0")
    assert "1.0+cu130.sm9x" in stop.value.help


def test_a_project_that_is_not_there_is_an_error_that_lists_those_that_are():
    with pytest.raises(tool.InstallError, match="project 'demo' is not in this index") as stop:
        choose("9.0", rows=[row(project="other")])
    assert "other" in stop.value.help


def test_a_wheel_of_which_nothing_is_known_is_taken_only_last_and_with_a_note():
    legacy = row(family=None, covers=None, size=1)
    assert choose("9.0", rows=[legacy, *RELEASE])[0]["family"] == "sm9x"
    chosen, notes = choose("9.0", rows=[legacy])
    assert chosen is legacy
    assert "the GPUs that this wheel covers are unknown" in notes


def test_a_pure_wheel_needs_no_gpu():
    assert choose(rows=[row(cuda=None, family=None, arch=None)], cuda=None)[0]["version"] == "1.0"


def test_a_wheel_for_another_cpu_is_not_taken():
    with pytest.raises(tool.InstallError, match=r"no wheel of demo 1\.0 supports Python 3\.11 on Linux x86_64") as stop:
        choose("9.0", rows=[row(arch="aarch64")])
    assert "manylinux_2_28_aarch64" in stop.value.help


@pytest.mark.parametrize(
    ("tag", "facts", "taken"),
    [
        ("cp39-abi3-manylinux_2_28_x86_64", {}, True),
        ("cp312-abi3-manylinux_2_28_x86_64", {}, False),
        ("cp311-cp311-manylinux_2_28_x86_64", {}, True),
        ("cp310-cp310-manylinux_2_28_x86_64", {}, False),
        ("cp311-cp311t-manylinux_2_28_x86_64", {}, False),
        ("cp311-cp311t-manylinux_2_28_x86_64", {"threads": True}, True),
        ("cp39-abi3-manylinux_2_28_x86_64", {"threads": True}, False),
        ("cp39-abi3-manylinux_2_39_x86_64", {}, False),
        ("cp39-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64", {}, True),
        ("cp39-abi3-linux_x86_64", {}, True),
        ("cp39-abi3-musllinux_1_2_x86_64", {}, False),
        ("py3-none-any", {}, True),
        ("py2.py3-none-any", {}, True),
        ("py3-none-any", {"implementation": "pypy"}, True),
        ("cp39-abi3-manylinux_2_28_x86_64", {"implementation": "pypy"}, False),
        ("py3-none-any", {"system": "Darwin", "machine": "arm64"}, True),
        ("py3-none-manylinux_2_28_x86_64", {"system": "Darwin", "machine": "arm64"}, False),
    ],
)
def test_tags_are_judged_as_pip_judges_them(tag, facts, taken):
    assert bool(python(**facts).rate_file(f"demo-1.0-{tag}.whl")) == taken


@pytest.mark.parametrize(
    "ascending",
    [
        ["1.0.dev1", "1.0.dev2", "1.0a1", "1.0b2", "1.0rc1", "1.0", "1.0.post1", "1.0.1", "1.10", "2!0.1"],
        ["0.9", "0.10", "0.10.1rc2", "0.10.1"],
    ],
)
def test_versions_are_ordered_as_packaging_orders_them(ascending):
    packaging = pytest.importorskip("packaging.version")
    assert sorted(ascending, key=packaging.Version) == ascending
    keys = [tool.Version.parse(text).key for text in ascending]
    assert all(lower < higher for lower, higher in pairwise(keys))


@pytest.mark.parametrize(
    ("one", "other"), [("1.0", "1.0.0"), ("1.0-rc.1", "1.0rc1"), ("1.0-1", "1.0.post1"), ("v1.0", "1")]
)
def test_spellings_of_one_version_are_equal(one, other):
    assert tool.Version.parse(one).key == tool.Version.parse(other).key


@pytest.mark.parametrize(
    ("setting", "left"),
    [
        (None, "abc"),
        ("", ""),
        ("-1", ""),
        ("1", "b"),
        ("2,0", "ca"),
        ("0,7,1", "a"),
        ("GPU-b", "b"),
        ("GPU-", ""),
        ("MIG-1", ""),
    ],
)
def test_visible_devices_are_those_that_cuda_would_see(setting, left):
    gpus = [tool.Gpu("9.0", uuid=f"GPU-{letter}") for letter in "abc"]
    assert "".join(gpu.uuid[-1] for gpu in tool.filter_visible(gpus, setting)) == left


@pytest.mark.parametrize(
    ("value", "expected"), [("9.0", ["9.0"]), ("9.0, 12.0", ["9.0", "12.0"]), ("", []), ("12.1;9.0", ["9.0", "12.1"])]
)
def test_the_environment_overrides_detection(monkeypatch, value, expected):
    monkeypatch.setenv("FATWHEEL_GPU", value)
    assert tool.detect().capabilities == expected


def test_a_capability_that_is_none_is_a_usage_error(monkeypatch):
    monkeypatch.setenv("FATWHEEL_GPU", "sm_90")
    with pytest.raises(tool.InstallError, match="invalid compute capability 'sm_90'"):
        tool.detect()


def pick(*capabilities, rows, cuda=(13, 0), found=None, **wish):
    wish["version"] = tool.Version.parse(wish["version"]) if "version" in wish else None
    asked = tool.Request("demo", **wish)
    return tool.pick_wheels(rows, asked, machine(*capabilities, cuda=cuda), python(installed=found or {}))


def names(parts):
    return [part.entry["project"] + (f"[{','.join(part.extras)}]" if part.extras else "") for part in parts]


TARGETS = {"sm80": ["8.0", "8.6", "8.9"], "sm90": ["9.0"], "sm90a": ["9.0"], "sm120f": ["12.0", "12.1"]}


def provided(cuda="cu130", *, shim="extras", targets=TARGETS, version="1.0"):
    """A shim and a provider for each target."""
    label = f"{version}+{cuda}"
    end = {"extras": " ; extra == '{}'", "all": ""}[shim].format
    needs = [f"demo-{target}=={label}{end(target)}" for target in targets]
    pure = {"version": label, "page": f"{cuda}/demo/", "file": f"demo-{label}-py3-none-any.whl"}
    shown = row(version, cuda=cuda, family=None, arch=None, covers=[], size=1, requires_dist=["numpy", *needs])
    rows = [{**shown, **pure}]
    for place, (target, covers) in enumerate(targets.items()):
        file = f"demo_{target}-{label}-cp39-abi3-manylinux_2_28_x86_64.whl"
        one = row(version, cuda=cuda, family=target, covers=covers, size=1000 + place, project=f"demo-{target}")
        rows.append({**one, "version": label, "file": file})
    return rows


@pytest.mark.parametrize(
    ("capabilities", "wanted"),
    [
        (("9.0",), ["demo[sm90]", "demo-sm90"]),
        (("12.1",), ["demo[sm120f]", "demo-sm120f"]),
        (("8.6", "8.9"), ["demo[sm80]", "demo-sm80"]),
        (("9.0", "12.0"), ["demo[sm90,sm120f]", "demo-sm90", "demo-sm120f"]),
    ],
)
def test_of_providers_those_are_taken_that_the_gpus_need(capabilities, wanted):
    assert names(pick(*capabilities, rows=provided())[0]) == wanted


def test_a_shim_that_requires_all_providers_brings_them_all():
    assert names(pick("9.0", rows=provided(shim="all"))[0]) == ["demo", *(f"demo-{target}" for target in TARGETS)]


def test_a_gpu_that_no_provider_covers_is_an_error_that_lists_what_there_is():
    with pytest.raises(tool.InstallError, match=r"no provider wheel of demo 1\.0 for 7\.0") as stop:
        pick("7.0", rows=provided())
    assert "the cu130 provider wheels cover 8.0, 8.6, 8.9, 9.0, 12.0, 12.1, not 7.0" in stop.value.help


def test_another_cuda_version_is_taken_where_only_its_providers_cover_the_gpu():
    rows = [*provided("cu130", targets={"sm90": ["9.0"]}), *provided("cu134", targets={"sm120f": ["12.0"]})]
    assert pick("12.0", rows=rows)[0][0].entry["cuda"] == "cu134"


def test_without_a_gpu_a_provider_must_be_named():
    with pytest.raises(tool.InstallError, match="no GPU found") as stop:
        pick(rows=provided())
    assert "sm120f, sm80, sm90, sm90a" in stop.value.help
    assert names(pick(rows=provided(), family="sm90a")[0]) == ["demo[sm90a]", "demo-sm90a"]


def test_a_direct_requirement_names_the_file_with_its_hash_and_the_extras():
    parts, _ = pick("9.0", rows=provided())
    assert parts[0].direct("https://example.org/").startswith("demo[sm90] @ https://example.org/v1.0/x.whl#sha256=000")


def test_a_yanked_release_is_passed_over_and_taken_with_a_warning_only_by_name():
    rows = [row("1.0"), row("1.1", yanked="crashes")]
    assert choose("9.0", rows=rows)[0]["version"] == "1.0+cu130.sm9x"
    chosen, notes = choose("9.0", rows=rows, version="1.1")
    assert chosen["version"] == "1.1+cu130.sm9x"
    assert "warning: this wheel is yanked: crashes" in notes
    with pytest.raises(tool.InstallError, match="this index has no release of demo") as stop:
        choose("9.0", rows=rows[1:])
    assert "1.1+cu130.sm9x (yanked)" in stop.value.help


@pytest.mark.parametrize(
    ("driver", "cuda", "label", "said"),
    [
        ("580.159.04", (13, 0), "cu130", "driver 580.159.04 (CUDA 13.0) supports cu130, which requires 580 or later"),
        ("580.159.04", (13, 0), "cu134", "CUDA minor version compatibility"),
        (
            "570.1",
            (12, 8),
            "cu130",
            "warning: driver 570.1 (CUDA 12.8) is too old for cu130, which requires 580 or later",
        ),
        ("535.1", (12, 2), "cu129", "warning: if its device code is compressed, it requires driver 550.54.14"),
        (None, (13, 0), "cu130", "driver of unknown version (CUDA 13.0) supports cu130"),
    ],
)
def test_it_says_whether_the_driver_is_new_enough(driver, cuda, label, said):
    here = tool.Machine((tool.Gpu("9.0"),), cuda, driver, "NVML")
    assert said in "\n".join(tool.describe_driver(row(cuda=label), here))


def discover(installed, *, own=None, rows=None, match=None, **wish):
    """The version that is found where these packages are installed, and why."""
    shown = {name: {"version": version} for name, version in installed.items()}
    rows = rows or [row("1.0", tag="v1"), row("1.1", tag="v2"), {**row("1.0", tag="v1"), "project": "twin"}]
    found, notes = tool.follow_installed(
        rows, tool.Request("demo", **wish), python(installed={"demo": {"version": own}} if own else {}), match,
        lambda names: {name: shown.get(name) for name in names},
    )  # fmt: skip
    return found.version and found.version.key == tool.Version.parse("1.0").key, notes


def test_the_version_is_that_of_an_installed_package_of_the_same_set():
    assert discover({"twin": "1.0"}) == (True, ["using the version of the installed twin 1.0"])
    assert discover({}) == (None, [])


def test_the_version_is_that_of_the_package_that_match_names():
    assert discover({"other": "1.0+cu130"}, match="Other")[0]
    with pytest.raises(tool.InstallError, match="other, given with --match, is not installed") as stop:
        discover({}, match="other")
    assert stop.value.code == 2


def test_what_is_installed_stays_at_its_version_unless_the_index_does_not_have_it():
    assert discover({}, own="1.0+cu130.sm9x")[0]
    assert discover({}, own="0.5") == (None, ["demo 0.5 is installed, but this index does not have that version"])


def test_a_nightly_beside_a_release_of_the_same_set_is_refused_with_the_reason():
    with pytest.raises(tool.InstallError, match="packages released together must have the same version") as stop:
        discover({"twin": "1.0"}, nightly=True)
    assert stop.value.code == 2
    assert discover({}, own="1.0", nightly=True) == (None, [])


def test_a_python_that_uv_throws_away_is_not_installed_into(monkeypatch):
    monkeypatch.setenv("UV", "/usr/bin/uv")
    monkeypatch.setattr(tool.sys, "prefix", "/home/me/.cache/uv/builds-v0/.tmpOAKjYt")
    with pytest.raises(tool.InstallError, match="deletes it afterwards"):
        tool.current_python()
    monkeypatch.setattr(tool.sys, "prefix", "/home/me/project/.venv")
    assert tool.current_python() == sys.executable


def _index(folder, rows):
    folder.mkdir(exist_ok=True)
    (folder / "index.json").write_text(json.dumps({"version": 1, "wheels": rows}))
    return folder


def run(*arguments, gpus="9.0", **env):
    variables = {"PATH": "/usr/bin:/bin", "FATWHEEL_GPU": gpus, **env}
    command = [sys.executable, "-I", str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=variables)


def test_a_dry_run_shows_the_command_the_pin_and_the_page(tmp_path):
    answer = run("demo", "--index-url", _index(tmp_path / "index", RELEASE), "--cuda-version", "13.0", "--dry-run")
    assert answer.returncode == 0, answer.stderr
    assert f"-m pip install 'demo @ https://example.org/v1.0/x.whl#sha256={'0' * 64}'" in answer.stdout
    assert "demo==1.0+cu130.sm9x" in answer.stdout
    assert "/cu130/sm9x/" in answer.stdout
    assert "--no-deps" in answer.stdout


def test_json_is_one_document_with_the_exact_command(tmp_path):
    index = _index(tmp_path / "index", RELEASE)
    answer = run("demo==1.0", "--index-url", index, "--dry-run", "--json", gpus="12.1", FATWHEEL_CUDA="130")
    found = json.loads(answer.stdout)
    assert found["pin"] == "demo==1.0+cu130.sm12x"
    assert found["command"][1:4] == ["-m", "pip", "install"]
    assert found["installed"] is False


def test_an_error_is_one_document_too(tmp_path):
    answer = run(
        "demo", "--index-url", _index(tmp_path / "index", RELEASE), "--cuda-version", "cu130", "--json", gpus="7.0"
    )
    assert answer.returncode == json.loads(answer.stdout)["status"] == 5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["demo"], "no index URL given"),
        (["demo[extra]", "--index-url", "."], "error: invalid requirement 'demo[extra]'"),
        ([], "error: no project given\n  help: give PROJECT or PROJECT==VERSION"),
        (["demo", "--index-url", "ftp://example.org"], "error: invalid index 'ftp://example.org'"),
        (["demo", "--index-url", "/nowhere/at/all"], "error: cannot read /nowhere/at/all/index.json: No such file"),
        (["demo", "--index-url", ".", "--cuda-version", "x"], "error: invalid CUDA version 'x'"),
        (["demo==x!", "--index-url", "."], "error: invalid version 'x!'"),
        (["demo", "--index-url", ".", "--python", "/no/such/python"], "error: cannot run Python '/no/such/python': "),
        (
            ["demo", "--no-such-option"],
            "error: unrecognized arguments: --no-such-option\n  help: run install_wheel.py --help",
        ),
    ],
)
def test_a_usage_error_exits_with_code_2_and_no_traceback(arguments, said):
    answer = run(*arguments)
    assert answer.returncode == 2
    assert said in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_folder_with_another_index_json_is_refused(tmp_path):
    (tmp_path / "index.json").write_text("[]")
    answer = run("demo", "--index-url", tmp_path)
    assert answer.returncode == 2
    assert "was not written by fatwheel" in answer.stderr


def test_the_script_beside_an_index_needs_no_index_url(tmp_path):
    _index(tmp_path, RELEASE)
    copy = tmp_path / "install_wheel.py"
    copy.write_bytes(SCRIPT.read_bytes())
    command = [sys.executable, "-I", str(copy), "demo", "--cuda-version", "cu130", "--dry-run"]
    env = {"PATH": "/usr/bin:/bin", "FATWHEEL_GPU": "9.0"}
    assert subprocess.run(command, capture_output=True, check=False, env=env).returncode == 0


def test_check_of_a_project_that_is_not_installed_says_so():
    answer = run("no-such-project", "--check")
    assert answer.returncode == 5
    assert "is not installed" in answer.stderr


def test_the_installer_and_the_package_have_the_same_facts():
    text = SCRIPT.read_text()
    assert MINIMUM_DRIVERS.items() <= {major: str(driver) for major, driver in tool._DRIVERS.items()}.items()
    assert f"driver of {COMPRESSED_CODE_DRIVER} or later" in text or f"driver {COMPRESSED_CODE_DRIVER} or later" in text
    assert "(12, 8) <= need" in text
    assert [row.has_compress_mode for row in (toolkit("12.6"), toolkit("12.8"))] == [False, True]
