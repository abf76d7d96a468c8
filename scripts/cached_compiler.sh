#!/bin/sh
# Run a compiler through sccache: cached_compiler.sh COMPILER ARGUMENT...
# If sccache fails, the compiler runs without it, and its exit code counts: a broken cache never fails a build.
# FATWHEEL_SCCACHE is the program (empty: no cache), FATWHEEL_CACHE_STATE a folder for the record of cache failures.
state=${FATWHEEL_CACHE_STATE:-/nonexistent}
if [ -z "${FATWHEEL_SCCACHE:-}" ] || [ ! -d "$state" ] || [ -e "$state/off" ]; then
    exec "$@"
fi
output=$state/output.$$
if "$FATWHEEL_SCCACHE" "$@" >"$output.out" 2>"$output.err"; then
    cat "$output.out"
    cat "$output.err" >&2
    rm -f "$output.out" "$output.err"
    exit 0
fi
"$@"
status=$?
if [ "$status" -eq 0 ]; then
    # Only the cache failed. After three failures it is disabled.
    { echo "== $*"; tail -n 3 "$output.err"; } >>"$state/faults"
    if [ "$(grep -c '^== ' "$state/faults")" -ge 3 ]; then
        : >"$state/off"
    fi
fi
rm -f "$output.out" "$output.err"
exit "$status"
