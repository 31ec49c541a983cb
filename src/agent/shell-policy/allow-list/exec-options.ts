/**
 * Lists options and words with which programs start other programs. Each expression is matched with a word, and with a
 * word and the next one. Its first group is code of a shell, or the path of a program. `judge-exec-options.ts` judges it
 * as if it stood on the line itself.
 */
const table: readonly (readonly [names: string, code: RegExp])[] = [
  ['ssh scp sftp sshfs autossh mosh', /^-o ?(?:proxycommand|localcommand|knownhostscommand|ssh_command)[= ](.+)/is],
  ['scp sftp', /^-S ?(.+)/s],
  ['rsync', /^(?:-\w*e ?|--rsh[= ]|--rsync-path[= ])(.+)/s],
  [
    'tar gtar bsdtar',
    /^(?:-I ?|-F ?|--(?:use-compress-prog\w*|to-command|rsh-command|info-script|new-volume-script)[= ])(.+)/s,
  ],
  ['tar gtar', /^--checkpoint-action[= ]exec=(.+)/s],
  ['zip', /^(?:-TT ?|--unzip-command[= ])(.+)/s],
  ['psql', /\\(?:!|(?:o|g|w|copy .*program) ?\|?)\s*'?(.+)/s],
  ['psql', /\bprogram\s+'(.+)'/is],
  ['mysql mariadb', /(?:\\!|\bsystem\s|\\P|\bpager\s)\s*(.+)/is],
  ['mysql mariadb psql less man git', /^--pager[= ](.+)/s],
  ['sqlite3', /^(?:-cmd )?\.(?:shell|system)\s+(.+)/s],
  ['sqlite3', /^(?:-cmd )?\.(?:once|output|import)\s+\|(.+)/s],
  ['nc ncat netcat nc.openbsd nc.traditional', /^(?:-[a-z]*[ce] ?|--(?:sh-exec|exec)[= ])(.+)/s],
  ['socat', /(?:^|!!|,)(?:exec|system|shell):"?([^",]+)/is],
  ['vi vim nvim view ex rvim vimdiff gvim', /^(?:\+|-c ?|--cmd[= ]):?!(.+)/s],
  ['vi vim nvim view ex rvim vimdiff gvim', /^(?:\+|-c ?|--cmd[= ]).*\bsystem\(["'](.+?)["']\)/s],
  ['less more man most', /^\+!(.+)/s],
  ['man', /^(?:-P ?|-H ?|--html[= ])(.+)/s],
  [
    'git',
    /^-c ?(?:core\.(?:pager|editor|sshcommand|fsmonitor|askpass|gitproxy)|sequence\.editor|diff\.external|(?:alias|pager)\.[\w-]+|[\w-]+\.[\w./:-]*(?:cmd|command|program|driver|helper|textconv|clean|smudge|process|uploadpack|receivepack))=!?(.+)/is,
  ],
  [
    'git',
    /^(?:-O ?|--open-files-in-pager[= ]|--upload-pack[= ]|--receive-pack[= ]|--exec[= ]|--extcmd[= ]|--sendmail-cmd[= ]|--smtp-server[= ]|ext::|--tree-filter[= ]|--index-filter[= ]|--msg-filter[= ]|--env-filter[= ])(.+)/s,
  ],
  ['split gsplit', /^--filter[= ](.+)/s],
  ['sort gsort', /^--compress-pr\w*[= ](.+)/s],
  ['rg ripgrep', /^--(?:pre|hostname-bin)[= ](.+)/s],
  ['ag ack bat batcat', /^--pager[= ](.+)/s],
  ['cloc', /^--(?:vcs|extract-with)[= ](.+)/s],
  ['actionlint', /^--?(?:shellcheck|pyflakes)[= ](.+)/s],
  ['gdb lldb', /^(?:-ex ?|-o ?|--eval-command[= ]|--one-line[= ])(?:!|shell |platform shell )(.+)/s],
  ['tcpdump', /^-z ?(.+)/s],
  ['dpkg', /^--(?:pre|post)-invoke[= ](.+)/s],
  ['apt apt-get aptitude', /^(?:-o ?|--option[= ]).*(?:invoke|::run|update-and|command)\w*(?:::)?=(.+)/is],
  ['wget', /^--use-askpass[= ](.+)/s],
  ['wget', /^(?:-e ?|--execute[= ])use_askpass ?= ?(.+)/s],
  ['tmux screen', /#\(([^()]+)\)/s],
  ['ed red', /^!(.+)/s],
  ['xterm rxvt urxvt gnome-terminal konsole alacritty kitty foot', /^(?:-e ?|--command[= ]|-x )(.+)/s],
  ['helm', /^--post-renderer[= ](.+)/s],
  ['make gmake', /^(?:--eval[= ])(?:.*\$\(shell )?(.+)/s],
  ['make gmake', /^(?:SHELL|CC|CXX|LD|RM)\s*[:+?]?=(.+)/s],
  ['gcc g++ cc c++ clang', /^-wrapper ?(.+)/s],
  ['go', /^--?(?:exec|toolexec|vettool)[= ](.+)/s],
  ['cargo', /^--config[= ].*(?:runner|linker|wrapper)\s*=\s*\W*(.+)/s],
  ['npm pnpm yarn', /^--(?:script-shell|shell|node-gyp|git|editor|viewer)[= ](.+)/s],
  ['expect', /^-c ?(?:spawn|exec|system) (.+)/s],
  ['emacs emacsclient', /\((?:shell-command|term|call-process\w*) "(.+?)"/s],
  ['strace ltrace', /^-o ?\|(.+)/s],
  ['start-stop-daemon', /^(?:-x ?|--exec[= ]|--startas[= ])(.+)/s],
  ['mutt mail mailx', /^(?:-e ?|--exec[= ])(?:"|'|<shell-escape>)*!(.+)/s],
  ['ftp lftp', /^(?:-e ?)?!(.+)/s],
  ['busctl systemd-run machinectl', /^--(?:property|pty)[= ]?exec\w*=(.+)/is],
]

const expressions = new Map<string, readonly RegExp[]>()
for (const [names, code] of table)
  for (const name of names.split(' ')) expressions.set(name, [...(expressions.get(name) ?? []), code])

/** Returns the code that the words of a program start. */
export function listStartedCode(name: string, args: readonly string[]): readonly string[] {
  const known = expressions.get(name)
  if (!known) return []
  return args.slice(0, maxWords).flatMap((word, i) => {
    const next = args[i + 1]
    const pair = next === undefined ? word : `${word} ${next}`
    const codes = known.flatMap((expression) => expression.exec(word)?.[1] ?? expression.exec(pair)?.[1] ?? [])
    return codes.slice(0, 2)
  })
}
const maxWords = 60
