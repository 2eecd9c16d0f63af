"""The layer is that of torch-geometric, with its parameters from a seed and its results."""

import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import torch
from torch.nn.modules.module import register_module_forward_pre_hook

from models.gatv2 import GATv2


def test_a_seed_has_the_parameters_of_torch_geometric():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from torch_geometric.nn import GATv2Conv
    torch.manual_seed(3)
    ours, next_draw = GATv2(12, 8, 4, 6), torch.rand(3)
    torch.manual_seed(3)
    theirs = GATv2Conv(12, 8, heads=4, edge_dim=6, add_self_loops=False)
    assert torch.equal(torch.rand(3), next_draw)
    assert [name for name, _ in ours.named_parameters()] == list(theirs.state_dict())
    for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(one, other)
    nodes, edges = torch.rand(5, 12), torch.tensor([[0, 1, 2], [1, 2, 3]])
    features = torch.rand(3, 6)
    result = ours(nodes, edges, features)
    assert torch.equal(result, theirs(nodes, edges, features))
    result.sum().backward()
    assert all(one.grad is not None for one in ours.parameters())


def test_threads_run_layers_of_the_same_widths_with_their_own_parameters():
    torch.manual_seed(0)
    layers = [GATv2(12, 8, 4, 6) for _ in range(2)]
    for layer in layers:
        torch.nn.init.normal_(layer.bias)
    inputs = torch.rand(5, 12), torch.tensor([[0, 1, 2], [1, 2, 3]]), torch.rand(3, 6)
    alone = [layer(*inputs) for layer in layers]
    both_inside = threading.Barrier(2, timeout=30)

    def wait_inside(module, _):
        if type(module).__name__ == "Linear":  # of torch-geometric, in its layer
            both_inside.wait()

    hook = register_module_forward_pre_hook(wait_inside)
    with hook, ThreadPoolExecutor(2) as threads:
        together = list(threads.map(lambda layer: layer(*inputs), layers))
    for one, other in zip(together, alone, strict=True):
        assert torch.equal(one, other)


def test_torch_geometric_is_not_imported_for_a_layer():
    code = "import sys; from models.gatv2 import GATv2; GATv2(4, 4, 2, 3); "
    code += "assert 'torch_geometric' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
