# Starts a command of a sandbox: joins the workspace's control groups, sets process limits, and executes the command.
# Usage: launch.sh FILE_KIB CPU_SECONDS MEMORY_KIB PROCESSES "GROUP FILE…" COMMAND…
# (0 for memory and processes: limited by a group; 0 for files: no file may be written, only removed)
#
# The pipes of the server are sockets, and opening /dev/stdout of a socket fails. So the command gets real pipes with a
# `cat` behind each. Each `cat` has a session of its own, so that killing the command does not lose its last output.
# Waits until a `cat` has its own session: before that, it would be killed together with the command.
wait_for_session() {
  local stat fields
  while read -r stat < "/proc/$1/stat"; do
    fields=(${stat##*) })
    [ "${fields[3]}" = "$1" ] && return
  done 2> /dev/null
}
if [ "$TALARIA_PIPES" = 1 ]; then
  exec 8>&1 9>&2
  exec 1> >(exec setsid cat >&8 3>&- 4<&- 5<&- 8>&- 9>&-)
  out=$!
  exec 2> >(exec setsid cat >&9 3>&- 4<&- 5<&- 8>&- 9>&-)
  err=$!
  exec 8>&- 9>&-
  wait_for_session $out
  wait_for_session $err
fi
unset TALARIA_PIPES
for group in $5; do echo $$ > "$group" || exit 125; done
ulimit -c 0
ulimit -f "$1"
# A write then fails with an error, and the commands after it run.
[ "$1" != 0 ] || trap '' XFSZ
ulimit -t "$2"
ulimit -n 4096
[ "$3" = 0 ] || ulimit -v "$3"
[ "$4" = 0 ] || ulimit -u "$4"
shift 5
exec "$@"
