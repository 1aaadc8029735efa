"""Startup probe of an engine: ready to be asked once it has read a prompt as long as the longest it admits.

Runs inside the engine's container as ``python3 -c``, with nothing but Python's own library and the user of the engine.
It waits for the model, then sends tokens that no try before has sent, so that no cache helps; whatever ends it ends
its request with it. Arguments: port, path that answers 200 when the model is loaded, tokens of a
prompt, prompts at once, vocabulary, seconds to wait for the model and as many again for the answer.
"""

import json
import random
import sys
import time
from http.client import HTTPConnection, HTTPException

LOADED_SECONDS = 5
"""Longest wait for a server that only has to say that it is there (s)."""

SPECIAL, USUAL = 1_000, 10_000
"""Ids that are sent lie between these, where vocabularies keep words: ends of text, images and sounds stand before
(Mistral's tekken keeps its first 1,000 for them) or far behind. Source: our choice; not looked up for every model."""


def ask(port: int, method: str, path: str, seconds: float, body: str | None = None) -> tuple[int, str]:
    """Status and the beginning of an answer; 0 and the reason when there is none in time."""
    line = HTTPConnection("127.0.0.1", port, timeout=seconds)
    try:
        line.request(method, path, body, {"Content-Type": "application/json"})
        reply = line.getresponse()
        return reply.status, reply.read(300).decode(errors="replace")
    except (OSError, HTTPException) as error:
        return 0, f"no answer ({error or type(error).__name__})"
    finally:
        line.close()


def main(port: int, ready_path: str, tokens: int, prompts: int, vocab: int, seconds: int) -> str:
    """Say what is wrong; nothing when the prompt was read, or when the engine writes no answers at all."""
    ids = range(min(SPECIAL, vocab // 2), min(USUAL, vocab))
    texts = [random.choices(ids, k=tokens) for _ in range(prompts)]  # noqa: S311  no secret
    end = time.monotonic() + seconds
    while (found := ask(port, "GET", ready_path, LOADED_SECONDS))[0] != 200:
        if time.monotonic() > end:
            return f"the model is not loaded yet: {ready_path} is answered with {found}"
        time.sleep(1)
    body = json.dumps({"prompt": texts, "max_tokens": 1})
    status, said = ask(port, "POST", "/v1/completions", seconds, body)
    # An engine of embeddings or transcriptions has no such path, and nothing to read in pieces. No model is named, so
    # that nothing else is answered with 404.
    return "" if status in (200, 404, 501) else f"a prompt of {tokens} tokens is answered with {status}: {said}"


if __name__ == "__main__":
    port, ready, *numbers = sys.argv[1:]
    sys.exit(main(int(port), ready, *(int(number) for number in numbers)) or 0)
