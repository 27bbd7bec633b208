"""What a layout does to the batch, what that does to the recipe, and what gives where the batch is short."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.calculator.advisor_cuts import chosen_micro_batch, other_cuts, several, with_micro_batches
from app.calculator.advisor_options import SEVERAL, BatchRange, Option, Situation, sharding_stages


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Something that could give, worked out by the engine."""

    says: str
    option: Option
    num_gpus: int

    def to_json(self) -> dict[str, Any]:
        """In the words of the API."""
        layout = self.option.layout
        sizes = ("tensor_parallel", "pipeline_parallel", "data_parallel", "micro_batch_size")
        chunks = {"virtual_pipeline_stages": layout.virtual_pipeline_stages}
        return {
            "says": self.says,
            "num_gpus": self.num_gpus,
            **{name: getattr(layout, name) for name in sizes},
            **chunks,
            **self.option.to_json(),
        }


def what_gives(
    situation: Situation, tensor: int, stages: int, options: Sequence[Option], chosen: Option | None
) -> list[Way]:
    """Ways out of a batch that is too small: more sequences, chunks, other cuts, fewer devices."""
    gpus = situation.cluster.num_gpus
    found = [_larger_batch(situation, tensor, stages)]
    chunked = [option for option in options if option.layout.virtual_pipeline_stages > 1]
    interleaved = chosen_micro_batch(situation, chunked)
    if interleaved is not None and interleaved is not chosen:
        chunks = interleaved.layout.virtual_pipeline_stages
        found.append(
            Way(says=f"Interleave {chunks} chunks on each device", option=interleaved, num_gpus=gpus)
        )
    cuts = [
        option
        for option in other_cuts(situation)
        if (option.layout.tensor_parallel, option.layout.pipeline_parallel) != (tensor, stages)
    ]
    for option in sorted(cuts, key=lambda one: one.step_s)[:2]:
        layout = option.layout
        says = (
            f"Cut otherwise: tensor {layout.tensor_parallel}, pipeline {layout.pipeline_parallel},"
            f" {layout.data_parallel} {'copy' if layout.data_parallel == 1 else 'copies'}"
        )
        found.append(Way(says=says, option=option, num_gpus=gpus))
    found.append(_fewer_devices(situation, tensor, stages))
    return [way for way in found if way is not None]


def _larger_batch(situation: Situation, tensor: int, stages: int) -> Way | None:
    """The smallest batch that gives each stage several micro-batches."""
    free = replace(situation, batches=BatchRange(least=situation.batches.least))
    options = with_micro_batches(free, tensor, stages, sharding_stages(stages))
    fitting = [option for option in options if situation.fits(option) and several(option)]
    option = min(fitting, key=lambda one: (one.global_batch_size, one.step_s), default=None)
    if option is None or option.global_batch_size <= situation.batches.most:
        return None
    says = f"Accept a batch of {option.global_batch_size:,} sequences"
    return Way(says=says, option=option, num_gpus=situation.cluster.num_gpus)


def _fewer_devices(situation: Situation, tensor: int, stages: int) -> Way | None:
    """As many copies as the batch feeds with several micro-batches for each stage; the rest stands still."""
    if situation.batches.free or "data_parallel" in situation.fixed:
        return None
    inner = tensor * stages * situation.base.context_parallel
    most = int(situation.batches.most)
    copies = most // (SEVERAL * stages * situation.micro_batch())
    while copies > 1 and situation.batches.fixed and most % copies:
        copies -= 1
    if not 1 <= copies < situation.copies(tensor, stages):
        return None
    cluster = situation.cluster
    nodes = math.ceil(copies * inner / cluster.gpus_per_node)
    smaller = replace(situation, cluster=replace(cluster, num_gpus=copies * inner, num_nodes=nodes))
    options = with_micro_batches(smaller, tensor, stages, sharding_stages(stages))
    option = chosen_micro_batch(smaller, options)
    if option is None:
        return None
    return Way(says=f"Use {copies * inner:,} devices", option=option, num_gpus=copies * inner)


def batch_numbers(situation: Situation, option: Option) -> dict[str, Any]:
    """The batch, its tokens, and the steps that a stated number of tokens takes."""
    training = situation.training
    tokens = option.global_batch_size * training.seq_length
    total = training.total_tokens
    return {
        "global_batch_size": option.global_batch_size,
        "micro_batch_size": option.layout.micro_batch_size,
        "num_micro_batches": option.num_micro_batches,
        "data_parallel": option.layout.data_parallel,
        "tokens_per_step": tokens,
        "batch_range": [situation.batches.least, None if situation.batches.free else situation.batches.most],
        "total_tokens": total or None,
        "steps": math.ceil(total / tokens) if total else None,
        "smallest_batch_for_several": SEVERAL
        * option.layout.pipeline_parallel
        * option.layout.micro_batch_size
        * option.layout.data_parallel,
    }


def consequences(tokens_per_step: int, steps: int | None) -> list[dict[str, str]]:
    """What a batch does to a recipe: what was shown, where, and the condition. None of it is advice."""
    told = (
        f"{steps:,} steps for the stated tokens"
        if steps
        else "the number of steps for a number of tokens falls as the batch grows"
    )
    return [
        {
            "id": "steps",
            "says": f"{tokens_per_step:,} tokens a step: {told}. A schedule written in steps (warm-up, decay,"
            " checkpoints) then covers another number of tokens.",
            "source": "arithmetic",
            "condition": "The same tokens are not the same training: fewer, larger steps.",
        },
        {
            "id": "critical_batch",
            "says": "Beyond a critical batch, more sequences a step save fewer and fewer steps."
            " It is estimated from the noise of the gradient and grows while the loss falls.",
            "source": "McCandlish et al. 2018, An Empirical Model of Large-Batch Training, arXiv:1812.06162",
            "condition": "Measured task by task; it says nothing of a model whose noise was not measured.",
        },
        {
            "id": "critical_batch_language",
            "says": "For language models it was fitted as about 2·10^8 tokens / L^4.8, L the loss in nats.",
            "source": "Kaplan et al. 2020, Scaling Laws for Neural Language Models, arXiv:2001.08361",
            "condition": "Decoder models of at most 1.5 B parameters on one set of web text.",
        },
        {
            "id": "learning_rate_sgd",
            "says": "With k times the batch, k times the learning rate and a warm-up kept the curve.",
            "source": "Goyal et al. 2017, Accurate, Large Minibatch SGD, arXiv:1706.02677",
            "condition": "SGD with momentum, ResNet-50 on ImageNet, up to 8,192 images; beyond it broke.",
        },
        {
            "id": "learning_rate_adam",
            "says": "For adaptive optimizers the square root of k was derived instead.",
            "source": "Malladi et al. 2022, On the SDEs and Scaling Rules for Adaptive Gradient Algorithms,"
            " arXiv:2205.10287",
            "condition": "Derived for noisy gradients, and tried on vision and language models.",
        },
        {
            "id": "no_one_rule",
            "says": "Over many workloads no single rule told the best learning rate of another batch.",
            "source": "Shallue et al. 2018, Measuring the Effects of Data Parallelism on Neural Network"
            " Training, arXiv:1811.03600",
            "condition": "Tuned anew at every batch size, on models far smaller than these.",
        },
        {
            "id": "warm_up_of_the_batch",
            "says": "GPT-3 started with 32 thousand tokens a step and grew the batch over the first"
            " 4 to 12 billion tokens. A layout must divide every batch on the way.",
            "source": "Brown et al. 2020, Language Models are Few-Shot Learners, arXiv:2005.14165",
            "condition": "What one family of models did; it was not compared with a constant batch there.",
        },
    ]
