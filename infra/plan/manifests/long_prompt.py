"""Startup probe of an engine: ready to be asked once it has read a prompt as long as it admits.

Runs inside the engine's container with nothing but Python's own library, as ``python3 -c``. Each call is a new try
with new tokens, so that no try is helped by the cache of one before; it holds nothing open when it is told to end.
Arguments: port, path that answers 200 when the model is loaded, tokens of a prompt, prompts at once, vocabulary,
seconds to wait.
"""

import json
import random
import sys
from http.client import HTTPConnection, HTTPException

LOADED_SECONDS = 5
"""Longest wait for a server that only has to say that it is there (s)."""

SPECIAL, USUAL = 1_000, 10_000
"""Ids that are sent lie between these, where vocabularies keep words: ends of text, images and sounds stand before
(Mistral's tekken keeps its first 1,000 for them) or far behind. Source: our choice; not looked up for every model."""


def ask(port: int, method: str, path: str, seconds: int, body: str | None = None) -> tuple[int, str]:
    """Status and the beginning of an answer; OSError or HTTPException when there is none in time."""
    line = HTTPConnection("127.0.0.1", port, timeout=seconds)
    line.request(method, path, body, {"Content-Type": "application/json"})
    reply = line.getresponse()
    return reply.status, reply.read(300).decode(errors="replace")


def main(port: int, ready_path: str, tokens: int, prompts: int, vocab: int, seconds: int) -> str:
    """Say what is wrong; nothing when the prompt was read, or when the engine writes no answers at all."""
    ids = range(min(SPECIAL, vocab // 2), min(USUAL, vocab))
    body = {"prompt": [random.choices(ids, k=tokens) for _ in range(prompts)], "max_tokens": 1}  # noqa: S311  no secret
    try:
        status, _ = ask(port, "GET", ready_path, LOADED_SECONDS)
        if status != 200:
            return f"{ready_path} is answered with {status}: the model is not loaded yet"
        status, said = ask(port, "POST", "/v1/completions", seconds, json.dumps(body))
    except (OSError, HTTPException) as error:
        return f"no answer: {error}"
    # An engine of embeddings or transcriptions has no such path, and nothing to read in chunks.
    return "" if status in (200, 404, 501) else f"a prompt of {tokens} tokens is answered with {status}: {said}"


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2], *(int(number) for number in sys.argv[3:])) or 0)
