"""Looks of the page; no font, script or image from elsewhere."""

from __future__ import annotations

STYLE = """
:root { --ink: #1a1a1a; --soft: #666; --line: #e2e2e2; --bad: #b00020; --paper: #f6f7f9 }
* { box-sizing: border-box }
body { font: 14px/1.45 system-ui, "DejaVu Sans", sans-serif; margin: 0 auto; max-width: 1360px; padding: 0 24px 48px;
  color: var(--ink); background: var(--paper) }
header { padding: 28px 0 8px; border-bottom: 2px solid var(--ink) }
h1 { font-size: 26px; margin: 0 } h2 { font-size: 20px; margin: 36px 0 0 }
h3 { font-size: 12px; margin: 22px 0 8px; color: var(--soft); text-transform: uppercase; letter-spacing: .06em }
h4 { font-size: 13px; margin: 0 } p { margin: 0 } .says, header p { color: var(--soft) }
nav { margin-top: 10px; display: flex; gap: 18px; flex-wrap: wrap } a { color: #2f55b5; text-decoration: none }
.grid { display: grid; grid-template-columns: repeat(24, minmax(0, 1fr)); gap: 12px }
.panel, #alerts .wide { background: #fff; border: 1px solid var(--line); border-radius: 6px; padding: 12px 14px }
.panel { display: flex; flex-direction: column; min-width: 0 } .panel > p { color: var(--soft); font-size: 12px }
.body { margin-top: 8px; flex: 1; display: flex; flex-direction: column } #alerts .wide { margin-top: 12px }
svg { width: 100%; height: auto; display: block; font-family: inherit }
.number { font-size: 24px; white-space: nowrap; line-height: 1.15; font-weight: 600;
  font-variant-numeric: tabular-nums; margin-top: auto }
.bad { color: var(--bad); font-weight: 600 }
.none { color: var(--bad); font-weight: 600 } .part { font-size: 12px; margin: 6px 0 0 }
.empty { margin: auto 0; padding: 6px 0; color: var(--soft); font-size: 12px } .empty .none { font-size: 14px }
ul { list-style: none; margin: 6px 0 0; padding: 0; display: flex; flex-wrap: wrap; gap: 1px 14px; font-size: 12px;
  color: #444 } li i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 5px }
li b { font-variant-numeric: tabular-nums } .more { color: var(--soft); font-size: 12px }
.wide { overflow-x: auto } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { padding: 4px 12px 4px 0; text-align: right; border-bottom: 1px solid var(--line); vertical-align: top }
th { font-weight: 600; font-size: 12px; color: var(--soft); white-space: nowrap } tr:last-child td { border-bottom: 0 }
th.text, td.text { text-align: left } .nothing { color: #bbb } code { font-size: 12px }
.chip { border-radius: 9px; padding: 0 8px; font-size: 12px; background: #e8e8e8 }
.chip.page { background: var(--bad); color: #fff } .chip.ticket { background: #efb118 }
@media (max-width: 900px) { .panel { grid-column: span 24 !important } .panel.stat { grid-column: span 12 !important } }
"""
"""One style sheet."""
