"""The public case: FlashInfer's nightlies of 11 and 14 August 2026, when 12.1a came to the aarch64 wheels."""

from __future__ import annotations

from pathlib import Path

import pytest

from fatwheel.records.report import Report
from fatwheel.report.budget import Allowance
from fatwheel.report.make_report import Question, make_report
from fatwheel.report.trend import Slope, left
from fatwheel.stores import open_store
from tests.unit.report.samples import GIB, MIB, august

ALLOWED = Allowance(limit=2 * GIB, warn=0.95, growth=0.10)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    store: Path = tmp_path_factory.mktemp("store")
    august(store)
    return make_report(open_store(f"dir:{store}"), Question(ALLOWED))


def test_the_target_costs_256_mib_on_cu129_and_about_200_on_cu130(report: Report) -> None:
    prices = {price.cuda: price for price in report.prices if price.targets == ["12.1a"]}
    assert prices["cu129"].bytes == pytest.approx(256 * MIB, abs=MIB)
    assert prices["cu130"].bytes == pytest.approx(200 * MIB, abs=5 * MIB)
    assert prices["cu129"].basis == "nightly-20260814: its growth beside that of cu129-x86_64-all"


def test_the_bounds_are_what_other_wheels_would_have_told(report: Report) -> None:
    price = next(price for price in report.prices if price.cuda == "cu129")
    assert price.low == pytest.approx(256 * MIB, abs=MIB)  # beside cu129 x86_64, which grew most
    assert price.high == pytest.approx(266 * MIB, abs=MIB)  # beside cu130 x86_64, which grew least


def test_the_wheel_over_the_limit_is_told_what_would_bring_it_under(report: Report) -> None:
    row = next(row for row in report.wheels if row.label == "cu129-aarch64-all")
    assert row.level == "over"
    drop = next(help for help in row.remedies if help.what == "drop 12.1a")
    assert drop.predicted[row.label] / GIB == pytest.approx(1.893, abs=0.0005)
    assert drop.enough
    assert drop.loses == []  # 12.0f serves 12.1


def test_growth_beyond_what_is_allowed_is_a_problem_of_its_own(report: Report) -> None:
    levels = {row.label: row.level for row in report.wheels}
    assert levels == {
        "cu129-aarch64-all": "over", "cu130-aarch64-all": "grown", "cu129-x86_64-all": "warn", "cu130-x86_64-all": "ok",
        "cu128-x86_64-all": "ok", "cu128-aarch64-all": "ok",
    }  # fmt: skip
    assert report.problems == [
        "cu129-aarch64-all: 153,545,082 bytes too many: it must be under 2,147,483,648",
        "cu130-aarch64-all: grew by 14.4%, and 10% are allowed",
    ]


def test_a_step_by_a_target_is_no_growth(report: Report) -> None:
    trend = next(trend for trend in report.trends if trend.label == "cu129-aarch64-all")
    assert [step.name for step in trend.steps] == ["nightly-20260814"]
    assert trend.rate is None


def test_two_releases_tell_a_rate_but_not_how_sure_it_is(report: Report) -> None:
    trend = next(trend for trend in report.trends if trend.label == "cu129-x86_64-all")
    assert trend.rate == pytest.approx(0.045 * GIB / 3, rel=1e-6)
    assert trend.low is None
    assert trend.note == "from 2 releases: too few to say how sure"


def test_at_2_8_mib_a_day_96_mib_last_34_days() -> None:
    room = 2 * GIB - round(1.906 * GIB)
    assert room == pytest.approx(96 * MIB, abs=MIB)
    assert left(room, Slope(2.8 * MIB, None, None)).days == pytest.approx(34, abs=0.5)
