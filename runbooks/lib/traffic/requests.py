"""What each request asks for: drawn by seed, in order of arrival, so that a run can be repeated."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import product
from typing import Any

from runbooks.lib.traffic.answer import Wish
from runbooks.lib.traffic.arrivals import seeded
from runbooks.lib.traffic.profile import Profile, Tenant

_SYLLABLES = ("ba", "de", "fi", "go", "hu", "ka", "le", "mi", "no", "pu")

WORDS = tuple(" " + "".join(three) for three in product(_SYLLABLES, repeat=3))
"""What prompts are made of: 1,000 words that mean nothing, so that no two prompts start alike."""

LEARNING = 0.2
"""Weight of the newest answer in what is known of tokens per word."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request, ready to be sent."""

    tenant: Tenant
    wish: Wish
    is_stream: bool
    words: int
    """Words of the prompt (count)."""
    hang_up_after: int | None
    """Tokens after which the client hangs up; None: it stays."""
    body: bytes

    @property
    def path(self) -> str:
        """Path below the base URL."""
        return "/chat/completions" if self.wish.is_chat else "/completions"


class Requests:
    """Draws one request after the other."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._rng = seeded(profile.seed, "requests")
        self._word_rng = seeded(profile.seed, "words")
        self._weights = [tenant.share for tenant in profile.tenants]
        self._prefixes = [self._some_words(profile.shared_prefix) for _ in range(profile.prefixes)]
        self._tokens_per_word = {True: 2.0, False: 2.0}

    def draw(self) -> Request:
        """The next request."""
        profile, rng = self._profile, self._rng
        tenant = rng.choices(profile.tenants, self._weights)[0]
        models = profile.models_of(tenant)
        model = rng.choices(list(models), list(models.values()))[0]
        is_chat, is_stream = rng.random() < profile.chat_share, rng.random() < profile.stream_share
        tokens, wanted = profile.prompt.draw(rng), profile.output.draw(rng)
        leaves = is_stream and rng.random() < profile.abort_share
        wish = Wish(model, is_chat, wanted, profile.exact)
        words = max(1, round(tokens / self._tokens_per_word[is_chat]))
        hang_up_after = rng.randint(1, max(1, wanted // 2)) if leaves else None
        return Request(tenant, wish, is_stream, words, hang_up_after, self._body(wish, self._prompt(words), is_stream))

    def learn(self, request: Request, prompt_tokens: int) -> None:
        """Learn from the server's count how many tokens it makes of a word; the driver has no tokenizer."""
        if prompt_tokens > 0:
            known = self._tokens_per_word[request.wish.is_chat]
            seen = prompt_tokens / request.words
            self._tokens_per_word[request.wish.is_chat] = (1 - LEARNING) * known + LEARNING * seen

    def _prompt(self, words: int) -> str:
        prefix = self._word_rng.choice(self._prefixes)[:words]
        return "".join([*prefix, *self._some_words(words - len(prefix))]).lstrip()

    def _some_words(self, count: int) -> list[str]:
        return self._word_rng.choices(WORDS, k=count)

    def _body(self, wish: Wish, prompt: str, is_stream: bool) -> bytes:
        body: dict[str, Any] = {"model": wish.model, "max_tokens": wish.max_tokens}
        body |= {"messages": [{"role": "user", "content": prompt}]} if wish.is_chat else {"prompt": prompt}
        if is_stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        if wish.is_exact:
            body["ignore_eos"] = True
        if self._profile.numbered:
            body["return_token_ids"] = True
            if is_stream:
                body["stream_options"]["continuous_usage_stats"] = True
        return json.dumps(body).encode()
