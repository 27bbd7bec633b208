#!/usr/bin/env bash
# setup.sh runtime|dev: a virtual environment with the pinned packages and the console script.
set -euo pipefail
wanted=$1
python=${PYTHON:-python3}
log=.venv/setup.log

fail() { printf 'meshwright: %s\n' "$1" >&2; exit 1; }

command -v "$python" >/dev/null || fail "no $python on this machine. Install Python 3.11 or newer, or name it: make PYTHON=/path/to/python3.11"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
  fail "$("$python" --version) is too old. Install Python 3.11 or newer, or name it: make PYTHON=/path/to/python3.11"
if [ ! -x .venv/bin/python ]; then
  "$python" -m venv .venv || fail "could not create .venv. On Debian: apt-get install python3-venv; then run make again"
fi
echo "Setting up .venv ($wanted), about a minute the first time"
install() {
  .venv/bin/python -m pip install --quiet --disable-pip-version-check "$@" >>"$log" 2>&1 ||
    fail "installing packages failed: $(grep -E 'ERROR|error' "$log" | tail -n 1 | cut -c1-200). The whole log is $log; check the network, then run make again"
}
: >"$log"
install --require-hashes -r "requirements/$wanted.txt"
install --no-deps --no-build-isolation --editable .
touch ".venv/$wanted.stamp"
# What dev installs holds all of runtime at the same versions.
[ "$wanted" = dev ] && touch .venv/runtime.stamp
exit 0
