"""Compiling functions that only other compiled functions call: checked and lowered, but not yet optimised or made machine code.

Numba optimises every function with all that it calls, and emits machine code for each. Where one is compiled into its
callers anyway, that work is thrown away, once for every level of calls; left to the kernel at the top it is done once.
"""

from __future__ import annotations

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class _InlineOnlyLibrary(JITCodeLibrary):
    """A library that serves to be linked into others and has no machine code of its own."""

    def _optimize_final_module(self):
        pass

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class _RoughLibrary(_InlineOnlyLibrary):
    """One that is not optimised alone either, which takes an eighth of the time of compiling; what it is linked into runs up to a tenth
    slower for it."""

    def _optimize_functions(self, ll_module):
        ll_module.data_layout = self._codegen._data_layout


class InlineOnly(Compiler):
    """Numba's compiler without its last stage."""

    def compile_extra(self, func):
        state = self.state
        library = _RoughLibrary if state.flags.boundscheck else _InlineOnlyLibrary  # in the mode "debug"
        state.library = library(state.targetctx.codegen(), func.__qualname__)
        state.flags.no_compile = True
        # Numba knows a function by its entry point, which must be a builtin; that of a new object is like no other.
        result = super().compile_extra(func)._replace(entry_point=object().__reduce__)
        state.targetctx.insert_user_function(result.entry_point, result.fndesc, [result.library])
        return result
