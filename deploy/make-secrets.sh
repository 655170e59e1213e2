#!/bin/sh
# Makes the passwords and addresses that compose.yaml reads, once; what is there stays.
# The directory is closed to others; the files are open inside it, so that the containers' users can read them.
set -eu

place=${1:-"$(dirname "$0")/secrets"}
mkdir -p "$place"
chmod 700 "$place"

keep() {
    [ -s "$place/$1" ] || printf '%s' "$2" >"$place/$1"
    chmod 644 "$place/$1"
}
random() {
    od -An -N32 -tx1 /dev/urandom | tr -d ' \n'
}

keep postgres_password "$(random)"
keep owner_password "$(random)"
keep service_password "$(random)"
keep mnemic_migration_url "postgresql://mnemic_owner:$(cat "$place/owner_password")@postgres:5432/mnemic"
keep mnemic_database_url "postgresql://mnemic_service:$(cat "$place/service_password")@postgres:5432/mnemic"
