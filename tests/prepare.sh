#!/bin/sh
# Installs what the browser, Spark and Postgres tests need, where this machine allows it. Never fails: what stays
# missing is named here, and its tests are skipped by name.

missing() {
    command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 ||
        command -v google-chrome >/dev/null 2>&1 || printf ' chromium'
    command -v java >/dev/null 2>&1 || printf ' default-jre-headless'
    ls /usr/lib/postgresql/*/bin/pg_ctl >/dev/null 2>&1 || printf ' postgresql'
}

wanted=$(missing)
if [ -n "$wanted" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "prepare: installing$wanted"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >/dev/null 2>&1
    for package in $wanted; do
        apt-get install -y -qq --no-install-recommends "$package" >/dev/null 2>&1
    done
fi

wanted=$(missing)
[ -z "$wanted" ] || echo "prepare: not on this machine, tests that need it are skipped by name:$wanted"
exit 0
