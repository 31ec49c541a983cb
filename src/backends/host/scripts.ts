/**
 * Builds the bash scripts that implement a backend on a host with GNU tools. They expect that `exit` ends the vendor's
 * shell session, that children keep pipes open, that output may not be UTF-8, and that tools have no output limit.
 * Results are lines of base64.
 */

import type { FileLink } from '#agent/core/backend.ts'
import { decodeBase64Bytes } from '#agent/core/base64.ts'

/** Quotes any text as one word of the shell. */
export const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** Exit code on a host that is not prepared; nothing of the script has run. */
export const unpreparedCode = 96
/** Exit code when the workspace was removed; nothing of the script has run. */
export const noWorkspaceCode = 92
/** Exit code when the working directory does not exist. */
export const noDirectoryCode = 95

export type HostFolders = { readonly state: string; readonly root: string }

/**
 * A script's name for a folder in memory, for use when the disk is full. The dot protects it from commands that empty the folder
 * beside it.
 */
const memoryFolder = '/dev/shm/.talaria-'

/**
 * Creates the folder `$1` as a link to memory, where a write has to succeed. Fails when the folder exists. A disk without
 * place for the link gets it from files that are kept for this case.
 */
export const inMemory = `inMemory() { local m=${memoryFolder}\${1##*/} s=\${1%/*}/spare
[ ! -e "$1" ] && [ ! -L "$1" ] && mkdir -m 700 "$m" || return 1
printf %4096s > "$m/out" && { ln -sT "$m" "$1" || { rm -rf "$s"; ln -sT "$m" "$1"; }; } && return; rm -rf "$m"; return 1; } 2>/dev/null
`
const keepSpare = (state: string): string =>
  `[ -d ${state}/spare ] || { mkdir ${state}/spare && for i in 1 2 3 4; do printf %4096s > ${state}/spare/$i; done; } 2>/dev/null`

/** Removes folders, and the memory that they link to. */
export const removeFolders = (paths: readonly string[]): string =>
  `rm -rf ${paths.flatMap((path) => [path, memoryFolder + path.slice(path.lastIndexOf('/') + 1)].map(quote)).join(' ')}`

/** Deletes what scripts have left in memory that ended with their object. */
export const cleanMemory = `find ${memoryFolder.slice(0, memoryFolder.lastIndexOf('/'))} -maxdepth 1 -name '.talaria-*' -mmin +1440 -exec rm -rf {} + 2>/dev/null`

/** The default folder of our own files: commands often empty `/tmp` and the workspace, but not what lies beside it. */
export const stateBeside = (root: string): string => `${root.slice(0, root.lastIndexOf('/'))}/.talaria`

/** Removes what a command has put in the place of our records: a pipe would block each script that opens it. */
const keepRecords = `for k in "$S"/{boot,inode,note,restored}; do [ ! -e "$k" ] || [ -f "$k" ] || rm -rf -- "$k"; done 2>/dev/null`

/**
 * Runs the script only on a prepared host: on a new one the workspace may have to be restored first. A command may have taken
 * away the permissions of the workspace, in which no other command could start then, or removed the temporary folder, without
 * which many programs fail.
 */
export const requirePrepared = (
  { state, root, temporary }: HostFolders & { readonly temporary: string },
  script: string,
): string =>
  `S=${quote(state)}; R=${quote(root)}; ${keepRecords}
[ -d ${quote(temporary)} ] || mkdir -m 1777 -- ${quote(temporary)} 2>/dev/null
[ -e "$S/boot" ] || exit ${unpreparedCode}
[ -d "$R" ] || exit ${noWorkspaceCode}
{ [ -r "$R" ] && [ -w "$R" ] && [ -x "$R" ]; } || chmod u+rwx "$R" 2>/dev/null
${script}`

/**
 * Defines \`findFolder\`, which puts the path of a folder, by its device and inode, into \`m\`: by the processes that work
 * there or have it open, which also know that it was removed, and of which any may have ended meanwhile, then by two
 * searches that take at most \`$2\` seconds each. A path is read up to NUL, because a name may end in a newline, and
 * again when the folder is moved at this moment.
 */
const findFolder = `pathOf() { local k; for k in 1 2 3; do IFS= read -rd '' m < <(readlink -z "$1") && [ "$m" -ef "$1" ] && return; done; m=; }
searchFolder() { IFS= read -rd '' m < <(timeout "$2" find / "\${@:3}" '(' -path /proc -o -path /sys -o -path /dev ')' -prune -o -type d -inum "\${1#*:}" -printf '%D:%i %p\\0' | grep -zm 1 "^$1 "); m=\${m#* }; [ "$m" ]; }
findFolder() { local f; m=
while read -r _ f; do pathOf "$f"; [ ! "$m" ] && [ ! -e "$f" ] || return 0; done < <(stat -L -c '%d:%i %n' /proc/[0-9]*/cwd /proc/[0-9]*/fd/* | grep "^$1 ")
searchFolder "$1" "$2" -maxdepth 4 || searchFolder "$1" "$2"; } 2>/dev/null
`

/**
 * Defines functions about a workspace \`$R\` that was moved to another name. Only the workspace is saved, so it is moved
 * back, and a link is left at the other name: both names work, and a process in the folder goes on in the workspace.
 * \`returnWorkspace\` takes the other name and the inode, and is true when it has moved it. The file \`$S/inode\` has device
 * and inode of the workspace, the start of the host, after which these numbers may be others, and the birth time of the
 * folder; then the folder that the workspace leads to, if it is a link.
 *
 * Several scripts may do this at once. What they do fails if another one was faster: only a folder can be moved from a
 * name with a slash at its end, only an empty or missing folder is replaced by one, and a file is never replaced by a
 * folder. So \`moveAside\` moves all but folders. The record is written over in one call: it is never seen half or empty.
 */
export const movedWorkspace = `hostStart() { local l= b= a; { read -r l < /proc/1/stat; read -r b < /proc/sys/kernel/random/boot_id; } 2>/dev/null; a=(\${l##*) }); echo "$b:\${a[19]}"; }
noteWorkspace() { local s l=; s=$(stat -L -c "%d:%i $(hostStart) %w" -- "$R") || return; [ ! -L "$R" ] || IFS= read -rd '' l < <(readlink -zf -- "$R"); printf '%-127s\\n%s\\0' "$s" "$l" 1<> "$S/inode"; } 2>/dev/null
moveAside() { local x; [ ! -d "$R" ] && { [ -e "$R" ] || [ -L "$R" ]; } || return 0
x=$(mktemp "$R.moved-$(date +%s)-XXXXXX") || { rm -rf "$S/spare"; x=$(mktemp "$R.moved-$(date +%s)-XXXXXX"); } || return
mv -fT -- "$R" "$x" || { rm -f -- "$x"; [ -d "$R" ] || { [ ! -e "$R" ] && [ ! -L "$R" ]; }; }; } 2>/dev/null
returnWorkspace() { [ "$(stat -c %d:%i -- "$1")" = "$2" ] && moveAside && mv -fT -- "$1/" "$R" || return
[ "$(stat -c %d:%i -- "$R")" = "$2" ] || { mv -fT -- "$R/" "$1"; return 1; }
ln -sT -- "$R" "$1" || :; } 2>/dev/null
${findFolder}findWorkspace() { local i m l k; for k in 1 2 3; do { read -r i m && IFS= read -rd '' l; } < "$S/inode"; [ "$i" ] || return
findFolder "$i" 20; [ ! -d "$R" ] || return 0
[ "$m" ] && [ "$m" != "$l" ] || break
! returnWorkspace "$m" "$i" || { printf '%s\\n' "$m"; return 0; }; done
[ -d "$R" ] || rm -f "$S/inode"; } 2>/dev/null
`

/** Printed when a workspace was created. Other names of a workspace begin with a slash. */
export const madeWord = 'made'

/**
 * Prints the other name of a workspace that was moved back, or that it was created. The content of the file \`boot\` is different on every host. A file
 * in place of the workspace is moved beside it.
 */
export const prepare = ({ state, root }: HostFolders): string =>
  `${movedWorkspace}S=${quote(state)}; R=${quote(root)}
[ -d "$R" ] || findWorkspace
moveAside || exit 1
[ -d "$S" ] || rm -f -- "$S"; mkdir -p "$S" "\${R%/*}/" && chmod 700 "$S" || exit 1
if mkdir "$R" 2>/dev/null; then echo ${madeWord}; rm -f "$S/inode"; else [ -d "$R" ] || exit 1; fi
[ -e "$S/boot" ] || { cat /proc/sys/kernel/random/uuid > "$S/boot.new" && mv "$S/boot.new" "$S/boot"; } || exit 1
[ -s "$S/inode" ] && [ ! -e "$S/restored" ] || noteWorkspace; rm -f "$S/restored"; ${keepSpare('"$S"')}; :`

export const returnedNote = (root: string, name: string): string =>
  `[The workspace ${root} had been moved to ${name}. Only ${root} is saved, so it was moved back; ${name} is a link to it.]`

const replacedNote =
  '[The workspace %s had been moved to %s, and another folder is in its place. Only %s is saved: move files back that are needed.]'

/** Seconds of a search at the end of a command, which has a time limit. */
const searchSeconds = 5

/**
 * Follows the workspace while a command or a job runs, by an open descriptor, which shows where it is now, and without a
 * search that it was removed. \`followEnd\` adds a note to the files after its first argument, once for each move. With
 * \`search\` it also finds a workspace that something else has replaced, such as a job that still runs.
 */
const followWorkspace = `exec {g}<"$R"
followEnd() { local i h b l n= w m=
{ read -r i h b; IFS= read -rd '' l; } < "$S/inode"; [ ! -d "$R" ] || read -r n w <<< "$(stat -L -c '%d:%i %w' -- "$R")"
[ "$n" != "$i" ] || return
if [ "$(stat -L -c %d:%i /proc/self/fd/$g)" = "$i" ]; then pathOf /proc/$BASHPID/fd/$g
elif [ "$1" != search ] || [ -z "$n" ]; then return
elif [ -n "$i" ] && [ "$h" = "$(hostStart)" ] && { [ "$b" = - ] || [ "$b" != "$w" ]; }; then findFolder "$i" ${searchSeconds}; fi
[ "$m" != "$l" ] || m=
if [ -n "$n" ]; then noteWorkspace; [ -n "$m" ] && [[ $m/ != "$(readlink -f -- "$R")"/* ]] && printf '${replacedNote}\\n' "$R" "$m" "$R" | tee -a -- "\${@:2}"
elif [ -n "$m" ]; then ! returnWorkspace "$m" "$i" || printf '${returnedNote('%s', '%s')}\\n' "$R" "$m" "$R" "$m" | tee -a -- "\${@:2}"
elif [ ! -d "$R" ]; then rm -f "$S/inode"; fi; } > /dev/null 2>&1
`

/**
 * Prints `live` when the workspace has files. With the time of its last copy (seconds since 1970), something has to have
 * changed since then and since the host started: files of the image are older. Prints the outcome of a restore that has
 * ended on this host, otherwise `stale`.
 */
export const judgeWorkspace = ({ state, root }: HostFolders, copiedAt?: string): string => {
  const judge = `S=${quote(state)}; R=${quote(root)}
d=; { d=$(<"$S/restored"); } 2>/dev/null
case $d in restored | older) echo "$d"; exit 0 ;; esac
[ ! -e "$S/restoring" ] && [ -n "$(find -H "$R" -mindepth 1 -print -quit 2>/dev/null)" ] || { echo stale; exit 0; }`
  if (copiedAt === undefined) return `${judge}\necho live`
  return `${judge}
t=${copiedAt}; b=0; a=(); { read -r s < /proc/1/stat && a=(\${s##*) }); b=$(grep ^btime /proc/stat); } 2>/dev/null
u=$(( \${b#btime } + \${a[19]:-0} / 100 )); [ "$u" -le "\${t%.*}" ] || t=$u
[ -n "$(find -H "$R" '(' -newermt "@$t" -o -newerct "@$t" ')' -print -quit 2>/dev/null)" ] && echo live || echo stale`
}

export type CommandScript = {
  /** A folder for this call alone. */
  readonly at: string
  readonly command: string
  readonly cwd: string
  /** Export statements, or a statement that reads them from a file. */
  readonly exports: string
  readonly stdin: string
  readonly timeoutMs: number
  readonly maxOutput: number
}

type ScriptVariables = Readonly<Record<string, string>>

export const exportStatements = (env: ScriptVariables): string =>
  Object.entries(env)
    .map(([name, value]) => `export ${name}=${quote(value)}`)
    .join('\n')

/** Marks a process and all that it starts: children in another process group or session inherit the variable. */
const scopeOf = (at: string): string => `${scopeVariable}=${quote(at)}`
export const scopeVariable = 'TALARIA_SCOPE'

/**
 * Marks a process in a way that clearing the environment, closing descriptors and the end of the parent do not undo: Linux
 * ignores the limit of file locks, and every child inherits it. The mark is a hash of the folder, far above any real limit.
 */
const markLimit = (at: string): string => `ulimit -x ${markOf(at)} 2>/dev/null`
const markOf = (at: string): bigint => {
  let hash = 0xcbf29ce484222325n
  for (const byte of new TextEncoder().encode(at)) hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & (2n ** 64n - 1n)
  return 2n ** 62n + (hash & (2n ** 62n - 1n))
}

/** The arguments of `killScope`: the value of the variable and the mark. */
const scopeArguments = (at: string): string => `${quote(at)} ${markOf(at)}`

/**
 * Defines two functions. `killScope` sends a signal to all processes of a scope and their children, and repeats SIGKILL until
 * none is left. It finds a child that has removed both marks as long as its parent lives. `endScope` stops the process
 * group of the command first, so that it does not go on while its children are killed.
 */
const killScope = `killScope() { local i f l p q pids; local -A parent found
for i in 1 2 3 4 5 6 7 8; do
  parent=(); found=(); pids=()
  for f in $(grep -lzxF -e "${scopeVariable}=$1" /proc/[0-9]*/environ 2>/dev/null; grep -l "^Max file locks  *$2 " /proc/[0-9]*/limits 2>/dev/null); do f=\${f#/proc/}; found[\${f%%/*}]=1; done
  [ \${#found[@]} != 0 ] || return 0
  for f in /proc/[0-9]*/stat; do { read -r l < $f; } 2>/dev/null || continue; p=(\${l##*) }); [ \${p[0]} != Z ] || { unset "found[\${l%% *}]"; continue; }; parent[\${l%% *}]=\${p[1]}; done
  for q in "\${!parent[@]}"; do
    for ((p = q; p > 1; p = parent[$p])); do [ -z "\${found[$p]}" ] || { pids+=($q); break; }; [ -n "\${parent[$p]}" ] || break; done
  done
  [ \${#pids[@]} != 0 ] || return 0
  kill -$3 "\${pids[@]}" 2>/dev/null
  [ $3 = KILL ] || return 0
done; }
endScope() { kill -STOP -- -$3 2>/dev/null; killScope "$1" $2 KILL; kill -KILL -- -$3 2>/dev/null; }
`

/**
 * Kills a scope after a time. `timeout` would kill the command first, and with it the trace to a child that has cleared its
 * environment. The timer is a process group of its own.
 */
const startTimer = (at: string, timeoutMs: number): string =>
  `{ sleep ${timeoutMs / 1000}; : > ${quote(at)}/late; endScope ${scopeArguments(at)} $p; } > /dev/null 2>&1 < /dev/null & w=$!`

/** A timer that kills ends before the script goes on. */
const stopTimer = (at: string): string => `[ -e ${quote(at)}/late ] && wait $w; kill -KILL -- -$w 2>/dev/null`

/** A longer list of variables is truncated. */
const maxVariablesBytes = 256 * 1024

/**
 * Runs a command to its end and prints lines: exit code, milliseconds and sizes of both streams; then of each stream
 * head and tail in base64 and, if it is truncated, its number of line ends; then in base64 the last working directory with
 * the exported variables, and the variables before. Output goes to files, so that a background child cannot block the
 * call. It has a process group of its own, which is killed at the end. A command that is killed takes everything with it
 * that it started. The trap works with any options, aliases, functions and variables of the command. Each program that
 * the script runs makes every command slower, so there are few.
 */
export function runCommand({ at, command: text, cwd, exports, stdin, timeoutMs, maxOutput }: CommandScript): string {
  const inner = [
    markLimit(at),
    `trap '{ \\builtin set +ex -- "$?"; } 2>/dev/null; { \\builtin pwd -P || \\builtin echo; \\builtin command env -0; } >| ${at}/end 2>/dev/null; \\builtin exit "$1"' EXIT`,
    exports,
    `cd -- ${quote(cwd)} 2>/dev/null || { trap - EXIT; exit ${noDirectoryCode}; }`,
    `env -0 > ${at}/begin`,
    `eval ${quote(text)}`,
  ].join('\n')
  const half = Math.ceil(maxOutput / 2)
  return `${killScope}${inMemory}${movedWorkspace}${followWorkspace}D=${quote(at)}; mkdir -p "$D" 2>/dev/null
[ -e "$D/stop" ] && { rm -rf "$D"; exit 0; }
canWrite() { printf %65536s > "$D/$1" && : > "$D/$1"; } 2>/dev/null
isFull() { ! { : > "$D/out" && : > "$D/err" && : > "$D/begin" && : > "$D/end" && canWrite full; } } 2>/dev/null
f=; isFull && { f=' full'; rm -rf "$D"; inMemory "$D" || mkdir -p "$D" || exit 97; }
[ -e "$D/in" ] || printf %s ${quote(stdin)} > "$D/in"
t0=\${EPOCHREALTIME/./}
set -m
${scopeOf(at)} bash -c ${quote(inner)} > "$D/out" 2> "$D/err" < "$D/in" {g}<&- &
p=$!; echo $p > "$D/pid"
${startTimer(at, timeoutMs)}
set +m
[ -e "$D/stop" ] && endScope ${scopeArguments(at)} $p
wait $p 2>/dev/null; code=$?
${stopTimer(at)}
kill -KILL -- -$p 2>/dev/null
[ $code != 137 ] || { [ -s "$D/end" ] && [ ! -e "$D/stop" ]; } || killScope ${scopeArguments(at)} KILL
${keepRecords}; for k in "$D"/{out,err,end,begin}; do [ -f "$k" ] || { rm -rf -- "$k"; : > "$k"; }; done 2>/dev/null
canWrite last || f=' full'
[ "$f" ] || ${keepSpare(quote(at.slice(0, at.lastIndexOf('/'))))}
e=$(( (\${EPOCHREALTIME/./} - t0) / 1000 ))
measure() { s=($(stat -L -c '%s %d:%i' -- "$D/out" "$D/err" "$D/end" "$D/begin" "$R")); } 2>/dev/null
measure; { read -r i h < "$S/inode"; } 2>/dev/null
[ "\${s[9]}" = "$i" ] && [ ! -e "$S/note" ] || { followEnd search "$D/err"; mv "$S/note" "$D/note" 2>/dev/null && cat "$D/note" >> "$D/err"; measure; }
echo "$code $e \${s[0]} \${s[2]}$f"
printStream() {
  if [ "$2" = 0 ]; then printf '\\n\\n\\n'
  elif [ "$2" -le ${maxOutput} ]; then base64 -w0 "$D/$1"; printf '\\n\\n\\n'
  else head -c ${half} "$D/$1" | base64 -w0; echo; tail -c ${maxOutput - half} "$D/$1" | base64 -w0; echo; wc -l < "$D/$1"; fi
}
printVariables() { if [ "\${2:-0}" -le ${maxVariablesBytes} ]; then base64 -w0 "$D/$1"; else head -c ${maxVariablesBytes} "$D/$1" | base64 -w0; fi 2>/dev/null; echo; }
printStream out "\${s[0]}"; printStream err "\${s[2]}"
printVariables end "\${s[4]}"; printVariables begin "\${s[6]}"
${removeFolders([at])}`
}

/** Kills a command that runs, or prevents one that is about to start. */
export const stopCommand = (at: string): string =>
  `${killScope}mkdir -p ${quote(at)}; : > ${quote(at)}/stop; p=$(cat ${quote(at)}/pid 2>/dev/null) && endScope ${scopeArguments(at)} "$p"; :`

/** Prints how many processes were killed for lack of memory: in the control group, else on the whole host. */
const countMemoryKills = `memoryKills() { grep -hs '^oom_kill ' /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control /proc/vmstat | head -n 1; }`

/**
 * Prints the reason why a job with exit code \`$c\` did not end by itself. A program that finds no space for its output fails
 * by itself, so a full disk is the reason of a failure.
 */
const explainJobEnd = (at: string): string => `reasonOf() {
if [ $c = 0 ]; then :; elif [ -e ${at}/killed ]; then echo stopped; elif [ -e ${at}/late ]; then echo timeout
elif [ $c = 137 ] && [ "$(memoryKills)" != "$k0" ]; then echo memory
elif ! { printf %65536s > ${at}/full; } 2>/dev/null; then echo disk; fi; rm -f ${at}/full; }`

/** Bytes that are reserved for the exit code, which has to be written on a full disk, too. */
const exitBytes = 63

/**
 * Starts a job and prints its process id. A job is a folder with the files pid, in, out and exit. A child process keeps
 * its input pipe open, else the input would end at once. `;` and not `&&` before setsid, else a subshell waits for it. A
 * note about a moved workspace is added to the output of the job, and shown by the next command.
 */
export function startJob(
  at: string,
  text: string,
  options: { cwd: string; env: ScriptVariables; timeoutMs: number },
): string {
  const run = [
    markLimit(at),
    exportStatements(options.env),
    `cd -- ${quote(options.cwd)} || exit ${noDirectoryCode}`,
    `eval ${quote(text)}`,
  ].join('\n')
  const watch = `S=$1; R=$2; ${killScope}${countMemoryKills}
${movedWorkspace}${followWorkspace}${explainJobEnd(at)}
trap : TERM INT HUP
printf '%${exitBytes}s\\n' > ${at}/exit.new; k0=$(memoryKills)
t0=\${EPOCHREALTIME/./}
read -r s < /proc/$$/stat; echo "$s" > ${at}/stat
mkfifo -m 600 ${at}/in
( exec sleep ${Math.ceil(options.timeoutMs / 1000)} > ${at}/in ) &
h=$!; exec 5< ${at}/in; echo $h > ${at}/holder
set -m
${scopeOf(at)} bash -c ${quote(run)} > ${at}/out 2>&1 <&5 5<&- {g}<&- &
p=$!; exec 5<&-
${startTimer(at, options.timeoutMs)}
set +m; echo $p > ${at}/pid.new; mv ${at}/pid.new ${at}/pid
wait $p; c=$?; while kill -0 $p 2>/dev/null; do wait $p; c=$?; done
${stopTimer(at)}
kill -KILL -- -$p 2>/dev/null; kill -KILL $h 2>/dev/null
e=$(( (\${EPOCHREALTIME/./} - t0) / 1000 ))
[ $c != 137 ] || { [ ! -e ${at}/killed ] && [ $e -lt ${options.timeoutMs} ]; } || killScope ${scopeArguments(at)} KILL
[ -e ${at}/killed ] || [ $c != 137 ] || [ $e -lt ${options.timeoutMs} ] || c=124
followEnd job ${at}/out "$S/note"
printf '%-${exitBytes}s\\n' "$c $(reasonOf)" 1<> ${at}/exit.new; mv ${at}/exit.new ${at}/exit`
  return `mkdir -p ${quote(at.slice(0, at.lastIndexOf('/')))}; mkdir ${quote(at)} 2>/dev/null || { cat ${quote(at)}/pid 2>/dev/null; exit 0; }
: > ${quote(at)}/out; setsid bash -c ${quote(watch)} - "$S" "$R" > /dev/null 2>&1 < /dev/null &
for i in {1..100}; do cat ${quote(at)}/pid 2>/dev/null && exit 0; sleep 0.05; done`
}

/** Exit code when a job has ended or its input was closed. */
export const notRunningCode = 94
/** Time within which a job must read its input. */
const inputTimeoutSeconds = 5

/** Writes a file to a job's input and removes it. Closing kills the child of the job's shell that keeps the input open. */
export const writeJob = (at: string, sent: string, close: boolean): string => `D=${quote(at)}; F=${quote(sent)}
c=0; { [ -p "$D/in" ] && [ ! -e "$D/exit" ] && [ ! -e "$D/closed" ]; } || c=${notRunningCode}
[ $c != 0 ] || [ ! -e "$F" ] || timeout -s KILL ${inputTimeoutSeconds} bash -c 'cat "$1" > "$2"' - "$F" "$D/in" || c=1
rm -f "$F"
${close ? `[ $c != 0 ] || { : > "$D/closed"; kill -KILL "$(cat "$D/holder")" 2>/dev/null; }` : ''}
exit $c`

/** Prints `running` when a process of a scope lives: its marks tell that also of a job whose folder was removed. */
const findScope = (
  at: string,
): string => `for f in $(grep -lzxF -e ${quote(`${scopeVariable}=${at}`)} /proc/[0-9]*/environ 2>/dev/null; grep -l "^Max file locks  *${markOf(at)} " /proc/[0-9]*/limits 2>/dev/null); do
  { read -r s < "\${f%/*}/stat"; } 2>/dev/null || continue; a=(\${s##*) }); [ "\${a[0]}" = Z ] || [ "\${a[0]}" = X ] || { echo running; exit 0; }
done`

/** `kill -0` would report an unreaped zombie as running; start times distinguish a process from one with a reused id. */
export const readJobState = (
  at: string,
): string => `D=${quote(at)}; [ -d "$D" ] || { ${findScope(at)}; echo missing; exit 0; }
for i in 1 2; do
  [ -e "$D/exit" ] && { echo "exited $(( $(date +%s%3N) - $(date -r "$D/exit" +%s%3N) )) $(cat "$D/exit")"; exit 0; }
  read -r s 2>/dev/null < "$D/stat" && read -r n 2>/dev/null < "/proc/\${s%% *}/stat" && {
    a=(\${s##*) }); b=(\${n##*) })
    [ "\${a[19]}" = "\${b[19]}" ] && [ "\${b[0]}" != Z ] && [ "\${b[0]}" != X ] && { echo running; exit 0; }
  }
  sleep 0.1
done
echo lost`

export const readJobOutput = (at: string, from: number, max: number): string =>
  `tail -c +${from + 1} ${quote(at)}/out 2>/dev/null | head -c ${max} | base64 -w0`

export const killJob = (
  at: string,
): string => `${killScope}D=${quote(at)}; [ -d "$D" ] || { killScope ${scopeArguments(at)} KILL; exit 0; }
: > "$D/killed"; p=$(cat "$D/pid" 2>/dev/null) || exit 0
killScope ${scopeArguments(at)} TERM; kill -TERM -- -"$p" 2>/dev/null
for i in 1 2 3 4 5 6 7 8 9 10; do [ -e "$D/exit" ] && break; sleep 0.1; done
endScope ${scopeArguments(at)} "$p"
for i in 1 2 3 4 5 6 7 8 9 10; do [ -e "$D/exit" ] && exit 0; sleep 0.1; done
echo '137 stopped' > "$D/exit"`

/** Exit codes when a path is a folder, or something else that is no file: a pipe would block, a device may never end. */
export const directoryCode = 21
export const notRegularCode = 23

const requireRegular = `[ -d "$f" ] && exit ${directoryCode}; [ ! -e "$f" ] || [ -f "$f" ] || exit ${notRegularCode}`

/** Prints the size of a file, or nothing when it is missing. Links are followed. */
export const measureFile = (path: string): string =>
  `f=${quote(path)}; ${requireRegular}; [ ! -e "$f" ] || stat -L -c %s -- "$f"`

/** Creates the folder of a file that will be written. Prints `there` when the file exists. */
export const prepareFile = (path: string): string =>
  `f=${quote(path)}; ${requireRegular}; mkdir -p -- "$(dirname -- "$f")" 2>/dev/null || exit 20; [ ! -e "$f" ] || echo there`

/** Exit code when there is no space for a file. The file is as it was. */
export const fullDiskCode = 28

/**
 * Replaces a file by one that is written beside it, so that a reader sees the old or the new one. Mode, owner and further
 * attributes are those of the old one, and a link leads to the file as before. A file with several names (hard links), or
 * whose folder or owner does not allow that, is overwritten. Prints \`there\` when the file exists.
 */
export function replaceFile(
  path: string,
  id: string,
  content: { readonly base64: string } | { readonly upload: string },
): string {
  const u = 'upload' in content ? quote(content.upload) : ''
  const functions =
    'upload' in content
      ? `put() { if [ "$1" = "$f" ]; then cat -- ${u} > "$1"; else mv -fT -- ${u} "$1"; fi; } 2>/dev/null
undo() { mv -fT -- "$n" ${u}; }
end() { rm -f -- ${u}; }`
      : `put() { base64 -d <<< ${quote(content.base64)} > "$1"; } 2>/dev/null
undo() { rm -f -- "$n"; }
end() { :; }`
  return `f=${quote(path)}; ${requireRegular}
[ ! -L "$f" ] || f=$(readlink -f -- "$f") || exit 20
d=$(dirname -- "$f"); mkdir -p -- "$d" 2>/dev/null || exit 20; n="$d/.${id}.part"; e=; [ ! -e "$f" ] || e=there
${functions}
fail() { local c=20; [ -e "$1" ] && [ -w "$1" ] && c=${fullDiskCode}; [ "$1" = "$f" ] || rm -f -- "$1"; end; exit $c; }
like() { stat -c '%u:%g:%a' -- "$1"; }
beside() { [ -w "$d" ] && { [ ! "$e" ] || [ "$(stat -c %h -- "$f")" = 1 ]; } || return
put "$n" || fail "$n"
[ "$e" ] || return 0
{ cp --attributes-only --preserve=mode,ownership,xattr -- "$f" "$n"; chown --reference="$f" -- "$n"; chmod --reference="$f" -- "$n"; } 2>/dev/null
[ "$(like "$f")" = "$(like "$n")" ] || { undo; return 1; }; }
if beside; then mv -fT -- "$n" "$f" || fail "$n"; else put "$f" || fail "$f"; fi
end; echo "$e"`
}

/** Removes what was sent of a file, and prints \`full\` when there is no space for it. */
export const removeUpload = (upload: string): string =>
  `u=${quote(upload)}; s=0; [ ! -e "$u" ] || s=$(stat -c %s -- "$u"); { printf %65536s > "$u.full"; } 2>/dev/null || echo full; rm -f -- "$u" "$u.full"`

/** Prints type, bytes, time and path of each entry, separated by NUL. `depth` 0 is the path itself, 1 its contents. */
export const listFolder = (path: string, depth: 0 | 1): string =>
  `find ${quote(path)} -mindepth ${depth} -maxdepth ${depth} -printf '%y\\t%s\\t%T@\\t%p\\0' 2>/dev/null | base64 -w0`

/** Prunes the paths that belong to the host: our own folder, and files of the vendor's server. They may be globs. */
const prunes = (foreign: readonly string[]): string => foreign.map((path) => `-path ${quote(path)} -prune -o `).join('')

/** The type of a folder that this user may not look into. */
export const lockedType = 'L'

type TreeOptions = {
  readonly paths: readonly string[]
  readonly foreign: readonly string[]
  /** Folders with these names are listed without their contents. */
  readonly shallow: Iterable<string>
}

/** Prints everything below the paths in the format of `listFolder`. A longer list is truncated. */
export function listTree({ paths, foreign, shallow }: TreeOptions): string {
  const print = (type: string) => `-printf '${type}\\t%s\\t%T@\\t%p\\0'`
  const names = [...shallow].map((name) => `-name ${quote(name)}`).join(' -o ')
  const locked = `-type d ! '(' -readable -executable ')' ${print(lockedType)} -prune`
  return `find ${paths.map(quote).join(' ')} -mindepth 1 ${prunes(foreign)}${locked} -o -type d '(' ${names} ')' ${print('d')} -prune -o ${print('%y')} 2>/dev/null | head -c ${maxTreeBytes} | base64 -w0`
}

/** An answer of a container has at most 32 MiB, in base64. */
export const maxTreeBytes = 20_000_000

/** A longer list of files or matching lines is truncated. */
export const maxListedBytes = 4_000_000

export const listFilesBelow = (path: string): string =>
  `find ${quote(path)} \\( -name .git -o -name node_modules \\) -prune -o -type f -printf '%p\\0' 2>/dev/null | head -c ${maxListedBytes} | base64 -w0`

/** Prints path and target of each link, in POSIX, because a server may run on another system. */
export const listLinks = (paths: readonly string[], isDeep: boolean): string =>
  `find ${paths.map(quote).join(' ')} ${isDeep ? '' : '-name node_modules -prune -o '}-type l -exec sh -c 'for p; do printf "%s\\0%s\\0" "$p" "$(readlink "$p")"; done' sh {} + 2>/dev/null | head -c ${maxListedBytes} | base64 | tr -d '\\n'`

/** Parses what `listLinks` prints. */
export function parseLinks(output: string): readonly FileLink[] {
  const parts = new TextDecoder().decode(decodeBase64Bytes(output.trim())).split('\0')
  return Array.from({ length: parts.length >> 1 }, (_, i) => ({
    path: parts[2 * i] ?? '',
    target: parts[2 * i + 1] ?? '',
  }))
}

/** Exit code when grep rejects the pattern; the output is its error message. */
export const badPatternCode = 93

/** Prints lines `path NUL number:text` of the files named in a list, truncated at `maxListedBytes`. */
export const searchLines = (list: string, pattern: string, insensitive: boolean): string =>
  `m=$(grep -qP -e ${quote(pattern)} /dev/null 2>&1); [ $? -lt 2 ] || { rm -f ${quote(list)}; printf %s "$m" | head -c 1000 | base64 -w0; exit ${badPatternCode}; }
xargs -0 -a ${quote(list)} grep -HnZP${insensitive ? 'i' : ''} --binary-files=without-match -e ${quote(pattern)} 2>/dev/null | head -c ${maxListedBytes} | base64 -w0; rm -f ${quote(list)}`

/** Prints these lines of a file (first and last of each range, in order) as one line of base64. */
export const printLines = (path: string, ranges: readonly (readonly [number, number])[], bytes: number): string => {
  const program = [...ranges.map(([from, to]) => `${from},${to}p`), `${ranges.at(-1)?.[1] ?? 1}q`].join(';')
  return `sed -n '${program}' -- ${quote(path)} 2>/dev/null | cut -b1-${bytes} | base64 -w0; echo`
}

/**
 * Options of GNU tar: the POSIX format, in which a time before 1970 becomes 0 instead of a binary number. Hard links are not
 * unpacked, so that each is a file.
 */
export const archiveFormat = '--format=posix --pax-option=delete=atime,delete=ctime,delete=mtime --hard-dereference'

/** Errors of tar on files of another owner; no file is lost by them. */
const harmlessError = ': Cannot (utime|change mode)'

/**
 * Unpacks the parts of an archive over existing files. When files are missing afterwards, it exits with the code of tar
 * and prints its first error. tar has one code for all errors, so its messages decide. They stay in memory, because the
 * disk may be full.
 */
export const unpackParts = (
  at: string,
): string => `e=$(cat ${quote(at)}/p* | LC_ALL=C tar --no-same-owner -C / -xpf - 2>&1); c=$?
rm -rf ${quote(at)}
[ $c = 0 ] && exit 0
w=$(printf '%s\\n' "$e" | grep -vE ${quote(`${harmlessError}|Exiting with failure status`)})
[ -z "$w" ] && printf '%s\\n' "$e" | grep -qE ${quote(harmlessError)} && exit 0
printf '%s\\n' "$w" | head -n 1 | cut -c1-300
exit $c`

/**
 * Empties both folders of a session, and fails when files are left. Files of other users in the temporary folder do not
 * belong to the session.
 */
export function removeAll(root: string, temporary: string, foreign: readonly string[]): string {
  const all = `-mindepth 1 -maxdepth 1 ${foreign.map((path) => `! -path ${quote(path)}`).join(' ')}`
  const remove = `find ${quote(root)} ${quote(temporary)} ${all} -exec rm -rf -- {} + 2>/dev/null`
  const unlock = `find ${quote(root)} ${quote(temporary)} ${all} -user "$(id -u)" -exec chmod -R u+rwx -- {} + 2>/dev/null`
  return `${remove} || { ${unlock}; ${remove}; }
[ -z "$(find ${quote(root)} ${all}; find ${quote(temporary)} ${all} -user "$(id -u)")" ]`
}
