"""Simulation by MuJoCo XLA: small models given as MJCF, with its solvers and integrators."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import mujoco
from mujoco import mjx
from recipe import Recipe, array

LIBRARY = "mujoco-mjx"

BODIES: dict[str, str] = {
    "pendulum": """
        <worldbody>
          <body>
            <joint name="first" type="hinge" axis="0 1 0" damping="0.1"/>
            <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.04"/>
            <body pos="0 0 -0.5">
              <joint name="second" type="hinge" axis="0 1 0" armature="0.01"/>
              <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.04"/>
            </body>
          </body>
        </worldbody>
        <actuator><motor joint="second" gear="2"/></actuator>""",
    "cartpole": """
        <worldbody>
          <body>
            <joint name="slider" type="slide" axis="1 0 0" limited="true" range="-1 1"/>
            <geom type="box" size="0.2 0.1 0.05" contype="0" conaffinity="0"/>
            <body>
              <joint name="hinge" type="hinge" axis="0 1 0"/>
              <geom type="capsule" fromto="0 0 0 0 0 0.6" size="0.03" contype="0" conaffinity="0"/>
            </body>
          </body>
        </worldbody>
        <actuator>
          <position name="drive" joint="slider" kp="50"/><velocity joint="hinge" kv="0.1"/>
        </actuator>
        <sensor><jointpos joint="slider"/><jointvel joint="hinge"/><actuatorfrc actuator="drive"/>
        </sensor>""",
    "spheres": """
        <worldbody>
          <geom type="plane" size="5 5 0.1"/>
          <body pos="0 0 0.3"><freejoint/><geom type="sphere" size="0.1"/></body>
          <body pos="0 0.1 0.6"><freejoint/><geom type="sphere" size="0.12"/></body>
          <body pos="0.1 0 0.9"><freejoint/><geom type="sphere" size="0.14"/></body>
        </worldbody>""",
    "boxes": """
        <worldbody>
          <geom type="plane" size="5 5 0.1"/>
          <body pos="0 0 0.2"><freejoint/><geom type="box" size="0.1 0.1 0.1"/></body>
          <body pos="0 0 0.5"><freejoint/><geom type="box" size="0.1 0.12 0.1"/></body>
        </worldbody>""",
    "capsules": """
        <worldbody>
          <geom type="plane" size="5 5 0.1" friction="0.8 0.01 0.01"/>
          <body pos="0 0 0.3"><freejoint/><geom type="capsule" size="0.1 0.2" condim="4"/></body>
          <body pos="0 0 0.7"><freejoint/><geom type="capsule" size="0.1 0.2" condim="6"/></body>
        </worldbody>""",
    "mixed": """
        <worldbody>
          <geom type="plane" size="5 5 0.1"/>
          <body pos="0 0 0.3"><freejoint/><geom type="ellipsoid" size="0.1 0.15 0.2"/></body>
          <body pos="0.3 0 0.3"><freejoint/><geom type="cylinder" size="0.1 0.1"/></body>
          <body pos="0 0 0.8"><freejoint/><geom type="sphere" size="0.1"/></body>
        </worldbody>""",
    "tendons": """
        <worldbody>
          <site name="top" pos="0 0 0.6"/>
          <body>
            <joint name="first" type="hinge" axis="0 1 0" stiffness="1" frictionloss="0.1"/>
            <geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.03"/>
            <site name="middle" pos="0.2 0 0.05"/>
            <body pos="0.4 0 0">
              <joint name="second" type="hinge" axis="0 1 0" limited="true" range="-60 60"/>
              <geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.03"/>
              <site name="end" pos="0.4 0 0.05"/>
            </body>
          </body>
        </worldbody>
        <tendon>
          <spatial name="rope" stiffness="5"><site site="top"/><site site="middle"/>
            <site site="end"/></spatial>
          <fixed name="sum"><joint joint="first" coef="1"/><joint joint="second" coef="-0.5"/>
          </fixed>
        </tendon>
        <actuator><position tendon="sum" kp="10"/><motor tendon="rope"/></actuator>
        <sensor><tendonpos tendon="rope"/><tendonvel tendon="sum"/></sensor>""",
    "muscles": """
        <worldbody>
          <body>
            <joint name="elbow" type="hinge" axis="0 1 0" limited="true" range="0 120"/>
            <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03"/>
            <body pos="0.3 0 0">
              <joint name="wrist" type="ball" damping="0.05"/>
              <geom type="ellipsoid" size="0.1 0.05 0.02" pos="0.1 0 0"/>
            </body>
          </body>
        </worldbody>
        <actuator>
          <muscle joint="elbow" lengthrange="0 2" ctrllimited="true" ctrlrange="0 1"/>
          <general joint="elbow" dyntype="filter" dynprm="0.1" gainprm="5" biastype="affine"
            biasprm="0 -5 -0.5"/>
        </actuator>""",
    "linkage": """
        <worldbody>
          <body name="left" pos="0 0 1">
            <joint type="hinge" axis="0 1 0"/>
            <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03"/>
            <body name="bar" pos="0 0 -0.4">
              <joint type="hinge" axis="0 1 0"/>
              <geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.03"/>
            </body>
          </body>
          <body name="right" pos="0.5 0 1">
            <joint name="drive" type="hinge" axis="0 1 0"/>
            <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03"/>
          </body>
        </worldbody>
        <equality><connect body1="bar" body2="right" anchor="0.5 0 0"/>
          <joint joint1="drive" polycoef="0 1 0 0 0"/></equality>
        <actuator><motor joint="drive"/></actuator>""",
    "walker": """
        <worldbody>
          <geom type="plane" size="5 5 0.1"/>
          <body pos="0 0 0.6">
            <freejoint/>
            <geom type="capsule" fromto="-0.2 0 0 0.2 0 0" size="0.08"/>
            <site name="imu"/>
            <body pos="0.2 0 0">
              <joint name="hip1" type="hinge" axis="0 1 0" limited="true" range="-45 45"/>
              <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.04"/>
              <body pos="0 0 -0.3">
                <joint name="knee1" type="hinge" axis="0 1 0" limited="true" range="-90 0"/>
                <geom type="capsule" fromto="0 0 0 0 0 -0.25" size="0.03"/>
              </body>
            </body>
            <body pos="-0.2 0 0">
              <joint name="hip2" type="hinge" axis="0 1 0" limited="true" range="-45 45"/>
              <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.04"/>
              <body pos="0 0 -0.3">
                <joint name="knee2" type="hinge" axis="0 1 0" limited="true" range="-90 0"/>
                <geom type="capsule" fromto="0 0 0 0 0 -0.25" size="0.03"/>
              </body>
            </body>
          </body>
        </worldbody>
        <actuator><motor joint="hip1" gear="20"/><motor joint="hip2" gear="20"/>
          <motor joint="knee1" gear="10"/><motor joint="knee2" gear="10"/></actuator>
        <sensor><gyro site="imu"/><accelerometer site="imu"/><framequat objtype="site"
          objname="imu"/><subtreecom body="world"/></sensor>""",
}
"""Contents of the world, by name."""


def load(bodies: str, options: str) -> tuple[Any, Any]:
    """Returns a model and its data on the device."""
    flags = '<flag eulerdamp="disable"/>'
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><option {options}>{flags}</option>{BODIES[bodies]}</mujoco>"
    )
    on_device = mjx.put_model(model)
    return on_device, mjx.make_data(on_device)


def lower_program(bodies: str, options: str, program: str) -> jax.stages.Lowered:
    """Lowers a program of one model; the model and its data are arguments.

    Args:
        bodies: A key of `BODIES`.
        options: Attributes of MJCF's `option` element.
        program: `step`, `forward` or `inverse`; `kinematics` (positions, inertia and its
            factors); `batch4-step`; `rollout8` (steps in a scan); `grad4` (gradient of the final
            height with respect to the controls).
    """
    model, data = load(bodies, options)
    if program in ("step", "forward", "inverse"):
        return jax.jit(getattr(mjx, program)).lower(model, data)
    if program == "kinematics":

        def kinematics(model: Any, data: Any) -> Any:
            data = mjx.com_pos(model, mjx.kinematics(model, data))
            return mjx.factor_m(model, mjx.crb(model, data))

        return jax.jit(kinematics).lower(model, data)
    if program == "batch4-step":

        def batch(model: Any, data: Any, positions: jax.Array) -> Any:
            return jax.vmap(lambda qpos: mjx.step(model, data.replace(qpos=qpos)))(positions)

        return jax.jit(batch).lower(model, data, array(4, model.nq))
    count = int(program.removeprefix("rollout").removeprefix("grad"))

    def rollout(controls: jax.Array, model: Any, data: Any) -> Any:
        def step(data: Any, control: jax.Array) -> Any:
            data = mjx.step(model, data.replace(ctrl=control))
            return data, (data.qpos, data.sensordata)

        return jax.lax.scan(step, data, controls)

    def height(controls: jax.Array, model: Any, data: Any) -> jax.Array:
        return rollout(controls, model, data)[0].xpos[:, 2].sum()

    function = jax.value_and_grad(height) if program.startswith("grad") else rollout
    return jax.jit(function).lower(array(count, model.nu), model, data)


def recipes() -> Iterator[Recipe]:
    """Yields every simulation."""
    newton = 'solver="Newton" iterations="4" ls_iterations="4"'
    conjugate = 'solver="CG" iterations="6" ls_iterations="6"'
    # The gradient of a loop is unrolled when it runs only once.
    once = 'solver="Newton" iterations="1" ls_iterations="4"'
    implicit = 'integrator="implicitfast"'
    programs = [
        ("pendulum", "newton-euler", newton, "step"),
        ("pendulum", "newton-rk4", f'{newton} integrator="RK4"', "step"),
        ("pendulum", "newton-euler", newton, "kinematics"),
        ("pendulum", "newton-euler", newton, "inverse"),
        ("pendulum", "once-euler", once, "grad4"),
        ("cartpole", "cg-implicit", f"{conjugate} {implicit}", "step"),
        ("cartpole", "newton-euler", newton, "rollout8"),
        ("cartpole", "once-implicit", f"{once} {implicit}", "grad4"),
        ("spheres", "newton-euler", newton, "step"),
        ("spheres", "cg-elliptic", f'{conjugate} cone="elliptic"', "step"),
        ("spheres", "cg-euler", conjugate, "batch4-step"),
        ("boxes", "newton-euler", newton, "step"),
        ("boxes", "cg-euler", conjugate, "forward"),
        ("capsules", "newton-elliptic", f'{newton} cone="elliptic"', "step"),
        ("capsules", "cg-euler", conjugate, "step"),
        ("mixed", "newton-euler", newton, "step"),
        ("tendons", "newton-implicit", f"{newton} {implicit}", "step"),
        ("tendons", "cg-euler", conjugate, "rollout8"),
        ("muscles", "newton-implicit", f"{newton} {implicit}", "step"),
        ("muscles", "cg-rk4", f'{conjugate} integrator="RK4"', "forward"),
        ("linkage", "newton-euler", newton, "step"),
        ("linkage", "cg-rk4", f'{conjugate} integrator="RK4"', "step"),
        ("walker", "newton-implicit", f"{newton} {implicit}", "step"),
        ("walker", "cg-euler", conjugate, "batch4-step"),
        ("walker", "newton-elliptic", f'{newton} cone="elliptic"', "rollout8"),
        ("walker", "newton-euler", newton, "kinematics"),
    ]
    for bodies, words, options, program in programs:
        yield Recipe(
            name=f"mjx/{bodies}-{words}/{program}",
            family="mjx",
            library=LIBRARY,
            recipe=f"mujoco.mjx {bodies}, {options}; {program}",
            lower=partial(lower_program, bodies, options, program),
            scope="algorithm",
        )
