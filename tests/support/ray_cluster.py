"""A Ray cluster on this machine: a head without CPUs, and two nodes with one each. Runs in .venv-ray.

Prints the address. Then it loses a node at each line on standard input, and ends with it.
"""

from __future__ import annotations

import sys

from ray.cluster_utils import Cluster


def main() -> None:
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    print(cluster.address, flush=True)
    for _ in sys.stdin:
        cluster.remove_node(nodes.pop(), allow_graceful=False)
        print("lost", flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    main()
