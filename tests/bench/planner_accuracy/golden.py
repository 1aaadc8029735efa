"""How right the division of a known KV pool is: logs that give all that it hangs on, to the token."""

from __future__ import annotations

from tests.unit.plan.cache.test_logs import LOGS, ROUNDING_GIB, divided


def main() -> int:
    """Print each case; 0 when every logged figure is one that a pool of the logged size holds."""
    print("Golden cases. Logs round the pool to 0.01 GiB; tokens are judged against all pools that round like it.")
    wrong, judged = 0, [log for log in LOGS if log["judged"] == "rounding"]
    for log in judged:
        least, most = (divided(log, float(log["pool_gib"]) + by).tokens for by in (-ROUNDING_GIB, ROUNDING_GIB))
        holds = least <= int(log["tokens"]) <= most
        wrong += not holds
        print(
            f"{log['row']:>6}  {log['model'][-40:]:40} logged {int(log['tokens']):>9,}  ours {least:>9,} to {most:>9,}"
            f"{'' if holds else '  WRONG'}{'  assumed: ' + log['assumed'] if log['assumed'] else ''}"
        )
    for log in LOGS:
        if log["judged"] != "rounding":
            print(f"{log['row']:>6}  {log['model'][-40:]:40} not judged to the token: {log['judged']}")
    fails = bool(wrong) or not judged
    print(f"\n{'FAIL' if fails else 'ok  '}  golden cases that are off: {wrong} of {len(judged)}, at most 0\n")
    return int(fails)
