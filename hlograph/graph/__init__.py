"""Typed graphs of HLO modules: columns, attributes, features, files, exports, kernels."""
