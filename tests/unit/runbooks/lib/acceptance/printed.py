"""What acceptance tests print, written by ourselves in their documented formats, good and bad."""

from __future__ import annotations

from collections.abc import Iterable

HCAS = tuple(f"mlx5_{number}:1" for number in range(8))


def nccl(
    busbw: float,
    *,
    hosts: int = 1,
    gpus: int = 8,
    wrong: int = 0,
    sizes: Iterable[int] = (1 << 30, 1 << 32, 1 << 34),
    info: str = "",
    ends: bool = True,
    same_gpu: bool = False,
    test: str = "all_reduce_perf",
    by_rail: bool = False,
) -> str:
    """One run of a collective; by rail: one job for each GPU number."""
    ranks = [
        (host * gpus + gpu, f"host-{host}", 0 if same_gpu else gpu) for host in range(hosts) for gpu in range(gpus)
    ]
    listed = "\n".join(
        f"#  Rank {number:2} Group {group:2} Pid  {4000 + rank} on {host:>9} device {gpu:2} "
        f"[0000:{gpu + 16:x}:00] NVIDIA H100"
        for rank, host, gpu in ranks
        for number, group in [divmod(rank, gpus) if by_rail else (rank, 0)]
    )
    rows = "\n".join(
        f"{size:12} {size // 4:12}     float     sum      -1   4123.4  {busbw / 1.75:.2f}  {busbw:.2f}  {wrong:5}"
        f"   4119.2  {busbw / 1.75:.2f}  {busbw:.2f}  {wrong:5}"
        for size in sizes
    )
    end = f"# Out of bounds values : {wrong} {'FAILED' if wrong else 'OK'}\n# Avg bus bandwidth    : {busbw:.3f} \n#\n"
    return (
        f"# Collective test starting: {test}\n"
        "# nThread 1 nGpus 1 minBytes 1073741824 maxBytes 17179869184 step: 2(factor) validation: 1 graph: 0\n#\n"
        f"# Using devices\n{listed}\n{info}\n#\n"
        "#       size         count      type   redop    root     time   algbw   busbw #wrong     time  …\n"
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  …\n"
        f"{rows}\n{end if ends else ''}"
    )


def info(*, hcas: Iterable[str] = HCAS, direct: bool = True, net: str = "IB", hosts: int = 2, devices: int = 8,
         version: str = "2.30.4") -> str:  # fmt: skip
    """Lines of NCCL_DEBUG=INFO."""
    ports = " ".join(f"[{number}]{name}/RoCE" for number, name in enumerate(hcas))
    lines = [f"NCCL version {version}+cuda13.0"]
    lines += [
        f"host-{host}:41:52 [0] NCCL INFO NET/IB : Using {ports} [RO]; OOB eth0:10.0.0.1<0>" for host in range(hosts)
    ]
    lines += [
        f"host-0:41:52 [{n}] NCCL INFO Channel 0{n}/0 : {n}[{n}] -> {n + 8}[{n}] [send] via NET/{net}/{n}"
        f"{'/GDRDMA' if direct else ''}"
        for n in range(devices)
    ]
    return "\n".join(lines)


def write_bw(gbit: float, *, mtu: int = 4096, unit: str = "Gb/sec", gpu: bool = False, device: str = "mlx5_0",
             title: str = "RDMA_Write BW Test", link: str = "Ethernet") -> str:  # fmt: skip
    """One run of ib_write_bw, on the asking side."""
    shown = gbit if unit == "Gb/sec" else gbit * 1e9 / 8 / 2**20
    line = "-" * 87
    return (
        ("initializing CUDA\nGPU buffer allocated\n" if gpu else "")
        + f"{line}\n                    {title}\n Dual-port       : OFF\t\tDevice         : {device}\n"
        " Number of qps   : 2\t\tTransport type : IB\n Connection type : RC\t\tUsing SRQ      : OFF\n"
        f" TX depth        : 128\n CQ Moderation   : 1\n Mtu             : {mtu}[B]\n Link type       : {link}\n"
        f" GID index       : 3\n Max inline data : 0[B]\n rdma_cm QPs\t : OFF\n{line}\n"
        " local address: LID 0000 QPN 0x009b PSN 0x57bb8f RKey 0x1fd4bc VAddr 0x007f0e0c8aa000\n"
        f"{line}\n #bytes     #iterations    BW peak[{unit}]    BW average[{unit}]   MsgRate[Mpps]\n"
        f" 65536      5000             {shown + 0.1:.2f}             {shown:.2f}\t\t     0.730000\n{line}\n"
    )


def write_lat(us: float) -> str:
    """One run of ib_write_lat."""
    return (
        "                    RDMA_Write Latency Test\n Dual-port       : OFF\t\tDevice         : mlx5_0\n"
        " Mtu             : 4096[B]\n"
        " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]"
        "   99% percentile[usec]   99.9% percentile[usec] \n"
        f" 2       1000          1.05           {us * 3:.2f}         1.08     \t       {us:.2f}        \t0.05"
        "   \t\t1.20    \t\t2.05   \n"
    )


NVBANDWIDTH_HEAD = (
    "nvbandwidth Version: v0.10.0\nBuilt from Git version: v0.10.0\n\nCUDA Runtime Version: 13.0 (13000)\n"
    "CUDA Driver Version (API): 13.0 (13000)\nDriver Version: 580.126.09\n\n"
)


def copies(test: str, each: Iterable[float]) -> str:
    """One test of nvbandwidth between host and GPUs."""
    values = list(each)
    columns = "".join(f"{number:10}" for number in range(len(values)))
    row = "".join(f"{value:10.2f}" for value in values)
    return (
        f"Running {test}.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n  {columns}\n 0{row}\n\n"
        f"SUM {test} {sum(values):.2f}\nCOEFFICIENT_OF_VARIATION {test} 0.00\n\n"
    )


def peers(gpus: int, value: float, slow: int | None = None) -> str:
    """One test of nvbandwidth between GPUs, of which one may be slow."""
    rows = "\n".join(
        f" {row}" + "".join(
            "       N/A" if row == column else f"{value / (2 if slow in (row, column) else 1):10.2f}"
            for column in range(gpus)
        )
        for row in range(gpus)
    )  # fmt: skip
    return (
        "Running device_to_device_memcpy_read_ce.\nmemcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
        f"  {''.join(f'{n:10}' for n in range(gpus))}\n{rows}\n\nSUM device_to_device_memcpy_read_ce 1.00\n\n"
    )


def dcgm_table(*rows: tuple[str, str]) -> str:
    """The table of dcgmi diag."""
    line = "+---------------------------+------------------------------------------------+"
    body = "\n".join(f"| {name:<25} | {said:<46} |" for name, said in rows)
    return (
        f"Successfully ran diagnostic for group.\n{line}\n"
        "| Diagnostic                | Result                                         |\n"
        "+===========================+================================================+\n"
        "|-----  Metadata  ----------+------------------------------------------------|\n"
        "| DCGM Version              | 4.5.2                                          |\n"
        "|-----  Deployment  --------+------------------------------------------------|\n"
        f"{body}\n{line}\n"
    )
