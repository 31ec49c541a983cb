/** Judges git and clients of databases, containers and clusters by the lists of their harmless commands. */

import {
  anyCharacter,
  anyCharacters,
  anyNumber,
  anyText,
  canMatch,
  isGlob,
  isUnknown,
  renderField,
  type Field,
} from '#agent/path-policy/field.ts'
import { getZone, resolvePath, toGlob } from '#agent/path-policy/judge-path.ts'
import {
  clientCommands,
  codeInFormat,
  containerOptions,
  containerRunning,
  containerValued,
  gitCommands,
  gitEffects,
  gitGlobals,
  gitSettings,
  refusedOperands,
} from './allow-list/services.ts'
import { checkRead, checkWrite, isOutsideWorkspace, resolvePaths } from './check-paths.ts'
import { checkArguments, checkProjectCode, checkValue, isOnline, reportNetwork } from './judge-run.ts'
import { leavesMachine } from './allow-list/network.ts'
import { parseGrammar, readOptions, type Grammar, type CommandOptions } from './match-options.ts'
import { addListing } from './listings.ts'
import { addLiteral, type SimpleCommand, type CommandOutput } from './shell-state.ts'
import { judgeSqlClient, judgeSqlite } from './check-databases.ts'

type GitCommand = { readonly grammar: Grammar; readonly operands: string }

function parseGitCommands(): ReadonlyMap<string, GitCommand> {
  const commands = new Map<string, GitCommand>()
  for (const line of gitCommands.trim().split('\n')) {
    const [names = '', options = '', operands = ''] = line.split(' : ')
    const command = { grammar: parseGrammar(options), operands: operands.trim() }
    for (const name of names.split(' ')) commands.set(name, command)
  }
  return commands
}

let commandCache: ReadonlyMap<string, GitCommand> | undefined
const globalGrammar = parseGrammar(`+${gitGlobals.replace('hvP', 'hvP C= c= ')}`)

function judgeGit(call: SimpleCommand): CommandOutput {
  commandCache ??= parseGitCommands()
  const before = readOptions(call.args, globalGrammar)
  const [sub = '', ...args] = before.operands
  const rule = `git ${sub}`
  const gitCall: SimpleCommand = { ...call, name: rule, args, ask: (reason, one) => call.ask(reason, one ?? rule) }
  const { cwd } = call.shell
  if (before.problem !== undefined) gitCall.ask(`git is given ${before.problem}`)
  for (const { name, value } of before.values) judgeGlobal(gitCall, name, value)
  if (!/^(|version|help)$/.test(sub)) checkRepository(gitCall)
  if (leavesMachine('git', [sub, ...args])) reportNetwork(gitCall)
  judgeGitCommand(gitCall, sub, commandCache.get(sub))
  call.shell.cwd = cwd
  if (call.captured && (sub === 'ls-files' || args.includes('--name-only'))) return listNames(gitCall, sub)
  // The output of these commands is never an option.
  return /^(rev-parse|describe)$/.test(sub) || args.includes('--show-current') ? anyNumber + anyText : undefined
}

/** Returns the names that git prints: those of the patterns, or any. */
function listNames(call: SimpleCommand, sub: string): Field {
  const patterns = sub === 'ls-files' ? call.args.filter((word) => !word.startsWith('-')) : []
  const secrets = patterns.length > 0 ? listMatching(call, patterns) : (call.judge.host.secretFiles ?? [])
  return `${addListing(call.judge, secrets)}\n`
}

/** Patterns of git match names below every directory. */
const listMatching = (call: SimpleCommand, globs: readonly Field[]): readonly string[] =>
  (call.judge.host.secretFiles ?? []).filter((file) =>
    globs.some((one) => file.includes(one) || canMatch(anyText + toGlob(one.replace('**/', '')), file)),
  )

function judgeUnlisted(call: SimpleCommand, sub: string): void {
  const effect = Object.hasOwn(gitEffects, sub) ? gitEffects[sub] : undefined
  const reason = effect ?? 'is not on the list of commands that run without approval'
  if (sub !== '') call.ask(`${renderField(call.name)} ${reason}`)
  for (const word of call.args) addLiteral(call.judge, word)
}

function judgeGlobal(call: SimpleCommand, name: string, value: Field): void {
  if (name === 'c') judgeSetting(call, value)
  else if (isUnknown(value)) call.ask('git works in a directory that is only known at run time')
  else call.shell.cwd = call.shell.cwd.map((from) => resolvePath(value, from))
}

/** The settings of a repository can start programs, so only repositories of the workspace are trusted. */
function checkRepository(call: SimpleCommand): void {
  if (isOutsideWorkspace(call)) call.ask(`${renderField(call.name)} works outside the workspace`)
  if (call.judge.arrivals !== 'none')
    call.ask(`${renderField(call.name)} may run settings that this command has just fetched`)
}

function judgeGitCommand(call: SimpleCommand, sub: string, command: GitCommand | undefined): void {
  if (!command) return judgeUnlisted(call, sub)
  const { grammar, operands } = command
  const options = readOptions(call.args, grammar)
  if (options.problem !== undefined) {
    call.ask(`${call.name} is given ${options.problem}`)
    for (const word of call.args) addLiteral(call.judge, word)
  }
  for (const { value, role } of options.values) if (role === 'read') checkRead(call, value, call.name)
  const check = Object.hasOwn(gitChecks, operands) ? gitChecks[operands] : undefined
  check?.(call, options, call.args.includes('--'))
  if (printsContent.test(sub)) checkObjects(call, sub, options)
  if (printsFiles(sub, options)) checkTrackedFiles(call)
  if (sub === 'bisect' || sub === 'rebase') judgeStartedByGit(call, sub)
}

const printsContent =
  /^(show|log|diff|grep|blame|annotate|cat-file|whatchanged|diff-tree|diff-index|diff-files|range-diff|format-patch|archive|stash|reflog)$/

/** Reads of git: files of the workspace, and `HEAD:file` of the history. The first operand of grep is its pattern. */
function checkObjects(call: SimpleCommand, sub: string, { names, operands, values }: CommandOptions): void {
  if (names.has('batch')) call.ask(`${call.name} prints the objects that its input names`)
  const hasPattern = sub !== 'grep' || values.some(({ name }) => name === 'e')
  const lines = values.filter(({ name }) => name === 'L').map(({ value }) => value)
  // Without contents, a revision that is only known at run time prints none.
  const isSilent = patchCommands.test(sub) && lines.length === 0 && !printsFiles(sub, { names, operands })
  for (const word of [...(hasPattern ? operands : operands.slice(1)), ...lines])
    for (const path of listPathsOf(word)) if (!isSilent || !isUnknown(path)) checkRead(call, path, call.name)
}

/** Commands that print the contents of files without being asked to, and options that replace them by a summary. */
const contentCommands = /^(diff|show|range-diff|format-patch|archive|grep)$/
const summaries =
  /^(s|stat|numstat|shortstat|name-only|name-status|summary|quiet|no-patch|check|dirstat|raw|compact-summary|l|L|count|files-with-matches|files-without-match|list)$/
const patches =
  /^(p|u|U|c|cc|patch|unified|patch-with-stat|patch-with-raw|word-diff|color-words|full-index|binary|function-context|W)$/
const patchCommands = /^(log|whatchanged|reflog|stash|diff-tree|diff-index|diff-files)$/

function printsFiles(sub: string, { names, operands }: Pick<CommandOptions, 'names' | 'operands'>): boolean {
  if (sub === 'cat-file') return printsBlob(names, operands)
  const given = [...names]
  if (patchCommands.test(sub)) return given.some((name) => patches.test(name))
  if (!contentCommands.test(sub)) return false
  // `HEAD:file` is one file.
  if (sub === 'show' && operands.length > 0 && operands.every((word) => word.includes(':'))) return false
  const isSummary = given.some((name) => summaries.test(name))
  return !isSummary || given.some((name) => /^(p|u|U|patch|unified)$/.test(name))
}

/** The hash of a file does not tell its name. Those of commits look alike, but have names too. */
const printsBlob = (names: ReadonlySet<string>, operands: readonly Field[]): boolean =>
  !['t', 's', 'e'].some((name) => names.has(name)) && operands.some((word) => /^[\da-f]{4,64}$/i.test(word))

/** Asks as a recursive read does: secret files may be tracked. Paths after dashes limit what is printed. */
function checkTrackedFiles(call: SimpleCommand): void {
  const at = call.args.indexOf('--')
  const limits = at < 0 ? [] : call.args.slice(at + 1).flatMap(listPathsOf)
  const { host } = call.judge
  // Without a path git prints the whole repository, whatever the directory is.
  const all = call.shell.cwd.some((cwd) => getZone(cwd, host) === 'inside') ? host.workspace : '.'
  for (const path of limits.length > 0 ? limits : [all]) checkRead(call, path, call.name, 'tree')
}

/** Returns the paths that a revision or a pathspec may name. `:!x` and `:(exclude)x` leave a path out. */
function listPathsOf(word: Field): readonly Field[] {
  if (/^:([!^]|\([\w,]*\bexclude\b)/.test(word)) return []
  const starts = [...word.matchAll(/:/g)].map(({ index }) => index + 1)
  return [0, ...starts.slice(0, maxParts)].map((at) =>
    // Patterns of pathspecs are expanded by git.
    word
      .slice(at)
      .replace(/^(\([\w,]*\)|\/)/, '')
      .replaceAll('*', anyCharacters)
      .replaceAll('?', anyCharacter),
  )
}
const maxParts = 8

function judgeStartedByGit(call: SimpleCommand, sub: string): void {
  const { args, judge } = call
  if (sub === 'bisect' && args[0] === 'run') judge.judgeVector(call, args.slice(1), undefined)
  if (sub === 'bisect') return
  const code = args.find((word) => /^(-x|--exec)/.test(word))
  if (code === undefined) return
  judge.hasUnknownCode = true
  addLiteral(judge, code.replace(/^(-x|--exec=)/, ''))
}

function judgeSetting(call: SimpleCommand, text: Field): void {
  if (text === 'core.pager=cat' || text === 'core.editor=true' || (gitSettings.test(text) && !isUnknown(text))) return
  call.ask(`git is given the setting ${renderField(text)}`)
  call.judge.hasUnknownCode = true
  addLiteral(call.judge, text.replace(/^[^=]*=!?/, ''))
}

type GitCheck = (call: SimpleCommand, options: CommandOptions, hasDashes: boolean) => void

const asksUnless =
  (allowed: RegExp, effect: string): GitCheck =>
  (call, { operands: [verb = ''] }) => {
    if (!allowed.test(verb)) call.ask(`${call.name} ${renderField(verb)} ${effect}`)
  }

const gitChecks: Readonly<Record<string, GitCheck>> = {
  read: (call, { operands }) => {
    for (const path of operands) checkRead(call, path, call.name)
  },
  write: (call, { operands }) => {
    for (const path of operands) checkWrite(call, path, call.name)
  },
  move: (call, { operands }) => {
    for (const path of operands) checkWrite(call, path, call.name, 'move')
  },
  checkout: (call, { names, operands: [first = '', ...more] }, hasDashes) => {
    const makes = names.has('b')
    const isFile = /^\.|\/$|\.\w{1,5}$/.test(first) || isGlob(first)
    if (hasDashes || (!makes && (more.length > 0 || isFile)))
      call.ask(`git checkout ${renderField(first)} may discard changes`)
  },
  restore: (call, { names }) => {
    if (!names.has('S') && !names.has('staged')) call.ask('git restore would discard changes')
  },
  stash: asksUnless(/^(|push|list|show|pop|apply|save|create)$/, 'may lose stashed changes'),
  remote: asksUnless(/^(|show|get-url)$/, 'changes the remote repositories'),
  show: asksUnless(/^(|show|exists|list|HEAD.*)$/, 'changes references'),
  lfs: asksUnless(/^(ls-files|status|env)$/, 'changes files'),
  bisect: asksUnless(/^(start|good|bad|skip|reset|log|old|new)$/, 'runs commands'),
  single: (call, { operands }) => {
    if (operands.length > 1) call.ask('git symbolic-ref changes a reference')
  },
  clean: (call, { names }) => {
    if (!names.has('n') && !names.has('dry-run')) call.ask('git clean would delete files that are not tracked')
  },
  none: asksUnless(/^$/, 'is given operands'),
  network: (call, { operands }) => {
    if (operands.some((word) => /^(ext|fd)::|^\+/.test(word)))
      call.ask(`${call.name} would start a program or overwrite branches`)
  },
  clone: (call, { operands }) => {
    if (operands.some((word) => /^(ext|fd)::/.test(word)))
      call.ask('git clone would start a program to reach the other side')
    for (const path of operands) checkWrite(call, path, 'git clone', 'clone into')
    call.judge.arrivals = 'files'
    const [address = '', directory = /([^/:]+?)(\.git)?\/*$/.exec(address)?.[1] ?? '.'] = operands
    call.judge.unpacked.push(...resolvePaths(call, directory))
  },
  submodule: (call, { operands: [verb = 'status', ...rest] }) => {
    if (/^(status|summary)$/.test(verb)) return
    if (verb === 'foreach') call.judge.walkText(call, rest.join(' '))
    if (!/^(update|init)$/.test(verb) || isOnline(call)) call.ask(`git submodule ${renderField(verb)}`)
  },
  worktree: (call, { operands: [verb = 'list', ...paths] }) => {
    if (verb !== 'list' && verb !== 'add') call.ask(`git worktree ${renderField(verb)}`)
    for (const path of paths.slice(0, 1)) checkWrite(call, path, 'git worktree', 'make')
  },
  config: (call, { names, operands }) => {
    const words = /^(set|get|list)$/.test(operands[0] ?? '') ? operands.slice(1) : operands
    const isReading = /^(get|list)$/.test(operands[0] ?? '') || [...names].some((one) => /^(l|list|get.*)$/.test(one))
    if (!isReading) judgeConfiguration(call, words, names.has('global') || names.has('system'))
  },
}

function judgeConfiguration(call: SimpleCommand, [name = '', value]: readonly Field[], isWide: boolean): void {
  if (value === undefined && !isWide) return
  if (!gitSettings.test(name) || isUnknown(name) || isWide) call.ask(`git config changes ${renderField(name)}`)
  addLiteral(call.judge, value?.replace(/^!/, '') ?? '')
  call.judge.hasUnknownCode ||= value?.startsWith('!') === true
}

type ClientCommand = { readonly pattern: RegExp; readonly words: number; readonly grammar: Grammar }
/** `globals`: the options before the command. */
type Client = { globals: Grammar; readonly commands: ClientCommand[] }

let clientCache: ReadonlyMap<string, Client> | undefined

function parseClients(): ReadonlyMap<string, Client> {
  const clients = new Map<string, Client>()
  for (const line of clientCommands.trim().split('\n')) {
    const [, name = '', commands = '', options = ''] = /^(\S+) : (.*?) ?:(.*)$/.exec(line) ?? []
    const client: Client = clients.get(name) ?? { globals: parseGrammar('+'), commands: [] }
    clients.set(name, client)
    const grammar = parseGrammar(options.trim())
    if (commands === '') client.globals = { ...grammar, stops: true }
    for (const command of commands.split(', '))
      client.commands.push({
        pattern: new RegExp(`^${command.replaceAll('*', '\\S*')}(?= |$)`, 'i'),
        words: command === '*' ? 0 : command.split(' ').length,
        grammar,
      })
  }
  return clients
}

const isClient = (name: string): boolean => (clientCache ??= parseClients()).has(name)

/** Judges a client by its first words, and the options of that command. */
function judgeClient(call: SimpleCommand, name: string): CommandOutput {
  const client = (clientCache ??= parseClients()).get(name)
  if (!client) return undefined
  const before = readOptions(call.args, client.globals, 'high')
  const words = before.problem === undefined ? before.operands : call.args
  const rule = `${call.name} ${words.find((word) => !word.startsWith('-')) ?? ''}`.trim()
  const clientCall: SimpleCommand = { ...call, ask: (reason, one) => call.ask(reason, one ?? rule) }
  judgeClientCommand(clientCall, name, words)
  if (leavesMachine(name, words)) reportNetwork(clientCall)
  const secret = call.args.find((word) => Object.hasOwn(refusedOperands, name) && refusedOperands[name]?.test(word))
  if (secret !== undefined) clientCall.ask(`${call.name} is given ${renderField(secret)}`)
  checkFormats(clientCall)
  return undefined
}

function judgeClientCommand(call: SimpleCommand, name: string, words: readonly Field[]): void {
  if (words.every((word) => /^(--version|-V|version)$/.test(word)) && words.length === 1) return
  const text = words.slice(0, 2).join(' ')
  const matching =
    (clientCache ??= parseClients()).get(name)?.commands.filter(({ pattern }) => pattern.test(text)) ?? []
  const parsed = matching.map((command) => readOptions(words.slice(command.words), command.grammar, 'high'))
  const options = parsed.find(({ problem }) => problem === undefined) ?? parsed[0]
  if (!options) {
    call.ask(`${call.name} ${renderField(text)} is not on the list of commands that run without approval`)
    for (const word of call.args) addLiteral(call.judge, word)
    call.judge.hasUnknownCode = true
    call.judge.leaves = true
    return
  }
  if (options.problem !== undefined) call.ask(`${call.name} is given ${options.problem}`)
  for (const { value, role } of options.values) checkValue(call, value, role)
  for (const word of options.operands) checkRead(call, word, call.name)
}

/** Judges the programs in formats, as `#(id)` of tmux. */
function checkFormats(call: SimpleCommand): void {
  for (const word of call.args) {
    if (!codeInFormat.test(word)) continue
    call.ask(`${call.name} runs or reads what ${renderField(word)} names`)
    call.judge.hasUnknownCode = true
    addLiteral(call.judge, word)
    for (const [, code = ''] of word.matchAll(/[#$]\(([^()]*)\)|`([^`]*)`/g)) call.judge.walkText(call, code)
  }
}

const composeValued = /^(-f|--file|-p|--project-name|--profile|--env-file)$/

/** Judges docker and its relatives. What runs inside a container is never hardline. */
function judgeContainers(call: SimpleCommand): CommandOutput {
  const { args, name } = call
  const words = name === 'docker-compose' ? ['compose', ...args] : args
  const isCompose = words[0] === 'compose'
  const at = isCompose ? findComposeCommand(words) : 0
  const sub = `${isCompose ? 'compose ' : ''}${words[at] ?? ''}`
  if (!containerRunning.test(sub)) return judgeClient({ ...call, args: words }, 'docker')
  const rule = `${name} ${sub}`
  const containerCall: SimpleCommand = { ...call, ask: (reason, one) => call.ask(reason, one ?? rule) }
  checkProjectCode(containerCall, rule)
  words.forEach((word, i) => {
    if (word.startsWith('--env-file')) checkRead(call, word.includes('=') ? word.slice(11) : (words[i + 1] ?? ''), name)
  })
  const image = readContainerOptions(containerCall, words, at + 1)
  const inner = words.slice(image + 1)
  if (isUnknown(words[image] ?? '')) containerCall.ask(`${rule} starts something that is only known at run time`)
  checkArguments(containerCall, words.slice(0, image + 1))
  if (!/^(compose )?(run|exec)/.test(sub) || inner.length === 0) return undefined
  call.judge.containerDepth++
  call.judge.judgeVector(call, inner, undefined)
  call.judge.containerDepth--
  return undefined
}

const findComposeCommand = (words: readonly Field[]): number =>
  words.findIndex((word, i) => i > 0 && !word.startsWith('-') && !composeValued.test(words[i - 1] ?? ''))

/** Returns the position of the image or the service. */
function readContainerOptions(call: SimpleCommand, words: readonly Field[], from: number): number {
  let at = from
  while (words[at]?.startsWith('-')) at += judgeContainerOption(call, words[at] ?? '', words[at + 1] ?? '')
  return at
}

/** Returns how many words an option takes. */
function judgeContainerOption(call: SimpleCommand, word: Field, next: Field): number {
  const isJoined = word.includes('=')
  const value = isJoined ? word.slice(word.indexOf('=') + 1) : next
  const takes = containerValued.test(word) && !containerOptions.test(word)
  if (/^(-v|--volume|--mount)/.test(word)) judgeMount(call, value)
  else if (word.startsWith('--network') && /^(host$|container)/.test(value))
    call.ask(`${call.name} is given ${renderField(word)} ${renderField(value)}`)
  else if (!takes && !containerOptions.test(word)) call.ask(`${call.name} is given ${renderField(word)}`)
  return takes && !isJoined ? 2 : 1
}

function judgeMount(call: SimpleCommand, volume: Field): void {
  const [, path = volume.split(':')[0] ?? ''] = /(?:source|src)=([^,]*)/.exec(volume) ?? []
  if (path.startsWith('~')) call.ask(`${call.name} would let a container write to ${renderField(path)}`)
  if (!/^[\w-]+$/.test(path)) checkWrite(call, path, call.name, 'let a container write to')
}

/** Returns undefined when the program is none of these. */
export function findService(name: string): ((call: SimpleCommand) => CommandOutput) | undefined {
  if (name === 'git') return judgeGit
  if (name === 'sqlite3') return judgeSqlite
  if (/^(psql|mysql|mariadb)$/.test(name)) return judgeSqlClient
  if (/^(docker|podman|nerdctl|docker-compose)$/.test(name)) return judgeContainers
  return isClient(name) ? (call) => judgeClient(call, name) : undefined
}
