"""A sample of the long run `soak`, without times: all valid requests succeed, all sockets end."""

from pathlib import Path

import pytest

from tests.long_runs.soak import Load, soak

FEW = Load(idle=50, streams=20, call_every_ms=0, visits=2)


@pytest.mark.deep
def test_a_mixed_load_leaves_no_descriptor_open(tmp_path: Path) -> None:
    state = soak(FEW, 1, tmp_path)
    assert state.webhooks > 0
    assert state.samples[0].descriptors > FEW.idle + FEW.streams
