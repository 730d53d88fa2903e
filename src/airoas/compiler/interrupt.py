"""Ctrl-C in compiled code, which Python hears of only when it ends.

A few instructions in front of Python's own handler of SIGINT put down the time. For a second from then on `clock.now()` is infinite in
every thread: whatever keeps a deadline ends, also one without (infinity is reached, too), and Python raises KeyboardInterrupt.
Where another handler than Python's usual one stands nothing is done, and a search ends by its budget.

What looks at no clock, as bounds and policies that are being worked out, runs `interruptible`: in another thread, while the main one waits.
"""

from __future__ import annotations

import contextvars
import ctypes
import functools
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

import llvmlite.binding as llvm

LASTS = 1.0
"""Seconds for which an interruption counts: long enough for every search to see it, and over when the next begins."""
SYMBOL = "airoas_interrupted_at"
_PATIENCE = 0.1  # seconds that interrupted work has to end before it is left to itself
_Result = TypeVar("_Result")
_MAIN = threading.main_thread().ident
_state = (ctypes.c_double * 2)()  # when, 0 for never; the address of the handler behind ours, as bits
_behind = ctypes.c_uint64.from_buffer(_state, 8)
_SIZE = 256  # bytes of a `struct sigaction` and more; its first field is the handler
llvm.add_symbol(SYMBOL, ctypes.addressof(_state))  # compiled code, from the disk too, finds it by name

_CODE = """
declare i32 @clock_gettime(i32, i64*)
declare i32 @sigaction(i32, i64*, i64*)
define i64 @airoas_present_handler() {{
  %space = alloca [32 x i64]
  %first = getelementptr [32 x i64], [32 x i64]* %space, i64 0, i64 0
  %ok = call i32 @sigaction(i32 {signal}, i64* null, i64* %first)
  %handler = load i64, i64* %first
  ret i64 %handler
}}
define void @airoas_interrupt(i32 %signal) {{
  %pair = alloca [2 x i64]
  %seconds = getelementptr [2 x i64], [2 x i64]* %pair, i64 0, i64 0
  %rest = getelementptr [2 x i64], [2 x i64]* %pair, i64 0, i64 1
  %ok = call i32 @clock_gettime(i32 1, i64* %seconds)
  %s = load i64, i64* %seconds
  %n = load i64, i64* %rest
  %whole = sitofp i64 %s to double
  %nano = sitofp i64 %n to double
  %part = fmul double %nano, 1.0e-9
  %now = fadd double %whole, %part
  store volatile double %now, double* inttoptr (i64 {when} to double*)
  %address = load i64, i64* inttoptr (i64 {behind} to i64*)
  %python = inttoptr i64 %address to void (i32)*
  call void %python(i32 %signal)
  ret void
}}
"""


def listen() -> None:
    """Have Ctrl-C seen by what is compiled, from here on. Called by the main thread before it enters long kernels; others need not."""
    if threading.get_ident() != _MAIN:
        return
    _state[0] = 0.0  # an interruption before this one was answered
    native = _native()
    if native is not None and native.present() != native.ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        buffer = ctypes.create_string_buffer(_SIZE)
        native.sigaction(signal.SIGINT, None, buffer)
        handler = ctypes.c_uint64.from_buffer(buffer)
        _behind.value, handler.value = handler.value, native.ours
        native.sigaction(signal.SIGINT, buffer, None)


def interrupted() -> bool:
    """Whether Ctrl-C was pressed a moment ago."""
    return _state[0] > 0.0 and time.perf_counter() - _state[0] < LASTS


def stop_if_interrupted() -> None:
    """Raise KeyboardInterrupt after a kernel that Ctrl-C has ended: in the main thread Python does so itself, in others nobody."""
    if _state[0] and interrupted():
        raise KeyboardInterrupt


def interruptible(work: Callable[[], _Result]) -> _Result:
    """What `work` gives. Ctrl-C ends the waiting for it at once; the work itself ends as soon as it is back in Python."""
    if threading.get_ident() != _MAIN:
        return work()
    outcome: Future[_Result] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            outcome.set_result(context.run(work))
        except BaseException as error:  # raised where it is waited for
            outcome.set_exception(error)

    worker = threading.Thread(target=run, name="airoas", daemon=True)
    worker.start()
    try:
        return outcome.result()
    except BaseException:
        if not outcome.done():
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(worker.ident or 0), ctypes.py_object(KeyboardInterrupt))
            worker.join(_PATIENCE)
        raise


class _Native(NamedTuple):
    present: Any
    """() -> the address of the handler of SIGINT."""
    ours: int
    sigaction: Any
    engine: Any
    """Keeps the code."""


@functools.cache
def _native() -> _Native | None:
    """None where there is no such system."""
    if not sys.platform.startswith("linux"):
        return None
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    addresses = {"when": ctypes.addressof(_state), "behind": ctypes.addressof(_behind), "signal": int(signal.SIGINT)}
    module = llvm.parse_assembly(_CODE.format(**addresses))
    engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine())
    engine.finalize_object()
    present = ctypes.PYFUNCTYPE(ctypes.c_uint64)(engine.get_function_address("airoas_present_handler"))
    sigaction = ctypes.CDLL(None).sigaction
    sigaction.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    return _Native(present, engine.get_function_address("airoas_interrupt"), sigaction, engine)
