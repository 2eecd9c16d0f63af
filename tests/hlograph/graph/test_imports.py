"""A saved graph is read without the extension and without frameworks."""

import subprocess
import sys

import hlograph
from tests.hlograph import samples

_PROGRAM = """
import sys
import hlograph
from hlograph.graph.features import edge_features, node_features

class Unavailable:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("tensorflow", "jax", "torch") or name == "hlograph._xla":
            raise ImportError(name)

sys.meta_path.insert(0, Unavailable())
graph = hlograph.HloGraph.load(sys.argv[1])
graph == hlograph.HloGraph.from_json(graph.to_json())
graph.to_dot(), graph.to_model_explorer(), graph.attributes(0)
node_features(graph), edge_features(graph)
heavy = {"torch", "torch_geometric", "jax", "jaxlib", "networkx", "tensorflow", "hlograph._xla"}
print(sorted(heavy & set(sys.modules)), graph.num_nodes)
"""


def test_loading_imports_nothing_heavy(tmp_path):
    hlograph.parse(samples.REDUCE).save(tmp_path / "g")
    output = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(tmp_path / "g")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert output == "[] 9\n"


def test_parsing_text_imports_nothing_heavy():
    program = """
import sys, hlograph
hlograph.parse("ENTRY e {\\n ROOT p = f32[2] parameter(0)\\n}")
print(sorted({"torch", "jax", "jaxlib", "networkx", "tensorflow"} & set(sys.modules)))
"""
    output = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert output == "[]\n"
