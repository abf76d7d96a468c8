"""The public case: FlashInfer's nightlies of 11 and 14 August 2026, when 12.1a was added to the aarch64 wheels."""

from __future__ import annotations

from pathlib import Path

import pytest

from fatwheel.records.report import Report
from fatwheel.report.budget import Allowance
from fatwheel.report.make_report import ReportOptions, make_report
from fatwheel.report.trend import Slope, time_left
from fatwheel.stores import open_store
from fatwheel.targets import dotted
from tests.unit.report.samples import GIB, MIB, august

ALLOWED = Allowance(limit=2 * GIB, warn=0.95, growth=0.10)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    store: Path = tmp_path_factory.mktemp("store")
    august(store)
    return make_report(open_store(f"dir:{store}"), ReportOptions(ALLOWED))


def test_the_target_takes_256_mib_on_cu129_and_about_200_on_cu130(report: Report) -> None:
    sizes = {one.cuda: one for one in report.target_sizes if dotted(one.targets) == "12.1a"}
    assert sizes["cu129"].bytes == pytest.approx(256 * MIB, abs=MIB)
    assert sizes["cu130"].bytes == pytest.approx(200 * MIB, abs=5 * MIB)
    assert sizes["cu129"].basis == "growth in nightly-20260814 compared with cu129-x86_64-all"


def test_the_bounds_come_from_all_comparable_wheels(report: Report) -> None:
    found = next(one for one in report.target_sizes if one.cuda == "cu129")
    assert found.low == pytest.approx(256 * MIB, abs=MIB)  # compared with cu129 x86_64, which grew most
    assert found.high == pytest.approx(266 * MIB, abs=MIB)  # compared with cu130 x86_64, which grew least


def test_the_wheel_over_the_limit_gets_suggestions(report: Report) -> None:
    row = next(row for row in report.wheels if row.label == "cu129-aarch64-all")
    assert row.level == "over"
    drop = next(help for help in row.suggestions if help.what == "drop 12.1a")
    assert drop.predicted[row.label] / GIB == pytest.approx(1.893, abs=0.0005)
    assert drop.enough
    assert drop.loses == []  # 12.0f runs on 12.1


def test_growth_beyond_the_limit_is_an_error(report: Report) -> None:
    levels = {row.label: row.level for row in report.wheels}
    assert levels == {
        "cu129-aarch64-all": "over", "cu130-aarch64-all": "grown", "cu129-x86_64-all": "warn", "cu130-x86_64-all": "ok",
        "cu128-x86_64-all": "ok", "cu128-aarch64-all": "ok",
    }  # fmt: skip
    assert report.errors == [
        "cu129-aarch64-all: 153,545,082 bytes too large (must be smaller than 2,147,483,648)",
        "cu130-aarch64-all: grew by 14.4%; the limit is 10%",
    ]


def test_a_step_due_to_a_target_is_not_growth(report: Report) -> None:
    trend = next(trend for trend in report.trends if trend.label == "cu129-aarch64-all")
    assert [step.name for step in trend.steps] == ["nightly-20260814"]
    assert trend.rate is None


def test_two_releases_give_a_rate_without_an_interval(report: Report) -> None:
    trend = next(trend for trend in report.trends if trend.label == "cu129-x86_64-all")
    assert trend.rate == pytest.approx(0.045 * GIB / 3, rel=1e-6)
    assert trend.low is None
    assert trend.note == "from 2 releases, too few for a confidence interval"


def test_at_2_8_mib_a_day_96_mib_last_34_days() -> None:
    room = 2 * GIB - round(1.906 * GIB)
    assert room == pytest.approx(96 * MIB, abs=MIB)
    assert time_left(room, Slope(2.8 * MIB, None, None)).days == pytest.approx(34, abs=0.5)
