# shellcheck shell=sh
# Sourced by Makefile recipes: finds a Rust that scripts/setup.sh put where this shell does not look.
PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin:/usr/local/sbin:/usr/sbin"
export PATH
