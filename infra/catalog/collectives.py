"""Collectives: how long GPUs of one host take to exchange a message, as measured by nccl-tests."""

from __future__ import annotations

from functools import cache
from itertools import accumulate
from math import log
from typing import Literal

from infra.catalog.gpus import Gpu

Operation = Literal["all_reduce", "all_gather", "reduce_scatter"]

SIZES = (512, 2048, 16_384, 131_072, 524_288, 2_097_152, 8_388_608, 33_554_432, 134_217_728, 536_870_912)
"""Messages that were measured, all ranks together (bytes)."""

MEASURED: dict[tuple[str, Operation, int], tuple[float, ...]] = {
    ("h100", "all_gather", 8): (10.14, 10.75, 11.16, 13.6, 15.39, 22.18, 44.86, 125.46, 392.82, 1401.5),
    ("h100", "all_reduce", 2): (6.18, 6.32, 7.27, 7.7, 10.74, 27.86, 47.3, 143.55, 466.24, 1686.44),
    ("h100", "all_reduce", 4): (9.46, 9.52, 12.46, 11.42, 14.54, 27.66, 62.77, 175.67, 613.24, 2299.71),
    ("h100", "all_reduce", 8): (15.59, 15.68, 18.98, 19, 20.13, 38.18, 78.91, 199.8, 578.74, 2111.06),
    ("h100", "reduce_scatter", 8): (10.24, 10.26, 10.93, 12.02, 12.33, 17.9, 43.82, 111.29, 382.18, 1399.36),
    ("h200", "all_gather", 8): (12.19, 12.78, 12.29, 14.56, 13.57, 24.28, 43.17, 123.38, 379.88, 1394.97),
    ("h200", "all_reduce", 2): (6.05, 6.31, 7.27, 7.53, 10.37, 26.84, 45.63, 139.11, 463.01, 1703.9),
    ("h200", "all_reduce", 4): (9.49, 9.59, 10.87, 11.33, 14.4, 27.45, 60.08, 171.63, 612.22, 2311.17),
    ("h200", "all_reduce", 8): (16.01, 15.98, 18.3, 21.45, 20.46, 37.46, 78.3, 197.34, 564.52, 2040.31),
    ("h200", "reduce_scatter", 8): (12.58, 10.61, 13.29, 11.81, 13.72, 19.71, 44.72, 111.62, 375.59, 1393.35),
    ("b200", "all_gather", 8): (16.06, 18.02, 19.51, 18.71, 19.17, 24.38, 44.18, 113.75, 206.75, 761.42),
    ("b200", "all_reduce", 2): (10.26, 10.25, 11.04, 11.38, 12.35, 18.89, 41.51, 83.25, 270.61, 1005.26),
    ("b200", "all_reduce", 4): (15.09, 15.14, 16.03, 17.36, 17, 25.9, 84.91, 122.81, 341.57, 1270.83),
    ("b200", "all_reduce", 8): (25.09, 25.65, 26.55, 28.08, 28.45, 32.08, 71.58, 167.82, 398.37, 1334.56),
    ("b200", "reduce_scatter", 8): (16.13, 16.38, 17.09, 18.21, 18.86, 20.99, 43.64, 107.13, 208.04, 766.45),
    ("b300", "all_gather", 8): (15.71, 16.06, 16.68, 18.44, 18.95, 21.52, 43.25, 111.84, 204.5, 756.94),
    ("b300", "all_reduce", 2): (9.99, 9.99, 11.06, 10.76, 12.06, 18.78, 40.34, 82.18, 267.73, 987.52),
    ("b300", "all_reduce", 4): (14.3, 14.66, 17.2, 16.83, 16.94, 23.25, 84.09, 118.99, 338.2, 1261.26),
    ("b300", "all_reduce", 8): (24.64, 25.17, 25.97, 27.7, 28.23, 32.21, 70.07, 166.86, 391.53, 1335.36),
    ("b300", "reduce_scatter", 8): (15.86, 16.15, 16.72, 18.08, 18.36, 20.35, 43.01, 105.88, 204.73, 764.89),
    ("gb200", "all_gather", 4): (11.65, 11.93, 12.71, 13.31, 13.59, 18.59, 52.57, 71.86, 195.27, 714.45),
    ("gb200", "all_reduce", 2): (10.9, 10.86, 11.61, 11.89, 12.71, 19.34, 42.37, 83.01, 269.93, 1013.42),
    ("gb200", "all_reduce", 4): (15.63, 16.03, 16.8, 17.46, 17.67, 27.5, 87.93, 122.81, 342.48, 1282.15),
    ("gb200", "reduce_scatter", 4): (11.81, 11.82, 12.54, 13.08, 13.42, 17.58, 49.22, 71.5, 199.92, 733.3),
    ("gb300", "all_gather", 4): (11.21, 11.26, 12.11, 12.84, 13.15, 18.07, 51.36, 70.71, 191.81, 704.32),
    ("gb300", "all_reduce", 2): (9.38, 9.47, 10.66, 11.17, 12.75, 18.54, 41.33, 81.1, 266.69, 985.36),
    ("gb300", "all_reduce", 4): (15.09, 15.27, 16.11, 17.8, 17.33, 23.47, 84.85, 121.48, 338.78, 1268.31),
    ("gb300", "reduce_scatter", 4): (11.22, 11.33, 12.04, 12.73, 13.07, 17, 47.69, 70.13, 197.45, 724.71),
    ("l40s", "all_gather", 8): (13.94, 14.41, 23.32, 153.9, 619.8, 1489.6, 6100.7, 24643, 99317, 400176),
    ("l40s", "all_reduce", 2): (7.74, 6.31, 7.54, 18.76, 50.02, 120.7, 428.9, 1689.3, 6719.6, 26700),
    ("l40s", "all_reduce", 4): (11.89, 12.47, 16.13, 57.72, 163, 622.1, 2458.8, 9836.6, 39325, 156034),
    ("l40s", "all_reduce", 8): (22.6, 23.3, 41.68, 279.9, 502.6, 2618.2, 9987.8, 38854, 162481, 649471),
    ("l40s", "reduce_scatter", 8): (13.15, 14.07, 24.77, 166.9, 629.6, 1232.8, 5053.6, 18143, 67003, 284228),
    ("rtx-pro-6000", "all_gather", 8): (14.22, 14.77, 16.54, 28.08, 91.43, 116.88, 338.62, 1299.57, 5137.85, 20405),
    ("rtx-pro-6000", "all_reduce", 2): (6.34, 6.31, 7.36, 12.22, 31.34, 72.01, 243.79, 930.62, 3620.3, 13900),
    ("rtx-pro-6000", "all_reduce", 4): (13.04, 13.36, 14.65, 24.88, 78.08, 141.68, 508.57, 2022.02, 8037.89, 30489),
    ("rtx-pro-6000", "all_reduce", 8): (24.57, 25.53, 27.04, 47.75, 156.11, 221.24, 661.36, 2493.57, 9757.43, 38073),
    ("rtx-pro-6000", "reduce_scatter", 8): (14.73, 15.61, 16.64, 28.38, 89.32, 119.26, 347.29, 1281.5, 5144.55, 19947),
    ("a100", "all_gather", 8): (15.56, 14.8, 15.83, 20.91, 21.93, 33.45, 73.51, 217.6, 660.3, 2288),
    ("a100", "all_reduce", 2): (9.98, 10, 12.75, 13.45, 19.37, 47.58, 87.13, 224.2, 747.5, 2781.1),
    ("a100", "all_reduce", 4): (14.54, 14.17, 16.28, 17.8, 22.93, 46.22, 111, 288, 1000.5, 3716.3),
    ("a100", "all_reduce", 8): (22.57, 21.53, 22.55, 27.41, 30.08, 53.7, 128, 367, 1169.1, 4225.9),
    ("a100", "reduce_scatter", 8): (15.58, 15.02, 15.1, 18.16, 19.08, 34.21, 79.49, 210, 624, 2207.1),
}  # fmt: skip
"""GPU, operation, ranks → time for each of ``SIZES`` (microseconds).

Source: PyPI aiconfigurator-core 0.12.0, systems/data/*/comm/nccl/*/nccl_perf.parquet (Apache-2.0): nccl-tests with
NCCL 2.29.2 (A100 and L40S: 2.27.3), half precision.
"""

STAND_INS = {"h20": "h200", "h100-nvl": "l40s", "h100-pcie": "l40s", "l4": "l40s", "a30": "l40s"}
"""GPUs that nobody measured → one that was, with the same links or slower ones."""

UNKNOWN_TO_SOME = {
    (10, 3): "some versions of engines do not know compute capability 10.3 and take slower collectives (vllm#30630); "
    "look for the fast one's name in the engine's log",
}
"""Compute capability → what to look out for where ranks share layers."""


def is_measured(gpu: Gpu, operation: Operation, ranks: int) -> bool:
    """Whether there is a measurement of just this; else ``seconds`` takes the nearest one."""
    return ranks == 1 or (gpu.name, operation, ranks) in MEASURED


def seconds(gpu: Gpu, operation: Operation, ranks: int, size: float) -> float:
    """Time for one message (seconds); between measured sizes along a power law, above them in proportion.

    Args:
        gpu: all ranks have this one.
        operation: what is exchanged.
        ranks: GPUs that take part (count).
        size: the message, all ranks together (bytes).
    """
    if ranks == 1:
        return 0.0
    times = _curve(gpu.name, operation, ranks)
    if size <= SIZES[0]:
        return times[0] / 1e6
    if size >= SIZES[-1]:
        return times[-1] / 1e6 * size / SIZES[-1]
    upper = next(index for index, known in enumerate(SIZES) if known >= size)
    share = log(size / SIZES[upper - 1]) / log(SIZES[upper] / SIZES[upper - 1])
    rise: float = (times[upper] / times[upper - 1]) ** share
    return times[upper - 1] * rise / 1e6


def excess(gpu: Gpu, operation: Operation, ranks: int, size: float) -> float:
    """Time for one message beyond what the smallest one takes (seconds).

    Engines have kernels of their own for small messages; what large ones take, the links say.
    """
    return seconds(gpu, operation, ranks, size) - seconds(gpu, operation, ranks, 0)


@cache
def _curve(gpu_name: str, operation: Operation, ranks: int) -> tuple[float, ...]:
    """Times for ``SIZES`` (microseconds); where ranks were not measured, of the next larger number or the largest."""
    name = STAND_INS.get(gpu_name, gpu_name)
    counts = sorted(count for known, what, count in MEASURED if (known, what) == (name, operation))
    nearest = next((count for count in counts if count >= ranks), counts[-1])
    # Noise makes a few larger messages a little faster; a larger one is never planned as the faster.
    return tuple(accumulate(MEASURED[name, operation, nearest], max))
