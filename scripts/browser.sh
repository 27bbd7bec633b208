#!/usr/bin/env bash
# Chromium for the browser tests: installed on Debian as root, otherwise named when it is missing.
set -euo pipefail
for name in chromium chromium-browser google-chrome; do command -v "$name" >/dev/null && exit 0; done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "Installing Chromium for the browser tests"
  apt-get update -qq -o DPkg::Lock::Timeout=120 || apt-get update -qq -o DPkg::Lock::Timeout=120
  apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core -o DPkg::Lock::Timeout=300 >/dev/null
  exit 0
fi
if [ "${CI:-}" = true ]; then
  echo "meshwright: no Chromium, and CI may skip nothing. Install chromium." >&2
  exit 1
fi
echo "No Chromium here: tests/browser will be skipped. Install it (Debian: apt-get install chromium) to run them."
