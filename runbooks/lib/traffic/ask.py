"""Send one request and judge what comes back; whatever happens, it ends in a verdict."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import aiohttp

from runbooks.lib.traffic.answer import StreamedAnswer, error_message, whole_answer
from runbooks.lib.traffic.connection import LONGEST_ERROR, headers
from runbooks.lib.traffic.profile import Profile
from runbooks.lib.traffic.requests import Request
from runbooks.lib.traffic.verdict import Sample, Verdict

REFUSALS = (429, 503)
"""Statuses with which a server may refuse for now. Source: RFC 6585, 4; RFC 9110, 15.6.4."""


class Ask:
    """One request on its way."""

    def __init__(
        self, profile: Profile, request: Request, sample: Sample, due: float, on_tokens: Callable[[int], None]
    ) -> None:
        self._profile = profile
        self._request = request
        self._due = due
        self._on_tokens = on_tokens
        self._clock = asyncio.get_running_loop().time
        self.sample = sample

    async def run(self, session: aiohttp.ClientSession) -> None:
        """Send it and see it to its end."""
        try:
            async with (
                asyncio.timeout_at(self._due + self._profile.timeout_seconds),
                session.post(
                    self._profile.url + self._request.path,
                    data=self._request.body,
                    headers=headers(self._request.tenant),
                    allow_redirects=False,
                ) as response,
            ):
                await self._read(response)
        except TimeoutError:
            self._broken(f"not finished after {self._profile.timeout_seconds:g} s")
        except (aiohttp.ClientError, OSError) as error:
            self._broken(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)
        except asyncio.CancelledError:
            self._end(Verdict.ABORTED, "the run ended before the answer did")
            raise

    async def _read(self, response: aiohttp.ClientResponse) -> None:
        self.sample.status = response.status
        self.sample.request_id = response.headers.get("x-request-id", "")
        if response.status != 200:
            await self._refused(response)
        elif self._request.is_stream:
            await self._stream(response)
        else:
            await self._whole(response)

    async def _refused(self, response: aiohttp.ClientResponse) -> None:
        body = await response.content.read(LONGEST_ERROR)
        try:
            message = error_message(json.loads(body))
        except ValueError:
            message = ""
        said = f"HTTP {response.status}: {message or 'no OpenAI-shaped error'}"
        is_refusal = response.status in REFUSALS and message
        self._end(Verdict.REJECTED if is_refusal else Verdict.LOST, said)

    async def _whole(self, response: aiohttp.ClientResponse) -> None:
        body = await response.read()
        wrong, usage = whole_answer(body, self._request.wish)
        self.sample.tokens = int(usage.get("completion_tokens") or 0)
        self.sample.prompt_tokens = int(usage.get("prompt_tokens") or 0)
        self.sample.is_numbered = not wrong and self._profile.numbered
        self._on_tokens(self.sample.tokens)
        self._end(Verdict.WRONG if wrong else Verdict.OK, wrong)

    async def _stream(self, response: aiohttp.ClientResponse) -> None:
        if response.content_type != "text/event-stream":
            self._end(Verdict.WRONG, f"content type {response.content_type!r}, a stream was asked for")
            return
        answer = StreamedAnswer(self._request.wish)
        broken = ""
        try:
            while piece := await response.content.readany():
                before = answer.tokens
                answer.feed(piece, self._clock())
                self._on_tokens(answer.tokens - before)
                if self._request.hang_up_after is not None and answer.tokens >= self._request.hang_up_after:
                    response.close()
                    self._note(answer)
                    self._end(Verdict.ABORTED, "hung up on purpose")
                    return
        except (aiohttp.ClientError, OSError) as error:
            broken = f"{type(error).__name__} after {answer.tokens} tokens" + (" and [DONE]" if answer.is_done else "")
        finally:
            self._note(answer)
        self._judge(answer, broken)

    def _note(self, answer: StreamedAnswer) -> None:
        sample = self.sample
        sample.gaps = answer.gaps
        sample.tokens = answer.tokens
        sample.is_numbered = answer.is_numbered and answer.tokens > 0
        sample.first_token = None if answer.first_token is None else answer.first_token - self._due
        if isinstance(counted := answer.usage.get("prompt_tokens"), int):
            sample.prompt_tokens = counted
        if isinstance(counted := answer.usage.get("completion_tokens"), int):
            sample.tokens = counted

    def _judge(self, answer: StreamedAnswer, broken: str) -> None:
        if cut := answer.cut():
            self._end(Verdict.CUT, broken or cut)
        elif wrong := broken or answer.wrong():
            self._end(Verdict.WRONG, wrong)
        else:
            late = self._late(answer)
            self._end(Verdict.LATE if late else Verdict.OK, late)

    def _late(self, answer: StreamedAnswer) -> str:
        first, gap = self._profile.first_token_seconds, self._profile.gap_seconds
        if first is not None and (self.sample.first_token or 0.0) > first:
            return f"the first token came after {self.sample.first_token:.2f} s, {first:g} are allowed"
        if gap is not None and answer.longest_gap > gap:
            return f"{answer.longest_gap:.2f} s of silence within the stream, {gap:g} are allowed"
        return ""

    def _broken(self, reason: str) -> None:
        self._end(Verdict.CUT if self.sample.status == 200 else Verdict.LOST, reason)

    def _end(self, verdict: Verdict, reason: str) -> None:
        self.sample.verdict, self.sample.reason = verdict, reason
        self.sample.ended = self.sample.due + self._clock() - self._due
