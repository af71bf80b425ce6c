#!/usr/bin/env bash
# A study on the real server, killed with kill -9 at ten random moments and resumed each time: no finished trial may be lost
# or run again, nothing may be left running, and the study must complete. Prints one line of JSON; exit 1 where it failed.
#
# The first kill comes at any moment of the set-up; then three each in the baseline, the search and the confirmation, up to 7
# seconds (about a trial) after a trial of that stage began.
#
#   scripts/evidence/killed.sh BINARY FOLDER SEED
set -euo pipefail

bin=$1 folder=$2 seed=$3
name=killed-$seed
RANDOM=$seed
mkdir -p "$folder/files"
file=$folder/files/$name.toml
sed -e "s/^name = .*/name = \"$name\"/" -e "s/^seed = .*/seed = $seed/" \
    -e 's/^options = .*/options = { tables = 2, table-size = 20000, rand-type = "uniform" }/' \
    -e 's/^warmup = .*/warmup = "2s"/' -e 's/^measure = .*/measure = { min = "4s", max = "4s" }/' \
    -e 's/^time = .*/time = "20m"\ntrials = 24\npatience = false/' examples/quick.toml >"$file"
study=$(realpath -m "$folder/$name")
# Purposes of the trials to be killed in; the last is what the study's own end finds.
plan=(any baseline baseline baseline explore explore explore pair pair pair)

say() { printf 'killed: %s\n' "$*" >&2; }
# The events of all runs so far; what a killed run wrote last may be half a line.
events() { grep -h '}$' "$folder/$name.events" "$folder/$name.part" 2>/dev/null || true; }
ended() { events | jq -s '[.[] | select(.event == "trial-ended") | .trial] | unique | length'; }
# The purpose of the trial that runs now.
stage() { jq -rs '[.[] | select(.event == "trial-started")] | last | .job.purpose // "set-up"' 2>/dev/null <"$folder/$name.part" || echo unknown; }

# Processes that work for this study: their arguments, or the folder they stand in, name it.
left() {
    local process
    for process in /proc/[0-9]*; do
        [ "${process#/proc/}" != "$$" ] || continue
        if tr '\0' ' ' 2>/dev/null <"$process/cmdline" | grep -qF "$study/" ||
            [[ $(readlink "$process/cwd" 2>/dev/null || true) == "$study"/* ]]; then
            printf '%s\n' "${process#/proc/}"
        fi
    done
}

rm -rf -- "${study:?}"
: >"$folder/$name.events"
kills=0
stages=()
code=0
while :; do
    : >"$folder/$name.part"
    "$bin" tune "$file" --results "$folder" --shared-host --json >"$folder/$name.part" &
    noctune=$!
    if [ "$kills" -lt "${#plan[@]}" ]; then
        wanted=${plan[$kills]}
        while [ "$wanted" != any ] && kill -0 "$noctune" 2>/dev/null && [ "$(stage)" != "$wanted" ]; do
            sleep 0.2
        done
        sleep "$((RANDOM % 7)).$((RANDOM % 10))"
        if kill -9 "$noctune" 2>/dev/null; then
            wait "$noctune" 2>/dev/null || true
            kills=$((kills + 1))
            sleep 1
            remaining=$(left)
            stages+=("$(stage)")
            cat "$folder/$name.part" >>"$folder/$name.events"
            : >"$folder/$name.part"
            say "kill $kills in ${stages[-1]}, $(ended) trials ended, left running: ${remaining:-nothing}"
            if [ -n "$remaining" ]; then
                say "FAILED: processes are left"
                exit 1
            fi
            continue
        fi
    fi
    wait "$noctune" || code=$?
    break
done

stored=$("$bin" report "$name" --results "$folder" --json | jq '.trials.ended')
told=$(ended)
twice=$(events | jq -s '[.[] | select(.event == "trial-ended") | .trial] | group_by(.) | map(select(length > 1)) | length')
say "exit $code after $kills kills; $stored trials stored, $told told of, $twice run twice; left: $(left)"
jq -cn --arg at "$(date -u +%Y-%m-%dT%H:%M:%SZ)" --argjson seed "$seed" --argjson kills "$kills" --argjson code "$code" \
    --argjson stored "$stored" --argjson told "$told" --argjson twice "$twice" \
    '{part: "killed", at: $at, seed: $seed, kills: $kills, stages: $ARGS.positional, exit_code: $code, stored: $stored, told: $told, twice: $twice}' \
    --args "${stages[@]}"
{ [ "$code" = 0 ] || [ "$code" = 4 ]; } && [ "$kills" -ge 10 ] && [ "$twice" = 0 ] && [ "$stored" -ge "$told" ] && [ -z "$(left)" ]
