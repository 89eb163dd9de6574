# SPDX-License-Identifier: Apache-2.0
# The clients that the end-to-end tests of the server use: Python packages and a Node package, pinned in tests/e2e, and
# what drives a browser for those of the page, pinned in tests/web. Installed under build/clients and nowhere else.
# Sourced after lib.sh.
#
# They are no condition for a test run: what cannot be had is told, and the tests that need it are skipped by name.

clients_dir="$root/build/clients"

# clients_stamp FILE...: changes when one of them does.
clients_stamp() { cat "$@" | sha256sum | cut -d' ' -f1; }

# install_clients: PAWL_TEST_PYTHON is set to an interpreter that has the packages of tests/e2e/requirements.txt,
# PAWL_TEST_NODE to a folder with the node_modules of tests/e2e/node, and PAWL_TEST_WEB to one with those of tests/web,
# each only when it is there.
install_clients() {
  mkdir -p "$clients_dir" "$log_dir"
  unset PAWL_TEST_PYTHON PAWL_TEST_NODE PAWL_TEST_WEB
  if install_python_clients; then
    export PAWL_TEST_PYTHON="$clients_dir/python/bin/python3"
  else
    say "no Python clients, their tests are skipped ($log_dir/clients-python.log)"
  fi
  if install_node_packages node "$root/tests/e2e/node"; then
    export PAWL_TEST_NODE="$clients_dir/node"
  else
    say "no Node client, its tests are skipped ($log_dir/clients-node.log)"
  fi
  if ! install_browser; then
    say 'no Chromium, the tests of the page are skipped'
  elif install_node_packages web "$root/tests/web"; then
    export PAWL_TEST_WEB="$clients_dir/web"
  else
    say "nothing that drives a browser, the tests of the page are skipped ($log_dir/clients-web.log)"
  fi
}

has_browser() { command -v chromium >/dev/null || command -v chromium-browser >/dev/null; }

# install_browser: only where node can drive it, and where it is a package: on Ubuntu it is a snap.
install_browser() {
  if has_browser; then return 0; fi
  [ "$may_install" = yes ] && command -v npm >/dev/null || return 1
  case "$(distribution)" in debian*) ;; *) return 1 ;; esac
  [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null || return 1
  say 'to install with apt-get: chromium, for the tests of the page (80 MB)'
  agreed || return 1
  { apt_get update && apt_get install --no-install-recommends --no-remove chromium; } || return 1
  has_browser
}

# An interrupted installation has no stamp and is made again from nothing.
install_python_clients() {
  local folder="$clients_dir/python" wanted="$root/tests/e2e/requirements.txt" stamp
  stamp="$(clients_stamp "$wanted") $(python3 --version 2>&1)"
  if [ "$(cat "$folder/stamp" 2>/dev/null)" = "$stamp" ] && [ -x "$folder/bin/python3" ]; then
    return 0
  fi
  [ "$may_install" = yes ] || return 1
  say 'installing the Python clients of the tests (a minute) ...'
  rm -rf "$folder"
  {
    python3 -m venv "$folder" &&
      "$folder/bin/python3" -m pip install --disable-pip-version-check --no-input -r "$wanted"
  } >"$log_dir/clients-python.log" 2>&1 || return 1
  echo "$stamp" >"$folder/stamp"
}

# install_node_packages NAME FOLDER: build/clients/NAME gets the node_modules of FOLDER's package.json.
install_node_packages() {
  local folder="$clients_dir/$1" wanted=$2 log="$log_dir/clients-$1.log" stamp
  if ! command -v npm >/dev/null || ! command -v node >/dev/null; then
    echo 'node and npm are not installed' >"$log"
    return 1
  fi
  stamp="$(clients_stamp "$wanted/package.json" "$wanted/package-lock.json") $(node --version)"
  if [ "$(cat "$folder/stamp" 2>/dev/null)" = "$stamp" ] && [ -d "$folder/node_modules" ]; then
    return 0
  fi
  [ "$may_install" = yes ] || return 1
  say "installing the Node packages of ${wanted#"$root/"} ..."
  rm -rf "$folder"
  mkdir -p "$folder"
  cp "$wanted/package.json" "$wanted/package-lock.json" "$folder/"
  (cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund) >"$log" 2>&1 || return 1
  echo "$stamp" >"$folder/stamp"
}
