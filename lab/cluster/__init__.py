"""A real Kubernetes control plane and two hosts in namespaces of their own, under a process supervisor."""
