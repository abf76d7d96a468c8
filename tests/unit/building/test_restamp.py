"""Files that repeat version and targets are made to agree, each in the form that it has."""

import pytest

from fatwheel.building.restamp import stamped
from fatwheel.wheels.formats.texts import TARGETS_ASSIGNED, VERSION_ASSIGNED
from tests.unit.building.samples import cell

CELL = cell(targets=("8.0", "9.0a"))
VERSION = "1.0+cu130.sm9x"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("__version__ = '0.0.0'\n", f"__version__ = '{VERSION}'\n"),
        (
            '__version__: Final[str] = "0.1.dev0"  # written here',
            f'__version__: Final[str] = "{VERSION}"  # written here',
        ),
        ('{"version": "0.1", "cuda_version": "12.9"}', f'{{"version": "{VERSION}", "cuda_version": "12.9"}}'),
        ("0.0.1\n", f"{VERSION}\n"),
        ("version: 0.1\n", f"version: {VERSION}\n"),
        ('targets = ["7.5"]', 'targets = ["8.0", "9.0a"]'),
        ("targets = ('sm_75', 'sm_80')", "targets = ('sm_80', 'sm_90a')"),
        ('arch_list = "75;80"', 'arch_list = "80;90a"'),
        ('ARCH_LIST = "7.5 8.0 12.0f"', 'ARCH_LIST = "8.0 9.0a"'),
        ('"sms": ["sm75"]', '"sms": ["sm80", "sm90a"]'),
        ("nothing of the kind", "nothing of the kind"),
    ],
)
def test_each_form(before, after):
    assert stamped(before, CELL) == after
    assert stamped(after, CELL) == after


def test_what_was_written_is_what_verification_reads():
    text = stamped("__version__ = '0'\ntargets = ['1.0']\n", CELL)
    assert VERSION_ASSIGNED.findall(text) == [VERSION]
    assert TARGETS_ASSIGNED.findall(text) == ["['8.0', '9.0a']"]


def test_a_package_without_targets_keeps_its_lists():
    assert stamped("targets = ['1.0']", cell(targets=())) == "targets = ['1.0']"
