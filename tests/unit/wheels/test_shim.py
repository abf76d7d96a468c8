"""A shim has the version of its providers, an extra for each target, and markers where a CPU has no provider."""

import json
import zipfile

import pytest
from packaging.requirements import Requirement

from fatwheel.__main__ import run
from fatwheel.errors import UsageError, VerificationError
from fatwheel.wheels.making.shim import write_shim
from fatwheel.wheels.verify import verify
from tests.unit.wheels.synthetic import demo, library, rezip, stamp

BOTH = {"x86_64": "py3-none-manylinux_2_28_x86_64", "aarch64": "py3-none-manylinux_2_28_aarch64"}


@pytest.fixture
def provider(tmp_path):
    def make(target="90a", arch="x86_64", *, version="1.0+cu130", stamped=True, tags=None, **metadata):
        name = f"demo-sm{target}" if stamped else f"demo-provider-sm{target}"
        said = stamp(
            distribution=name, version=version, arch=arch, family=f"sm{target}",
            targets=[target], covers=["9.0"],
        )  # fmt: skip
        files = {f"demo_sm{target}/k.so": library(target)}
        folder = tmp_path / f"{target}-{arch}-{version}-{tags}"
        wheel = demo(folder, files, distribution=name, version=version, tags=tags or BOTH[arch], stamped=said,
                     metadata=metadata)  # fmt: skip
        if stamped:
            return wheel
        with zipfile.ZipFile(wheel) as archive:
            held = {n: archive.read(n) for n in archive.namelist() if not n.endswith("fatwheel.json")}
        with zipfile.ZipFile(wheel, "w") as archive:
            for n, data in held.items():
                archive.writestr(n, data)
        return wheel

    return make


def required(shim) -> list[Requirement]:
    with zipfile.ZipFile(shim) as archive:
        text = archive.read(next(n for n in archive.namelist() if n.endswith("METADATA"))).decode()
    return [Requirement(line.partition(": ")[2]) for line in text.splitlines() if line.startswith("Requires-Dist")]


def wanted(shim, *, extra="", machine="x86_64", python="3.12") -> set[str]:
    place = {"extra": extra, "platform_machine": machine, "python_version": python}
    return {f"{r.name}{r.specifier}" for r in required(shim) if r.marker is None or r.marker.evaluate(place)}


def test_it_requires_every_provider_exactly_and_has_an_extra_for_each(provider, tmp_path):
    path, extras = write_shim([provider("90a"), provider("120f")], tmp_path, name="demo")
    assert path.name == "demo-1.0+cu130-py3-none-any.whl"
    assert extras == {"sm90a": "demo-sm90a==1.0+cu130", "sm120f": "demo-sm120f==1.0+cu130"}
    assert wanted(path) == {"demo-sm90a==1.0+cu130", "demo-sm120f==1.0+cu130"}
    assert [finding.kind for finding in verify(path).errors] == []


def test_it_can_require_nothing_without_an_extra(provider, tmp_path):
    path, _ = write_shim([provider("90a"), provider("120f")], tmp_path, name="demo", plain="extras")
    assert wanted(path) == set()
    assert wanted(path, extra="sm120f") == {"demo-sm120f==1.0+cu130"}


def test_a_provider_for_one_cpu_is_required_only_there(provider, tmp_path):
    wheels = [provider("90a"), provider("90a", "aarch64"), provider("110a", "aarch64")]
    path, _ = write_shim(wheels, tmp_path, name="demo")
    assert wanted(path) == {"demo-sm90a==1.0+cu130"}
    assert wanted(path, machine="aarch64") == {"demo-sm90a==1.0+cu130", "demo-sm110a==1.0+cu130"}
    assert wanted(path, machine="x86_64", extra="sm110a") == {"demo-sm90a==1.0+cu130"}


def test_a_provider_for_one_python_is_required_only_there(provider, tmp_path):
    tags = [f"cp3{minor}-cp3{minor}-manylinux_2_28_x86_64" for minor in (12, 13)]
    wheels = [provider("90a", tags=tags[0]), provider("90a", tags=tags[1]), provider("120f", tags=tags[1])]
    path, _ = write_shim(wheels, tmp_path, name="demo")
    assert wanted(path, python="3.12") == {"demo-sm90a==1.0+cu130"}
    assert wanted(path, python="3.13") == {"demo-sm90a==1.0+cu130", "demo-sm120f==1.0+cu130"}


def test_the_target_of_a_foreign_wheel_comes_from_its_name(provider, tmp_path):
    _, extras = write_shim([provider("90a", stamped=False)], tmp_path, name="demo")
    assert extras == {"sm90a": "demo-provider-sm90a==1.0+cu130"}


def test_a_wheel_for_any_cpu_or_python_needs_no_marker(provider, tmp_path):
    stable, exact = "cp39-abi3-manylinux_2_28_x86_64", "cp312-cp312-manylinux_2_28_x86_64"
    wheels = [provider("80", tags="py3-none-any"), provider("90a", tags=stable), provider("120f", tags=exact)]
    path, _ = write_shim(wheels, tmp_path, name="demo")
    assert wanted(path, machine="aarch64") == {"demo-sm80==1.0+cu130"}
    assert wanted(path, python="3.13") == {"demo-sm80==1.0+cu130", "demo-sm90a==1.0+cu130"}
    assert wanted(path) == {f"demo-sm{target}==1.0+cu130" for target in ("80", "90a", "120f")}


def test_a_free_threaded_python_is_required_by_version(provider, tmp_path):
    wheels = [provider("90a", tags=f"cp313-cp313{t}-manylinux_2_28_x86_64") for t in ("", "t")]
    wheels.append(provider("120f", tags="cp312-cp312-manylinux_2_28_x86_64"))
    path, _ = write_shim(wheels, tmp_path, name="demo")
    assert wanted(path, python="3.13") == {"demo-sm90a==1.0+cu130"}
    assert wanted(path, python="3.12") == {"demo-sm120f==1.0+cu130"}


def test_equal_versions_in_different_forms_are_accepted(provider, tmp_path):
    path, _ = write_shim([provider("90a", version="1.0"), provider("120f", version="1.0.0")], tmp_path, name="demo")
    assert {r.specifier.contains("1.0") for r in required(path)} == {True}


def test_a_shim_cannot_have_the_name_of_a_provider(provider, tmp_path):
    with pytest.raises(UsageError, match="is Demo_SM90a itself"):
        write_shim([provider("90a")], tmp_path / "made", name="Demo_SM90a")


def test_a_provider_without_metadata(provider, tmp_path):
    wheel = rezip(provider("90a"), lambda held: held.pop("demo_sm90a-1.0+cu130.dist-info/METADATA"))
    with pytest.raises(VerificationError, match="METADATA not found"):
        write_shim([wheel], tmp_path / "made", name="demo")


def test_it_keeps_the_metadata_that_all_providers_share(provider, tmp_path):
    shared = {
        "Requires-Python": ">=3.10",
        "Author-email": "Jörg <j@example.com>",
        "Project-URL": ["Home, https://example.com", "Issues, https://example.org"],
    }
    wheels = [provider("90a", Author="A", **shared), provider("120f", Author="B", **shared)]
    path, _ = write_shim(wheels, tmp_path, name="demo", summary="Kernels")
    with zipfile.ZipFile(path) as archive:
        text = archive.read("demo-1.0+cu130.dist-info/METADATA").decode()
    assert "Summary: Kernels\n" in text
    assert "Requires-Python: >=3.10\n" in text
    assert "Author-email: Jörg <j@example.com>\n" in text
    assert text.count("Project-URL: ") == 2
    assert "Author:" not in text


def test_different_versions_and_duplicate_targets_are_all_reported(provider, tmp_path):
    wheels = [provider("90a"), provider("120f", version="1.1+cu130"), provider("90a", stamped=False)]
    with pytest.raises(UsageError) as told:
        write_shim(wheels, tmp_path / "made", name="demo")
    assert "has version 1.1+cu130" in str(told.value)
    assert "is for sm90a, and so is demo-sm90a" in str(told.value)
    assert not (tmp_path / "made").exists()


def test_a_wheel_with_an_unknown_target(tmp_path):
    with pytest.raises(UsageError, match="unknown GPU target"):
        write_shim([demo(tmp_path, stamped=stamp(family=None))], tmp_path / "made", name="demo")


def test_the_command(provider, tmp_path, capsys):
    arguments = ["shim", str(provider("90a")), "--name", "demo", "-o", str(tmp_path / "made")]
    assert run(arguments) == 0
    assert "demo[sm90a]  demo-sm90a==1.0+cu130" in capsys.readouterr().out
    assert run([*arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["extras"] == {"sm90a": "demo-sm90a==1.0+cu130"}
    assert (tmp_path / "made" / told["wheel"]).stat().st_size == told["bytes"]


def test_providers_that_overwrite_each_other_are_rejected_unless_extras_select_them(tmp_path):
    wheels = []
    for target in ("90a", "120f"):
        said = stamp(distribution=f"demo-sm{target}", version="1.0+cu130", family=f"sm{target}")
        files = {"demo/k.so": library(target), "demo/__init__.py": b""}  # the empty file is the same in both
        wheels.append(
            demo(tmp_path / target, files, distribution=f"demo-sm{target}", version="1.0+cu130", stamped=said)
        )
    with pytest.raises(UsageError) as told:
        write_shim(wheels, tmp_path / "made", name="demo")
    assert "both install demo/k.so, with different contents" in str(told.value)
    path, _ = write_shim(wheels, tmp_path / "made", name="demo", plain="extras")
    assert wanted(path) == set()
