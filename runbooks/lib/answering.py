"""Answer one alert: its runbooks run dry, and what they say goes out as JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from runbooks.engine.discover import load
from runbooks.engine.options import takes_text
from runbooks.engine.screen import Screen
from runbooks.engine.words import flag

LONGEST_VALUE = 253
"""Characters of a label's value that is used as an input: no name in Kubernetes is longer."""
TRIES = 3
"""How often an answer is posted before it is only kept on disk."""


@dataclass(frozen=True)
class Alert:
    """What of an alert is used."""

    name: str
    fingerprint: str
    starts: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, told: Any) -> Alert:
        """Read one alert of a webhook.

        Raises:
            ValueError: it lacks what every alert has.
        """
        try:
            labels = {str(key): str(value) for key, value in told["labels"].items()}
            notes = {str(key): str(value) for key, value in told.get("annotations", {}).items()}
            return cls(labels["alertname"], str(told["fingerprint"]), str(told["startsAt"]), labels, notes)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError("an alert has no labels.alertname, fingerprint or startsAt") from error


@dataclass
class Answerer:
    """Runs the runbooks of alerts, dry, and sends out what they say."""

    stack: str
    folder: Path
    post_to: str
    timeout: timedelta
    screen: Screen
    children: set[subprocess.Popen[str]] = field(default_factory=set)

    def answer(self, alert: Alert, commands: Iterable[str]) -> None:
        """Run the runbooks that answer an alert, one after the other."""
        for command in commands:
            self.screen.line("step", f"{alert.name} {alert.fingerprint}: {command}")
            result = self._run(self.words(command, alert.labels))
            self._send(alert, command, {"alert": vars(alert), "runbook": command, "stack": self.stack, **result})

    def words(self, command: str, labels: Mapping[str, str]) -> list[str]:
        """Write the command line: only inputs that the runbook has, each as one word, so that none is an option."""
        fields = load(command).Inputs.model_fields
        given = {name: labels[name] for name in fields if name in labels and takes_text(fields[name]) and name != "do"}
        inputs = [f"{flag(name)}={value}" for name, value in given.items() if _is_usable(value)]
        return [sys.executable, "-m", "runbooks.cli", "run", command, f"--stack={self.stack}", "--json", *inputs]

    def _run(self, words: list[str]) -> dict[str, Any]:
        child = subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.children.add(child)
        try:
            out, said = child.communicate(timeout=self.timeout.total_seconds())
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            return {"exit": 4, "said": "the runbook did not end in time", "result": None}
        finally:
            self.children.discard(child)
        try:
            result = json.loads(out) if out else None
        except ValueError:
            result = None
        return {"exit": child.returncode, "said": result["said"] if result else said.strip()[-4000:], "result": result}

    def _send(self, alert: Alert, command: str, answer: Mapping[str, Any]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        # Names come from outside, and this one becomes part of a path.
        safe = "".join(letter for letter in f"{alert.name}-{alert.fingerprint}" if letter.isalnum() or letter == "-")[
            :120
        ]
        path = self.folder / f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{safe}-{command.replace('/', '.')}.json"
        body = json.dumps(answer, indent=2, ensure_ascii=False)
        path.write_text(body)
        for attempt in range(TRIES if self.post_to else 0):
            try:
                request = Request(self.post_to, body.encode(), {"Content-Type": "application/json"})  # noqa: S310  checked to be http
                with urlopen(request, timeout=10):  # noqa: S310  checked to be http
                    return
            except (URLError, OSError) as error:
                if attempt == TRIES - 1:
                    self.screen.line("warn", f"{self.post_to} does not take the answer ({error}); it is in {path}")

    def stop(self) -> None:
        """End what still runs; dry runs leave nothing behind."""
        for child in list(self.children):
            child.terminate()


def _is_usable(value: str) -> bool:
    return bool(value) and len(value) <= LONGEST_VALUE and value.isprintable()
