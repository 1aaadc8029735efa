"""A real Kubernetes control plane and node in namespaces of their own, under a process supervisor."""
