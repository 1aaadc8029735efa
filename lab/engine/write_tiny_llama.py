"""Write a tiny Llama with random weights and a real tokenizer; runs in the engine's environment.

A script, not part of the lab's imports: ``python3.11 write_tiny_llama.py FOLDER TEXT_FOLDER``.
"""

# mypy: disable-error-code="import-not-found"
# Its imports are there only inside the engine.

from __future__ import annotations

import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

VOCABULARY = 2048
"""Tokens in the vocabulary (count)."""

CONTEXT = 32768
"""Longest context the model claims (tokens); the stack chooses less with ``--max-model-len``."""

SPECIAL = ("<|begin|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>")
"""Begin of text, end of turn, and one marker for each role."""

CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}{{ eos_token }}"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
"""One marker per turn, the text, and the end of the turn."""


def train_tokenizer(texts: list[Path]) -> PreTrainedTokenizerFast:
    """Train byte-level BPE on the given files, in their order."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train([str(text) for text in texts], trainer)
    begin, end = SPECIAL[:2]
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=begin, eos_token=end, pad_token=end, model_max_length=CONTEXT
    )
    fast.chat_template = CHAT_TEMPLATE
    return fast


def make_model(begin: int, end: int) -> LlamaForCausalLM:
    """Make the model with seeded random weights, in bfloat16."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=128,
        intermediate_size=352,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=CONTEXT,
        bos_token_id=begin,
        eos_token_id=end,
        pad_token_id=end,
    )
    return LlamaForCausalLM(config).to(torch.bfloat16)


def main() -> None:
    """Write weights, config, tokenizer and chat template into the folder."""
    folder, texts = Path(sys.argv[1]), Path(sys.argv[2])
    # Links in that folder name the newest version of a licence: the text would count twice.
    tokenizer = train_tokenizer(sorted(text for text in texts.iterdir() if not text.is_symlink()))
    tokenizer.save_pretrained(folder)
    make_model(tokenizer.bos_token_id, tokenizer.eos_token_id).save_pretrained(folder)


if __name__ == "__main__":
    main()
