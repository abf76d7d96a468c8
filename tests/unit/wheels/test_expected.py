from typing import ClassVar

import pytest

from fatwheel.records.build import BuiltModule
from fatwheel.targets import Target, parse_target
from fatwheel.wheels.making.placeholder import write_placeholder
from fatwheel.wheels.verify import Expected, expected_of, verify
from tests.unit.wheels.synthetic import NAME, VERSION, built, cell, demo, library, stamp


def findings(path, **expected):
    for name in expected.keys() & {"targets"}:
        expected[name] = tuple(map(parse_target, expected[name]))
    for name in expected.keys() & {"modules"}:
        expected[name] = {module: tuple(map(parse_target, texts)) for module, texts in expected[name].items()}
    return [(f.kind, f.member) for f in verify(path, Expected(**expected)).findings]


def kinds(path, **expected):
    return [kind for kind, _ in findings(path, **expected)]


class TestTargets:
    @pytest.mark.parametrize(
        ("held", "ptx", "wanted", "found"),
        [
            (["120f"], [], ["12.0f"], []),
            (["120f"], [], ["12.0f", "9.0a"], ["target-missing"]),
            (["120f", "52"], [], ["12.0f"], ["target-stray"]),
            (["120f"], ["120"], ["12.0f"], ["target-stray"]),
            (["120f"], ["120f"], ["12.0f+PTX"], []),
            (["120f"], [], ["12.0f+PTX"], ["target-missing"]),
            (["120f"], ["90"], ["12.0f", "9.0-virtual"], []),
            (["120"], [], ["12.0f"], ["target-missing", "target-stray"]),
            (["120a"], [], ["12.0f"], ["target-missing", "target-stray"]),
            ([], [], ["12.0f"], ["target-missing"]),
            (["120f"], [], [], ["target-stray"]),
            ([], [], [], []),
        ],
    )
    def test_missing_and_unexpected_targets(self, tmp_path, held, ptx, wanted, found):
        said = {str(parse_target(t)): t for t in held}
        both = [f"{dotted}+PTX" if t in ptx else dotted for dotted, t in said.items()]
        virtual = [f"compute_{t}" for t in ptx if t not in held]
        wheel = demo(tmp_path, {"demo_jit/k.so": library(*held, ptx=ptx)}, stamped=stamp(targets=both + virtual))
        assert kinds(wheel, targets=tuple(wanted)) == found

    def test_an_unexpected_target_is_reported_with_its_bytes_and_modules(self, tmp_path):
        files = {f"demo_jit/{name}.so": library("120f", "75") for name in "abcde"}
        wheel = demo(tmp_path, files, stamped=stamp(targets=["7.5", "12.0f"]))
        (finding,) = verify(wheel, Expected(targets=(Target(12, 0, "f"),))).findings
        assert "7.5" in finding.what
        assert "320 bytes" in finding.what
        assert "demo_jit/a.so" in finding.what
        assert "2 more" in finding.what

    def test_placeholders_are_not_checked_for_targets(self, tmp_path):
        wheel = write_placeholder(tmp_path, NAME, embedded=stamp(), size=9000)
        assert kinds(wheel, targets=("12.0f",), modules={"k": ("12.0f",)}) == []

    def test_an_unreadable_library_does_not_report_missing_targets(self, tmp_path):
        wheel = demo(tmp_path, {"demo_jit/k.so": library("120f")[:-300]})
        assert kinds(wheel, targets=("12.0f",)) == ["elf-unreadable"]


class TestModules:
    FILES: ClassVar = {
        "demo_jit/a/a.so": library("120f"),
        "demo_jit/b.abi3.so": library("120f", "80"),
        "demo_jit/host.so": library(),
    }

    def wheel(self, tmp_path):
        return demo(tmp_path, self.FILES, stamped=stamp(targets=["8.0", "12.0f"]))

    @pytest.mark.parametrize("names", [("demo_jit/a/a.so", "demo_jit/b.abi3.so"), ("a.so", "b.abi3.so"), ("a", "b")])
    def test_modules_are_matched_by_path_file_or_stem(self, tmp_path, names):
        assert findings(self.wheel(tmp_path), modules={names[0]: ("12.0f",), names[1]: ("8.0", "12.0f")}) == []

    def test_missing_and_unexpected(self, tmp_path):
        assert findings(self.wheel(tmp_path), modules={"a": (), "c": ("12.0f",)}) == [
            ("module-missing", "c"), ("module-unexpected", "demo_jit/b.abi3.so"),
        ]  # fmt: skip

    def test_each_module_has_its_declared_targets(self, tmp_path):
        assert findings(self.wheel(tmp_path), modules={"a": ("12.0f", "8.0"), "b": ("12.0f",)}) == [
            ("module-target-missing", "demo_jit/a/a.so"), ("module-target-stray", "demo_jit/b.abi3.so"),
        ]  # fmt: skip

    def test_a_module_without_targets_only_has_to_exist(self, tmp_path):
        assert findings(self.wheel(tmp_path), modules={"a": (), "b": (), "host": ()}) == []

    def test_an_ambiguous_module_name_is_an_error(self, tmp_path):
        files = {"demo_jit/x/k.so": library("120f"), "demo_jit/y/k.so": library("120f")}
        assert ("module-missing", "k") in findings(demo(tmp_path, files), modules={"k": ()})


class TestStampFiles:
    @pytest.mark.parametrize(
        "text",
        [
            f'__version__ = "{VERSION}"\n',
            f"{VERSION}\n",
            f'{{"version": "{VERSION}", "targets": ["12.0f"]}}',
            f"version: str = '{VERSION}'\nCUDA_TARGETS: list[str] = ['sm_120f']\n",
            f'{{"version": "{VERSION}", "url": "x?a=5", "targets": ["12.0f"], "more": "b=[1]"}}',
            'ARCH_LIST = "12.0f"\n',
            f'cuda_version = "13.0"\nfull_version = "{VERSION}"\n',
        ],
    )
    def test_texts_that_match(self, tmp_path, text):
        wheel = demo(tmp_path, {"demo_jit/k.so": library("120f"), "demo_jit/_meta.py": text.encode()})
        assert kinds(wheel, targets=("12.0f",), version=VERSION, stamp_files=("demo_jit/_meta.py",)) == []

    @pytest.mark.parametrize(
        "text",
        [
            '__version__ = "1.0"\n',
            '__version__ = "0.9+cu130.sm12x"\n',
            "1.0+cu130.sm9x\n",
            f'version = "{VERSION}"\ntargets = ["9.0a"]\n',
            'ARCH_LIST = "12.0f 9.0a"\n',
            "nothing to see\n",
            "",
        ],
    )
    def test_texts_that_differ(self, tmp_path, text):
        wheel = demo(tmp_path, {"demo_jit/k.so": library("120f"), "demo_jit/_meta.py": text.encode()})
        assert set(kinds(wheel, targets=("12.0f",), version=VERSION, stamp_files=("demo_jit/_*.py",))) == {
            "stamp-stale"
        }

    def test_a_missing_stamp_file(self, tmp_path):
        assert findings(demo(tmp_path), stamp_files=("demo_jit/_meta.py",)) == [("stamp-stale", "demo_jit/_meta.py")]


class TestCell:
    def test_the_wheel_of_a_cell(self, tmp_path):
        wheel = demo(tmp_path)
        assert (
            verify(
                wheel, expected_of(cell(), build=built(wheel, modules=[BuiltModule(name="k", targets=["12.0f"])]))
            ).findings
            == []
        )

    @pytest.mark.parametrize(
        ("changes", "kind"),
        [
            ({"wheel": NAME.replace("sm12x", "sm9x")}, "wheel-name"),
            ({"package": "other"}, "metadata-name"),
            ({"version": "2.0"}, "metadata-version"),
            ({"arch": "aarch64"}, "elf-machine"),
            ({"targets": ["9.0a"]}, "target-missing"),
            ({"covers": ["12.0"]}, "stamp-cell"),
            ({"cuda": "cu129"}, "stamp-cell"),
        ],
    )
    def test_the_wheel_of_another_cell(self, tmp_path, changes, kind):
        assert kind in [f.kind for f in verify(demo(tmp_path), expected_of(cell(**changes))).errors]

    def test_a_wheel_changed_after_its_build(self, tmp_path):
        wheel = demo(tmp_path)
        record = built(wheel, sha256="0" * 64)
        assert [f.kind for f in verify(wheel, expected_of(cell(), build=record)).findings] == ["digest"]

    def test_a_pure_wheel_contains_no_code(self, tmp_path):
        pure = {"wheel": f"demo_jit-{VERSION}-py3-none-any.whl", "arch": None, "family": None, "targets": ["12.0f"]}
        wheel = demo(
            tmp_path, {"demo_jit/__init__.py": b""}, tags="py3-none-any", stamped=stamp(arch=None, family=None)
        )
        assert verify(wheel, expected_of(cell(**pure))).findings == []

    def test_a_partial_wheel_may_miss_targets(self, tmp_path):
        wheel = demo(tmp_path, stamped=stamp(targets=["9.0a", "12.0f"], slice=["k"]))
        wide = cell(targets=["9.0a", "12.0f"])
        whole = built(wheel, modules=[BuiltModule(name="k", targets=["12.0f"])])
        part = whole.model_copy(update={"slice": ["k"]})
        assert [f.kind for f in verify(wheel, expected_of(wide, build=part)).findings] == []
        assert [f.kind for f in verify(wheel, expected_of(wide, build=whole)).findings] == ["target-missing"]

    def test_a_missing_fatwheel_json_is_an_error_for_a_cell(self, tmp_path):
        from tests.unit.wheels.synthetic import rezip

        bare = rezip(demo(tmp_path), lambda members: members.pop(f"demo_jit-{VERSION}.dist-info/fatwheel.json"))
        assert "stamp-cell" in [f.kind for f in verify(bare, expected_of(cell())).findings]
