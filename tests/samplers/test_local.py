"""The local sampler against plain forward passes of the same module: same numbers, whatever shares the batch."""

from __future__ import annotations

import asyncio
import copy

import numpy as np
import pytest
import torch

from guerdon.samplers.base import Sampling
from guerdon.samplers.local import LocalSampler

FAMILIES = ("llama", "qwen2", "qwen3", "gemma3", "gpt2", "gpt_neox", "qwen2_sliding", "mistral")
PROMPT = [5, 17, 200, 33, 8, 91, 150]
OTHERS = [[7, 7, 9], [250, 3], [12, 90, 41, 77, 4, 8, 15, 16, 23, 42, 108, 6]]


def run(sampler, *requests):
    """Results of (prompt, how, seeds) requests submitted at once."""

    async def main():
        return await asyncio.gather(*(sampler.sample(*request) for request in requests))

    return asyncio.run(main())


def sampled(sample):
    return np.concatenate([span.tokens for span in sample.spans if span.sampled])


def tokens_of(results):
    return [[sampled(sample).tolist() for sample in samples] for samples in results]


@torch.no_grad()
def plain_logits(model, prompt, tokens):
    """[n, V] logits before each of the tokens, from one full forward in evaluation mode."""
    mode = model.training
    model.eval()
    ids = torch.tensor([[*prompt, *tokens]])
    logits = model(input_ids=ids).logits[0, len(prompt) - 1 : -1].double()
    model.train(mode)
    return logits


def plain_logprobs(logits, how):
    """[n, V] log-probabilities by the book: sort, cut, renormalise."""
    probs = torch.softmax(logits / how.temperature, -1)
    ranked, order = probs.sort(-1, descending=True)
    if how.top_k:
        ranked[:, how.top_k :] = 0
        ranked /= ranked.sum(-1, keepdim=True)
    ranked[ranked.cumsum(-1) - ranked >= how.top_p] = 0
    ranked[ranked < how.min_p * ranked[:, :1]] = 0
    ranked /= ranked.sum(-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, order, ranked).log()


CUTS = [{}, {"temperature": 0.7}, {"top_k": 20}, {"top_p": 0.8}, {"min_p": 0.05}]
ALL_CUTS = {"temperature": 1.3, "top_k": 40, "top_p": 0.9, "min_p": 0.01}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_log_probs_are_those_of_a_full_forward(build, tokenizer, family, attention):
    model = build(family, attention)
    sampler = LocalSampler(model, tokenizer, slots=5)
    hows = [Sampling(max_tokens=12 + i, entropy=True, **cut) for i, cut in enumerate([*CUTS, ALL_CUTS])]
    prompts = [PROMPT, *OTHERS, PROMPT, PROMPT]
    requests = [(p, how, [1, 2, 3]) for p, how in zip(prompts, hows, strict=True)]
    for (prompt, how, _), samples in zip(requests, run(sampler, *requests), strict=True):
        for sample in samples:
            (span,) = sample.spans
            assert len(span.tokens) == how.max_tokens
            assert sample.stop == "length"
            logprobs = plain_logprobs(plain_logits(model, prompt, span.tokens), how)
            expected = logprobs[torch.arange(how.max_tokens), torch.from_numpy(span.tokens)]
            np.testing.assert_allclose(span.logprobs, expected, atol=1e-4)
            entropy = torch.special.entr(logprobs.exp()).sum(-1)
            np.testing.assert_allclose(span.extra["entropy"], entropy, atol=1e-4)
            if how.truncated:
                kept = [set(np.flatnonzero(row > -np.inf)) for row in logprobs.numpy()]
                assert [set(ids.tolist()) for ids in span.extra["support"]] == kept
            else:
                assert "support" not in span.extra


@pytest.mark.parametrize("family", ["llama", "gemma3", "gpt2"])
def test_a_seed_draws_the_same_whatever_shares_the_batch(build, tokenizer, family):
    model = build(family)
    requests = [(p, Sampling(max_tokens=n, top_p=0.95), [n, n + 1]) for n, p in enumerate([PROMPT, *OTHERS], 6)]
    together = tokens_of(run(LocalSampler(model, tokenizer), *requests))
    for slots in (1, 3):
        assert tokens_of(run(LocalSampler(model, tokenizer, slots=slots), *requests)) == together
    backwards = tokens_of(run(LocalSampler(model, tokenizer, slots=3), *requests[::-1]))
    assert backwards[::-1] == together
    assert [tokens_of(run(LocalSampler(model, tokenizer), r))[0] for r in requests] == together


def test_more_tokens_only_continue_what_a_seed_draws(model, tokenizer):
    sampler = LocalSampler(model, tokenizer)
    ((short,), (long,)) = run(sampler, (PROMPT, Sampling(max_tokens=4), [9]), (PROMPT, Sampling(max_tokens=90), [9]))
    assert sampled(short).tolist() == sampled(long)[:4].tolist()


@pytest.mark.parametrize("slots", [2, 64])
def test_a_groups_prompt_is_prefilled_once(model, tokenizer, slots):
    sampler = LocalSampler(model, tokenizer, slots=slots)
    (samples,) = run(sampler, (PROMPT, Sampling(max_tokens=3, prefix=(4, 5)), list(range(7))))
    assert sampler.prompt_tokens == len(PROMPT) + 2
    assert sampler.sampled_tokens == 21 == sum(len(sampled(s)) for s in samples)
    assert sampler.seconds > 0


def test_many_seeds_draw_from_the_models_distribution(model, tokenizer):
    how = Sampling(max_tokens=1, temperature=1.5)
    (samples,) = run(LocalSampler(model, tokenizer, slots=500), (PROMPT, how, list(range(4000))))
    p = plain_logprobs(plain_logits(model, PROMPT, [0]), how)[0].exp().numpy()
    count = np.bincount([sampled(s)[0] for s in samples], minlength=len(p))
    common = p > 5 / 4000
    observed = np.append(count[common], count[~common].sum())
    expected = 4000 * np.append(p[common], p[~common].sum())
    chi2 = ((observed - expected) ** 2 / expected).sum()
    freedom = len(expected) - 1
    assert abs(chi2 - freedom) < 5 * np.sqrt(2 * freedom)


def test_greedy_is_what_generate_does(build, tokenizer):
    for family in FAMILIES:
        model = build(family)
        sampler = LocalSampler(model, tokenizer)
        ((sample,),) = run(sampler, (PROMPT, Sampling(max_tokens=20, temperature=0, top_logprobs=2), [0]))
        model.eval()
        ids = torch.tensor([PROMPT])
        out = model.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=20, eos_token_id=-1
        )
        model.train()
        (span,) = sample.spans
        assert span.tokens.tolist() == out[0, len(PROMPT) :].tolist()
        assert not span.logprobs.any()
        assert (span.extra["top_ids"][:, 0] == span.tokens).all()
        assert span.extra["top_logprobs"].tolist() == [[0, -np.inf]] * 20


def test_stop_token_is_kept_in_the_span_and_left_out_of_the_text(model, tokenizer):
    ((free,),) = run(LocalSampler(model, tokenizer), (PROMPT, Sampling(max_tokens=20), [3]))
    stop = int(sampled(free)[6])
    first = sampled(free).tolist().index(stop)
    how = Sampling(max_tokens=20, stop_tokens=(stop,))
    ((sample,),) = run(LocalSampler(model, tokenizer), (PROMPT, how, [3]))
    assert sample.stop == "stop"
    assert sampled(sample).tolist() == sampled(free)[: first + 1].tolist()
    assert sample.text == tokenizer.decode(sampled(free)[:first])
    assert sample.spans[-1].message == {"role": "assistant", "content": sample.text}


def test_stop_string_ends_a_completion_and_cuts_its_text(model, tokenizer):
    ((free,),) = run(LocalSampler(model, tokenizer), (PROMPT, Sampling(max_tokens=20), [4]))
    string = free.text[8:11]
    ((sample,),) = run(
        LocalSampler(model, tokenizer), (PROMPT, Sampling(max_tokens=20, stop_strings=(string, "?")), [4])
    )
    end = free.text.index(string)
    assert sample.stop == "stop"
    assert sample.text == free.text[:end]
    assert tokenizer.decode(sampled(sample)) == free.text[: end + 3]


def test_prefix_is_an_unsampled_span_before_the_sampled_one(model, tokenizer):
    how = Sampling(max_tokens=5, prefix=(10, 11))
    ((sample,), (same,)) = run(
        LocalSampler(model, tokenizer, version=4), (PROMPT, how, [8]), ([*PROMPT, 10, 11], how.but(prefix=()), [8])
    )
    forced, own = sample.spans
    assert forced.tokens.tolist() == [10, 11]
    assert not forced.sampled
    assert (forced.parent, own.parent, own.version) == (-1, 0, 4)
    assert own.tokens.tolist() == sampled(same).tolist()
    assert len(own.tokens) == 5
    assert sample.text == "kl" + same.text


def test_hook_bans_a_token_and_sees_the_ids_so_far(model, tokenizer):
    ((free,),) = run(LocalSampler(model, tokenizer), (PROMPT, Sampling(max_tokens=8), [5]))
    banned, seen = int(sampled(free)[2]), []

    def ban(logits, ids):
        seen.append(ids.tolist())
        logits[banned] = -torch.inf
        return logits

    how = Sampling(max_tokens=8, logits_hook=ban)
    ((sample,), (other,)) = run(
        LocalSampler(model, tokenizer), (PROMPT, how, [5]), (PROMPT, Sampling(max_tokens=8), [5])
    )
    tokens = sampled(sample).tolist()
    assert tokens[:2] == sampled(free)[:2].tolist()
    assert banned not in tokens
    assert seen == [[*PROMPT, *tokens[:i]] for i in range(8)]
    assert all(len(ids) == 299 and banned not in ids for ids in sample.spans[0].extra["support"])
    assert sampled(other).tolist() == sampled(free).tolist()
    logits = plain_logits(model, PROMPT, tokens)
    logits[:, banned] = -torch.inf
    expected = logits.log_softmax(-1)[torch.arange(8), torch.tensor(tokens)]
    np.testing.assert_allclose(sample.spans[0].logprobs, expected, atol=1e-4)


def test_top_logprobs_are_the_best_of_the_final_distribution(model, tokenizer):
    how = Sampling(max_tokens=6, temperature=0.8, top_k=10, top_logprobs=4)
    ((sample,),) = run(LocalSampler(model, tokenizer), (PROMPT, how, [2]))
    (span,) = sample.spans
    best = plain_logprobs(plain_logits(model, PROMPT, span.tokens), how).topk(4)
    assert span.extra["top_ids"].tolist() == best.indices.tolist()
    np.testing.assert_allclose(span.extra["top_logprobs"], best.values, atol=1e-4)


def test_cancelling_one_caller_leaves_the_others_tokens_unchanged(model, tokenizer):
    requests = [(p, Sampling(max_tokens=15), [1, 2]) for p in [PROMPT, *OTHERS[:2]]]
    undisturbed = tokens_of(run(LocalSampler(model, tokenizer, slots=5), *requests))
    sampler = LocalSampler(model, tokenizer, slots=5)

    async def main():
        tasks = [asyncio.create_task(sampler.sample(*request)) for request in requests]
        while sampler.sampled_tokens < 20:
            await asyncio.sleep(0)
        tasks[1].cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(results.pop(1), asyncio.CancelledError)
        return tokens_of(results)

    assert asyncio.run(main()) == [undisturbed[0], undisturbed[2]]
    assert sampler.sampled_tokens < 90


def test_new_weights_midway_start_a_span_drawn_from_the_new_weights(build, tokenizer):
    old, new = copy.deepcopy(build("gemma3")), copy.deepcopy(build("gemma3"))
    with torch.no_grad():
        for weight in new.parameters():
            weight.add_(0.05 * torch.randn_like(weight))
    weights = {name: tensor.clone() for name, tensor in new.state_dict().items()}
    before, live = copy.deepcopy(old), old
    sampler = LocalSampler(live, tokenizer, slots=3, version=1)

    async def main():
        task = asyncio.create_task(sampler.sample(PROMPT, Sampling(max_tokens=14), [1, 2, 3, 4]))
        while sampler.sampled_tokens < 18:
            await asyncio.sleep(0)
        sampler.load(weights, 2)
        return await task

    samples = asyncio.run(main())
    assert [span.version for span in samples[0].spans] == [1, 2]
    assert [span.version for span in samples[3].spans] == [2]
    for sample in samples:
        assert [span.parent for span in sample.spans] == list(range(-1, len(sample.spans) - 1))
        tokens = sampled(sample)
        at = 0
        for span in sample.spans:
            logits = plain_logits(before if span.version == 1 else new, PROMPT, tokens)
            logprobs = logits.log_softmax(-1)[torch.arange(14), torch.from_numpy(tokens)]
            np.testing.assert_allclose(span.logprobs, logprobs[at : at + len(span.tokens)], atol=1e-4)
            at += len(span.tokens)
        assert [span.message is None for span in sample.spans] == [True] * (len(sample.spans) - 1) + [False]


def test_a_shared_module_that_was_trained_is_seen_after_load(build, tokenizer):
    model = copy.deepcopy(build("llama"))
    sampler = LocalSampler(model, tokenizer)
    run(sampler, (PROMPT, Sampling(max_tokens=2), [1]))
    with torch.no_grad():
        model.lm_head.weight.mul_(0.5)
    sampler.load(None, 7)
    ((sample,),) = run(sampler, (PROMPT, Sampling(max_tokens=5), [1]))
    (span,) = sample.spans
    logprobs = plain_logits(model, PROMPT, span.tokens).log_softmax(-1)
    np.testing.assert_allclose(span.logprobs, logprobs[torch.arange(5), torch.from_numpy(span.tokens)], atol=1e-4)
    assert span.version == 7


def test_lora_layers_take_part(build, tokenizer):
    peft = pytest.importorskip("peft")
    base = copy.deepcopy(build("llama"))
    model = peft.get_peft_model(base, peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], lora_dropout=0.5))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                weight.normal_(0, 0.5)
    ((sample,),) = run(LocalSampler(model, tokenizer), (PROMPT, Sampling(max_tokens=10), [1]))
    (span,) = sample.spans
    rows = torch.arange(10), torch.from_numpy(span.tokens)
    np.testing.assert_allclose(span.logprobs, plain_logits(model, PROMPT, span.tokens).log_softmax(-1)[rows], atol=1e-4)
    with model.disable_adapter():
        without = plain_logits(model, PROMPT, span.tokens).log_softmax(-1)[rows].numpy()
    assert np.abs(span.logprobs - without).max() > 0.1


def test_the_modules_modes_come_back_and_checkpointing_does_no_harm(build, tokenizer):
    model = copy.deepcopy(build("gpt2"))
    model.activation_checkpointing_enable()
    model.transformer.h[0].eval()
    modes = [part.training for part in model.modules()]
    ((sample,),) = run(LocalSampler(model, tokenizer), (PROMPT, Sampling(max_tokens=5), [1]))
    assert [part.training for part in model.modules()] == modes
    ((plain,),) = run(LocalSampler(build("gpt2"), tokenizer), (PROMPT, Sampling(max_tokens=5), [1]))
    assert sampled(sample).tolist() == sampled(plain).tolist()
    model.train()(input_ids=torch.tensor([PROMPT]), labels=torch.tensor([PROMPT])).loss.backward()


def test_an_exception_in_the_pump_reaches_every_caller_and_the_sampler_recovers(build, tokenizer):
    model = copy.deepcopy(build("llama"))
    sampler = LocalSampler(model, tokenizer, slots=2)
    calls = []

    def explode(*_):
        calls.append(1)
        if len(calls) == 5:
            raise MemoryError("too big")

    handle = model.register_forward_hook(explode)

    async def main():
        requests = [sampler.sample(p, Sampling(max_tokens=9), [1, 2]) for p in [PROMPT, *OTHERS]]
        return await asyncio.gather(*requests, return_exceptions=True)

    assert [type(result) for result in asyncio.run(main())] == [MemoryError] * 4
    handle.remove()
    assert tokens_of(run(sampler, (PROMPT, Sampling(max_tokens=9), [1]))) == tokens_of(
        run(LocalSampler(model, tokenizer), (PROMPT, Sampling(max_tokens=9), [1]))
    )


def test_a_loop_closed_midway_leaves_nothing_behind(model, tokenizer):
    sampler = LocalSampler(model, tokenizer, slots=3)
    requests = [(p, Sampling(max_tokens=30), [1, 2]) for p in [PROMPT, *OTHERS]]

    async def give_up():
        task = asyncio.create_task(sampler.sample(*requests[0]))
        while sampler.sampled_tokens < 10:
            await asyncio.sleep(0)
        return task

    assert asyncio.run(give_up()).cancelled()
    assert tokens_of(run(sampler, *requests)) == tokens_of(run(LocalSampler(model, tokenizer), *requests))


def test_idle_samplers_hold_no_keys_and_values(model, tokenizer):
    sampler = LocalSampler(model, tokenizer)

    async def main():
        await sampler.sample(PROMPT, Sampling(max_tokens=3), [1])
        await asyncio.sleep(0)
        return [layer.keys for layer in sampler._decoder.cache.layers]

    assert asyncio.run(main()) == [None, None]


def test_half_precision_models_sample_from_float32_probabilities(build, tokenizer):
    model = copy.deepcopy(build("gemma3")).to(torch.bfloat16)
    how = Sampling(max_tokens=6, top_k=5)
    (samples,) = run(LocalSampler(model, tokenizer), (PROMPT, how, range(20)))
    for sample in samples:
        (span,) = sample.spans
        logprobs = plain_logits(model, PROMPT, span.tokens).log_softmax(-1)[
            torch.arange(6), torch.from_numpy(span.tokens)
        ]
        assert (span.logprobs >= logprobs.numpy() - 0.2).all()
        assert all(token in ids for token, ids in zip(span.tokens, span.extra["support"], strict=True))


def test_a_failing_hook_fails_its_own_request_only(model, tokenizer):
    def nothing(logits, ids):
        return torch.full_like(logits, -torch.inf)

    def broken(logits, ids):
        raise KeyError("grammar")

    sampler = LocalSampler(model, tokenizer)

    async def main():
        hows = [Sampling(logits_hook=nothing), Sampling(logits_hook=broken), Sampling(max_tokens=3)]
        return await asyncio.gather(*(sampler.sample(PROMPT, how, [6]) for how in hows), return_exceptions=True)

    empty, error, fine = asyncio.run(main())
    assert isinstance(empty, FloatingPointError)
    assert "seed 6" in str(empty)
    assert isinstance(error, KeyError)
    assert len(sampled(fine[0])) == 3


def test_nan_weights_are_named_and_not_sampled(build, tokenizer):
    model = copy.deepcopy(build("llama"))
    with torch.no_grad():
        model.lm_head.weight.fill_(torch.nan)
    for temperature in (0.0, 1.0):
        with pytest.raises(FloatingPointError, match="NaN"):
            run(LocalSampler(model, tokenizer), (PROMPT, Sampling(temperature=temperature), [1]))


def test_prompts_that_cannot_be_sampled_from_say_why(model, tokenizer):
    sampler = LocalSampler(model, tokenizer)
    with pytest.raises(ValueError, match="at least one id"):
        run(sampler, ([], Sampling(), [1]))
    with pytest.raises(ValueError, match=r"126 tokens and 2 forced.*128 positions"):
        run(sampler, ([5] * 126, Sampling(prefix=(3, 4)), [1]))
    with pytest.raises(ValueError, match=r"id 300.*0\.\.299"):
        run(sampler, ([5, 300], Sampling(), [1]))
    assert run(sampler, (PROMPT, Sampling(), [])) == [[]]


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_completions_end_where_positions_run_out(build, tokenizer, family):
    sampler = LocalSampler(build(family), tokenizer)
    ((sample,),) = run(sampler, ([5] * 125, Sampling(max_tokens=50), [1]))
    assert sample.stop == "length"
    assert len(sampled(sample)) == 3


def test_other_attention_is_refused_with_a_way_out(build, tokenizer):
    model = copy.deepcopy(build("llama"))
    model.config._attn_implementation = "flash_attention_2"
    with pytest.raises(ValueError, match="attn_implementation='sdpa'"):
        LocalSampler(model, tokenizer)


def test_callers_that_come_later_join_the_batch(model, tokenizer):
    sampler = LocalSampler(model, tokenizer)

    async def late(prompt, turns):
        for _ in range(turns):
            await asyncio.sleep(0)
        first = await sampler.sample(prompt, Sampling(max_tokens=5), [1])
        return first + await sampler.sample([*prompt, *sampled(first[0])], Sampling(max_tokens=5), [2])

    async def main():
        return await asyncio.gather(*(late(p, t) for p, t in zip(OTHERS, [0, 4, 9], strict=True)))

    for prompt, samples in zip(OTHERS, asyncio.run(main()), strict=True):
        alone = run(LocalSampler(model, tokenizer), (prompt, Sampling(max_tokens=5), [1]))
        assert sampled(samples[0]).tolist() == sampled(alone[0][0]).tolist()
        assert len(sampled(samples[1])) == 5
