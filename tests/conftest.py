"""What holds for all tests: an interrupt interrupts, also where the shell that began them has it ignored."""

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a job in the background of a script; children would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)
