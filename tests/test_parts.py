"""What is loaded for a run: who has an engine, who has a voice."""

from dataclasses import replace

from guerdon.method import Role
from guerdon.methods.grpo import grpo
from guerdon.methods.ppo import ppo
from guerdon.parts import load_parts, make_source
from tests.models.small import saved
from tests.runs import tiny_run


def test_a_frozen_judge_can_be_asked(tmp_path):
    method = replace(grpo(), roles={"judge": Role(), "twin": Role(shares="policy")})
    parts = load_parts(tiny_run(saved(tmp_path), method))
    assert parts.samplers["judge"].module is parts.engines["judge"].module
    assert parts.samplers["twin"] is parts.samplers["policy"]
    assert "twin" not in parts.engines


def test_the_source_knows_how_many_completions_the_estimator_compares(tmp_path):
    folder = saved(tmp_path)
    found = [make_source(load_parts(tiny_run(folder, method))).min_group for method in (grpo(), ppo())]
    assert found == [2, 1]


def test_a_value_model_has_no_voice(tmp_path):
    parts = load_parts(tiny_run(saved(tmp_path), ppo()))
    assert "value" in parts.engines
    assert "value" not in parts.samplers
