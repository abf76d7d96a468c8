"""How many compilers run side by side, and what limits them."""

import pytest

from fatwheel.building.parallel import Machine, choose_jobs, inspect_machine

GIB = 1 << 30


@pytest.mark.parametrize(
    ("cores", "gib", "threads", "beside", "jobs"),
    [(64, 256, 1, 1, 64), (64, 16, 1, 1, 8), (64, 256, 4, 1, 16), (64, 32, 4, 1, 4), (2, 1, 1, 1, 1), (8, 64, 1, 2, 4)],
)
def test_the_scarcer_of_cores_and_memory_decides(cores, gib, threads, beside, jobs):
    found = choose_jobs(Machine(cores, gib * GIB), threads=threads, job_memory=2 * GIB, beside=beside)
    assert (found.jobs, found.nvcc_threads) == (jobs, threads)
    assert found.reason.startswith(f"{cores} cores, {gib}.000 GiB free at 2.000 GiB per compiler")


def test_a_wish_is_followed_and_told_apart():
    found = choose_jobs(Machine(2, GIB), jobs=9)
    assert (found.jobs, found.reason) == (9, "set by --jobs; 2 cores, 1.000 GiB free at 2.000 GiB per compiler")


def files(root, **texts):
    for name, text in texts.items():
        path = root / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def proc(tmp_path, cgroup, free=64):
    place = tmp_path / "proc"
    files(place, meminfo=f"MemTotal: 1 kB\nMemAvailable: {free * GIB // 1024} kB\n", self__cgroup=cgroup)
    return place


def test_limits_of_cgroups_v2_count_at_every_level(tmp_path):
    groups = tmp_path / "cgroup"
    files(
        groups,
        ci__memory_DOT_max=str(8 * GIB), ci__memory_DOT_current=str(6 * GIB),
        ci__memory_DOT_stat=f"anon 1\ninactive_file {1 * GIB}\n", ci__cpu_DOT_max="max 100000",
        ci__job__memory_DOT_max="max", ci__job__cpu_DOT_max="100000 100000",
    )  # fmt: skip
    assert inspect_machine(proc(tmp_path, "0::/ci/job\n"), groups) == Machine(1, 3 * GIB)


def test_limits_of_cgroups_v1(tmp_path):
    groups = tmp_path / "cgroup"
    files(
        groups,
        memory__x__memory_DOT_limit_in_bytes=str(4 * GIB), memory__x__memory_DOT_usage_in_bytes=str(GIB),
        memory__memory_DOT_limit_in_bytes="9223372036854771712", memory__memory_DOT_usage_in_bytes="1",
        cpu__x__cpu_DOT_cfs_quota_us="-1", cpu__x__cpu_DOT_cfs_period_us="100000",
    )  # fmt: skip
    found = inspect_machine(proc(tmp_path, "4:memory:/x\n2:cpu,cpuacct:/x\n0::/\n"), groups)
    assert found.memory == 3 * GIB


def test_without_limits_it_is_what_is_free(tmp_path):
    assert inspect_machine(proc(tmp_path, "0::/\n", free=5), tmp_path / "none").memory == 5 * GIB
