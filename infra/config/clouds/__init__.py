"""Clouds: the cluster that pools go into, by its ids where it is there, by its networks where the stack makes it."""

from __future__ import annotations

from infra.config.clouds.aws import Aws
from infra.config.clouds.azure import Azure
from infra.config.clouds.base import Cidr, Cloud, System
from infra.config.clouds.gcp import Gcp, GpuNetwork
from infra.config.clouds.oci import Oci

__all__ = ["Aws", "Azure", "Cidr", "Cloud", "Gcp", "GpuNetwork", "Oci", "System"]
