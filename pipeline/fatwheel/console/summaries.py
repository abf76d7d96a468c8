"""The commands and what each does, in the groups of `fatwheel --help`, which imports no command."""

from __future__ import annotations

GROUPS: dict[str, dict[str, str]] = {
    "Start": {
        "init": "Create a matrix.yaml for this project.",
        "check": "Check matrix.yaml and the files generated from it.",
        "plan": "Show what a channel builds, what it excludes, and why.",
        "doctor": "Check what this machine can build, test and release.",
        "rehearse": "Run the whole pipeline on this machine, releasing to a folder.",
    },
    "Build": {
        "build": "Build the wheels of one or more cells.",
        "smoke": "Smoke-test wheels in a clean environment, optionally on a GPU.",
        "split": "Split a fat wheel by GPU family or target, without recompiling.",
        "shim": "Create a metadata-only wheel that pins its provider wheels.",
        "repack": "Rewrite a wheel reproducibly; optionally strip or rename it.",
    },
    "Inspect": {
        "inventory": "List the device code in a wheel, by module and target.",
        "verify": "Check that wheels are valid and match their cell.",
        "report": "Report wheel sizes, growth, and time left until the size limit.",
    },
    "Release": {
        "release": "Upload wheels to a release; one failure never stops the rest.",
        "status": "Compare a release with its plan.",
        "publish": "Verify a draft release and publish it.",
        "prune": "Delete expired releases of a channel and their index entries.",
    },
    "Index": {
        "index": "Build a package index of a store's published releases.",
        "yank": "Yank files: installers skip them unless they are pinned exactly.",
    },
    "CI and maintenance": {
        "generate": "Generate GitHub Actions workflows from matrix.yaml.",
        "deliver": "Build the index of one or more stores and push it to its host.",
        "images": "List container images, or pin them to their current digests.",
        "pins": "List or update the commits that GitHub actions are pinned to.",
    },
}
LESS_USED: dict[str, str] = {
    "pick": "Download the files of a workflow run that can go to PyPI.",
    "schema": "Print the JSON Schema of matrix.yaml, or write it to a file.",
    "toolkits": "List the GPU targets of each CUDA toolkit; compare with a ptxas.",
    "variants": "Create wheel variants (draft PEPs 817 and 825).",
}
"""Commands that root help names without their summaries."""
SUMMARIES: dict[str, str] = {name: text for group in (*GROUPS.values(), LESS_USED) for name, text in group.items()}
