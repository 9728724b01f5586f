#!/bin/sh
# Runs once, for a new database volume: creates the login role of the service, without further rights.
set -eu
secret="$(cat "${CUSTODY_SERVICE_PASSWORD_FILE:-/run/secrets/service}")"
[ -n "$secret" ] || { echo "the password of the service is empty" >&2; exit 1; }
psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set secret="$secret" <<'SQL'
CREATE ROLE custody_login LOGIN PASSWORD :'secret';
SQL
