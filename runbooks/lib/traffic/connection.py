"""How the driver speaks HTTP: aiohttp, without a proxy, a retry, a redirect or a limit of its own.

At 1,000 open streams aiohttp costs some 50 µs of CPU for each piece of a stream, httpx some 400, and a protocol
written by hand for the purpose as much as aiohttp.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping

import aiohttp

from infra.errors import ConfigError
from runbooks.lib.traffic.profile import Profile, Tenant

LONGEST_ERROR = 65536
"""Bytes of an error's body that are read; ours have some hundred."""


def session(profile: Profile) -> aiohttp.ClientSession:
    """Open what all requests of a run share.

    Raises:
        ConfigError: the file of trusted certificates cannot be read.
    """
    connector = aiohttp.TCPConnector(limit=0, force_close=profile.new_connections, ssl=_trust(profile))
    return aiohttp.ClientSession(
        connector=connector,
        timeout=aiohttp.ClientTimeout(total=None),
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
    )


def headers(tenant: Tenant) -> Mapping[str, str]:
    """Headers of each request of a tenant."""
    fixed = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
    return fixed | ({"Authorization": f"Bearer {tenant.key.get_secret_value()}"} if tenant.key else {})


def _trust(profile: Profile) -> ssl.SSLContext | bool:
    if profile.ca_file is None:
        return True
    try:
        return ssl.create_default_context(cafile=profile.ca_file)
    except OSError as error:
        raise ConfigError(f"ca_file {str(profile.ca_file)!r} — cannot be read ({error}); name a PEM file") from error
