# Supervises one job. It outlives the server that started it, so its state is in files of its folder: stat and boot
# (identity of this process), child (process group of the command), out, exit (the code, written by renaming; 124 on
# timeout, and the reason if the job did not end by itself).
# Usage: job.sh FOLDER SECONDS OUTPUT_BYTES EVENTS COMMAND…     descriptors of the command: 4 its text, 5 its options
# EVENTS: the file that counts the processes of the workspace which were killed for lack of memory, or empty
folder=$1 seconds=$2 bytes=$3 events=$4
shift 4
memory_kills() { [ -z "$events" ] || grep -hs '^oom_kill ' "$events"; }
kills=$(memory_kills)
exec 4< "$folder/command" 5< "$folder/options"
rm -f "$folder/command" "$folder/options"
read -r boot < /proc/sys/kernel/random/boot_id
echo "$boot" > "$folder/boot"
# A process must keep the other end of its input open, else the input would end at once.
mkfifo -m 600 "$folder/in"
( exec 4<&- 5<&-; exec sleep "$seconds" > "$folder/in" ) &
holder=$!
exec 0< "$folder/in"
echo $holder > "$folder/holder"
exec 6> >(exec 4<&- 5<&-; dd bs=65536 count="$bytes" iflag=count_bytes of="$folder/out" status=none; exec cat > /dev/null)
sink=$!
# Without 0<&0 a background command would read from /dev/null.
setsid "$@" 0<&0 >&6 2>&6 6>&- &
child=$!
echo $child > "$folder/child"
exec 6>&- 4<&- 5<&- 0< /dev/null
# A session of its own, so that the shell and its `sleep` end together.
setsid /bin/bash -c 'sleep "$1"; : > "$3/timeout"; kill -KILL -- "-$2"' timer "$seconds" $child "$folder" 2> /dev/null &
timer=$!
read -r stat < /proc/$$/stat
echo "$stat" > "$folder/stat.new"
mv "$folder/stat.new" "$folder/stat"
# Not `wait -n`: it misses a child that ended before.
wait $child
code=$?
reason=
[ $code = 137 ] && [ "$(memory_kills)" != "$kills" ] && reason=' memory'
[ -e "$folder/timeout" ] && code=124 reason=' timeout'
# Also kills remaining processes of the command. The id of its group cannot be reused while one of them lives.
kill -KILL -- -$child 2> /dev/null
kill -KILL -- $timer -$timer $holder 2> /dev/null
wait $sink
echo "$code$reason" > "$folder/exit.new"
mv "$folder/exit.new" "$folder/exit"
