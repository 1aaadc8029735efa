"""Fabric: what pods and hosts need so that GPUs of several hosts reach each other."""
