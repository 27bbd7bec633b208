"""The numbers that lessons, answer keys and puzzles ask for by name, with arguments, unit and source.

A name is either a function of plain numbers, or of a whole question: then its arguments are the inputs of a
verb, and those listed are only the ones it adds.
"""

from app.calculator import named_functions as fn
from app.calculator.name import Argument, Name

NARAYANAN = "Narayanan et al. 2021, section 2.2"
KORTHIKANTI = "Korthikanti et al. 2022"
ZERO = "Rajbhandari et al. 2020 (ZeRO)"
COUNTED = "counted from the tensors"


def _model(name: str, help: str, unit: str = "") -> Argument:
    return Argument(name=name, help=help, unit=unit, of_model=name)


PARAMS = Argument(name="params", help="parameters of the model", of_model="parameters")
HIDDEN = _model("hidden_size", "width of the residual stream")
SEQ = Argument(name="seq_length", help="tokens per sequence", unit="tokens", of_model="seq_length")
MICRO = Argument(name="micro_batch_size", help="sequences per micro-batch", default=1)
TENSOR = Argument(name="tensor_parallel", help="devices that share each layer", default=1)
PIPELINE = Argument(name="pipeline_parallel", help="stages", default=1)
DATA = Argument(name="data_parallel", help="copies of the model", default=1)
STAGES = Argument(name="pipeline_parallel", help="stages")
MICRO_BATCHES = Argument(name="num_micro_batches", help="micro-batches per step")
CHUNKS = Argument(name="virtual_pipeline_stages", help="model chunks per device", default=1)
SCHEDULE = Argument(name="schedule", help="gpipe, 1f1b, interleaved or zb-h1", default="1f1b", text=True)
ZERO_STAGE = Argument(name="zero_stage", help="what is sharded, 0 to 3", default=0)
PASS_TIMES = (
    Argument(name="forward_s", help="forward pass of a stage", default=1.0, unit="s"),
    Argument(name="backward_s", help="backward pass without weight gradients", default=1.0, unit="s"),
    Argument(name="weight_grad_s", help="weight gradients of a stage", default=1.0, unit="s"),
)
GROUP = Argument(name="group_size", help="ranks in the group")
PAYLOAD = Argument(name="bytes", help="size of the tensor on each rank", unit="bytes")

PIECES = (
    Argument(name="piece_s", help="seconds of each piece, in order", unit="s", many=True),
    Argument(name="num_stages", help="stages"),
)

_NAMES = (
    Name(
        name="memory.model_states_bytes",
        help="weights, gradients and optimizer states on one device",
        unit="bytes",
        source=f"{ZERO}, sections 3.1 and 5",
        arguments=(
            PARAMS,
            ZERO_STAGE,
            DATA,
            TENSOR,
            PIPELINE,
            Argument(name="param_bytes", help="bytes per weight", default=2, unit="bytes"),
            Argument(name="grad_bytes", help="bytes per gradient", default=4, unit="bytes"),
            Argument(name="optimizer", help="adam, adam-bf16, adam-8bit or sgd", default="adam", text=True),
            Argument(name="master_weights", help="a 32-bit copy of the weights", default=True),
        ),
        function=fn.model_states_bytes,
    ),
    Name(
        name="memory.activation_bytes_per_layer",
        help="what one layer keeps of one micro-batch on one device",
        unit="bytes",
        source=f"{KORTHIKANTI}, eq. 1–4 and 6; {COUNTED} for other shapes",
        arguments=(),
        function=fn.activation_bytes_per_layer,
        question="estimate",
        unneeded=("num_layers", "vocab_size"),
    ),
    Name(
        name="memory.activation_bytes_first_stage",
        help="what the layers of the first stage keep, all micro-batches in flight together",
        unit="bytes",
        source=f"{KORTHIKANTI}, section 4.2.3",
        arguments=(),
        function=fn.activation_bytes_first_stage,
        question="estimate",
        unneeded=("vocab_size",),
    ),
    Name(
        name="memory.logits_bytes",
        help="one copy of the logits of one micro-batch on one device",
        unit="bytes",
        source=COUNTED,
        arguments=(
            MICRO,
            SEQ,
            _model("vocab_size", "tokens in the vocabulary"),
            TENSOR,
            Argument(name="bytes_per_logit", help="4 for the 32-bit copy", default=4, unit="bytes"),
        ),
        function=fn.logits_bytes,
    ),
    Name(
        name="schedules.bubble_fraction",
        help="idle share of the step, for equal stages: (p−1)/(vm+p−1)",
        unit="fraction",
        source=f"{NARAYANAN}; Qi et al. 2023 for zb-h1",
        arguments=(STAGES, MICRO_BATCHES, CHUNKS, SCHEDULE, *PASS_TIMES),
        function=fn.bubble_fraction,
    ),
    Name(
        name="schedules.bubble_over_ideal",
        help="idle time over the ideal step, for equal stages: (p−1)/(vm)",
        unit="fraction",
        source=f"{NARAYANAN}; Qi et al. 2023 for zb-h1",
        arguments=(STAGES, MICRO_BATCHES, CHUNKS, SCHEDULE, *PASS_TIMES),
        function=fn.bubble_over_ideal,
    ),
    Name(
        name="schedules.in_flight_micro_batches",
        help="micro-batches whose activations a stage holds at once",
        unit="micro-batches",
        source=f"{NARAYANAN}; {KORTHIKANTI}, section 4.2.3",
        arguments=(
            STAGES,
            MICRO_BATCHES,
            CHUNKS,
            SCHEDULE,
            Argument(name="stage", help="number of the stage, from 0", default=0),
        ),
        function=fn.in_flight,
    ),
    Name(
        name="collectives.wire_bytes",
        help="what one rank sends in a ring",
        unit="bytes",
        source="ring algorithms, Thakur et al. 2005; NCCL tests, PERFORMANCE.md",
        arguments=(
            Argument(name="op", help="all_reduce, all_gather, reduce_scatter, all_to_all or send", text=True),
            GROUP,
            PAYLOAD,
        ),
        function=fn.wire_bytes,
    ),
    Name(
        name="collectives.all_reduce_s",
        help="seconds of a ring all-reduce: 2(n−1)α + 2(n−1)/n · S/B",
        unit="s",
        source="α–β model, Thakur et al. 2005",
        arguments=(
            GROUP,
            PAYLOAD,
            Argument(name="latency_s", help="start-up time of a message", default=0.0, unit="s"),
            Argument(name="bandwidth_bytes_per_s", help="per device, one direction", unit="bytes/s"),
        ),
        function=fn.all_reduce_s,
    ),
    Name(
        name="communication.tensor_parallel_bytes_per_layer",
        help="what one device sends for one layer and micro-batch: two all-reduces forward, two backward",
        unit="bytes",
        source="Narayanan et al. 2021, section 3.2 (8bsh(t−1)/t, in bytes)",
        arguments=(
            HIDDEN,
            SEQ,
            MICRO,
            Argument(name="tensor_parallel", help="devices that share each layer"),
        ),
        function=fn.tensor_parallel_bytes_per_layer,
    ),
    Name(
        name="communication.pipeline_bytes_per_boundary",
        help="what crosses one stage boundary for one micro-batch, activation and gradient together",
        unit="bytes",
        source="Narayanan et al. 2021, section 3.2 (bsh each way, 16 bits)",
        arguments=(HIDDEN, SEQ, MICRO),
        function=fn.pipeline_bytes_per_boundary,
    ),
    Name(
        name="communication.zero_bytes_per_step",
        help="what one device sends for gradients and sharded states in one step",
        unit="bytes",
        source=f"{ZERO}, section 7",
        arguments=(
            PARAMS,
            ZERO_STAGE,
            Argument(name="data_parallel", help="copies of the model"),
            Argument(name="param_bytes", help="bytes per weight", default=2, unit="bytes"),
            Argument(name="grad_bytes", help="bytes per gradient", default=2, unit="bytes"),
            Argument(name="num_micro_batches", help="micro-batches per step", default=1),
        ),
        function=fn.zero_bytes_per_step,
    ),
    Name(
        name="compute.model_flop",
        help="model FLOP of one step: full attention, no recompute",
        unit="FLOP",
        source="Narayanan et al. 2021, appendix; Korthikanti et al. 2022, eq. 7",
        arguments=(),
        function=fn.model_flop_of,
        question="estimate",
    ),
    Name(
        name="compute.hardware_flop",
        help="FLOP of one step with what is recomputed",
        unit="FLOP",
        source="Narayanan et al. 2021, eq. 3",
        arguments=(),
        function=fn.hardware_flop_of,
        question="estimate",
    ),
    Name(
        name="layout.legal_tensor_parallel",
        help="tensor-parallel sizes that divide this model, up to a limit",
        unit="list",
        source="Megatron-LM's argument checks",
        arguments=(
            Argument(name="limit", help="largest size", default=64),
            Argument(
                name="rule_of",
                help="megatron, or torchtitan: KV heads are never copied",
                default="megatron",
                text=True,
            ),
        ),
        function=fn.legal_tensor_parallel,
        question="estimate",
        unneeded=("num_layers", "vocab_size"),
    ),
    Name(
        name="balancing.balance",
        help="seconds of the slowest stage when consecutive pieces are divided best",
        unit="s",
        source="exact for one chunk per stage: dynamic programming over the last cut",
        arguments=PIECES,
        function=fn.balanced_slowest_s,
    ),
    Name(
        name="balancing.even_split_slowest_s",
        help="seconds of the slowest stage when pieces are divided by count",
        unit="s",
        source="equal counts, the first stages one more where they do not divide",
        arguments=PIECES,
        function=fn.even_slowest_s,
    ),
    Name(
        name="serving.kv_bytes_per_token",
        help="key-value cache of one token over all layers and devices",
        unit="bytes",
        source=f"{COUNTED}: 2 · layers · KV heads · head_dim · bytes",
        arguments=(),
        function=fn.kv_bytes_per_token,
        question="serve",
        unneeded=("vocab_size",),
    ),
    Name(
        name="serving.kv_bytes_per_token_per_device",
        help="key-value cache of one token on one device of the fullest stage",
        unit="bytes",
        source=f"{COUNTED}; KV heads divide over the tensor group, at least one on each device",
        arguments=(),
        function=fn.kv_bytes_per_token_per_device,
        question="serve",
        unneeded=("vocab_size",),
    ),
    Name(
        name="serving.weights_bytes_per_device",
        help="weights on one device of the fullest stage",
        unit="bytes",
        source=COUNTED,
        arguments=(),
        function=fn.weights_bytes_per_device,
        question="serve",
    ),
    Name(
        name="serving.kv_capacity_tokens",
        help="tokens that one replica can cache; the weakest stage decides",
        unit="tokens",
        source="what memory utilization leaves after weights and overhead",
        arguments=(),
        function=fn.kv_capacity_tokens,
        question="serve",
    ),
    Name(
        name="serving.max_concurrency",
        help="requests of full length that fit at once, over all replicas",
        unit="requests",
        source="kv_capacity_tokens / max_model_len",
        arguments=(),
        function=fn.max_concurrency,
        question="serve",
    ),
    Name(
        name="serving.decode_bound_tokens_per_s",
        help="most tokens per second for one request: all weights are read for every token",
        unit="tokens/s",
        source="memory bandwidth over weights, stage after stage",
        arguments=(),
        function=fn.decode_bound_tokens_per_s,
        question="serve",
    ),
)

NAMES = {name.name: name for name in _NAMES}
