#!/usr/bin/env bash
# Write the one comment on a pull request from a folder that another run uploaded: 'review.json' and 'number'.
# The files are hostile. Every other value comes from the environment of this run; no code of the change is here.
set -euo pipefail

fail() { echo "::error title=custody::$1"; exit 2; }

folder="${1:?the folder with review.json and number}"
action="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)"
[[ "${CUSTODY_HEAD:-}" =~ ^[0-9a-f]{40}([0-9a-f]{24})?$ ]] || fail "no head commit: run this on workflow_run"
[[ -n "${CUSTODY_REPOSITORY:-}" ]] || fail "no repository: set CUSTODY_REPOSITORY"
[[ -n "${CUSTODY_TOKEN:-}" ]] || fail "no token: set CUSTODY_TOKEN"
[[ -f "$folder/number" && ! -L "$folder/number" ]] || fail "no number of a pull request was uploaded"
[[ -f "$folder/review.json" && ! -L "$folder/review.json" ]] || fail "no review was uploaded"
number="$(head -c 12 -- "$folder/number" | tr -d '\r\n')"
[[ "$number" =~ ^[1-9][0-9]{0,8}$ ]] || fail "the uploaded number is not a number"

work="$(mktemp -d "${RUNNER_TEMP:-/tmp}/custody.XXXXXX")"
trap 'rm -rf -- "$work"' EXIT
if [[ -n "${CUSTODY_PROGRAM:-}" ]]; then
  custody="$CUSTODY_PROGRAM"  # an installed program
else
  "${CUSTODY_PYTHON:-python3}" -I -m venv "$work/venv"
  "$work/venv/bin/pip" install --quiet --disable-pip-version-check "$action[server]"
  custody="$work/venv/bin/custody"
fi
(umask 077 && printf '%s\n' "$CUSTODY_TOKEN" > "$work/token")
unset CUSTODY_TOKEN
export CUSTODY_GITHUB_TOKEN_FILE="$work/token" CUSTODY_GITHUB_API="${CUSTODY_GITHUB_API:-${GITHUB_API_URL:-https://api.github.com}}"
"$custody" github comment "$folder/review.json" --repository "$CUSTODY_REPOSITORY" --pull "$number" --head "$CUSTODY_HEAD"
