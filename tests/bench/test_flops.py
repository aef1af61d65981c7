from __future__ import annotations

import pytest
from speed.flops import Shape, forward, learning, sampling

SMOL = Shape.of(
    {
        "hidden_size": 576,
        "intermediate_size": 1536,
        "num_hidden_layers": 30,
        "num_attention_heads": 9,
        "num_key_value_heads": 3,
        "vocab_size": 49152,
    }
)


def test_a_shape_counts_the_weights_that_are_multiplied() -> None:
    # 134.5M parameters less an embedding of 28.3M that is only looked up, and norms
    assert SMOL.body / 2 == pytest.approx(106.2e6, rel=0.001)
    assert SMOL.head == 2 * 576 * 49152
    assert SMOL.keys == 192


def test_a_head_size_of_its_own_goes_before_the_share_of_the_width() -> None:
    config = {"hidden_size": 8, "intermediate_size": 1, "num_hidden_layers": 1, "num_attention_heads": 2}
    assert Shape.of({**config, "head_dim": 16, "vocab_size": 3}).query == 32


def test_the_step_of_s_comes_to_what_was_counted_by_hand() -> None:
    group = [48] * 8
    assert 4 * sampling(SMOL, 40, group) == pytest.approx(0.445e12, rel=0.03)
    assert 4 * learning(SMOL, 40, group) == pytest.approx(1.34e12, rel=0.03)


def test_one_token_is_drawn_from_the_prompts_own_logits() -> None:
    tiny = Shape(hidden=1, inner=0, layers=1, query=1, keys=0, vocab=5)
    assert sampling(tiny, 3, [1]) == 3 * tiny.body + 6 * tiny.attention + tiny.head
    assert sampling(tiny, 3, [2]) == 4 * tiny.body + (6 + 4) * tiny.attention + 2 * tiny.head


def test_training_sees_every_token_once_with_the_prompt_shared() -> None:
    tiny = Shape(hidden=1, inner=0, layers=1, query=1, keys=0, vocab=5)
    once = forward(tiny, 2, [2, 1])
    assert once == 5 * tiny.body + (3 + (3 + 4) + 3) * tiny.attention + 3 * tiny.head
    assert learning(tiny, 2, [2, 1]) == 3 * once
    assert learning(tiny, 2, [2, 1], head=False, references=1) == 4 * (once - 3 * tiny.head)
