"""One look at the gateway before anything is sent: is it there, are the keys good, does it know the models?"""

from __future__ import annotations

from collections.abc import Iterator

from infra.config.mistakes import nearest
from infra.errors import ConfigError, Unknown
from runbooks.lib.traffic.connection import headers
from runbooks.lib.traffic.profile import Profile, Tenant

PATIENCE = 10.0
"""Longest wait for the list of models (s)."""


def knock(profile: Profile) -> None:
    """Ask for the list of models with each tenant's key.

    Raises:
        ConfigError: keys are refused, or models are not served; all of them at once.
        Unknown: nobody answers.
    """
    problems = [problem for tenant in profile.tenants for problem in _problems(profile, tenant)]
    if problems:
        raise ConfigError(*dict.fromkeys(problems))


def _problems(profile: Profile, tenant: Tenant) -> Iterator[str]:
    import httpx

    try:
        with httpx.Client(
            trust_env=False, timeout=PATIENCE, verify=str(profile.ca_file) if profile.ca_file else True
        ) as door:
            answer = door.get(f"{profile.url}/models", headers=headers(tenant))
            known = [entry["id"] for entry in answer.json()["data"]] if answer.status_code == 200 else []
    except (httpx.HTTPError, OSError) as error:
        raise Unknown(f"gateway at {profile.url!r} — does not answer ({error}) — see that it runs") from error
    except (ValueError, LookupError, TypeError):
        return  # it answers, and lists no models in the way of OpenAI: the answers will tell
    if answer.status_code in (401, 403):
        yield f"tenant {tenant.name!r} — the gateway refuses its key ({answer.status_code}) — name another key"
    for model in profile.models_of(tenant):
        if known and model not in known:
            yield f"model {model!r} — is not served to tenant {tenant.name!r} — {nearest(model, known)}"
