# shellcheck shell=sh
# Sourced by Makefile recipes: finds a Rust that scripts/setup.sh put where this shell does not look, before an older one of
# the distribution's.
PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH:/usr/local/sbin:/usr/sbin"
export PATH
