import stat
import zipfile

import pytest

from fatwheel.errors import UsageError
from fatwheel.wheels.formats.record import Line, encode_digest, write_record
from fatwheel.wheels.making.placeholder import write_placeholder
from fatwheel.wheels.verify import verify
from tests.unit.wheels.synthetic import TAGS, VERSION, ElfFile, container, demo, entry, library, rezip, stamp

INFO = f"demo_jit-{VERSION}.dist-info"
NAME = f"demo_jit-{VERSION}-{TAGS}.whl"


def kinds(path, expected=None) -> list[str]:
    return [finding.kind for finding in verify(path, expected).findings]


def with_file(tmp_path, name: str, data: bytes, **options):
    """A valid wheel except for one added file."""
    return demo(tmp_path, {"demo_jit/k.so": library("120f"), name: data}, **options)


def renamed(path, name):
    return path.rename(path.with_name(name))


def edited(name, old: bytes, new: bytes):
    """A change of one member and of RECORD, so that it is the only error."""

    def change(members):
        assert old in members[f"{INFO}/{name}"]
        members[f"{INFO}/{name}"] = members[f"{INFO}/{name}"].replace(old, new)
        record(members)

    return change


def record(members, folder=INFO):
    import hashlib

    members.pop(f"{folder}/RECORD", None)
    lines = [Line(n, encode_digest(hashlib.sha256(d).digest()), str(len(d))) for n, d in members.items()]
    members[f"{folder}/RECORD"] = write_record([*lines, Line(f"{folder}/RECORD", "", "")])


def test_a_valid_wheel_has_no_findings(tmp_path):
    found = verify(demo(tmp_path))
    assert (found.findings, found.valid, found.placeholder) == ([], True, False)
    assert found.bytes == (tmp_path / "out" / found.wheel).stat().st_size


class TestNames:
    @pytest.mark.parametrize(
        "name",
        [
            "demo.whl",
            "demo_jit-1.0.cu130-cp39-abi3-linux_x86_64.whl",
            "demo_jit-1.0-cp39-abi3.whl",
            f"{NAME}.part",
            "x.zip",
        ],
    )
    def test_a_file_name_that_pip_would_ignore(self, tmp_path, name):
        assert "wheel-name" in kinds(renamed(demo(tmp_path), name))

    @pytest.mark.parametrize(
        "version", ["1.0", "1.0+cu130", "1.0+cu130.sm9x", "1.1+cu130.sm12x", "1.0rc1+cu130.sm12x", "1!1.0+cu130.sm12x"]
    )
    def test_a_version_changed_only_in_the_file_name(self, tmp_path, version):
        assert {"metadata-version", "dist-info"} <= set(
            kinds(renamed(demo(tmp_path), f"demo_jit-{version}-{TAGS}.whl"))
        )

    def test_another_distribution(self, tmp_path):
        found = kinds(renamed(demo(tmp_path), NAME.replace("demo_jit", "demo")))
        assert {"metadata-name", "dist-info"} <= set(found)

    @pytest.mark.parametrize(
        "tags",
        ["cp310-abi3-manylinux_2_28_x86_64", "cp39-abi3-manylinux_2_17_x86_64", "1-cp39-abi3-manylinux_2_28_x86_64"],
    )
    def test_tags_changed_only_in_the_file_name(self, tmp_path, tags):
        assert kinds(renamed(demo(tmp_path), f"demo_jit-{VERSION}-{tags}.whl")) == ["wheel-tags"]

    def test_other_forms_of_the_same_name_and_version_are_accepted(self, tmp_path):
        assert kinds(renamed(demo(tmp_path), NAME.replace("demo_jit", "Demo.Jit"))) == []


class TestMetadata:
    @pytest.mark.parametrize(
        ("name", "kind"), [("METADATA", "metadata-missing"), ("WHEEL", "wheel-file"), ("RECORD", "record-missing")]
    )
    def test_required_files(self, tmp_path, name, kind):
        def change(members):
            del members[f"{INFO}/{name}"]
            if name != "RECORD":
                record(members)

        assert kind in kinds(rezip(demo(tmp_path), change))

    def test_no_dist_info_and_several(self, tmp_path):
        def none(members):
            for name in [n for n in members if ".dist-info/" in n]:
                del members[name]

        def two(members):
            members["other-1.dist-info/METADATA"] = b"Metadata-Version: 2.1\nName: other\nVersion: 1\n"
            record(members)

        assert "dist-info" in kinds(rezip(demo(tmp_path / "a"), none))
        assert "dist-info" in kinds(rezip(demo(tmp_path / "b"), two))

    @pytest.mark.parametrize(
        ("old", "new", "kind"),
        [
            (b"Name: demo-jit", b"Name: other", "metadata-name"),
            (f"Version: {VERSION}".encode(), b"Version: 1.0", "metadata-version"),
            (b"Metadata-Version: 2.4\n", b"", "metadata-invalid"),
            (b"Name: demo-jit\n", b"", "metadata-invalid"),
            (f"Version: {VERSION}\n".encode(), b"Version: one\n", "metadata-version"),
            (f"Version: {VERSION}\n".encode(), b"Version: %b\n" % (b"9" * 5000), "metadata-version"),
            (f"Version: {VERSION}\n".encode(), b"Version: %b\n" % (b"9" * 5000), "metadata-invalid"),
            (b"Name: demo-jit\n", b"Name: demo-jit\nRequires-Dist: what is this\n", "metadata-invalid"),
            (b"Name: demo-jit\n", b"Name: demo-jit\nLicense-File: LICENSE\n", "license-missing"),
        ],
    )
    def test_metadata_that_does_not_match(self, tmp_path, old, new, kind):
        found = verify(rezip(demo(tmp_path), edited("METADATA", old, new)))
        assert kind in [finding.kind for finding in found.errors]

    def test_the_license_of_old_metadata_can_be_beside_it(self, tmp_path):
        def change(members):
            edited("METADATA", b"Metadata-Version: 2.4\n", b"Metadata-Version: 2.1\nLicense-File: LICENSE\n")(members)
            members[f"{INFO}/LICENSE"] = b"text"
            record(members)

        assert "license-missing" not in kinds(rezip(demo(tmp_path), change))

    @pytest.mark.parametrize(("version", "severity"), [("2.3", "warning"), ("2.4", "error"), ("2.10", "error")])
    def test_a_missing_license_file_is_an_error_since_metadata_2_4(self, tmp_path, version, severity):
        new = f"Metadata-Version: {version}\nLicense-File: LICENSE\n".encode()
        found = verify(rezip(demo(tmp_path), edited("METADATA", b"Metadata-Version: 2.4\n", new)))
        assert severity in [finding.severity for finding in found.findings if finding.kind == "license-missing"]

    @pytest.mark.parametrize(
        ("old", "new"), [(b"Wheel-Version: 1.0", b"Wheel-Version: 2.0"), (b"Wheel-Version: 1.0\n", b"")]
    )
    def test_an_unsupported_wheel_format(self, tmp_path, old, new):
        assert kinds(rezip(demo(tmp_path), edited("WHEEL", old, new))) == ["wheel-file"]


class TestRecord:
    def test_changed_bytes(self, tmp_path):
        found = verify(rezip(demo(tmp_path), lambda members: members.update({"demo_jit/__init__.py": b"import os\n"})))
        assert [(f.kind, f.member) for f in found.findings] == [
            ("record-hash", "demo_jit/__init__.py"), ("record-size", "demo_jit/__init__.py"),
        ]  # fmt: skip

    def test_a_missing_member_and_an_unlisted_one(self, tmp_path):
        def change(members):
            del members["demo_jit/__init__.py"]
            members["demo_jit/new.py"] = b""

        found = verify(rezip(demo(tmp_path), change))
        assert [(f.kind, f.member) for f in found.findings] == [
            ("record-absent", "demo_jit/__init__.py"), ("record-unlisted", "demo_jit/new.py"),
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("change", "kind"),
        [
            (lambda r: r.replace(b"sha256=", b"md5=", 1), "record-line"),
            (lambda r: r.replace(b"sha256=", b"nothing=", 1), "record-line"),
            (lambda r: r.split(b",", 1)[0] + b",," + r.split(b",", 2)[2], "record-line"),
            (lambda r: r.split(b"\n", 1)[0] + b"\n" + r, "record-line"),
            (lambda r: r.split(b"\n", 1)[0].rpartition(b",")[0] + b",\n" + r.split(b"\n", 1)[1], "record-line"),
            (lambda r: b"one,two\n" + r, "record-unreadable"),
            (lambda r: b'"\n' + r, "record-unreadable"),
            (lambda r: b"\xff\xff" + r, "record-unreadable"),
        ],
    )
    def test_lines_without_information(self, tmp_path, change, kind):
        def apply(members):
            members[f"{INFO}/RECORD"] = change(members[f"{INFO}/RECORD"])

        assert kind in kinds(rezip(demo(tmp_path), apply))

    def test_other_strong_digests_are_compared(self, tmp_path):
        import base64
        import hashlib

        def apply(members, data=b""):
            lines = members[f"{INFO}/RECORD"].decode().splitlines()
            digest = base64.urlsafe_b64encode(hashlib.sha512(data).digest()).decode().rstrip("=")
            at = next(n for n, line in enumerate(lines) if line.startswith("demo_jit/__init__.py"))
            lines[at] = f"demo_jit/__init__.py,sha512={digest},0"
            members[f"{INFO}/RECORD"] = ("\n".join(lines) + "\n").encode()

        assert kinds(rezip(demo(tmp_path / "a"), apply)) == []
        assert kinds(rezip(demo(tmp_path / "b"), lambda members: apply(members, b"other"))) == ["record-hash"]

    def test_signatures_of_record_need_no_line(self, tmp_path):
        assert kinds(rezip(demo(tmp_path), lambda members: members.update({f"{INFO}/RECORD.jws": b"{}"}))) == []


class TestMembers:
    @pytest.mark.parametrize(
        "name",
        [
            "/etc/passwd",
            "../outside.py",
            "../outside/",
            "demo_jit/../../outside.py",
            "C:/windows",
            "c:windows",
            "\\\\host\\share",
            "\\root",
            "a\\..\\..\\b",
            f"demo_jit-{VERSION}.data/data/../../../outside",
            f"demo_jit-{VERSION}.data/data/C:/windows",
            f"demo_jit-{VERSION}.data/../../outside",
        ],
    )
    def test_names_outside_the_install_folder(self, tmp_path, name):
        def change(members):
            members[name] = b""
            record(members)

        assert "member-outside" in kinds(rezip(demo(tmp_path), change))

    @pytest.mark.parametrize(
        "name",
        ["demo_jit\\k.py", "demo_jit//k.py", "./k.py", "demo_jit/bell\a", f"demo_jit-{VERSION}.data/data//etc/passwd"],
    )
    def test_names_that_cannot_be_installed_on_every_system(self, tmp_path, name):
        def change(members):
            members[name] = b""
            record(members)

        assert "member-name" in kinds(rezip(demo(tmp_path), change))

    def test_symbolic_links(self, tmp_path):
        wheel = demo(tmp_path)
        with zipfile.ZipFile(wheel, "a") as archive:
            link = zipfile.ZipInfo("demo_jit/link")
            link.create_system = 3
            link.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(link, "/etc/passwd")
        assert "member-special" in kinds(wheel)

    @pytest.mark.filterwarnings("ignore:Duplicate name")
    def test_two_members_with_the_same_name(self, tmp_path):
        wheel = demo(tmp_path)
        with zipfile.ZipFile(wheel, "a") as archive:
            archive.writestr("demo_jit/__init__.py", b"")
        assert "member-duplicate" in kinds(wheel)

    def test_a_name_that_is_both_file_and_folder(self, tmp_path):
        assert "member-duplicate" in kinds(
            rezip(demo(tmp_path), lambda members: (members.update({"demo_jit": b""}), record(members)))
        )

    @pytest.mark.parametrize("part", ["purelib", "platlib"])
    def test_a_file_that_would_overwrite_another(self, tmp_path, part):
        wheel = with_file(tmp_path, f"demo_jit-{VERSION}.data/{part}/demo_jit/k.so", b"")
        found = verify(wheel)
        assert [(f.kind, f.member) for f in found.errors] == [
            ("member-duplicate", f"demo_jit-{VERSION}.data/{part}/demo_jit/k.so")
        ]
        assert kinds(with_file(tmp_path / "b", f"demo_jit-{VERSION}.data/{part}/demo_jit/new.py", b"")) == []

    @pytest.mark.parametrize("names", [("K.so", "k.so"), ("stra\u00dfe", "STRASSE"), ("caf\u00e9", "cafe\u0301")])
    def test_names_that_differ_only_in_case_or_composition_are_a_warning(self, tmp_path, names):
        found = verify(demo(tmp_path, {"demo_jit/f.so": library("120f"), **{f"demo_jit/{n}": b"" for n in names}}))
        assert [(f.kind, f.severity) for f in found.findings] == [("member-case", "warning")]

    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            ("other-2.data/scripts/x", ["member-name"]),
            ("other-2.data/nowhere/x", ["member-name", "member-name"]),
            (f"demo_jit-{VERSION}.data/nowhere/x", ["member-name"]),
            (f"demo_jit-{VERSION}.data/scripts", ["member-name"]),
            (f"demo_jit-{VERSION}.data/scripts/x", []),
        ],
    )
    def test_data_folders(self, tmp_path, name, kind):
        assert kinds(with_file(tmp_path, name, b"#!python\n")) == kind

    def test_a_zip_bomb_is_reported(self, tmp_path):
        found = verify(with_file(tmp_path, "demo_jit/zeros", bytes(80 << 20)))
        assert [(f.kind, f.member) for f in found.findings] == [("member-unreadable", "demo_jit/zeros")]

    @pytest.mark.parametrize("keep", [0, 10, 0.3, 0.9, -1])
    def test_a_truncated_wheel_is_reported(self, tmp_path, keep):
        wheel = demo(tmp_path)
        data = wheel.read_bytes()
        wheel.write_bytes(data[: int(len(data) * keep) if isinstance(keep, float) else keep])
        assert kinds(wheel) == ["archive-unreadable"]

    def test_a_wheel_that_cannot_be_opened_is_a_usage_error(self, tmp_path):
        with pytest.raises(UsageError):
            verify(tmp_path / NAME)


class TestBinaries:
    def test_a_platform_independent_tag_on_machine_code(self, tmp_path):
        found = kinds(demo(tmp_path, tags="py3-none-any", stamped=stamp(arch=None)))
        assert found == ["platform-any", "purelib"]

    @pytest.mark.parametrize("line", [b"root-is-purelib:TRUE", b"Root-Is-Purelib:\n true"])
    def test_any_form_of_the_purelib_header_is_read(self, tmp_path, line):
        wheel = rezip(demo(tmp_path), edited("WHEEL", b"Root-Is-Purelib: false", line))
        assert [finding.kind for finding in verify(wheel).findings] == ["purelib"]

    @pytest.mark.parametrize(("machine", "tags"), [(183, TAGS), (62, TAGS.replace("x86_64", "aarch64")), (3, TAGS)])
    def test_code_for_another_cpu(self, tmp_path, machine, tags):
        wheel = demo(
            tmp_path,
            {"demo_jit/k.so": library("120f", machine=machine)},
            tags=tags,
            stamped=stamp(arch=tags.rpartition("28_")[2]),
        )
        assert kinds(wheel) == ["elf-machine"]

    def test_a_cubin_is_independent_of_the_cpu(self, tmp_path):
        assert kinds(with_file(tmp_path, "demo_jit/k.cubin", ElfFile(machine=190).build())) == []

    @pytest.mark.parametrize(
        ("platform", "need", "wrong"),
        [
            ("manylinux_2_28_x86_64", "GLIBC_2.28", False),
            ("manylinux_2_28_x86_64", "GLIBC_2.29", True),
            ("manylinux2014_x86_64", "GLIBC_2.17", False),
            ("manylinux2014_x86_64", "GLIBC_2.18", True),
            ("manylinux_2_17_x86_64.manylinux_2_28_x86_64", "GLIBC_2.20", True),
            ("manylinux_2_34_x86_64", "GLIBC_ABI_DT_RELR", True),
            ("musllinux_1_2_x86_64", "GLIBC_2.2.5", True),
            ("linux_x86_64", "GLIBC_2.99", False),
        ],
    )
    def test_the_glibc_that_the_tag_allows(self, tmp_path, platform, need, wrong):
        files = {"demo_jit/k.so": library("120f", versions={"libc.so.6": ["GLIBC_2.2.5", need]})}
        assert kinds(demo(tmp_path, files, tags=f"cp39-abi3-{platform}")) == (["glibc-floor"] if wrong else [])

    @pytest.mark.parametrize(
        ("platform", "need", "wrong"),
        [
            ("manylinux_2_28_x86_64", "GLIBCXX_3.4.24", False),
            ("manylinux_2_28_x86_64", "GLIBCXX_3.4.26", True),
            ("manylinux_2_30_x86_64", "GLIBCXX_3.4.25", True),
            ("manylinux_2_34_x86_64", "GLIBCXX_3.4.29", False),
            ("manylinux2014_x86_64.manylinux_2_28_x86_64", "GLIBCXX_3.4.20", True),
            ("manylinux_2_45_x86_64", "GLIBCXX_3.4.33", False),
            ("linux_x86_64", "GLIBCXX_3.4.99", False),
        ],
    )
    def test_a_libstdcxx_newer_than_the_tag_allows_is_a_warning(self, tmp_path, platform, need, wrong):
        files = {"demo_jit/k.so": library("120f", versions={"libstdc++.so.6": ["GLIBCXX_3.4", need]})}
        found = verify(demo(tmp_path, files, tags=f"cp39-abi3-{platform}"))
        assert [(f.kind, f.severity) for f in found.findings] == ([("libstdcxx-floor", "warning")] if wrong else [])

    def test_a_wheel_with_its_own_libstdcxx_can_require_any_version(self, tmp_path):
        files = {
            "demo_jit/k.so": library("120f", versions={"libstdc++-0a1b2c3d.so.6": ["GLIBCXX_3.4.33"]}),
            "demo_jit.libs/libstdc++-0a1b2c3d.so.6": library(),
        }
        assert kinds(demo(tmp_path, files)) == []

    def test_private_symbols_of_glibc(self, tmp_path):
        files = {"demo_jit/k.so": library("120f", versions={"libc.so.6": ["GLIBC_PRIVATE"]})}
        assert kinds(demo(tmp_path, files)) == ["glibc-private"]

    @pytest.mark.parametrize("field", ["rpath", "runpath"])
    @pytest.mark.parametrize(
        ("path", "kind"),
        [
            ("$ORIGIN", []),
            ("${ORIGIN}/../nvidia/cu13/lib", []),
            ("/usr/local/cuda/lib64", ["rpath-absolute"]),
            ("$ORIGIN:/opt/x", ["rpath-absolute"]),
            ("build/lib", ["rpath-absolute"]),
            ("$ORIGIN:", ["rpath-absolute"]),
            ("$ORIGINAL", ["rpath-absolute"]),
            ("$ORIGIN/../../lib", ["rpath-outside"]),
        ],
    )
    def test_library_search_paths(self, tmp_path, field, path, kind):
        assert kinds(demo(tmp_path, {"demo_jit/k.so": library("120f", **{field: path})})) == kind

    @pytest.mark.parametrize(
        ("name", "soname"),
        [
            ("libcuda.so.1", None), ("libcuda.so", None), ("libcuda-1a2b3c4d.so.580.65", None),
            ("libnvidia-ml.so.1", None), ("libnvidia-glcore.so.580.65.06", None), ("libEGL_nvidia.so.0", None),
            ("x.so", "libcuda.so.1"), ("x.so", "libnvidia-ptxjitcompiler.so.1"),
        ],
    )  # fmt: skip
    def test_driver_libraries(self, tmp_path, name, soname):
        assert kinds(with_file(tmp_path, f"demo_jit.libs/{name}", library(soname=soname))) == ["driver-bundled"]

    @pytest.mark.parametrize("name", ["libcudart.so.13", "libcublas.so", "libnvidia-mlx.so", "libcuda_kernels.so"])
    def test_other_libraries_may_be_bundled(self, tmp_path, name):
        assert kinds(with_file(tmp_path, f"demo_jit.libs/{name}", library())) == []

    def test_damaged_libraries(self, tmp_path):
        broken = library("120f").replace(b"\x50\xed\x55\xba\x01", b"\x50\xed\x55\xba\x07")
        files = {"demo_jit/a.so": b"\x7fELF broken", "demo_jit/b.so": broken, "demo_jit/k.so": library("120f")}
        assert kinds(demo(tmp_path, files)) == ["elf-unreadable", "fat-binary-unreadable"]


class TestStamp:
    @pytest.mark.parametrize(
        ("changes", "kind"),
        [
            ({"distribution": "other"}, "stamp-version"),
            ({"version": "1.0+cu130.sm9x"}, "stamp-version"),
            ({"arch": "aarch64"}, "stamp-arch"),
            ({"targets": ["9.0a"]}, "stamp-targets"),
            ({"targets": ["12.0f", "12.1a"]}, "stamp-targets"),
            ({"targets": ["12.0f+PTX"]}, "stamp-targets"),
            ({"targets": []}, "stamp-targets"),
        ],
    )
    def test_embedded_metadata_that_does_not_match(self, tmp_path, changes, kind):
        def change(members):
            members[f"{INFO}/fatwheel.json"] = stamp(**changes).to_json().encode()
            record(members)

        assert set(kinds(rezip(demo(tmp_path), change))) == {kind}

    @pytest.mark.parametrize("data", [b"{}", stamp().to_json().replace("12.0f", "twelve").encode()])
    def test_unreadable_embedded_metadata(self, tmp_path, data):
        def change(members):
            members[f"{INFO}/fatwheel.json"] = data
            record(members)

        assert kinds(rezip(demo(tmp_path), change)) == ["stamp-unreadable"]

    def test_other_forms_of_the_same_targets_are_accepted(self, tmp_path):
        assert kinds(demo(tmp_path, stamped=stamp(targets=["sm_120f"]))) == []

    def test_a_placeholder_needs_no_machine_code(self, tmp_path):
        found = verify(write_placeholder(tmp_path, NAME, embedded=stamp(), size=9000))
        assert (found.findings, found.placeholder) == ([], True)

    def test_a_placeholder_with_machine_code_is_an_error(self, tmp_path):
        found = verify(demo(tmp_path, stamped=stamp(placeholder=True, targets=["9.0a"])))
        assert {f.kind for f in found.findings} == {"stamp-targets"}
        assert any("placeholder" in f.what for f in found.findings)
        assert not found.placeholder

    def test_embedded_metadata_is_optional(self, tmp_path):
        def change(members):
            del members[f"{INFO}/fatwheel.json"]
            record(members)

        assert kinds(rezip(demo(tmp_path), change)) == []


def test_all_findings_are_reported_errors_first(tmp_path):
    files = {
        "demo_jit/a.so": library("80", machine=183, rpath="/build"),
        "demo_jit/K.py": b"", "demo_jit/k.py": b"",
        "libcuda.so.1": ElfFile(sections={".nv_fatbin": container(entry(90))}).build(),
    }  # fmt: skip
    wheel = renamed(demo(tmp_path, files), "demo_jit-2.0-cp39-abi3-manylinux_2_28_x86_64.whl")
    found = verify(wheel).findings
    assert {f.kind for f in found} == {
        "dist-info", "driver-bundled", "elf-machine", "member-case", "metadata-version",
        "rpath-absolute", "stamp-targets",
    }  # fmt: skip
    severities = [f.severity for f in found]
    assert severities == sorted(severities)
    assert all(f.what and f.help for f in found)


def test_a_member_with_its_sizes_after_the_data_is_read(tmp_path):
    """Set bit 3 of the flags, as tools that write to a pipe do."""
    wheel = demo(tmp_path)
    with zipfile.ZipFile(wheel) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}

    class Pipe:
        def __init__(self, file):
            self.file = file

        def write(self, data):
            return self.file.write(data)

        def flush(self):
            self.file.flush()

    with wheel.open("wb") as file, zipfile.ZipFile(Pipe(file), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    assert kinds(wheel) == []
