#!/usr/bin/env bash
# A study on the real server, killed with kill -9 at ten random moments and resumed each time: no finished trial may be lost
# or run again, nothing may be left running, and the study must complete. Prints one line of JSON; exit 1 where it failed.
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

say() { printf 'killed: %s\n' "$*" >&2; }
ended() { jq -s '[.[] | select(.event == "trial-ended") | .trial] | length' "$folder/$name.events"; }

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
    "$bin" tune "$file" --results "$folder" --shared-host --json >"$folder/$name.part" &
    noctune=$!
    if [ "$kills" -lt 10 ]; then
        # The first three soon, so that the baseline is hit too; then up to 36 seconds, two or three trials.
        span=34
        if [ "$kills" -lt 3 ]; then span=8; fi
        sleep "$((RANDOM % span + 2)).$((RANDOM % 10))"
        if kill -9 "$noctune" 2>/dev/null; then
            wait "$noctune" 2>/dev/null || true
            kills=$((kills + 1))
            sleep 1
            remaining=$(left)
            cat "$folder/$name.part" >>"$folder/$name.events"
            stages+=("$(jq -rs '[.[] | select(.event == "trial-started")] | last | .job.purpose // "set-up"' "$folder/$name.part" 2>/dev/null || echo unknown)")
            say "kill $kills in ${stages[-1]}, $(ended) trials ended, left running: ${remaining:-nothing}"
            if [ -n "$remaining" ]; then
                say "FAILED: processes are left"
                exit 1
            fi
            continue
        fi
    fi
    wait "$noctune" || code=$?
    cat "$folder/$name.part" >>"$folder/$name.events"
    break
done

stored=$("$bin" report "$name" --results "$folder" --json | jq '.trials.ended')
told=$(ended)
twice=$(jq -s '[.[] | select(.event == "trial-ended") | .trial] | group_by(.) | map(select(length > 1)) | length' "$folder/$name.events")
say "exit $code after $kills kills; $stored trials stored, $told told of, $twice run twice; left: $(left)"
jq -cn --arg at "$(date -u +%Y-%m-%dT%H:%M:%SZ)" --argjson seed "$seed" --argjson kills "$kills" --argjson code "$code" \
    --argjson stored "$stored" --argjson told "$told" --argjson twice "$twice" \
    '{part: "killed", at: $at, seed: $seed, kills: $kills, stages: $ARGS.positional, exit_code: $code, stored: $stored, told: $told, twice: $twice}' \
    --args "${stages[@]}"
{ [ "$code" = 0 ] || [ "$code" = 4 ]; } && [ "$twice" = 0 ] && [ "$stored" -ge "$told" ] && [ -z "$(left)" ]
