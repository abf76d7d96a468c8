"""What the packages of a set, and shims, require."""

import pytest
from packaging.requirements import Requirement

from fatwheel.declaration import parse
from fatwheel.errors import DeclarationError
from fatwheel.plan import make_plan
from fatwheel.plan.requirements import fill_requirements
from tests.unit.plan.matrices import ONE, one

SET = """\
version: "1.0"
packages:
  - name: data
    per: []
    build: {kind: wheel, command: [make]}
  - name: kernels
    id: kernels
    per: [cuda, arch]
    layout: LAYOUT
    manylinux: "2_28"
    build: {kind: wheel, command: [make]}
    needs: [data]
  - name: top
    id: top
    per: TOP
    build: {kind: wheel, command: [make]}
    needs: [data, kernels]
cuda:
  cu129: {toolkit: "12.9", targets: {x86_64: "8.0 9.0a"}}
  cu130: {toolkit: "13.0", targets: {x86_64: "8.0 9.0a", aarch64: "9.0a 11.0a"}}
families:
  sm9x: {majors: [8, 9, 10, 11]}
channels:
  release: {}
  pull-request: {select: ["top*"]}
"""


def plan_of(folder, layout="fat", top="[]", channel="release"):
    text = SET.replace("LAYOUT", layout).replace("TOP", top)
    return {cell.id: cell for cell in make_plan(parse(text, folder / "matrix.yaml"), channel).cells}


def test_a_pure_package_requires_the_public_version_which_every_label_satisfies(tmp_path):
    assert plan_of(tmp_path)["top"].requires == ["data==1.0", "kernels==1.0"]


def test_a_cuda_package_requires_the_very_cell_that_shares_its_axes(tmp_path):
    top = '[cuda, arch]\n    layout: fat\n    manylinux: "2_28"'
    cells = plan_of(tmp_path, top=top)
    assert cells["top-cu130-aarch64-all"].requires == ["data==1.0", "kernels==1.0+cu130"]
    assert cells["top-cu129-x86_64-all"].requires == ["data==1.0", "kernels==1.0+cu129"]


def test_families_of_the_same_name_are_required_of_each_other(tmp_path):
    top = '[cuda, arch]\n    layout: family\n    manylinux: "2_28"'
    cells = plan_of(tmp_path, layout="family", top=top)
    assert cells["top-cu130-x86_64-sm9x"].requires[1] == "kernels==1.0+cu130.sm9x"


def test_of_providers_the_shim_is_required(tmp_path):
    top = '[cuda, arch]\n    layout: fat\n    manylinux: "2_28"'
    cells = plan_of(tmp_path, layout="provider", top=top)
    assert cells["top-cu130-x86_64-all"].requires == ["data==1.0", "kernels==1.0+cu130"]


def test_a_shim_requires_each_provider_exactly_and_marks_what_one_cpu_alone_has(tmp_path):
    shim = plan_of(tmp_path, layout="provider")["kernels-cu130-shim"]
    assert shim.wheel == "kernels-1.0+cu130-py3-none-any.whl"
    assert (shim.arch, shim.family, shim.targets, shim.covers) == (None, None, [], [])
    assert shim.requires == [
        "data==1.0",
        "kernels-sm80==1.0+cu130 ; platform_machine == 'x86_64'",
        "kernels-sm90a==1.0+cu130",
        "kernels-sm110a==1.0+cu130 ; platform_machine == 'aarch64'",
    ]
    assert list(shim.extras) == ["sm80", "sm90a", "sm110a"]


def test_the_lines_of_metadata_are_requirements_whose_markers_hold_where_they_should(tmp_path):
    shim = plan_of(tmp_path, layout="provider")["kernels-cu130-shim"]
    lines = list(map(Requirement, shim.requires_dist))

    def wanted(machine, extra=""):
        environment = {"platform_machine": machine, "extra": extra}
        return {line.name for line in lines if not line.marker or line.marker.evaluate(environment)}

    assert wanted("x86_64") == {"data", "kernels-sm80", "kernels-sm90a"}
    assert wanted("aarch64") == {"data", "kernels-sm90a", "kernels-sm110a"}


def test_a_shim_marks_the_pythons_that_alone_have_a_provider(tmp_path):
    text = ONE.format(version="1.0", layout="provider", x86_64='"8.0 9.0a"', aarch64='"9.0a"')
    text = text.replace("[cuda, arch]", "[cuda, arch, python]").replace(
        "cp39-abi3", "cp{python_nodot}-cp{python_nodot}"
    )
    text += """\
axes: {python: ["3.11", "3.12", "3.13"]}
exclude:
  - {cells: "*-x86_64-sm80-python3.11", reason: nobody asked}
  - {cells: "*-aarch64-sm90a-python3.13", reason: not yet}
"""
    shim = make_plan(parse(text, tmp_path / "matrix.yaml")).cells[-1]
    assert shim.requires[0] == "mylib-sm90a==1.0+cu130"
    lines = list(map(Requirement, shim.requires_dist))

    def wanted(machine, python, extra=""):
        environment = {"platform_machine": machine, "python_version": python, "extra": extra}
        return {line.name for line in lines if not line.marker or line.marker.evaluate(environment)}

    assert wanted("x86_64", "3.11") == {"mylib-sm90a"}
    assert wanted("x86_64", "3.12") == wanted("x86_64", "3.13") == {"mylib-sm80", "mylib-sm90a"}
    assert wanted("aarch64", "3.12") == {"mylib-sm90a"}
    assert wanted("x86_64", "3.12", "sm80") - wanted("x86_64", "3.12") == set()


def test_a_shim_may_leave_the_choice_to_its_extras(tmp_path):
    text = SET.replace("LAYOUT", "provider\n    shim: extras").replace("TOP", "[]")
    cells = {cell.id: cell for cell in make_plan(parse(text, tmp_path / "matrix.yaml")).cells}
    assert cells["kernels-cu129-shim"].requires == ["data==1.0"]
    assert cells["kernels-cu129-shim"].extras["sm90a"] == ["kernels-sm90a==1.0+cu129"]


def test_a_shim_requires_only_what_its_channel_selects(tmp_path):
    more = 'channels: {release: {select: ["*-sm90a", "*-shim"]}}\n'
    plan = make_plan(one(tmp_path, more, layout="provider"))
    assert plan.cells[-1].id == "cu130-shim"
    assert plan.cells[-1].requires == ["mylib-sm90a==1.0+cu130"]


def test_without_providers_there_is_no_shim(tmp_path):
    more = 'exclude: [{cells: "cu130-*-sm*", reason: none}]\nchannels: {release: {}}\n'
    with pytest.raises(DeclarationError, match="package mylib has no cells"):
        make_plan(one(tmp_path, more, layout="provider"))


def test_a_narrowed_plan_still_names_all_providers_of_the_shim(tmp_path):
    plan = make_plan(one(tmp_path, layout="provider"), only="*-shim")
    assert len(plan.cells[0].requires) == 3


def test_what_a_pull_request_builds_may_need_what_it_does_not_build(tmp_path):
    assert plan_of(tmp_path, channel="pull-request")["top"].requires == ["data==1.0", "kernels==1.0"]


def test_on_its_way_to_pypi_a_package_requires_no_label(tmp_path):
    top = '[cuda, arch]\n    layout: fat\n    manylinux: "2_28"\n    local: ""\n    publish: pypi'
    text = SET.replace("LAYOUT", "fat").replace("TOP", top).replace("name: top", "name: top-{cuda}")
    cells = {cell.id: cell for cell in make_plan(parse(text, tmp_path / "matrix.yaml")).cells}
    assert cells["top-cu130-x86_64-all"].requires == ["data==1.0", "kernels==1.0"]


def test_requirements_of_builds_follow_the_axes(tmp_path):
    cell = make_plan(one(tmp_path)).cells[0]
    cell = cell.model_copy(update={"axes": {"torch": "2.14", "python": "3.12"}})
    wishes = ["torch=={torch}.*", "cuda-toolkit=={toolkit}.*", "x-cu{cuda_major}", "y; python_version == '{python}'"]
    assert fill_requirements(wishes, cell) == [
        "torch==2.14.*",
        "cuda-toolkit==13.0.*",
        "x-cu13",
        "y; python_version == '3.12'",
    ]
