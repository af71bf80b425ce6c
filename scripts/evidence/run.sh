#!/usr/bin/env bash
# What the README claims, measured again on this host. Each part takes at most 25 minutes, is resumable (run it again after
# an interruption) and appends one line of JSON to results/evidence/.
#
#   scripts/evidence/run.sh               list the parts
#   scripts/evidence/run.sh PART [SEED]   run one
#
# Nothing else should run on the host meanwhile: the figures of two parts are comparable only as ratios within each part.
set -euo pipefail

cd "$(dirname "$0")/../.."

BIN=${NOCTUNE_BIN:-target/release/noctune}
OUT=results/evidence
WORK=${NOCTUNE_EVIDENCE_WORK:-results/evidence-studies}

fail() {
    printf 'evidence: %s\n' "$1" >&2
    exit 2
}

# finished PART NAME CODE: appends the report of a finished study, its exit code first.
finished() {
    "$BIN" report "$2" --results "$WORK" --json |
        jq -c --arg part "$1" --arg at "$(date -u +%Y-%m-%dT%H:%M:%SZ)" --argjson code "$3" \
            '{part: $part, at: $at, exit_code: $code} + del(.configurations, .warnings)' >>"$OUT/$1.jsonl"
    tail -n 1 "$OUT/$1.jsonl" |
        jq -r '"\(.part): exit \(.exit_code); over the baseline \(.over_baseline | if . then "\(.point) [\(.low), \(.high)]" else "not confirmed" end); \(.trials.ended) trials in \(.seconds / 60 | floor) min; overhead \(.overhead_seconds) s"'
}

# tune PART NAME FILE: runs or resumes a study and notes what came of it. Exit 4 (no gain above the threshold) is a finding.
tune() {
    local code=0
    "$BIN" tune "$3" --results "$WORK" || code=$?
    case $code in
    0 | 4) finished "$1" "$2" "$code" ;;
    *) exit "$code" ;;
    esac
}

# study FROM NAME SEED: a copy of an example under another name and seed, beside its my.cnf.
study() {
    mkdir -p "$WORK/files"
    cp examples/*.cnf "$WORK/files/"
    sed -e "s/^name = .*/name = \"$2\"/" -e "s/^seed = .*/seed = $3/" "examples/$1.toml" >"$WORK/files/$2.toml"
}

# The study of `make tune`.
part_quick() {
    study quick "quick-$1" "$1"
    tune quick "quick-$1" "$WORK/files/quick-$1.toml"
}

# The search without its first guess, from a my.cnf with planted mistakes.
part_planted() {
    study planted-bad "planted-$1" "$1"
    tune planted "planted-$1" "$WORK/files/planted-$1.toml"
}

# What undoing the planted mistakes gains, in pairs: to the server's defaults, and to what an expert would write.
undone() { # undone NAME CANDIDATE
    study planted-bad "$1" 1
    sed -i 's/^time = .*/time = "25m"\ntrials = 14\npatience = false/' "$WORK/files/$1.toml"
    printf '\n[[candidate]]\n%s\n' "$2" >>"$WORK/files/$1.toml"
    tune undone "$1" "$WORK/files/$1.toml"
}
part_undone_defaults() {
    undone "undone-defaults" 'innodb_buffer_pool_size = "128M"
innodb_log_file_size = "96M"
innodb_io_capacity = 200
innodb_max_dirty_pages_pct = 90'
}
part_undone_expert() {
    undone "undone-expert" 'innodb_buffer_pool_size = "4G"
innodb_log_file_size = "1G"
innodb_io_capacity = 2000
innodb_max_dirty_pages_pct = 90'
}

# kill -9 of a study with the real server and load at ten random moments.
part_killed() {
    scripts/evidence/killed.sh "$BIN" "$WORK" "$1" >>"$OUT/killed.jsonl"
    tail -n 1 "$OUT/killed.jsonl"
}

part=${1:-}
if [ -z "$part" ]; then
    declare -F | sed -n 's/^declare -f part_//p' | tr _ -
    exit
fi
declare -F "part_${part//-/_}" >/dev/null || fail "no part '$part'; run without arguments for the list"
[[ ${2:-1} =~ ^[0-9]+$ ]] || fail "the seed is a number, not '$2'"
command -v jq >/dev/null || fail "jq is missing (scripts/setup.sh dev installs it)"
[ -x "$BIN" ] || fail "$BIN is missing (cargo build --locked --release)"
mkdir -p "$OUT" "$WORK"
"part_${part//-/_}" "${2:-1}"
