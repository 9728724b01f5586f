# Record an event of git's hooks, without starting a program where that is possible.
# The lines in git's hooks set custody_event, custody_dir and perhaps custody_python, source this file, and exit.
# The time of the event is the file's modification time. Its last field shows that the file is complete.
set +eu
set -C
umask 077
custody_read=
if [ "$custody_event" = post-rewrite ]; then
    while IFS= read -r custody_line || [ -n "$custody_line" ]; do
        custody_read="$custody_read$custody_line
"
    done
fi
IFS= read -r custody_head <"${GIT_DIR:-.git}/HEAD" || custody_head=
case $custody_head in
"ref: "*) IFS= read -r custody_head <"${custody_dir%/custody}/${custody_head#ref: }" || custody_head= ;;
esac
case $custody_head in
"" | *[!0-9a-f]*) custody_head=$(git rev-parse --verify HEAD) ;;
esac
if [ -z "$custody_head" ] || ! cd -P . ||
    ! printf '%s\0' "custody-git 1" "$custody_event" "$custody_head" "$PWD" "$custody_read" \
        "CLAUDECODE=${CLAUDECODE-}" "CLAUDE_CODE_SESSION_ID=${CLAUDE_CODE_SESSION_ID-}" \
        "CODEX_THREAD_ID=${CODEX_THREAD_ID-}" "CURSOR_AGENT=${CURSOR_AGENT-}" \
        "GEMINI_CLI=${GEMINI_CLI-}" "OPENCODE=${OPENCODE-}" end \
        >"$custody_dir/spool/$custody_event-$custody_head-$$"; then
    # The spool does not exist yet, or it cannot be written: the recorder creates it, or finds another place.
    [ -x "${custody_python-}" ] || custody_python=python3
    printf '%s' "$custody_read" |
        "$custody_python" -I -S "$custody_dir/hook/record.py" --agent git --event "$custody_event" ||
        echo "git: the recorder could not be run" >>"$custody_dir/gaps"
fi
