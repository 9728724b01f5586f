#!/bin/sh
# Runs once, when the database's volume is new: the role that the service logs in as, with nothing but the right to.
set -eu
secret="$(cat "${CUSTODY_SERVICE_PASSWORD_FILE:-/run/secrets/service}")"
[ -n "$secret" ] || { echo "the service's password is empty" >&2; exit 1; }
psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set secret="$secret" <<'SQL'
CREATE ROLE custody_login LOGIN PASSWORD :'secret';
SQL
