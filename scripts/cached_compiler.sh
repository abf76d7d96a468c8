#!/bin/sh
# Runs a compiler through sccache: cached_compiler.sh COMPILER ARGUMENT...
# A cache that fails costs time and never a build: then the compiler runs by itself, and its answer is what counts.
# FATWHEEL_SCCACHE names the program (empty: no cache), FATWHEEL_CACHE_STATE a folder for what is noticed.
state=${FATWHEEL_CACHE_STATE:-/nonexistent}
if [ -z "${FATWHEEL_SCCACHE:-}" ] || [ ! -d "$state" ] || [ -e "$state/off" ]; then
    exec "$@"
fi
said=$state/said.$$
if "$FATWHEEL_SCCACHE" "$@" >"$said.out" 2>"$said.err"; then
    cat "$said.out"
    cat "$said.err" >&2
    rm -f "$said.out" "$said.err"
    exit 0
fi
"$@"
status=$?
if [ "$status" -eq 0 ]; then
    # The compiler is right and the cache was wrong. After the third time it is left out.
    { echo "== $*"; tail -n 3 "$said.err"; } >>"$state/faults"
    if [ "$(grep -c '^== ' "$state/faults")" -ge 3 ]; then
        : >"$state/off"
    fi
fi
rm -f "$said.out" "$said.err"
exit "$status"
