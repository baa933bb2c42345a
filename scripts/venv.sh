#!/bin/sh
# Make the virtual environment $1 with exactly the packages of constraints.txt, and this project in it.
set -eu
venv=$1
cd "$(dirname "$0")/.."

# 3.11 first: the version that the constraints were resolved on. Without ensurepip there is no pip in a venv.
find_python() {
  for candidate in python3.11 python3.12 python3.13 python3 python; do
    if "$candidate" -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  echo "set-up: no Python >= 3.11 with the venv module; install one (Debian: python3 python3-venv)" >&2
  return 1
}

if ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
  python=$(find_python)
  echo "set-up: making $venv with $("$python" --version)"
  "$python" -m venv --clear "$venv"
fi
echo "set-up: installing $(grep -c == constraints.txt) pinned packages (some minutes on first use)"
# --no-deps: the pins are the whole closure (pip check below), so there is nothing to resolve.
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r constraints.txt
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --editable .
"$venv/bin/python" -m pip check
