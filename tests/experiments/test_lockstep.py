"""Episodes whose decisions a GPU makes together, on one or on the thread that stands in for it: the rows are those of the CPU."""

from __future__ import annotations

import pytest

import airoas.compiler.device
from airoas.cli import main
from airoas.errors import OptionError
from airoas.experiments.rows.store import read_rows
from airoas.experiments.rows.types import Row
from airoas.experiments.run import lockstep
from airoas.experiments.run.bench import bench, in_memory
from airoas.experiments.run.lockstep import Lockstep
from airoas.experiments.run.pool import Inline, WorkerError
from airoas.experiments.spec.reading import parse
from airoas.planners import POMCP
from tools.host_device import HostDevice

FILE = """
episodes = 5
particles = 200
max_steps = 4
filter = "bootstrap"
domains = ["tiger", "tag"]
[planners.pomcp]
planner = "pomcp"
iterations = 30
"""
SAME = ("id", "actions", "rewards", "lower", "upper", "trials", "nodes", "stops", "surprise", "discounted_return", "terminated", "model")


@pytest.fixture(autouse=True)
def gpu(monkeypatch):
    try:
        return airoas.compiler.device.device()
    except OptionError:
        stand_in = HostDevice()
    stand_in.name = "a thread"
    for module in (airoas.compiler.device, lockstep):
        monkeypatch.setattr(module, "device", lambda: stand_in)
    return stand_in


@pytest.fixture(autouse=True)
def _named(monkeypatch):
    monkeypatch.setattr(HostDevice, "name", "", raising=False)


def compared(rows: dict[str, Row]) -> list[list[object]]:
    return [[row.get(name) for name in SAME] for _, row in sorted(rows.items())]


def test_rows_are_the_cpus_but_for_the_device(gpu):
    spec = parse(FILE, "mine.toml")
    ours = in_memory(spec, lambda: Lockstep(spec.tasks(), 4))
    assert compared(ours) == compared(in_memory(spec, Inline))
    assert {row["machine"]["device"] for row in ours.values()} == {gpu.name}


def test_what_is_done_is_kept_where_the_gpu_fails_and_the_same_command_goes_on(monkeypatch, tmp_path):
    spec = parse(FILE, "mine.toml")
    calls, plan_many = [], POMCP.plan_many

    def failing(self, *arguments):
        calls.append(arguments)
        if len(calls) == 10:
            raise RuntimeError("cuLaunchKernel: CUDA_ERROR_ILLEGAL_ADDRESS")
        return plan_many(self, *arguments)

    monkeypatch.setattr(POMCP, "plan_many", failing)
    with pytest.raises(WorkerError, match=r"ILLEGAL_ADDRESS.*the same command goes on"):
        bench(spec, tmp_path / "rows", lambda: Lockstep(spec.tasks(), 2), full=True)
    done = len(list(read_rows(tmp_path / "rows")))
    assert 0 < done < len(spec.tasks())
    rows = bench(spec, tmp_path / "rows", lambda: Lockstep(spec.tasks(), 2), full=True)
    assert compared(rows) == compared(in_memory(spec, Inline))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('planner = "pomcp"\nseconds = 0.1', "keeps no deadline"),
        ('planner = "qmdp"', "QMDP does not make many decisions"),
    ],
)
def test_what_cannot_be_done_there_is_refused_in_a_sentence(tmp_path, capsys, lines, said):
    file = tmp_path / "mine.toml"
    file.write_text(FILE[: FILE.index("[planners")].replace('"tiger", "tag"', '"tiger"') + f"[planners.one]\n{lines}\n")
    assert main(["bench", str(file), "--out", str(tmp_path / "rows"), "--device", "cuda"]) == 2
    assert said in capsys.readouterr().err


def test_a_learned_policy_is_refused_in_a_sentence():
    text = FILE[: FILE.index("[planners")] + '[planners.one]\nplanner = "airoas"\niterations = 5\npolicy = "always"\nlearn_seconds = 0.0\n'
    spec = parse(text.replace('"tiger", "tag"', '"tiger"'), "mine.toml")
    with pytest.raises(OptionError, match="policy='none'"):
        in_memory(spec, lambda: Lockstep(spec.tasks()))
