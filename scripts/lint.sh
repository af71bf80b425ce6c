#!/usr/bin/env bash
# Every check that needs no test run: format, clippy, docs, licences and advisories, shell scripts.
set -euo pipefail

cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; }

step "cargo fmt --check"
cargo fmt --check

step "cargo clippy"
cargo clippy --locked --all-targets -- -D warnings

step "cargo doc"
RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --quiet

step "cargo deny"
# The advisory database comes from github.com. Where that cannot be reached everything else is still checked, and what
# was not is said; NOCTUNE_LINT_ADVISORIES=required makes that a failure.
checks=(licenses bans sources)
if cargo deny --locked fetch db; then
    checks=(advisories "${checks[@]}")
elif [ "${NOCTUNE_LINT_ADVISORIES:-}" = required ]; then
    echo "lint: the advisory database cannot be fetched" >&2
    exit 1
else
    advisories="; advisories were NOT checked, their database cannot be reached from here"
fi
cargo deny --locked check "${checks[@]}"

step "shellcheck"
# Every shell script, by name or by its first line.
mapfile -t scripts < <(
    find . \( -path ./.git -o -path ./target -o -path ./results \) -prune -o -type f -print | sort |
        while IFS= read -r file; do
            case $file in
            *.sh) printf '%s\n' "$file" ;;
            *) if head -n 1 "$file" | head -c 64 | LC_ALL=C grep -aqE '^#!.*[/ ](ba|da)?sh( |$)'; then printf '%s\n' "$file"; fi ;;
            esac
        done
)
shellcheck --external-sources "${scripts[@]}"

printf '\nlint: everything is clean%s\n' "${advisories:-}"
