/**
 * Judges package managers: reading is allowed, commands of the project count as its code, publishing and global changes
 * need approval.
 */

import { isUnknown, renderField, type Field } from '../field.ts'
import { checkNetwork, checkProjectCode, checkArgumentPaths, withRule } from '../call-checks.ts'
import { runProjectTool } from '../wrappers.ts'
import { judgeCode } from '../nested-shells.ts'
import type { Call, Policy } from '../shell-state.ts'

type Manager = {
  readonly readingCommands: RegExp
  /** Commands that run code of the project or change its dependencies. */
  readonly codeCommands: RegExp
  /** Commands that start the rest of the line as a program. */
  readonly startingCommands?: RegExp
  /** Options that lead out of the project. */
  readonly refusedOptions: RegExp
  /** Options before the command that take a value. */
  readonly valuedOptions?: RegExp
}

const createManager =
  (options: Manager): Policy =>
  (call) => {
    const { args } = call
    const at = findSubcommand(args, options)
    const sub = args[at] ?? ''
    const subcommandCall = withRule(call, `${call.name} ${sub}`)
    for (const arg of wordsOfManager(args, options.startingCommands?.test(sub) ? at : undefined))
      if (options.refusedOptions.test(arg)) subcommandCall.ask(`${call.name} is given ${renderField(arg)}`)
    if (isUnknown(sub)) subcommandCall.ask(`The effect of ${call.name} is only known at run time`, null)
    else if (options.startingCommands?.test(sub)) judgeStartedProgram(subcommandCall, args.slice(at + 1))
    else judgeWork(subcommandCall, options, sub)
    return undefined
  }

function findSubcommand(args: readonly Field[], { valuedOptions: valued }: Manager): number {
  let at = 0
  while (/^[-+]/.test(args[at] ?? '')) at += valued?.test(args[at] ?? '') ? 2 : 1
  return at
}

/** Returns the words of the manager itself, without the arguments of the program that it starts. */
function wordsOfManager(args: readonly Field[], end: number | undefined): readonly Field[] {
  const dashes = args.indexOf('--')
  return args.slice(0, end ?? (dashes === -1 ? args.length : dashes))
}

function judgeWork(call: Call, options: Manager, sub: string): void {
  if (options.codeCommands.test(sub)) checkProjectCode(call, `${call.name} ${sub}`)
  else if (!options.readingCommands.test(sub) && (sub !== '' || call.args.length === 0))
    call.ask(`${call.name} ${renderField(sub)} is not on the list of commands that run without approval`)
  checkArgumentPaths(call)
}

const valuedStartOptions = /^(-p|--package|--with|--python|--group|--extra|--filter|-C|--directory|-w|--workspace)$/
const codeOptions = /^(-c|--call(=.*)?)$/

/** Judges `npm exec -- tsc`, `npx -y tsc`, `uv run --with x pytest`. */
function judgeStartedProgram(call: Call, words: readonly Field[]): void {
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
  readingCommands:
    /^(ls|list|ll|la|view|v|info|show|outdated|why|explain|root|prefix|bin|help|search|fund|ping|doctor|query|--version|licenses|find-dupes|get|-v)$/,
  codeCommands:
    /^(run|run-script|rum|test|t|tst|it|start|stop|restart|build|dev|lint|format|check|typecheck|coverage|ci|clean-install|install|i|in|add|install-test|update|up|upgrade|dedupe|prune|rebuild|audit|init|create-lockfile|remove|rm|uninstall|un|pack|link|import|import-lock|workspaces|workspace|patch|generate|test:[\w:-]+|build:[\w:-]+|lint:[\w:-]+|e2e|version|pkg)$/,
  startingCommands: /^(exec|x|dlx)$/,
  refusedOptions:
    /^(-g|--global|--location(=.*)?|--script-shell.*|--prefix(=.*)?|--registry.*|--userconfig.*|--globalconfig.*|--node-options.*|--shell.*|--otp.*|--unsafe-perm|--git.*|-e|--eval.*|-p|--print|--node-gyp.*)$/,
  valuedOptions: /^(-w|--workspace|--filter|-F|-C|--dir|--cwd)$/,
}

const npx: Policy = (call) => {
  judgeStartedProgram(call, call.args)
  return undefined
}

const pipManager: Manager = {
  readingCommands: /^(list|show|freeze|check|help|inspect|--version|-V|index|debug)$/,
  codeCommands: /^(install|download|wheel)$/,
  refusedOptions:
    /^(-i|--index-url.*|--extra-index-url.*|--target.*|-t|--prefix.*|--root.*|--break-system-packages|--global-option.*|--config-settings.*|-C|--proxy.*|--trusted-host.*|--find-links.*|-f|--user|git\+.*|https?:.*)$/,
}

const uv: Manager = {
  readingCommands: /^(version|--version|tree|help)$/,
  codeCommands: /^(sync|lock|add|remove|venv|init|build|export|python)$/,
  startingCommands: /^run$/,
  refusedOptions:
    /^(--index.*|--default-index.*|--extra-index-url.*|--system|--break-system-packages|--target.*|--prefix.*|--config-file.*|publish|uninstall)$/,
}

const cargoManager: Manager = {
  readingCommands:
    /^(tree|metadata|search|info|help|version|--version|-V|locate-project|pkgid|--list|read-manifest|verify-project)$/,
  codeCommands:
    /^(build|b|check|c|test|t|run|r|bench|clippy|fmt|doc|d|add|remove|rm|update|new|init|clean|fix|fetch|generate-lockfile|vendor|nextest|expand|audit|outdated|deny|machete|insta|llvm-cov|miri|watch|package)$/,
  refusedOptions: /^(--config.*|--target-dir=\/.*|-Z.*|--exec.*|-x|-s)$/,
}

const goManager: Manager = {
  readingCommands: /^(version|env|list|doc|help)$/,
  codeCommands: /^(build|test|vet|fmt|mod|run|get|generate|tool|clean|work|fix)$/,
  refusedOptions:
    /^(-w|-u=.*|-exec.*|--exec.*|-toolexec.*|--toolexec.*|-vettool.*|-overlay.*|-modcacherw|-ldflags=.*-extld.*|-gccgoflags.*|-modcache|-unsetenv)$/,
}

const rubyManager: Manager = {
  readingCommands: /^(list|show|info|outdated|check|--version|help|env|platform|search)$/,
  codeCommands: /^(install|update|add|lock|clean|config|init)$/,
  startingCommands: /^exec$/,
  refusedOptions: /^(--source.*|-g|--system|--path=\/.*|--install-dir.*)$/,
}

const poetryManager: Manager = {
  readingCommands: /^(show|check|version|--version|env|about|list)$/,
  codeCommands: /^(install|add|remove|lock|update|build|init|new|sync)$/,
  startingCommands: /^run$/,
  refusedOptions: /^(--source.*|--repository.*)$/,
}

/** Manages the packages of the host, which is allowed in a sandbox. */
const systemManager: Manager = {
  readingCommands:
    /^(list|search|show|policy|info|madison|depends|rdepends|showpkg|--version|leaves|outdated|deps|desc|home|cat|query|repolist|config|doctor)$/,
  codeCommands: /^(install|update|upgrade|add|reinstall|fetch|check-update|makecache|-S|-Sy)$/,
  refusedOptions:
    /^(-o.*|--option.*|-c.*|--config.*|--allow-.*|--force.*|-t.*|\.?\/.*|--root.*|-X.*|--repository.*|--reinstall|purge|remove|autoremove|--cask|https?:.*|--nogpgcheck|--autoremove)$/,
}

const createSystemManager: Policy = (call) => {
  const policy = createManager(systemManager)
  if (call.args.some((arg) => /^(install|update|add)$/.test(arg))) checkNetwork(call, call.name)
  return policy(call)
}

const rustup: Policy = createManager({
  readingCommands: /^(show|which|doc|help|--version|check)$/,
  codeCommands: /^(component|target|toolchain)$/,
  startingCommands: /^run_$/,
  refusedOptions: /^(uninstall|remove|link)$/,
})

const deno: Policy = (call) => {
  const [sub = ''] = call.args
  if (sub === 'eval' || sub === 'repl' || sub === '' || sub === 'upgrade' || sub === 'publish' || sub === 'install')
    call.ask(`deno ${sub} runs inline code or changes the machine`, `deno ${sub}`)
  else if (call.args.some((arg) => arg === '-' || /^https?:|^(npm|jsr):/.test(arg)))
    call.ask('deno runs code from elsewhere')
  checkProjectCode(call, `deno ${renderField(sub)}`)
  checkArgumentPaths(call)
  return undefined
}

export const packages: Readonly<Record<string, Policy>> = {
  npm: createManager(nodeManager),
  pnpm: createManager(nodeManager),
  yarn: createManager({ ...nodeManager, codeCommands: new RegExp(`${nodeManager.codeCommands.source}|^$`) }),
  bun: createManager({
    ...nodeManager,
    codeCommands: new RegExp(`${nodeManager.codeCommands.source}|\\.(ts|js|tsx|jsx|mjs)$`),
  }),
  npx,
  bunx: npx,
  pnpx: npx,
  uvx: npx,
  pipx: createManager({
    readingCommands: /^(list|--version)$/,
    codeCommands: /^install$/,
    startingCommands: /^run$/,
    refusedOptions: /(?!)/,
  }),
  pip: createManager(pipManager),
  uv: (call) =>
    call.args[0] === 'pip' ? createManager(pipManager)({ ...call, args: call.args.slice(1) }) : createManager(uv)(call),
  poetry: createManager(poetryManager),
  pdm: createManager(poetryManager),
  hatch: createManager(poetryManager),
  rye: createManager(poetryManager),
  pipenv: createManager(poetryManager),
  cargo: createManager(cargoManager),
  go: createManager(goManager),
  bundle: createManager(rubyManager),
  gem: createManager(rubyManager),
  rustup,
  deno,
  apt: createSystemManager,
  'apt-get': createSystemManager,
  'apt-cache': createSystemManager,
  apk: createSystemManager,
  dnf: createSystemManager,
  yum: createSystemManager,
  brew: createSystemManager,
  pacman: createSystemManager,
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
