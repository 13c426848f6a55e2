"""A real engine, llama.cpp, with a model of random weights: python3 llama.py PORT LOG. The log stays empty."""

import itertools
import os
import signal
import sys
import tempfile

import gguf
import numpy
import xllamacpp

VOCABULARY, WIDTH, LAYERS, HEADS, FORWARD, CONTEXT = 1024, 256, 2, 4, 512, 16384


def write_model(path):
    """Writes a llama model of 12 MB whose tokens are bytes, characters and pairs of letters."""
    random = numpy.random.default_rng(1)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("random")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(VOCABULARY)
    writer.add_file_type(0)
    kinds = gguf.TokenType
    tokens = [("<unk>", kinds.UNKNOWN), ("<s>", kinds.CONTROL), ("</s>", kinds.CONTROL)]
    tokens += [(f"<0x{byte:02X}>", kinds.BYTE) for byte in range(256)]
    tokens += [(character, kinds.NORMAL) for character in [*map(chr, range(33, 127)), "\u2581"]]
    letters = "abcdefghijklmnopqrstuvwxyz"
    tokens += [(one + other, kinds.NORMAL) for one, other in itertools.product("\u2581" + letters, letters)]
    tokens = tokens[:VOCABULARY]
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([text for text, _ in tokens])
    writer.add_token_scores([-float(number) for number in range(VOCABULARY)])
    writer.add_token_types([int(kind) for _, kind in tokens])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_chat_template("{% for m in messages %}{{m['role']}}: {{m['content']}}\n{% endfor %}assistant:")

    def add(name, *shape):
        writer.add_tensor(name + ".weight", (random.standard_normal(shape) * 0.05).astype(numpy.float32))

    ones = numpy.ones(WIDTH, numpy.float32)
    add("token_embd", VOCABULARY, WIDTH)
    writer.add_tensor("output_norm.weight", ones)
    add("output", VOCABULARY, WIDTH)
    for layer in range(LAYERS):
        for norm in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{norm}.weight", ones)
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            add(f"blk.{layer}.{name}", WIDTH, WIDTH)
        add(f"blk.{layer}.ffn_gate", FORWARD, WIDTH)
        add(f"blk.{layer}.ffn_up", FORWARD, WIDTH)
        add(f"blk.{layer}.ffn_down", WIDTH, FORWARD)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    port, log = int(sys.argv[1]), sys.argv[2]
    open(log, "w").close()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "random.gguf")
        write_model(path)
        parameters = xllamacpp.CommonParams()
        parameters.model.path = path
        parameters.port = port
        parameters.n_parallel, parameters.n_ctx, parameters.cont_batching = 4, CONTEXT, True
        parameters.cpuparams.n_threads, parameters.warmup = 1, False
        server = xllamacpp.Server(parameters)
        signal.sigwait([signal.SIGTERM, signal.SIGINT])
        del server


if __name__ == "__main__":
    main()
