"""Mistakes that people make in a matrix.yaml: a good one, and by name what each mistake puts in the place of what."""

GOOD = """\
version: "1.2.0"
next_version: "1.3.0"
packages:
  - name: mylib-data
    per: []
    build: {kind: wheel, command: [make]}
    publish: pypi
  - name: mylib
    import: mylib
    per: [cuda, arch, python]
    layout: family
    tag: cp{python_nodot}-cp{python_nodot}
    manylinux: "2_28"
    source: {index: mylib-src==1.2.0}
    needs: [mylib-data]
    build:
      kind: tree
      command: ["{python}", build.py, "{out}"]
      requires: [ninja]
      env: {ARCH_LIST: "{targets}"}
      spelling: flashinfer
    stamp: [mylib/_build.py]
cuda:
  cu128:
    toolkit: "12.8"
    targets: {x86_64: "8.0 9.0a 10.0a"}
  cu130:
    toolkit: "13.0"
    compress: size
    image: {x86_64: "img@sha256:0"}
    targets:
      x86_64: [8.0, 9.0a, 12.0f]
families:
  sm9x: {majors: [8, 9]}
  sm10x: {majors: [10], base: "8.0"}
  sm12x: {majors: [12], base: "8.0"}
axes:
  python: ["3.11", "3.12"]
must_cover:
  - capabilities: 8.0 8.6 9.0
exclude:
  - {cells: "cu128-*-python3.12", reason: nobody asked}
runners:
  build: {x86_64: ubuntu-24.04}
  smoke: {sm9x: {x86_64: gpu-h100}}
secrets: {example/mylib: TOKEN}
size: {limit: 2 GiB, warn: 95%}
channels:
  release: {repository: example/mylib, tag: "v{version}"}
  nightly: {select: ["cu130-*", mylib-data], tag: "nightly-{date}"}
""".replace("[8.0, 9.0a, 12.0f]", '["8.0", 9.0a, 12.0f]')

_CU128 = '{x86_64: "8.0 9.0a 10.0a"}'
_CU130 = '["8.0", 9.0a, 12.0f]'

# Name -> (what is replaced, by what). An empty first text: the second is added at the end.
BAD: dict[str, tuple[str, str]] = {
    # YAML
    "not-yaml": ("packages:", "packages: ["),
    "key-twice": ('version: "1.2.0"\n', 'version: "1.2.0"\nversion: "1.2.1"\n'),
    "tag-of-yaml": ('"1.2.0"\nnext', '!!python/name:os "1.2.0"\nnext'),
    "empty-value": ("reason: nobody asked}", "targets: , reason: nobody asked}"),
    "bool-as-key": ("ARCH_LIST:", "on:"),
    "number-as-key": ("  cu130:\n", "  130:\n"),
    "merge-of-text": ("    stamp:", "    <<: text\n    stamp:"),
    "merge-twice": ("    stamp:", "    <<: {id: a}\n    <<: {publish: store}\n    stamp:"),
    "mistake-behind-an-alias": ("smoke: {sm9x: {x86_64", "smoke: {sm9x: &one {amd64: x}, sm12x: *one, sm10x: {x86_64"),
    "second-document": ("cuda:\n", "---\ncuda:\n"),
    "tab": ("  - name: mylib\n", "\t- name: mylib\n"),
    "control-character": ("name: mylib-data", 'name: "mylib\x07"'),
    "line-in-a-name": ("name: mylib-data", 'name: "mylib\\n-data\\e[1m"'),
    "unknown-alias": ("[ninja]", "*ninja"),
    "alias-of-itself": ("[ninja]", "&all [ninja, *all]"),
    "values-in-values": ("[ninja]", "[" * 60 + "ninja" + "]" * 60),
    # numbers without quotes
    "unquoted-toolkit": ('"13.0"', "13.0"),
    "unquoted-version": ('"1.2.0"\nnext', "1.20\nnext"),
    "unquoted-axis-value": ('["3.11", "3.12"]', '["3.11", 3.10]'),
    "unquoted-target": ('["8.0", 9.0a', "[8.0, 9.0a"),
    "unquoted-target-with-zero": ('["8.0", 9.0a', "[12.10, 9.0a"),
    "number-with-underscore": (_CU130, "8_0"),
    "octal-number": (_CU130, "[012]"),
    "octal-where-a-number-is-meant": ("majors: [12]", "majors: [012]"),
    "number-in-quotes-where-a-number-is-meant": ("majors: [12]", 'majors: ["012"]'),
    "number-with-underscore-where-a-number-is-meant": ("majors: [12]", "majors: [1_2]"),
    "octal-as-key": ("axes:\n", "axes:\n  010: [a]\n"),
    "exponent": ("[ninja]", "[1e1]"),
    "base-sixty": ("[ninja]", "[1:30]"),
    "endless-number": ('"1.2.0"\nnext', "9" * 5000 + "\nnext"),
    "yes-for-true": ("publish: pypi", "publish: pypi\n    id: yes"),
    "quoted-major": ("majors: [12]", 'majors: ["12"]'),
    "date-as-version": ('"1.2.0"\nnext', "2026-12-01\nnext"),
    # keys and values
    "unknown-key-near": ("must_cover:", "must_covr:"),
    "unknown-key-inside": ("    compress: size", "    compres: size"),
    "unknown-key-far": ("runners:", "machines:"),
    "missing-key": ('    toolkit: "13.0"\n', ""),
    "missing-version": ('version: "1.2.0"\nnext', "next"),
    "two-versions": ('version: "1.2.0"\n', 'version: "1.2.0"\nversion_file: VERSION\n'),
    "no-packages": (GOOD[GOOD.index("  - name: mylib-data") : GOOD.index("cuda:\n")], "  []\n"),
    "list-for-mapping": ("{sm9x: {x86_64: gpu-h100}}", "[sm9x]"),
    "text-for-list": ("per: []", "per: cuda"),
    "wrong-choice": ("layout: family", "layout: familly"),
    "wrong-arch": ("build: {x86_64: ubuntu", "build: {amd64: ubuntu"),
    # targets
    "no-target": (_CU130, "sm90x"),
    "wrong-targets": (_CU130, "8.0 9,0a Hopper native"),
    "upper-case-target": (_CU130, "9.0A"),
    "target-twice": (_CU130, "8.0 9.0a sm_80"),
    "target-of-two-kinds": (_CU130, "8.0 8.0+PTX"),
    "joined-targets": (_CU130, '["9.0a10.0"]'),
    "empty-place": (_CU130, "8.0,,9.0a"),
    "empty-targets": (_CU130, '""'),
    "not-for-this-toolkit": (_CU128, '{x86_64: "8.0 10.3a 12.0f"}'),
    "gone-from-this-toolkit": (_CU130, "7.0 8.0"),
    "renamed-target": (_CU130, "8.0 9.0a 10.1a"),
    "ptx-for-flashinfer": (_CU130, "8.0 9.0a+PTX"),
    "bare-target-for-flashinfer": (_CU130, '["9.0"]'),
    "family-target-for-torch": ("spelling: flashinfer", "spelling: torch"),
    "suffix-required": ("spelling: flashinfer", "spelling: dotted\n      suffix_from: 8"),
    "compress-too-early": ('    toolkit: "12.8"', '    toolkit: "12.6"\n    compress: size'),
    "unknown-toolkit": ('"13.0"', '"13.9"'),
    "label-order": ("cu128", "cu9"),
    "image-without-targets": ('{x86_64: "img@sha256:0"}', '{aarch64: "img@sha256:0"}'),
    # families
    "major-in-two-families": ("majors: [10]", "majors: [9, 10]"),
    "major-of-nothing": ("majors: [10]", "majors: [10, 13]"),
    "native-base": ('majors: [12], base: "8.0"', 'majors: [12], base: "12.0"'),
    "base-not-compiled": ('majors: [12], base: "8.0"', 'majors: [12], base: "7.0"'),
    "major-in-no-family": ("majors: [10], ", "majors: [11], "),
    # axes and packages
    "no-such-axis": ("per: [cuda, arch, python]", "per: [cuda, arch, pyton]"),
    "family-as-axis": ("per: [cuda, arch, python]", "per: [cuda, arch, python, family]"),
    "reserved-axis": ("  python: [", '  family: ["a"]\n  python: ['),
    "axis-value-twice": ('["3.11", "3.12"]', '["3.11", "3.11"]'),
    "axis-without-package": ("  python: [", '  torch: ["2.14"]\n  python: ['),
    "axes-without-end": ("  python: [", "  python: [" + ", ".join(f'"3.{n}"' for n in range(100, 5200)) + ", "),
    "axis-value-without-end": ('["3.11", "3.12"]', '["3.11", "' + "9" * 5000 + '"]'),
    "axis-value-form": ('["3.11", "3.12"]', '["3.11", "3-12"]'),
    "no-layout": ("    layout: family\n", ""),
    "no-glibc-floor": ('    manylinux: "2_28"\n', ""),
    "glibc-floor-with-a-zero": ('"2_28"', '"2_05"'),
    "glibc-floor-form": ('"2_28"', '"2.28"'),
    "wheel-without-arch": ("per: [cuda, arch, python]", "per: [cuda, python]"),
    "bad-name": ("name: mylib-data", "name: my lib"),
    "same-distribution": ("name: mylib-data", "name: MyLib"),
    "open-source-version": ("mylib-src==1.2.0", "mylib-src>=1.2"),
    "two-sources": ("{index: mylib-src==1.2.0}", "{index: mylib-src==1.2.0, checkout: .}"),
    "git-without-ref": ("{index: mylib-src==1.2.0}", "{git: https://example.org/mylib}"),
    "no-such-folder": ("{index: mylib-src==1.2.0}", "{checkout: src}"),
    "bad-requirement": ("[ninja]", "[ninja==]"),
    "unknown-field": ('ARCH_LIST: "{targets}"', 'ARCH_LIST: "{target}"'),
    "field-of-builds-in-smoke": ("    stamp:", '    smoke: {command: ["{python}", "{out}"]}\n    stamp:'),
    "lone-brace": ('ARCH_LIST: "{targets}"', 'ARCH_LIST: "{targets"'),
    "dotted-python-tag": ("cp{python_nodot}-cp{python_nodot}", "cp{python}-cp{python}"),
    "path-out-of-the-wheel": ("mylib/_build.py", "../_build.py"),
    "needs-nobody": ("needs: [mylib-data]", "needs: [mylib-dat]"),
    "needs-a-later-one": ("    publish: pypi", "    publish: pypi\n    needs: [mylib]"),
    "sdist-per-cuda": ("kind: tree", "kind: sdist"),
    # names
    "label-not-normal": ("    layout: family\n", '    layout: family\n    local: "{cuda}-{family}"\n'),
    "label-of-capitals": ("    layout: family\n", '    layout: family\n    local: "{cuda}.{family}.X"\n'),
    "label-without-end": ("    layout: family\n", '    layout: family\n    local: "{cuda}.' + "9" * 5000 + '"\n'),
    "name-too-long": ("  - name: mylib\n", f"  - name: mylib{'-of-mine' * 25}\n"),
    "label-to-pypi": ("    stamp:", "    publish: pypi\n    stamp:"),
    "label-of-no-family": ("layout: family", 'layout: fat\n    local: "{cuda}.{family}"'),
    "label-of-a-shim": ("layout: family", 'layout: provider\n    local: "{cuda}.{arch}"'),
    "declared-label-to-pypi": ("    stamp:", '    publish: pypi\n    local: "{cuda}"\n    stamp:'),
    "file-name-twice": ("cp{python_nodot}-cp{python_nodot}", "cp39-abi3"),
    "id-twice": (
        "per: []",
        (
            "per: [cuda, arch, python]\n    layout: family\n    tag: cp{python_nodot}-none\n"
            '    manylinux: "2_28"\n    local: ""'
        ),
    ),
    "distribution-of-another": (
        GOOD[GOOD.index("mylib-data") : GOOD.index("    build:\n      kind: tree")],
        (
            "mylib-cu13\n    per: []\n    build: {kind: wheel, command: [make]}\n  - name: mylib-cu{cuda_major}\n"
            "    per: [cuda, arch, python]\n    layout: family\n    tag: cp{python_nodot}-none\n"
            '    manylinux: "2_28"\n'
        ),
    ),
    "extra-of-a-provider": ("layout: family", "layout: provider\n    extras: {sm90a: [mylib-data]}"),
    # promises, exclusions, runners, channels
    "broken-promise": (_CU130, '["8.0", 12.0f]'),
    "promise-not-released": (
        "release: {repository: example/mylib,",
        'release: {select: ["cu130-*-sm12x-*", mylib-data, "cu128-*"], repository: example/mylib,',
    ),
    "promise-of-a-suffix": ("capabilities: 8.0 8.6 9.0", "capabilities: 8.0 9.0a"),
    "promise-for-no-gpu": ("capabilities: 8.0 8.6 9.0", "capabilities: 8.0 8.8 9.0"),
    "promise-of-nobody": ("  - capabilities: 8.0 8.6 9.0", "  - {cells: cu131-*, capabilities: 8.0 8.6}"),
    "exclusion-of-nothing": ('"cu128-*-python3.12"', '"cu127-*"'),
    "exclusion-of-an-absent-target": ("reason: nobody asked}", "targets: '8.9', reason: nobody asked}"),
    "exclusion-without-reason": (", reason: nobody asked}", "}"),
    "exclusion-with-empty-reason": ("reason: nobody asked", 'reason: ""'),
    "everything-excluded": ('"cu128-*-python3.12"', '"cu*"'),
    "runner-of-no-family": ("smoke: {sm9x:", "smoke: {sm8x:"),
    "secret-with-its-value": ("TOKEN}", "ghp_0123456789abcdef}"),
    "size-without-unit": ("limit: 2 GiB", 'limit: "2147483648"'),
    "size-over-github": ("limit: 2 GiB", "limit: 3 GiB"),
    "share-without-percent": ("warn: 95%", 'warn: "0.95"'),
    "elsewhere-unknown": ("warn: 95%", "over: elsewhere"),
    "same-tag-for-every-release": ('tag: "v{version}"', "tag: latest"),
    "same-tag-for-every-nightly": ('tag: "nightly-{date}"', "tag: nightly"),
    "tag-that-git-refuses": ('tag: "v{version}"', 'tag: "release {version}"'),
    "unknown-tag-field": ('tag: "v{version}"', 'tag: "v{versoin}"'),
    "selection-of-nothing": ('["cu130-*", mylib-data]', "[cu131-*]"),
    "need-not-selected": ('["cu130-*", mylib-data]', '["cu130-*"]'),
    "empty-channel": ('["cu130-*", mylib-data]', '["cu128-*-python3.12"]'),
    "repository-form": ("repository: example/mylib", "repository: https://github.com/example/mylib"),
    "pull-request-published": ("", "  pull-request: {repository: example/mylib}\n"),
    "too-many-jobs": ('["3.11", "3.12"]', "[" + ", ".join(f'"3.{n}"' for n in range(11, 81)) + "]"),
    # versions
    "version-with-label": ('"1.2.0"\nnext', '"1.2.0+cu130"\nnext'),
    "no-version": ('"1.2.0"\nnext', '"1.2.x"\nnext'),
    "version-without-end": ('"1.2.0"\nnext', '"1.' + "9" * 5000 + '"\nnext'),
    "next-not-later": ('"1.3.0"', '"1.2.0"'),
    "nightlies-before-the-release": (
        'version: "1.2.0"\nnext_version: "1.3.0"',
        'version: "1.2.0rc1"\nnext_version: "1.2.0"',
    ),
    "next-is-dev": ('"1.3.0"', '"1.3.0.dev1"'),
    "no-version-file": ('version: "1.2.0"\n', "version_file: VERSION\n"),
    # several at once: all are said
    "several": (
        GOOD[GOOD.index("cuda:\n") : GOOD.index("families:")],
        "cuda:\n  cu130:\n    toolkit: 13.0\n    targets: {x86_64: 8.0 9.0a 10.1a}\n    imgae: {}\n",
    ),
}


def broken(name: str) -> str:
    """The good matrix with one mistake in it."""
    old, new = BAD[name]
    assert not old or old in GOOD, name
    return GOOD.replace(old, new, 1) if old else GOOD + new
