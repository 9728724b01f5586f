#!/usr/bin/env bash
# The steps of action.yml: install custody beside the checkout, pull the evidence, judge, and report.
# Every value comes from the environment. No code of the checkout is run.
set -euo pipefail

fail() { echo "::error title=custody::$1"; exit 2; }

[[ "${CUSTODY_BASE:-}" =~ ^[0-9a-f]{40}([0-9a-f]{24})?$ ]] || fail "no base commit: run this on pull_request, or set 'base'"
[[ "${CUSTODY_HEAD:-}" =~ ^[0-9a-f]{40}([0-9a-f]{24})?$ ]] || fail "no head commit: run this on pull_request, or set 'head'"
[[ "${CUSTODY_FAIL_ON:-block}" =~ ^(block|nothing)$ ]] || fail "invalid 'fail-on': use 'block' or 'nothing'"
[[ "${CUSTODY_DISCLOSURE:-off}" =~ ^(off|report|require)$ ]] || fail "invalid 'disclosure': use 'off', 'report' or 'require'"

work="$(mktemp -d "${RUNNER_TEMP:-/tmp}/custody.XXXXXX")"
if [[ -n "${CUSTODY_PROGRAM:-}" ]]; then
  custody="$CUSTODY_PROGRAM"  # an installed program
else
  # -I: without it Python would import modules of the checkout first, and a change may add a 'venv.py'.
  "${CUSTODY_PYTHON:-python3}" -I -m venv "$work/venv"
  "$work/venv/bin/pip" install --quiet --disable-pip-version-check "$CUSTODY_ACTION"
  custody="$work/venv/bin/custody"
fi

for commit in "$CUSTODY_BASE" "$CUSTODY_HEAD"; do
  git cat-file -e "$commit^{commit}" 2>/dev/null || fail "commit $commit is not in the checkout: use actions/checkout with fetch-depth: 0"
done

if [[ -n "${CUSTODY_EVIDENCE:-}" ]]; then
  # Without a key of its own the runner would countersign with a new key in each run.
  countersign=(--no-countersign)
  if [[ -n "${CUSTODY_WITNESS_SECRET:-}" ]]; then
    (umask 077 && printf '%s\n' "$CUSTODY_WITNESS_SECRET" > "$work/witness_key")
    export CUSTODY_WITNESS_KEY="$work/witness_key"
    countersign=()
  fi
  unset CUSTODY_WITNESS_SECRET
  "$custody" pull "$CUSTODY_EVIDENCE" ${countersign[@]+"${countersign[@]}"} \
    || echo "::warning title=custody::some evidence was not pulled; the verdict lists what is missing"
  if [[ -n "${CUSTODY_WITNESS_KEY:-}" ]]; then rm -f -- "$work/witness_key"; unset CUSTODY_WITNESS_KEY; fi
fi

printf '%s\n\n%s\n' "${CUSTODY_TITLE:-}" "${CUSTODY_BODY:-}" > "$work/description"
range="$CUSTODY_BASE..$CUSTODY_HEAD"
judge() { "$custody" gate "$range" --description "$work/description" "$@"; }

# 0 and 1 are verdicts; any other status is an error and must not pass.
status=0
judge --json > "$work/verdict.json" || status=$?
[[ $status -le 1 ]] || fail "custody failed with exit status $status"
# The review may be uploaded for a comment, so it has no prompts that the base branch does not publish.
if "$custody" review "$range" --description "$work/description" --no-prompts --json > "$work/review.json"; then
  "$custody" review --from "$work/review.json" --format markdown >> "${GITHUB_STEP_SUMMARY:-/dev/stdout}" || true
  if [[ "${CUSTODY_ANNOTATIONS:-true}" == true ]]; then
    "$custody" review --from "$work/review.json" --format annotations || true
  fi
  echo "review=$work/review.json" >> "${GITHUB_OUTPUT:-/dev/stdout}"
else
  echo "::warning title=custody::the review could not be made; the verdict is in the outputs"
fi
if [[ -n "${CUSTODY_SARIF:-}" ]]; then
  rm -f -- "$CUSTODY_SARIF"  # the change may have added a link of that name
  judge --format sarif > "$CUSTODY_SARIF" || true
fi

level="$("${CUSTODY_PYTHON:-python3}" -I -c 'import json, sys; print(json.load(open(sys.argv[1]))["level"])' "$work/verdict.json")"
{ echo "level=$level"; echo "verdict=$work/verdict.json"; } >> "${GITHUB_OUTPUT:-/dev/stdout}"

undisclosed=0
if [[ "${CUSTODY_DISCLOSURE:-off}" != off ]]; then
  checked=0
  "$custody" trailer "$range" --check --json > "$work/trailers.json" || checked=$?
  [[ $checked -le 1 ]] || fail "custody failed to check trailers with exit status $checked"
  # Only missing trailers count: one without a record may be true, its work was recorded elsewhere or not at all.
  undisclosed="$("${CUSTODY_PYTHON:-python3}" -I "$CUSTODY_ACTION/action/disclosure.py" "$work/trailers.json" "$work/trailers.md")"
  cat "$work/trailers.md" >> "${GITHUB_STEP_SUMMARY:-/dev/stdout}"
  echo "undisclosed=$undisclosed" >> "${GITHUB_OUTPUT:-/dev/stdout}"
  if [[ "$undisclosed" -gt 0 ]]; then
    kind=warning
    if [[ "$CUSTODY_DISCLOSURE" == require ]]; then kind=error; fi
    echo "::$kind title=custody::commits without the trailers that records support: $undisclosed (see the summary)"
  fi
fi
if [[ "${CUSTODY_FAIL_ON:-block}" == block && $status -eq 1 ]]; then
  exit 1
fi
if [[ "${CUSTODY_DISCLOSURE:-off}" == require && "$undisclosed" -gt 0 ]]; then
  exit 1
fi
