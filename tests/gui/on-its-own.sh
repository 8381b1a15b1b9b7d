#!/bin/sh
# Runs a command with a session bus, a folder for sockets and one for temporary files of its own, all gone afterwards.
# What bus and accessibility print must not come between the lines of the result: file descriptor 3 is the output.
#
#   on-its-own.sh DBUS_RUN_SESSION COMMAND ARGUMENT..

set -u
own=$(mktemp -d "${TMPDIR:-/tmp}/irscope-XXXXXX") || exit 1
trap 'rm -rf "$own"' EXIT
trap 'exit 1' INT TERM
mkdir -m 700 "$own/run" "$own/tmp"
export XDG_RUNTIME_DIR="$own/run" TMPDIR="$own/tmp"
bus=$1
shift
"$bus" -- "$@" 3>&1 >/dev/null
