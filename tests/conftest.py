"""Settings of all tests: SIGINT interrupts them, even if the shell that started them ignores it."""

import signal

# A shell ignores SIGINT in background jobs of a script, and child processes would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
