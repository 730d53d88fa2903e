"""Models with one mistake each: two models that have none, and how each mistake changes one of them.

A mistake is `name | where the check finds it | words of what it says`, and below it lines of the model: those that are there, those
that go (-) and those that come (+), or that come at the end where none is there. The line that the check names is marked
`# <- here`; else it is the first of the method, or of the class.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

CONTINUOUS = """
import math
from typing import NamedTuple

import airoas


class State(NamedTuple):
    y: float
    n: int


class Reading(NamedTuple):
    y: float


@airoas.model
class Broken(NamedTuple):
    sd: float = 1.0
    discount: float = 0.9

    def actions(self):
        return ("left", "right")

    def initial(self, rng):
        return State(rng.normal(), 0)

    def step(self, s, a, rng):
        if self.is_terminal(s):
            return s, 0.0
        return State(s.y + a - 0.5, s.n + 1), -1.0

    def observe(self, s, a, rng):
        return Reading(s.y + self.sd * rng.normal())

    def obs_logpdf(self, o, s, a):
        z = (o.y - s.y) / self.sd
        return -0.5 * z * z - math.log(self.sd) - 0.5 * math.log(2.0 * math.pi)

    def is_terminal(self, s):
        return s.n >= 5
"""
FINITE = """
import math
from typing import NamedTuple

import airoas


class State(NamedTuple):
    cell: int


@airoas.model
class Broken(NamedTuple):
    slip: float = 0.2
    discount: float = 0.9

    def actions(self):
        return ("left", "right")

    def initial(self, rng):
        return State(rng.integer(4))

    def step(self, s, a, rng):
        if rng.uniform() < self.slip:
            return s, -1.0
        return State((s.cell + 2 * a - 1) % 4), -1.0

    def observe(self, s, a, rng):
        return (1 if rng.uniform() < 0.8 else 0,)

    def obs_logpdf(self, o, s, a):
        return math.log(0.8) if o[0] == 1 else math.log(0.2)

    def n_states(self):
        return 4

    def index(self, s):
        return s.cell

    def state(self, i):
        return State(i)

    def successor(self, s, a, k):
        if k == 0:
            return s, self.slip
        return State((s.cell + 2 * a - 1) % 4), 1.0 - self.slip
"""
IN_CONTINUOUS = """
action_bounds_unwritten | Broken.action_bounds | gives no finite number at index 1 of 2
+
+    def action_bounds(self, s, out, at):
+        out[at] = 0.0

action_not_a_tuple | Broken.sample_action | not a tuple
-    def actions(self):
-        return ("left", "right")
+    def sample_action(self, s, rng):
+        return rng.uniform()

actions_empty | Broken.actions | returns ()
-        return ("left", "right")
+        return ()

actions_is_no_method | Broken.actions | is a tuple, not a method
-    def actions(self):
-        return ("left", "right")
+    actions = ("left", "right")  # <- here

actions_not_names | Broken.actions | returns (0, 1)
-        return ("left", "right")
+        return (0, 1)

bounds_crossed | Broken.value_bounds | puts the lower bound above the upper
+
+    def value_bounds(self, s):
+        return 0.0, -10.0

branches_of_a_helper | Broken.step | returns (float, float) in line 19 and float in line 20
 class Reading(NamedTuple):
     y: float
+
+
+def shift(a):
+    if a == 0:
+        return (0.5, 1.0)
+    return 0.5  # <- here
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        x = shift(a)
+        return State(s.y, s.n + 1), -1.0

catches_one_error | Broken.step | cannot catch ZeroDivisionError alone
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        try:
+            y = 1.0 / (s.y + 1.0)
+        except ZeroDivisionError:  # <- here
+            y = 0.0
+        return State(y, s.n + 1), -1.0

cell_not_integer | Broken.cell | not an integer
+
+    def cell(self, s):
+        return s.y

class_instance | Broken.step | uses `MAP`, a Map,
 class Reading(NamedTuple):
     y: float
+
+
+class Map:
+    width = 3.0
+
+
+MAP = Map()
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        return State(s.y + MAP.width, s.n + 1), -1.0  # <- here

density_excludes_observed | Broken.obs_logpdf | is -inf for what `observe` just produced
     def obs_logpdf(self, o, s, a):
+        if o.y < 0.0:
+            return -math.inf

density_ignores_action | Broken.observe | has mean
-        return Reading(s.y + self.sd * rng.normal())
+        return Reading(s.y + 0.3 * a + self.sd * rng.normal())

density_is_nan | Broken.obs_logpdf | is nan
     def obs_logpdf(self, o, s, a):
+        if o.y < -0.1:
+            return math.log(o.y)

density_not_normalised | Broken.observe | adds up to about 2.5
-        return -0.5 * z * z - math.log(self.sd) - 0.5 * math.log(2.0 * math.pi)
+        return -0.5 * z * z

density_wrong_sd | Broken.observe | does not follow `obs_logpdf`
-        return Reading(s.y + self.sd * rng.normal())
+        return Reading(s.y + 1.15 * self.sd * rng.normal())

discount_is_one | Broken.discount | is 1.0
-    discount: float = 0.9
+    discount: float = 1.0  # <- here

endless_recursion | Broken.depth | calls itself without end
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        return State(s.y + self.depth(s.n), s.n + 1), -1.0
-    def is_terminal(self, s):
+    def depth(self, n):
+        return 1.0 + self.depth(n)  # <- here
+
+    def is_terminal(self, s):

field_named_view | Broken.is_terminal | a field named `view` cannot be compiled
     y: float
-    n: int
+    view: int
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        return State(s.y + a - 0.5, s.view + 1), -1.0
-        return s.n >= 5
+        return s.view >= 5  # <- here

formatted_text | Broken.step | an f-string
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        name = f"{s.y:.2f}"  # <- here
+        return State(s.y + len(name), s.n + 1), -1.0

generator_in_a_helper | Broken.near | Write a loop, or a list: `all([abs(x) < 1.0 for x in (y, y)])`.
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        return State(s.y + a - 0.5, s.n + 1), 1.0 if self.near(s.y) else any([s.y > 0.0])
-    def is_terminal(self, s):
+    def near(self, y):
+        return all(abs(x) < 1.0 for x in (y, y))  # <- here
+
+    def is_terminal(self, s):

generator_sum | Broken.step | a generator expression cannot be compiled. Write a loop, or a list: `sum([0.5 for _ in range(a)])`.
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        return State(s.y + sum(0.5 for _ in range(a)), s.n + 1), -1.0  # <- here

helper_cannot_compile | Broken.step | `.is_integer` of float cannot be compiled
 class Reading(NamedTuple):
     y: float
+
+
+def digits(y):
+    return 1.0 if y.is_integer() else 0.5  # <- here
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        return State(s.y + digits(s.y), s.n + 1), -1.0

imports_inside | Broken.step | `import` inside a method
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        from math import floor  # <- here
+
+        return State(s.y + floor(s.y), s.n + 1), -1.0

indexed_state | Broken.step | Index a NamedTuple of unlike parts by name, or keep them in a Vector.
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        return State(s.y + a - 0.5, s.n + 1), -s[a]  # <- here

indexed_tuple | Broken.step | indexes a tuple of unlike parts by a variable
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        return State(s.y + a - 0.5, s.n + 1), -(0.5, s.n)[a]  # <- here

indexed_vector | Broken.step | indexes Parts, a NamedTuple of unlike parts, by a variable
-class Reading(NamedTuple):
+class Parts(NamedTuple):
+    v: airoas.Vector[3]
+    n: bool
+
+
+class Reading(NamedTuple):
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        parts = Parts(airoas.Vector[3](0.0), True)
+        return State(s.y + a - 0.5, s.n + 1), -1.0 if parts[a] else 0.0  # <- here

int_field_gets_float | Broken.step | gives 0.5 for `n`, which is declared int
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        return State(s.y, s.n + 0.5), -1.0  # <- here

keyword_dict | Broken.observe | `**` in a call
-        return Reading(s.y + self.sd * rng.normal())
+        return Reading(**{"y": s.y + self.sd * rng.normal()})  # <- here

legal_allows_nothing | Broken.legal | allows no action
+
+    def legal(self, s, a):
+        return s.n < 3

library_function | Broken.step | `bisect.bisect` cannot be compiled
-import math
+import bisect
+import math
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        return State(s.y + bisect.bisect((0.0, 1.0), s.y), s.n + 1), -1.0  # <- here

list_in_state | Broken.initial | a tuple with list
-        return State(rng.normal(), 0)
+        return ([rng.normal(), 0.0], 0)

missing_method | Broken | has no method `observe`
-    def observe(self, s, a, rng):
-        return Reading(s.y + self.sd * rng.normal())
-

misspelled_optional | Broken.rollout_actions | Did you mean `rollout_action`
+
+    def rollout_actions(self, s, rng):
+        return 0

misspelled_required | Broken.obs_logdpf | `obs_logpdf` is missing. Did you mean `obs_logpdf`
-    def obs_logpdf(self, o, s, a):
+    def obs_logdpf(self, o, s, a):

mixed_list | Broken.step | `list.append` cannot take
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        kept = [s.y]
+        kept.append("far")  # <- here
+        return State(float(kept[0]), s.n + 1), -1.0

no_discount | Broken | has no `discount`
-    discount: float = 0.9

not_a_namedtuple | Broken | is not a NamedTuple
-@airoas.model
-class Broken(NamedTuple):
+@airoas.model  # <- here
+class Broken:

not_decorated | Broken | is not decorated
-@airoas.model

numpy_random | Broken.step | draws from `numpy.random`
 from typing import NamedTuple
+
+import numpy as np
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        return State(s.y + np.random.normal(), s.n + 1), -1.0  # <- here

observation_changes | Broken.observe | returns (0.0,)
     def observe(self, s, a, rng):
+        if s.n > 3:
+            return (0.0,)

parameter_without_default | Broken.sd | has no default
-    sd: float = 1.0
+    sd: float  # <- here

plan_above_bounds | Broken.plan_values | puts a plan above `action_bounds`
+
+    def action_bounds(self, s, out, at):
+        for a in range(2):
+            out[at + a] = -1.0
+
+    def n_plans(self):
+        return 1
+
+    def plan_action(self, k, t):
+        return 0
+
+    def plan_values(self, s, out, at):
+        out[at] = 0.0

plan_beyond_actions | Broken.plan_action | of plan 0 at step 0 is 2, which is no action
+
+    def n_plans(self):
+        return 1
+
+    def plan_action(self, k, t):
+        return 2
+
+    def plan_values(self, s, out, at):
+        out[at] = -10.0

plan_not_legal | Broken.plan_action | of plan 0 at step 1 is 1, not legal
+
+    def legal(self, s, a):
+        return a == 0
+
+    def n_plans(self):
+        return 1
+
+    def plan_action(self, k, t):
+        return 1 if t == 1 else 0
+
+    def plan_values(self, s, out, at):
+        out[at] = -10.0

plan_without_action | Broken.plan_action | of plan 9 at step 5 is -1, which is no action
+
+    def n_plans(self):
+        return 10
+
+    def plan_action(self, k, t):
+        return -1 if k == 9 and t > 4 else 0
+
+    def plan_values(self, s, out, at):
+        for k in range(10):
+            out[at + k] = -10.0

plans_incomplete | Broken | has no method `plan_values`, which `n_plans` needs beside it
+
+    def n_plans(self):
+        return 1
+
+    def plan_action(self, k, t):
+        return 0

prepare_no_dict | Broken.prepare | returns list, not a dict
     discount: float = 0.9
+
+    def prepare(self):
+        return [1.0, 2.0]

prepare_raises | Broken.prepare | raises KeyError
     discount: float = 0.9
+
+    def prepare(self):
+        return {"table": {}["missing"]}  # <- here

raises_in_helper | Broken.step | raises ValueError: no such action
 class Reading(NamedTuple):
     y: float
+
+
+def shift(a, n):
+    if n > 2 and a == 1:
+        raise ValueError("no such action")  # <- here
+    return a - 0.5
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        return State(s.y + shift(a, s.n), s.n + 1), -1.0

raises_index_error | Broken.step | raises IndexError
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        return State(s.y + (0.5, -0.5, 1.0, 2.0)[s.n], s.n + 1), -1.0  # <- here

raises_zero_division | Broken.step | raises ZeroDivisionError
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        return State(s.y + 1.0 / (s.n - 3), s.n + 1), -1.0  # <- here

replaces_no_field | Broken.step | State has no field `m`. Its fields are
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        return s._replace(m=s.n + 1), -1.0  # <- here

reward_before_state | Broken.step | whose first part is not a state. Return (next_state, reward)
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        return -1.0, State(s.y + a - 0.5, s.n + 1)

reward_before_state_in_one_branch | Broken.step | whose first part is not a state. Return (next_state, reward)
-        if self.is_terminal(s):
-            return s, 0.0
+        if s.n == 3:
+            return 0.0, s

reward_infinite | Broken.step | reward that is not finite: -inf
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        return State(s.y + a - 0.5, s.n + 1), -math.inf if s.n == 4 else 0.0

reward_nan | Broken.step | reward that is not finite: nan
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        return State(s.y + a - 0.5, s.n + 1), math.sqrt(2.0 - s.n)

reward_none | Broken.step | returns None where the reward belongs
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        return State(s.y + a - 0.5, s.n + 1), None

rollout_out_of_range | Broken.rollout_action | chooses an impossible action
+
+    def rollout_action(self, s, rng):
+        return 2

sets_an_attribute | Broken.step | cannot be set
             return s, 0.0
+        self.sd = 2.0  # <- here

state_not_a_tuple | Broken.initial | not a tuple
-        return State(rng.normal(), 0)
+        return rng.normal()

state_not_finite | Broken.step | state that is not finite
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        return State(s.y + math.exp(1000.0 * s.n), s.n + 1), -1.0

step_against_step_logpdf | Broken.step | does not follow `step_logpdf`
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        return State(s.y + rng.normal(), s.n + 1), -1.0
+
+    def step_logpdf(self, s2, s, a):
+        if self.is_terminal(s):
+            return 0.0 if s2.y == s.y and s2.n == s.n else -math.inf
+        if s2.n != s.n + 1:
+            return -math.inf
+        z = (s2.y - s.y - 0.5) / 1.0
+        return -0.5 * z * z - 0.5 * math.log(2.0 * math.pi)

step_no_pair | Broken.step | not a pair
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        return State(s.y + a - 0.5, s.n + 1)

step_pair_in_one_branch | Broken.step | not a pair
-        if self.is_terminal(s):
-            return s, 0.0
+        if s.n == 3:
+            return s

terminal_no_flag | Broken.is_terminal | not True or False
-        if self.is_terminal(s):
+        if s.n >= 5:
-        return s.n >= 5
+        if s.n >= 5:
+            return True

text_field | Broken.step | `self.mode` is neither a number
     sd: float = 1.0
+    mode: str = "slow"
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        return State(s.y + (1.0 if self.mode == "slow" else 2.0), s.n + 1), -1.0  # <- here

text_in_observation | Broken.observe | str 'near'
-        return Reading(s.y + self.sd * rng.normal())
+        return (s.y, "near")

text_is_no_text | Broken.text | not text
+
+    def text(self, s, belief):
+        return 3

tuple_lengths_differ | Broken.step | a value is (float,) in one branch and (float, float) in another
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        shifts = (0.5,) if a == 0 else (0.5, 1.0)  # <- here
+        return State(s.y + shifts[0], s.n + 1), -1.0

types_change | Broken.step | the float 0.5 for number 0 of a state, which is an int in `initial`
-        return State(rng.normal(), 0)
+        return (0, 0)
-        if self.is_terminal(s):
-            return s, 0.0
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        if s[1] == 3:
+            return (s[0] + 0.5, 0), 0.0
+        return (s[0], s[1] + 1), -1.0
-        return Reading(s.y + self.sd * rng.normal())
+        return (rng.normal(),)
-        z = (o.y - s.y) / self.sd
-        return -0.5 * z * z - math.log(self.sd) - 0.5 * math.log(2.0 * math.pi)
-
-    def is_terminal(self, s):
-        return s.n >= 5
+        return -0.5 * o[0] * o[0] - 0.5 * math.log(2.0 * math.pi)

unknown_attribute | Broken.observe | has no attribute 'width'
-        return Reading(s.y + self.sd * rng.normal())
+        return Reading(s.y + self.width * rng.normal())  # <- here

unknown_name | Broken.step | raises NameError
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        return State(s.y + a - HALF, s.n + 1), -1.0  # <- here

unknown_rng_method | Broken.observe | has no attribute 'gauss'
-        return Reading(s.y + self.sd * rng.normal())
+        return Reading(s.y + self.sd * rng.gauss(0.0, 1.0))  # <- here

used_before_value | Broken.step | raises UnboundLocalError
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        if s.n < 3:
+            shift = a - 0.5
+        return State(s.y + shift, s.n + 1), -1.0  # <- here

uses_global_list | Broken.step | uses `TABLE`, a list, which compiled code cannot hold. Make it a tuple
 class Reading(NamedTuple):
     y: float
+
+
+TABLE = [0.5, 1.5]
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        return State(s.y + TABLE[a], s.n + 1), -1.0  # <- here

uses_global_dict | Broken.step | uses `TABLE`, a dict,
 class Reading(NamedTuple):
     y: float
+
+
+TABLE = {0: 0.5, 1: 1.5}
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        return State(s.y + TABLE[a], s.n + 1), -1.0  # <- here

writes_to_table | Broken.step | read-only
-    def actions(self):
+    def prepare(self):
+        return {"table": [0.5, 1.5]}
+
+    def actions(self):
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        self.table[a] = 2.0  # <- here
+        return State(s.y + self.table[a], s.n + 1), -1.0

wrong_argument_count | Broken.step | raises TypeError
 class Reading(NamedTuple):
     y: float
+
+
+def shift(a):
+    return a - 0.5
-        return State(s.y + a - 0.5, s.n + 1), -1.0
+        return State(s.y + shift(a, s.n), s.n + 1), -1.0  # <- here

wrong_arity | Broken.step | takes (self, s, a), but is called with (self, s, a, rng)
-    def step(self, s, a, rng):
+    def step(self, s, a):
"""
IN_FINITE = """
enumeration_incomplete | Broken | has no method `state`, which `n_states` needs
-    def state(self, i):
-        return State(i)
-

exact_weights_sum | Broken.exact_initial | sum to 1.25
-    def n_states(self):
+    def exact_initial(self):
+        return [[0], [1], [2], [3]], [0.25, 0.25, 0.25, 0.5]
+
+    def n_states(self):

global_random | Broken.observe | draws from `random`
 import math
+import random
-        return (1 if rng.uniform() < 0.8 else 0,)
+        return (1 if random.random() < 0.8 else 0,)  # <- here

index_and_state | Broken.index | does not undo `state`
-        return s.cell
+        return 3 - s.cell + s.cell % 2

index_out_of_range | Broken.index | gives 4 for the state
-        return State(rng.integer(4))
+        return State(4)
-        return State((s.cell + 2 * a - 1) % 4), -1.0
+        return State(4), -1.0

initial_against_exact | Broken.initial | does not follow `exact_initial`
-        return State(rng.integer(4))
+        return State(rng.integer(3))
         return math.log(0.8) if o[0] == 1 else math.log(0.2)
+
+    def exact_initial(self):
+        return [[0], [1], [2], [3]], [0.25, 0.25, 0.25, 0.25]

mass_wrong | Broken.observe | has frequency
-        return (1 if rng.uniform() < 0.8 else 0,)
+        return (1 if rng.uniform() < 0.7 else 0,)

masses_exceed_one | Broken.observe | sum to 1.2, more than 1
-        return math.log(0.8) if o[0] == 1 else math.log(0.2)
+        return math.log(0.8) if o[0] == 1 else math.log(0.4)

step_against_successor | Broken.step | does not follow `successor`
-        if rng.uniform() < self.slip:
+        if rng.uniform() < 0.5 * self.slip:

successor_negative | Broken.successor | gives probability -0.2
-            return s, self.slip
+            return s, -self.slip

successor_sum | Broken.successor | sum to 0.98, not 1
-        return State((s.cell + 2 * a - 1) % 4), 1.0 - self.slip
+        return State((s.cell + 2 * a - 1) % 4), 0.78 if k == 1 else 0.0
"""
HUNK = re.compile(r"(?m)((?:^ .*\n)*)((?:^-.*\n)*)((?:^\+.*\n)*)")
MARK = "  # <- here"


class Broken(NamedTuple):
    where: str
    words: str
    text: str
    line: int

    def write(self, folder: Path, name: str) -> Path:
        file = folder / f"{name}.py"
        file.write_text(self.text)
        return file


def _broken(base: str, mistake: str) -> tuple[str, Broken]:
    header, changes = f"{mistake}\n".split("\n", 1)
    name, where, words = header.split(" | ")
    text = base
    for hunk in HUNK.findall(changes):
        kept, gone, new = (re.sub("(?m)^.", "", part) for part in hunk)
        assert text.count(kept + gone) == 1 or not kept + gone, f"{name}: {kept}{gone}"
        text = text.replace(kept + gone, kept + new) if kept + gone else text + new
    rows = text.splitlines()
    marks = [row for row in rows if row.endswith(MARK)] or [
        row for row in rows if row.startswith(f"    def {where.partition('.')[2]}(" if "." in where else "class Broken")
    ]
    assert len(marks) == 1, name
    return name, Broken(where, words, text, rows.index(marks[0]) + 1)


BROKEN = dict(
    _broken(base, mistake)
    for base, mistakes in ((CONTINUOUS, IN_CONTINUOUS), (FINITE, IN_FINITE))
    for mistake in mistakes.strip("\n").split("\n\n")
)
