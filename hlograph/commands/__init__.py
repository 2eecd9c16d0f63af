"""The program ``hlograph``: one module for each subcommand.

A subcommand is a dataclass of its options with a method ``run``, which returns an ``Answer``;
``command_line`` reads the options, prints the answer and turns errors into an exit status. Modules
import jax, torch and the extension inside functions, so that help answers at once.
"""
