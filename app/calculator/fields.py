"""The inputs of the calculator, field by field: the one definition of what may be said.

API validation, OpenAPI, query strings, forms, lesson presets and the published bounds all read this table.
A field's bare key (`num_nodes`) stands for its path (`cluster.num_nodes`) wherever a flat mapping is given.
"""

from app.calculator.cluster import NETWORKS
from app.calculator.field import Field, boolean, choice, integer, number

__all__ = [
    "ALIASES",
    "AXES",
    "BY_BARE_KEY",
    "BY_PATH",
    "FIELDS",
    "SECTIONS",
    "SERVING_FIELDS",
    "VERB_SECTIONS",
    "Field",
    "bare_keys",
]

AXES = ("tensor", "context", "data", "pipeline")

MODEL_FIELDS = (
    integer(
        "model.num_layers",
        "transformer layers; of the decoder where there is an encoder",
        1,
        10_000,
        required=True,
    ),
    integer("model.hidden_size", "width of the residual stream", 1, 1_000_000, required=True),
    integer("model.num_attention_heads", "query heads", 1, 100_000, required=True),
    integer("model.num_kv_heads", "key and value heads; left out: as many as query heads", 1, 100_000),
    integer("model.head_dim", "width of one head; left out: hidden_size / num_attention_heads", 1, 100_000),
    integer("model.ffn_hidden_size", "inner width of the MLP; left out: 4 · hidden_size", 1, 10_000_000),
    integer("model.vocab_size", "tokens in the vocabulary, before padding", 1, 10_000_000, required=True),
    integer(
        "model.seq_length",
        "sequence length the model was trained at",
        1,
        10_000_000,
        2048,
        unit="tokens",
        bare=False,
    ),
    boolean("model.gated_mlp", "three matrices in the MLP (SwiGLU) instead of two", False),
    boolean("model.tied_embeddings", "the output head shares the embedding's weights", True),
    choice(
        "model.position_embeddings",
        "how positions enter",
        ("learned", "rope", "alibi", "relative", "none"),
        "learned",
    ),
    choice("model.normalization", "kind of normalization", ("layernorm", "rmsnorm"), "layernorm"),
    boolean("model.linear_bias", "linear layers have biases", True),
    integer(
        "model.sliding_window",
        "tokens a windowed layer attends to; 0: no window",
        0,
        10_000_000,
        0,
        unit="tokens",
    ),
    integer(
        "model.full_attention_every",
        "with a window: one layer in this many attends to everything; 0: none",
        0,
        10_000,
        1,
    ),
    integer("model.num_experts", "experts of a mixture-of-experts layer; 0: dense", 0, 100_000, 0),
    integer("model.experts_per_token", "experts that each token visits", 0, 100_000, 0),
    integer(
        "model.moe_ffn_hidden_size", "inner width of one expert; left out: ffn_hidden_size", 0, 10_000_000
    ),
    integer("model.num_shared_experts", "experts that every token visits", 0, 1_000, 0),
    integer("model.num_dense_layers", "first layers that are dense in a mixture of experts", 0, 10_000, 0),
    number(
        "model.expert_capacity_factor", "tokens an expert is sized for, over an even share", 0.1, 1_000, 1.0
    ),
    choice(
        "model.attention",
        "multi-head (with any number of KV heads) or latent attention",
        ("mha", "mla"),
        "mha",
    ),
    integer(
        "model.kv_lora_rank", "latent attention: width of the compressed keys and values", 0, 1_000_000, 0
    ),
    integer(
        "model.q_lora_rank",
        "latent attention: width of the compressed queries; 0: not compressed",
        0,
        1_000_000,
        0,
    ),
    integer("model.qk_rope_head_dim", "latent attention: rotary part of a head", 0, 100_000, 0),
    integer("model.qk_nope_head_dim", "latent attention: part of a head without position", 0, 100_000, 0),
    integer("model.v_head_dim", "latent attention: width of a value head", 0, 100_000, 0),
    integer("model.encoder_layers", "layers of the encoder; 0: decoder only", 0, 10_000, 0),
    integer("model.num_mtp_layers", "extra layers that predict further tokens, on the last stage", 0, 100, 0),
    integer("model.vision.num_layers", "layers of the vision tower", 1, 10_000, bare=False),
    integer("model.vision.hidden_size", "width of the vision tower", 1, 1_000_000, bare=False),
    integer("model.vision.num_attention_heads", "heads of the vision tower", 1, 100_000, bare=False),
)

CLUSTER_FIELDS = (
    Field(path="cluster.gpu", kind="choice", help="device, a catalog id", default="a100-80gb"),
    integer("cluster.num_nodes", "nodes", 1, 100_000, 1),
    integer(
        "cluster.gpus_per_node",
        "devices that one fast link joins; left out: of the catalog, mostly 8",
        1,
        1_024,
    ),
    integer(
        "cluster.num_gpus", "devices in all, where a node is partly used; left out: all of them", 1, 1_000_000
    ),
    number("cluster.memory_bytes", "device memory; left out: of the device", 1e9, 1e13, unit="bytes"),
    number("cluster.peak_flops.bf16", "dense 16-bit peak; left out: of the device", 1e9, 1e18, unit="FLOP/s"),
    number(
        "cluster.peak_flops.fp8", "dense 8-bit peak, 0: none; left out: of the device", 0, 1e18, unit="FLOP/s"
    ),
    number(
        "cluster.memory_bandwidth_bytes_per_s",
        "device memory bandwidth; left out: of the device",
        1e9,
        1e15,
        unit="bytes/s",
    ),
    number(
        "cluster.intra_node_bandwidth_bytes_per_s",
        "inside a node, per device, one direction",
        1e6,
        1e14,
        unit="bytes/s",
    ),
    number("cluster.intra_node_latency_s", "inside a node, start-up time of a message", 0, 1, unit="s"),
    number(
        "cluster.inter_node_bandwidth_bytes_per_s",
        "between nodes, per device, one direction",
        1e6,
        1e14,
        unit="bytes/s",
    ),
    number("cluster.inter_node_latency_s", "between nodes, start-up time of a message", 0, 1, unit="s"),
    choice(
        "cluster.inter_node_network",
        "kind of network between nodes; left out: of the device's usual servers",
        tuple(NETWORKS),
        None,
    ),
    integer(
        "cluster.nics_per_node",
        "network adapters in a node, shared by its devices where no bandwidth is stated; left out: of the"
        " catalog",
        1,
        1_024,
    ),
    number("cluster.price_per_gpu_hour", "price of one device for one hour; 0: not stated", 0, 1e6, 0.0),
)

LAYOUT_FIELDS = (
    integer("layout.tensor_parallel", "devices that share each layer's matrices", 1, 4_096, 1),
    integer("layout.pipeline_parallel", "stages the layers are cut into", 1, 1_024, 1),
    integer("layout.data_parallel", "copies of the model; left out: the rest of the cluster", 1, 1_000_000),
    integer("layout.context_parallel", "devices that share each sequence", 1, 4_096, 1),
    integer("layout.expert_parallel", "groups the experts are spread over; adds no devices", 1, 4_096, 1),
    integer("layout.virtual_pipeline_stages", "model chunks per device; 1: not interleaved", 1, 512, 1),
    choice(
        "layout.schedule",
        "order of work in the pipeline; left out: 1f1b, or interleaved where there are more chunks",
        ("gpipe", "1f1b", "interleaved", "zb-h1"),
        None,
    ),
    integer("layout.micro_batch_size", "sequences per micro-batch", 1, 100_000, 1, unit="sequences"),
    boolean(
        "layout.sequence_parallel",
        "normalization and dropout are split along the sequence over the tensor group",
        False,
    ),
    integer(
        "layout.zero_stage",
        "what is sharded over the copies: 1 optimizer, 2 and gradients, 3 and weights",
        0,
        3,
        0,
    ),
    Field(
        path="layout.zero_group",
        kind="group",
        help="ranks that share one copy of the states, or global",
        default="global",
        minimum=1,
        maximum=1_000_000,
    ),
    choice("layout.recompute", "what the forward pass does not keep", ("none", "selective", "full"), "none"),
    Field(
        path="layout.layers_per_stage",
        kind="integers",
        help="layers of each stage (or chunk); left out: equal",
        minimum=0,
        maximum=10_000,
        nullable=True,
    ),
    Field(
        path="layout.rank_order",
        kind="axes",
        help="axes from the innermost outwards",
        default=AXES,
        choices=AXES,
    ),
    boolean("layout.overlap_data_parallel", "gradient traffic runs behind the backward pass", True),
    boolean("layout.overlap_tensor_parallel", "tensor traffic runs behind the matrix products", False),
)

TRAINING_FIELDS = (
    integer(
        "training.global_batch_size",
        "sequences per optimizer step; left out: 4 micro-batches per stage and copy",
        1,
        100_000_000,
        unit="sequences",
    ),
    integer(
        "training.seq_length", "tokens per sequence; left out: of the model", 1, 10_000_000, unit="tokens"
    ),
    integer(
        "training.encoder_seq_length",
        "tokens per encoder sequence; left out: as seq_length",
        1,
        10_000_000,
        unit="tokens",
        nullable=True,
    ),
    choice(
        "training.compute_dtype",
        "type of the matrix products; left out: bf16 where the device has it",
        ("bf16", "fp16", "fp8"),
        None,
    ),
    number("training.param_bytes", "bytes per weight used in the computation", 0.5, 4, 2, unit="bytes"),
    number("training.grad_bytes", "bytes per gradient", 0.5, 4, 4, unit="bytes"),
    choice(
        "training.optimizer",
        "kind of optimizer and its number types",
        ("adam", "adam-bf16", "adam-8bit", "sgd"),
        "adam",
    ),
    boolean("training.master_weights", "a 32-bit copy of the weights beside the 16-bit ones", True),
    boolean("training.flash_attention", "attention scores are never stored", True),
    choice(
        "training.kernels",
        "how the elementwise work is run",
        ("eager", "fused", "compiled", "transformer-engine"),
        "fused",
    ),
    integer(
        "training.vocab_pad_multiple",
        "the vocabulary is padded to this times tensor_parallel; 0: never",
        0,
        65_536,
        128,
    ),
    number(
        "training.total_tokens",
        "tokens of the whole training; left out: not stated",
        1,
        1e18,
        unit="tokens",
        nullable=True,
    ),
    number(
        "training.recomputed_fraction",
        "with selective recompute: share of a forward pass run again; 0: the attention core alone",
        0,
        1,
        0.0,
        unit="fraction",
    ),
)

SERVING_FIELDS = (
    choice(
        "serving.weight_format",
        "type of the weights",
        ("bf16", "fp16", "fp8", "int8", "int4"),
        "bf16",
    ),
    integer("serving.quant_group_size", "weights that share one scale; 0: none", 0, 65_536, 0),
    choice("serving.kv_format", "type of the key-value cache", ("bf16", "fp16", "fp8", "int8"), "bf16"),
    integer(
        "serving.max_model_len",
        "longest request; left out: as the model was trained",
        1,
        100_000_000,
        unit="tokens",
    ),
    number("serving.memory_utilization", "share of device memory the server may take", 0.01, 1, 0.9),
    integer("serving.prompt_len", "tokens of a prompt", 1, 100_000_000, 1024, unit="tokens"),
    integer("serving.output_len", "tokens of an answer", 1, 100_000_000, 256, unit="tokens"),
    integer("serving.concurrency", "requests at once", 1, 10_000_000, 1, unit="requests"),
)

# The sections that each verb's inputs have.
VERB_SECTIONS = {
    "estimate": ("model", "cluster", "layout", "training"),
    "serve": ("model", "cluster", "layout", "serving"),
}
FIELDS = (*MODEL_FIELDS, *CLUSTER_FIELDS, *LAYOUT_FIELDS, *TRAINING_FIELDS)
BY_PATH = {field.path: field for field in (*FIELDS, *SERVING_FIELDS)}
ALIASES = {"training.micro_batch_size": "layout.micro_batch_size"}
SECTIONS = VERB_SECTIONS["estimate"]


def bare_keys(verb: str = "estimate") -> dict[str, str]:
    """Bare key → path, for the inputs of a verb."""
    return {f.key: f.path for f in BY_PATH.values() if f.bare and f.section in VERB_SECTIONS[verb]}


BY_BARE_KEY = {key: BY_PATH[path] for key, path in bare_keys().items()}
