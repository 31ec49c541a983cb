/** Package managers: looking is free, what runs in the project is the project's, publishing and the global place are asked about. */

import { isUnknown, renderField, type Field } from '../field.ts'
import { checkNetwork, checkProjectCode, checkArgumentPaths, withRule } from '../call-checks.ts'
import { runProjectTool } from '../wrappers.ts'
import { judgeCode } from '../nested-shells.ts'
import type { Call, Policy } from '../shell-state.ts'

type Manager = {
  /** Reads only. */
  readonly looks: RegExp
  /** Runs code of the project or changes what it depends on. */
  readonly works: RegExp
  /** Starts the rest of the line. */
  readonly starts?: RegExp
  /** Options that lead elsewhere. */
  readonly refuses: RegExp
  /** Options before the command that have a value. */
  readonly valued?: RegExp
}

const manager =
  (how: Manager): Policy =>
  (call) => {
    const { args } = call
    const at = firstWord(args, how)
    const sub = args[at] ?? ''
    const own = withRule(call, `${call.name} ${sub}`)
    for (const arg of before(args, how.starts?.test(sub) ? at : undefined))
      if (how.refuses.test(arg)) own.ask(`${call.name} is given ${renderField(arg)}`)
    if (isUnknown(sub)) own.ask(`What ${call.name} does is only known when it runs`, null)
    else if (how.starts?.test(sub)) started(own, args.slice(at + 1))
    else works(own, how, sub)
    return undefined
  }

function firstWord(args: readonly Field[], { valued }: Manager): number {
  let at = 0
  while (/^[-+]/.test(args[at] ?? '')) at += valued?.test(args[at] ?? '') ? 2 : 1
  return at
}

/** The words of the manager itself: what the started program is given is its own business. */
function before(args: readonly Field[], end: number | undefined): readonly Field[] {
  const dashes = args.indexOf('--')
  return args.slice(0, end ?? (dashes === -1 ? args.length : dashes))
}

function works(call: Call, how: Manager, sub: string): void {
  if (how.works.test(sub)) checkProjectCode(call, `${call.name} ${sub}`)
  else if (!how.looks.test(sub) && (sub !== '' || call.args.length === 0))
    call.ask(`${call.name} ${renderField(sub)} is not on the list of what runs unasked`)
  checkArgumentPaths(call)
}

const valuedStartOptions = /^(-p|--package|--with|--python|--group|--extra|--filter|-C|--directory|-w|--workspace)$/
const codeOptions = /^(-c|--call(=.*)?)$/

/** `npm exec -- tsc`, `npx -y tsc`, `uv run --with x pytest`. */
function started(call: Call, words: readonly Field[]): void {
  let at = 0
  for (; at < words.length; at++) {
    const word = words[at] ?? ''
    if (codeOptions.test(word)) {
      judgeCode(call, word.includes('=') ? word.slice(7) : (words[at + 1] ?? ''))
      call.ask(`${call.name} runs a command line`)
      return
    }
    if (!word.startsWith('-') || word === '--') break
    if (valuedStartOptions.test(word)) at++
    else if (
      !/^(-y|--yes|--no|--no-install|-q|--quiet|--silent|-s|--frozen|--no-sync|--package=.*|--with=.*|--bun|-r|--recursive|--isolated|--all-extras|--prefer-offline|-T|--if-present)$/.test(
        word,
      )
    )
      call.ask(`${call.name} is given ${renderField(word)}`)
  }
  runProjectTool(call, words.slice(words[at] === '--' ? at + 1 : at))
}

const nodeManager: Manager = {
  looks:
    /^(ls|list|ll|la|view|v|info|show|outdated|why|explain|root|prefix|bin|help|search|fund|ping|doctor|query|--version|licenses|find-dupes|get|-v)$/,
  works:
    /^(run|run-script|rum|test|t|tst|it|start|stop|restart|build|dev|lint|format|check|typecheck|coverage|ci|clean-install|install|i|in|add|install-test|update|up|upgrade|dedupe|prune|rebuild|audit|init|create-lockfile|remove|rm|uninstall|un|pack|link|import|import-lock|workspaces|workspace|patch|generate|test:[\w:-]+|build:[\w:-]+|lint:[\w:-]+|e2e|version|pkg)$/,
  starts: /^(exec|x|dlx)$/,
  refuses:
    /^(-g|--global|--location(=.*)?|--script-shell.*|--prefix(=.*)?|--registry.*|--userconfig.*|--globalconfig.*|--node-options.*|--shell.*|--otp.*|--unsafe-perm|--git.*|-e|--eval.*|-p|--print|--node-gyp.*)$/,
  valued: /^(-w|--workspace|--filter|-F|-C|--dir|--cwd)$/,
}

const npx: Policy = (call) => {
  started(call, call.args)
  return undefined
}

const pipManager: Manager = {
  looks: /^(list|show|freeze|check|help|inspect|--version|-V|index|debug)$/,
  works: /^(install|download|wheel)$/,
  refuses:
    /^(-i|--index-url.*|--extra-index-url.*|--target.*|-t|--prefix.*|--root.*|--break-system-packages|--global-option.*|--config-settings.*|-C|--proxy.*|--trusted-host.*|--find-links.*|-f|--user|git\+.*|https?:.*)$/,
}

const uv: Manager = {
  looks: /^(version|--version|tree|help)$/,
  works: /^(sync|lock|add|remove|venv|init|build|export|python)$/,
  starts: /^run$/,
  refuses:
    /^(--index.*|--default-index.*|--extra-index-url.*|--system|--break-system-packages|--target.*|--prefix.*|--config-file.*|publish|uninstall)$/,
}

const cargoManager: Manager = {
  looks:
    /^(tree|metadata|search|info|help|version|--version|-V|locate-project|pkgid|--list|read-manifest|verify-project)$/,
  works:
    /^(build|b|check|c|test|t|run|r|bench|clippy|fmt|doc|d|add|remove|rm|update|new|init|clean|fix|fetch|generate-lockfile|vendor|nextest|expand|audit|outdated|deny|machete|insta|llvm-cov|miri|watch|package)$/,
  refuses: /^(--config.*|--target-dir=\/.*|-Z.*|--exec.*|-x|-s)$/,
}

const goManager: Manager = {
  looks: /^(version|env|list|doc|help)$/,
  works: /^(build|test|vet|fmt|mod|run|get|generate|tool|clean|work|fix)$/,
  refuses:
    /^(-w|-u=.*|-exec.*|--exec.*|-toolexec.*|--toolexec.*|-vettool.*|-overlay.*|-modcacherw|-ldflags=.*-extld.*|-gccgoflags.*|-modcache|-unsetenv)$/,
}

const rubyManager: Manager = {
  looks: /^(list|show|info|outdated|check|--version|help|env|platform|search)$/,
  works: /^(install|update|add|lock|clean|config|init)$/,
  starts: /^exec$/,
  refuses: /^(--source.*|-g|--system|--path=\/.*|--install-dir.*)$/,
}

const poetryManager: Manager = {
  looks: /^(show|check|version|--version|env|about|list)$/,
  works: /^(install|add|remove|lock|update|build|init|new|sync)$/,
  starts: /^run$/,
  refuses: /^(--source.*|--repository.*)$/,
}

/** The packages of the machine: its own business where it is disposable. */
const systemManager: Manager = {
  looks:
    /^(list|search|show|policy|info|madison|depends|rdepends|showpkg|--version|leaves|outdated|deps|desc|home|cat|query|repolist|config|doctor)$/,
  works: /^(install|update|upgrade|add|reinstall|fetch|check-update|makecache|-S|-Sy)$/,
  refuses:
    /^(-o.*|--option.*|-c.*|--config.*|--allow-.*|--force.*|-t.*|\.?\/.*|--root.*|-X.*|--repository.*|--reinstall|purge|remove|autoremove|--cask|https?:.*|--nogpgcheck|--autoremove)$/,
}

const system: Policy = (call) => {
  const policy = manager(systemManager)
  if (call.args.some((arg) => /^(install|update|add)$/.test(arg))) checkNetwork(call, call.name)
  return policy(call)
}

const rustup: Policy = manager({
  looks: /^(show|which|doc|help|--version|check)$/,
  works: /^(component|target|toolchain)$/,
  starts: /^run_$/,
  refuses: /^(uninstall|remove|link)$/,
})

const deno: Policy = (call) => {
  const [sub = ''] = call.args
  if (sub === 'eval' || sub === 'repl' || sub === '' || sub === 'upgrade' || sub === 'publish' || sub === 'install')
    call.ask(`deno ${sub} runs code on the line or changes the machine`, `deno ${sub}`)
  else if (call.args.some((arg) => arg === '-' || /^https?:|^(npm|jsr):/.test(arg)))
    call.ask('deno runs code from elsewhere')
  checkProjectCode(call, `deno ${renderField(sub)}`)
  checkArgumentPaths(call)
  return undefined
}

export const packages: Readonly<Record<string, Policy>> = {
  npm: manager(nodeManager),
  pnpm: manager(nodeManager),
  yarn: manager({ ...nodeManager, works: new RegExp(`${nodeManager.works.source}|^$`) }),
  bun: manager({ ...nodeManager, works: new RegExp(`${nodeManager.works.source}|\\.(ts|js|tsx|jsx|mjs)$`) }),
  npx,
  bunx: npx,
  pnpx: npx,
  uvx: npx,
  pipx: manager({ looks: /^(list|--version)$/, works: /^install$/, starts: /^run$/, refuses: /(?!)/ }),
  pip: manager(pipManager),
  uv: (call) =>
    call.args[0] === 'pip' ? manager(pipManager)({ ...call, args: call.args.slice(1) }) : manager(uv)(call),
  poetry: manager(poetryManager),
  pdm: manager(poetryManager),
  hatch: manager(poetryManager),
  rye: manager(poetryManager),
  pipenv: manager(poetryManager),
  cargo: manager(cargoManager),
  go: manager(goManager),
  bundle: manager(rubyManager),
  gem: manager(rubyManager),
  rustup,
  deno,
  apt: system,
  'apt-get': system,
  'apt-cache': system,
  apk: system,
  dnf: system,
  yum: system,
  brew: system,
  pacman: system,
  dpkg: (call) => {
    if (
      !call.args.every(
        (arg, i) =>
          /^(-[lLsSpWf]|--list|--status|--version|--print-architecture|--get-selections|--listfiles|--search)$/.test(
            arg,
          ) ||
          (i > 0 && !arg.startsWith('-')),
      )
    )
      call.ask('dpkg changes the packages of the machine')
    return undefined
  },
  corepack: (call) => {
    checkProjectCode(call, 'corepack')
    return undefined
  },
}
