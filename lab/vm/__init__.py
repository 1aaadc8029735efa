"""Virtual machines of the lab: real Debian, real reboots, two rails, RDMA made by the kernel."""
