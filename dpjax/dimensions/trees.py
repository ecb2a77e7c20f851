"""Height and threshold dimension of a class of VC dimension 1, from its tree."""

import numpy as np

from dpjax.core.checks import InputError


def height(parent) -> int:
    """The largest depth of a tree, ``int[V + 1]`` with parent[0] = 0 and parent[v] < v.

    Reference: Yan 2025, Definition 16.
    """
    depth = [0]
    for above in _parents(parent)[1:]:
        depth.append(depth[above] + 1)
    return max(depth)


def tree_threshold_dimension(parent, proper) -> int:
    """The threshold dimension of the paths to the root from proper nodes, ``bool[V + 1]``; ``parent`` as in `height`.

    The largest number of points of one path that concepts distinguish; a point that is in no concept does not count. It
    is the height if leaves and all nodes with a single child are proper.

    Reference: Yan 2025, Definition 6 and Lemma 4: height <= threshold dimension of C xor f.
    """
    above, holds = _parents(parent), np.asarray(proper)
    if holds.shape != (len(above),) or not np.isin(holds, (0, 1)).all():
        raise InputError("proper", f"{len(above)} values 0 or 1", f"shape {holds.shape}", "give one for each node")
    below = holds.astype(int).tolist()  # the number of concepts that contain a node's point
    largest = [0] * len(above)
    for node in range(len(above) - 1, 0, -1):
        below[above[node]] += below[node]
        largest[above[node]] = max(largest[above[node]], below[node])
    depth = [0]
    for node in range(1, len(above)):
        depth.append(depth[above[node]] + (below[node] > largest[node]))
    return max(depth)


def _parents(parent) -> list[int]:
    table = np.asarray(parent)
    whole = table.ndim == 1 and len(table) and np.issubdtype(table.dtype, np.integer)
    if not whole or table[0] != 0 or (table < 0).any() or (table[1:] >= np.arange(1, len(table))).any():
        expected = "whole numbers with parent[0] = 0 and parent[v] < v"
        advice = "number parents before their children, as `Tree.parent` does"
        raise InputError("tree parents", expected, f"shape {table.shape}", advice)
    return table.tolist()
