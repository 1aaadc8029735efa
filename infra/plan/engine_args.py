"""Command line and environment of the engine, so that what runs is what was planned."""

from __future__ import annotations

from infra.plan.fabric.pod import pod_fabric
from infra.plan.facts import ModelPlan
from infra.plan.formats import made_at_load
from infra.plan.layout import Layout
from infra.plan.memory.graphs import ESTIMATE_VARIABLE, has_wild_estimate
from infra.units import GIB

MODEL_PATH = "/models"
"""Where a pod finds its weights, read-only."""
CACHE_PATH = "/cache"
"""Where a pod keeps compiled kernels, writable."""
TMP_PATH = "/tmp"  # noqa: S108  the container's own emptyDir, not a shared folder
"""The only other writable path of the container."""


def interpreter(plan: ModelPlan) -> str:
    """Python of the container."""
    return "python3.11" if plan.model.engine_mount else "python3"


def command(plan: ModelPlan) -> list[str]:
    """Program that serves; an engine on the host runs under the image's own interpreter."""
    if plan.model.engine_mount:
        return [interpreter(plan), "-m", "vllm.entrypoints.cli.main", "serve"]
    return ["vllm", "serve"]


def arguments(plan: ModelPlan) -> list[str]:
    """Arguments after the command; figures of the plan are passed on, never left to defaults."""
    model = plan.model
    args = [
        MODEL_PATH,
        f"--served-model-name={plan.name}",
        f"--port={plan.engine.port}",
        f"--dtype={model.dtype}",
        f"--max-model-len={model.max_model_len}",
        f"--max-num-seqs={plan.max_seqs}",
        f"--max-num-batched-tokens={plan.batched_tokens}",
        *_parallelism(plan.layout),
        # Without it vLLM aborts running answers on SIGTERM.
        f"--shutdown-timeout={plan.shutdown.drain}",
    ]
    if made_at_load(model, plan.shape):
        args.append(f"--quantization={plan.format.weights}")
    if plan.format.cache != "auto":
        args.append(f"--kv-cache-dtype={plan.format.cache}")
    if plan.pool.board.gpu:
        args.append(f"--gpu-memory-utilization={plan.utilisation}")
    if model.trust_remote_code:
        args.append("--trust-remote-code")
    return [*args, *model.engine_args]


def _parallelism(layout: Layout) -> list[str]:
    args = [f"--tensor-parallel-size={layout.tensor}"]
    args += [f"--pipeline-parallel-size={layout.pipeline}"] if layout.pipeline > 1 else []
    args += [f"--data-parallel-size={layout.data}"] if layout.data > 1 else []
    return args + (["--enable-expert-parallel"] if layout.expert_parallel else [])


def environment(plan: ModelPlan) -> dict[str, str]:
    """Environment of the engine, fixed values only.

    Source: serving checklist; service links off elsewhere, since a Service named vllm would inject VLLM_PORT.
    """
    env = {
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "PYTHONHASHSEED": "0",
        # The front gives its engine ten minutes by default, whatever the probe allows.
        "VLLM_ENGINE_READY_TIMEOUT_S": str(plan.startup.budget),
        "HOME": CACHE_PATH,
        "VLLM_CACHE_ROOT": f"{CACHE_PATH}/vllm",
        "TORCHINDUCTOR_CACHE_DIR": f"{CACHE_PATH}/inductor",
        "TRITON_CACHE_DIR": f"{CACHE_PATH}/triton",
    }
    if plan.pool.board.gpu is None:
        env["VLLM_CPU_KVCACHE_SPACE"] = str(round(plan.memory.kv_pool / GIB) or 1)
    if has_wild_estimate(plan.shape, plan.layout, plan.engine):
        env[ESTIMATE_VARIABLE] = "0"
    if plan.model.engine_mount:
        env["PYTHONPATH"] = plan.model.engine_mount.mount_path
    return {**env, **pod_fabric(plan.pool, plan.model.rdma_devices).env, **plan.model.engine_env}
