#!/bin/sh
# Records the spans of the example agents anew into examples/recordings.
# Needs Go, Node 20.6 or newer, and npm.
set -eu
cd "$(dirname "$0")/.."
(cd examples/vercel-ai && npm ci --no-audit --no-fund)
exec go run ./examples/record
