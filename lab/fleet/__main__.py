"""The fleet controller as a program: ``python -m lab.fleet --kubeconfig FILE``."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from lab.fleet.cluster import ApiCluster
from lab.fleet.controller import Controller
from lab.fleet.exporter import serve


def main() -> None:
    """Run the controller until a signal ends it; each write stands alone, so there is nothing to finish."""
    parser = argparse.ArgumentParser(prog="python -m lab.fleet", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True, help="file that names the cluster and who we are")
    parser.add_argument("--metrics", required=True, metavar="ADDRESS:PORT", help="where the hosts' series are read")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    address, _, port = args.metrics.rpartition(":")
    serve(ApiCluster(args.kubeconfig), address, int(port))
    Controller(ApiCluster(args.kubeconfig)).run()


if __name__ == "__main__":
    main()
