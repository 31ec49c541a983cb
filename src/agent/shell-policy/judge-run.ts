/**
 * Judges running code of the project: files, interpreters, tools and package managers. It runs without approval on a
 * disposable host without a network, unless the line itself has just written or fetched the code.
 */

import { type Field, isGlob, isKnown, isLiteral, isUnknown, renderField } from '#agent/path-policy/field.ts'
import { findWriteProblem, getZone } from '#agent/path-policy/judge-path.ts'
import {
  codeOptions,
  destructiveTask,
  destructiveWord,
  type Manager,
  managers,
  packageRunners,
  projectShell,
  projectTools,
  startOptions,
  testWord,
  toolFiles,
  toolOptions,
} from './allow-list/tools.ts'
import { leavesMachine } from './allow-list/network.ts'
import { checkRead, checkWrite, isOutsideWorkspace, resolvePaths } from './check-paths.ts'
import { type CommandOptions, type Grammar, parseGrammar, readOptions, type ValueRole } from './match-options.ts'
import { findHardline, isDestructive } from './hardline.ts'
import { findInWords } from './scan-literals.ts'
import { recordWritten } from './simple-command.ts'
import { addHiddenCode, addLiteral, addUnknownCode, type CommandOutput, type SimpleCommand } from './shell-state.ts'

const pythonNames = new Set(
  'import from as print len str int float list dict set tuple sorted sum min max range enumerate zip map filter any all abs round repr type isinstance bool True False None for in if else elif and or not is lambda return while break continue pass json math datetime time statistics collections itertools sys version version_info stdin stdout stderr read readline readlines loads load dumps indent sort_keys ensure_ascii keys values items get join split splitlines strip lstrip rstrip lower upper title replace startswith endswith append extend count index sort reverse reversed add pi sqrt floor ceil log sin cos now today date isoformat strftime argv maxsize platform end sep write Counter defaultdict most_common mean median key value name names item line lines data obj result total row rows word words text num nums left right'.split(
    ' ',
  ),
)
const javaScriptNames = new Set(
  'console log JSON stringify parse process version versions node platform arch const let if else for of in return true false null undefined typeof length map filter reduce join split slice trim toFixed toString toUpperCase toLowerCase Math max min floor ceil round sqrt PI Number String Boolean Date now toISOString keys values entries Object includes startsWith endsWith require name dependencies devDependencies scripts engines main type uptime pid'.split(
    ' ',
  ),
)

/** Removes string contents; undefined when a string does not end or is code itself. */
function removeStrings(code: string, prefixes: RegExp): string | undefined {
  let outside = ''
  for (let at = 0; at < code.length; at++) {
    const char = code[at] ?? ''
    if (char === '`' || char === '\\') return undefined
    if (char === '#') return undefined
    if (char !== '"' && char !== "'") {
      outside += char
      continue
    }
    if (prefixes.test(outside)) return undefined
    const end = code.indexOf(char, at + 1)
    if (end === -1 || code.slice(at, end).includes('\\') || code.slice(at, end).includes('\n')) return undefined
    outside += '""'
    at = end
  }
  return outside
}

const hasOnlyAllowedNames = (outside: string, allowed: ReadonlySet<string>): boolean =>
  (outside.match(/[A-Za-z_$\u0080-\uFFFF][\w$\u0080-\uFFFF]*/g) ?? []).every(
    (name) => allowed.has(name) || /^[a-zA-Z]$/.test(name),
  )

/**
 * Recognises code on a command line that only computes and prints: every name in it is on a short list, and no listed
 * name reaches files, programs or the network.
 */
function isHarmlessPython(code: string): boolean {
  if (code.length > 2000) return false
  // A prefix makes a string code (f) or changes its end (r).
  const outside = removeStrings(code, /[A-Za-z]$/)
  return (
    outside !== undefined &&
    hasOnlyAllowedNames(outside, pythonNames) &&
    !/\bfrom\s+(?!json|math|datetime|collections|itertools|statistics)/.test(outside)
  )
}

function isHarmlessJavaScript(code: string): boolean {
  if (code.length > 2000 || /\[\s*["']|\bconstructor\b/.test(code) || code.includes('//') || code.includes('/*'))
    return false
  const outside = removeStrings(code, /(?!)/)
  if (outside === undefined || !hasOnlyAllowedNames(outside, javaScriptNames)) return false
  const requireCalls = code.match(/\brequire\b[^)]*\)?/g) ?? []
  return (
    requireCalls.every((call) => /^require\((['"])\.{1,2}\/[\w./-]*\.json\1\)$/.test(call)) &&
    !/\[[^\]\d]/.test(outside)
  )
}

/** Removes versions from names: `python3.12`. */
const toListedName = (name: string): string => name.replace(/^(python|pip|ruby|php|lua|node|perl)[\d.]+$/, '$1')

export const isOnline = ({ judge: { host } }: Pick<SimpleCommand, 'judge'>): boolean =>
  !host.isSandboxed || host.isOnline === true

/** Reports a call that leaves the machine. */
export function reportNetwork(call: SimpleCommand): void {
  call.judge.leaves = true
  call.judge.fetches = true
  if (isOnline(call)) call.ask(`${call.name} uses the network`)
}

export function checkValue(call: SimpleCommand, value: Field, role: ValueRole): void {
  if (value === '-') return
  if (role === 'read') checkRead(call, value, call.name)
  if (role !== 'write') return
  checkWrite(call, value, call.name)
  recordWritten(call, value, undefined)
}

const isDestructiveTask = ({ name, args }: SimpleCommand): boolean => {
  const words = args.filter((word) => !word.startsWith('-')).slice(0, 3)
  const tests = [name, ...args].some((word) => testWord.test(word))
  return args.some((word) => destructiveTask.test(word)) || (!tests && words.some((word) => destructiveWord.test(word)))
}

export function checkProjectCode(call: SimpleCommand, what: string): void {
  const { judge } = call
  judge.runsProject = true
  if (isDestructiveTask(call)) call.ask(`${what} may destroy data or publish something`)
  if (!judge.host.isSandboxed) call.ask(`${what} runs code of the project on a machine that is not disposable`)
  else if (isOnline(call)) call.ask(`${what} runs code of the project, which may use the network`)
  if (isOutsideWorkspace(call)) call.ask(`${what} runs outside the workspace`)
  if ([...judge.written.keys()].some((path) => toolFiles.test(path)) || judge.arrivals === 'downloads')
    addUnknownCode(judge, `${what} runs what this command has just written`)
}

const valueOf = (word: Field): Field => word.replace(/^(?:--?[A-Za-z][\w-]*=|-[A-Za-z](?=[/~]))/, '')

/** Names of files within code, filters and lists of options, which a program may open. */
const namesIn = (value: Field): readonly Field[] =>
  /[='"({[,;|\s]/.test(value)
    ? value.split(/[=:,;|'"`()[\]{}<>\s]+/).filter((name) => name !== '' && isLiteral(name))
    : []

/** Asks about arguments that lead out of the workspace, for programs that may write to any argument. */
export function checkArguments(call: SimpleCommand, args: readonly Field[] = call.args): void {
  for (const word of args) {
    const value = valueOf(word)
    // A tool prints what it reads, at least what it cannot parse.
    if (isLiteral(value)) checkRead(call, value.replace(/^(?:[a-z]+:)?@|^[a-z]{2,}:(?!\/\/)/, ''), call.name)
    for (const name of namesIn(value)) checkRead(call, name, call.name, 'name')
    if (!/^[/~]|(^|\/)\.\.(\/|$)/.test(value)) continue
    const isOutside = resolvePaths(call, value).some(
      (path) => !['inside', 'temporary', 'sink'].includes(getZone(path, call.judge.host)),
    )
    if (isOutside) call.ask(`${call.name} is given ${renderField(word)}, outside the workspace`)
  }
}

/** Judges a script file that a shell or the system runs. */
export function judgeRun(call: SimpleCommand, path: Field, args: readonly Field[]): CommandOutput {
  const { judge } = call
  const paths = resolvePaths(call, path)
  const own = paths.find((resolved) => judge.written.has(resolved))
  if (own !== undefined) return runWritten(call, path, judge.written.get(own), args)
  if (!isLiteral(path) || path.startsWith('/dev/fd/'))
    addHiddenCode(judge, `${call.name} runs ${renderField(path)}, which is only known at run time`)
  judge.leaves = true
  judge.hasUnknownCode ||= judge.written.size > 0 || judge.arrivals === 'downloads'
  const hardline = findInWords(args, { host: judge.host, cwd: call.shell.cwd, work: judge })
  if (paths.some((resolved) => getZone(resolved, judge.host) !== 'inside')) {
    call.ask(`${call.name} runs ${renderField(path)}, a file outside the workspace`)
    if (hardline !== undefined) call.refuse(hardline)
  }
  if (call.name === '.' || call.name === 'source') judgeSourced(call, path)
  else checkProjectCode(call, `${call.name} ${renderField(path)}`)
  checkArguments(call, args)
  return undefined
}

function judgeSourced(call: SimpleCommand, path: Field): void {
  call.judge.runsProject = true
  if (isOnline(call)) call.ask(`${renderField(path)} is read as shell code`)
  checkRead(call, path, call.name)
}

/** Runs a file that the line has written before. */
function runWritten(call: SimpleCommand, path: Field, content: CommandOutput, args: readonly Field[]): CommandOutput {
  const { judge } = call
  judge.hasUnknownCode = true
  if (path.startsWith('/dev/fd/')) call.ask(`${call.name} runs what a command prints`, null)
  checkProjectCode(call, `${call.name} ${renderField(path)}`)
  const isForeign = content === undefined || /^#!(?!.*\b(ba|da|z|k|a)?sh\b)/.test(content)
  if (!isForeign && isKnown(content)) return judge.walkText(call, content)
  // It may be a copy of a program that the line names.
  const place = { host: judge.host, cwd: call.shell.cwd, work: judge }
  const names = [...judge.commands].flatMap((command) => command.split(' ')).filter(isDestructive)
  const reason = [...new Set(names)].map((word) => findHardline([word, ...args], place)).find(Boolean)
  if (reason !== undefined) call.refuse(reason)
  addHiddenCode(judge, `${renderField(path)} is run, and has just been written with something that cannot be judged`)
  return undefined
}

type Interpreter = {
  readonly plain: RegExp
  readonly valued?: RegExp
  /** Introduces inline code. */
  readonly code: RegExp
  readonly isHarmless?: (code: string) => boolean
  /** Statements that load modules, which the current directory can shadow. */
  readonly imports?: RegExp
}

const interpreters: Readonly<Record<string, Interpreter>> = {
  python: {
    plain: /^(-[uBVOsSEIqvb]+|-VV|--version|--help|-h)$/,
    valued: /^-[WX]/,
    code: /^-[bBdEIOqsSuvx]*c/,
    isHarmless: isHarmlessPython,
    // No file can shadow sys.
    imports: /\bimport\b(?!\s+sys\s*(?:[;\n]|$))/,
  },
  node: {
    plain:
      /^(--version|-v|--help|-h|--test|--watch|--check|-c|--no-warnings|--enable-source-maps|--experimental-(?!loader|config|default-config|sea)[\w-]+|--trace-[\w-]+|--expose-gc|--max-old-space-size=\d+|--stack-size=\d+|--test-(?!reporter)[\w-]+(=[^\n]*)?|--test-reporter=\w+|--unhandled-rejections=\w+)$/,
    code: /^(-e|-p|-pe|--eval|--print)/,
    isHarmless: isHarmlessJavaScript,
  },
  ruby: { plain: /^(-v|--version|-c|-w|-W\d?)$/, valued: /^-I/, code: /^-(?![rI])[a-zA-Z]*e/ },
  perl: { plain: /^(-v|--version|-c|-w|-W)$/, valued: /^-I/, code: /^-(?![MI])[a-zA-Z0-9]*[eE]/ },
  php: { plain: /^(-v|--version|-l|-m|-i)$/, valued: /^-f$/, code: /^-[rBRE]/ },
  lua: { plain: /^-v$/, code: /^-[el]/ },
}
const interpreterNames: Readonly<Record<string, string>> = { pypy: 'python', nodejs: 'node', luajit: 'lua' }

/** Code that starts programs or builds code from texts. */
const startsPrograms =
  /\b(system|exec\w*|spawn\w*|popen\w*|subprocess|child_process|shell_exec|passthru|proc_open|eval|compile|__import__|import|require|getattr|call|run|os|shutil|fs|File|FileUtils|IO|open|unlink|remove\w*|rm\w*|qx|Process|Deno|Bun|kill)\b|`|%x|\bexec\b/

function judgeCode(call: SimpleCommand, text: Field | undefined, { isHarmless, imports }: Interpreter): void {
  const { judge, name } = call
  const isListed = text !== undefined && isKnown(text) && isHarmless?.(text) === true
  if (isListed && judge.host.isSandboxed) return judgeHarmless(call, text, imports)
  judge.leaves = true
  call.ask(`${name} runs code from the command line: ${renderField(text ?? '').slice(0, 80)}`)
  if (!isListed) searchCode(call, text)
}

/** Modules, and files of JSON, that code loads. */
function judgeHarmless(call: SimpleCommand, text: string, imports: RegExp | undefined): void {
  if (imports?.test(text)) judgeImports(call, text, '-c')
  for (const [, path = ''] of text.matchAll(/\brequire\(['"]([^'"]*)/g)) checkRead(call, path, call.name)
}

/** Code that may start programs is searched for hardline commands. */
function searchCode({ judge, args, captured }: SimpleCommand, text: Field | undefined): void {
  const mayStart = text === undefined || startsPrograms.test(text)
  judge.hasHiddenCode ||= text === undefined || !isKnown(text)
  judge.hasUnknownCode ||= mayStart
  // Its output may become code as well.
  if (mayStart || captured) for (const literal of [text ?? '', ...args]) addLiteral(judge, literal)
}

/** Returns the module that a file defines: `json` for `x/json.py` and `x/json/__init__.py`. */
const toModuleName = (path: string): string => {
  const stem = path.replace(/\.\w+$/, '')
  const module = stem.replace(/\/__init__$/, '')
  return stem === path ? '' : module.slice(module.lastIndexOf('/') + 1)
}

/** A file of the project shadows a module of the standard library with the same name. */
function judgeImports(call: SimpleCommand, text: string, what: string): void {
  const names = new Set(text.match(/\w+/g))
  if ([...call.judge.written.keys()].some((path) => names.has(toModuleName(path))))
    call.ask(`${call.name} may load a file that has just been written`)
  checkProjectCode(call, `${call.name} ${what}`)
}

const refusedModules =
  /^(http\.server|smtpd|webbrowser|antigravity|code|pdb|idlelib|ensurepip|pty|timeit|trace|cProfile|profile|runpy|shutil|os|subprocess|ftplib|telnetlib|poplib|twine|keyring|tarfile|zipfile)$/

function judgePythonModule(call: SimpleCommand, [module = '', ...rest]: readonly Field[]): CommandOutput {
  if (/^(pip|pytest|coverage)$/.test(module)) return call.judge.judgeVector(call, [module, ...rest], call.stdin)
  if (!isKnown(module) || refusedModules.test(module)) call.ask(`python -m ${renderField(module)} is not on the list`)
  judgeImports(call, module, `-m ${module}`)
  checkArguments(call, rest)
  return undefined
}

function judgeInterpreter(call: SimpleCommand, language: Interpreter): CommandOutput {
  const { args, judge } = call
  judge.runsProject = true
  const isPython = language === interpreters['python']
  let at = 0
  for (; /^-./.test(args[at] ?? ''); at++) {
    const word = args[at] ?? ''
    if (isPython && word === '-m') return judgePythonModule(call, args.slice(at + 1))
    if (language.code.test(word)) {
      judgeCode(call, isPython && !word.endsWith('c') ? word : args[at + 1], language)
      return undefined
    }
    at += judgeInterpreterOption(call, word, language)
  }
  return judgeProgramFile(call, args.slice(at), language)
}

/** Returns how many further words the option takes. */
function judgeInterpreterOption(call: SimpleCommand, word: Field, { valued, plain }: Interpreter): number {
  if (valued?.test(word)) return word.length > 2 ? 0 : 1
  if (word !== '--' && !plain.test(word)) call.ask(`${call.name} is given ${renderField(word)}`)
  return 0
}

function judgeProgramFile(
  call: SimpleCommand,
  [file, ...rest]: readonly Field[],
  language: Interpreter,
): CommandOutput {
  const { args, judge, name } = call
  if (file !== undefined && file !== '-') return judgeNamedFile(call, [file, ...rest], language)
  if (file === undefined && args.some((word) => /^(--version|-V+|-v|--help|-h|-i|-m)$/.test(word))) return undefined
  if (file === undefined && args.includes('--test')) checkProjectCode(call, `${name} --test`)
  else if (call.stdin === undefined) addHiddenCode(judge, `${name} runs its input`)
  else judgeCode(call, call.stdin, language)
  return undefined
}

function judgeNamedFile(
  call: SimpleCommand,
  [file = '', ...rest]: readonly Field[],
  language: Interpreter,
): CommandOutput {
  const { judge, name } = call
  judge.leaves = true
  const paths = resolvePaths(call, file)
  const own = paths.find((path) => judge.written.has(path))
  if (own !== undefined) judgeCode(call, judge.written.get(own), language)
  if (isUnknown(file) || isGlob(file) || file.startsWith('/dev/'))
    addHiddenCode(judge, `${name} runs something that is only known at run time`)
  if (paths.some((path) => findWriteProblem(path, judge.host) !== undefined))
    call.ask(`${name} runs ${renderField(file)}, outside the workspace`)
  checkProjectCode(call, `${name} ${renderField(file)}`)
  if (projectShell.test(rest[0] ?? '')) {
    addUnknownCode(judge, `${name} ${renderField(file)} ${rest[0]} runs code`)
    for (const word of rest) addLiteral(judge, word)
  }
  checkArguments(call, rest)
  return undefined
}

const readsCode = (word: Field, i: number, args: readonly Field[]): boolean =>
  /^(-f|--file=|--makefile=)?(-$|\/dev\/(stdin|fd\/))/.test(word) || (word === '-f' && args[i + 1] === '-')

/** An address of another machine, from which a tool may read and to which it may write. */
const otherHost = /^[a-z][a-z\d+.-]*:\/\/(?!(?:localhost|127\.\d+\.\d+\.\d+|\[::1\]|0\.0\.0\.0)(?::\d+)?(?:[/?#]|$))/i

function checkAddresses(call: SimpleCommand): void {
  const address = call.args.find((word) => otherHost.test(valueOf(word)))
  if (address === undefined) return
  call.judge.fetches = true
  call.judge.leaves = true
  call.ask(`${call.name} opens a connection to ${renderField(address)}`)
}

function judgeTool(call: SimpleCommand): CommandOutput {
  const { args, judge, name } = call
  const options = Object.hasOwn(toolOptions, name) ? toolOptions[name] : /^-e(=|$)/
  const bad = args.find((word) => codeOptions.test(word) || options?.test(word))
  if (bad !== undefined) {
    addUnknownCode(judge, `${name} is given ${renderField(bad)}`)
    for (const word of args) addLiteral(judge, word)
  }
  if (args.some(readsCode)) addUnknownCode(judge, `${name} reads its input as code`)
  const rules = args.flatMap((word) => (name === 'make' ? resolvePaths(call, valueOf(word).replace(/^-f/, '')) : []))
  if (rules.some((path) => judge.written.has(path)))
    addUnknownCode(judge, 'make runs rules that have just been written')
  if (args.some((word) => /\$\(|`/.test(word))) call.ask(`${name} is given code`)
  checkAddresses(call)
  if (!(args.length === 1 && /^(--version|-v|-V|version|--help)$/.test(args[0] ?? ''))) checkProjectCode(call, name)
  if (name === 'coverage' && args[0] === 'run') judge.judgeVector(call, ['python', ...args.slice(1)], call.stdin)
  checkArguments(call)
  return undefined
}

/** Options that are commands. */
const optionCommand = /^(--version|-[vVS]|-Sy|--list)$/

const grammars = new Map<string, Grammar>()
const grammarOf = (notation: string): Grammar => {
  const grammar = grammars.get(notation) ?? parseGrammar(notation)
  grammars.set(notation, grammar)
  return grammar
}

function judgeManager(call: SimpleCommand, manager: Manager): CommandOutput {
  const { args, name } = call
  const isOption = optionCommand.test(args[0] ?? '')
  const before = readOptions(isOption ? [] : args, { ...grammarOf(manager.options), stops: true })
  const [sub = '', ...words] = isOption ? args : before.operands
  const rule = `${name} ${sub}`.trim()
  const ruled: SimpleCommand = { ...call, ask: (reason, one) => call.ask(reason, one ?? rule) }
  checkManagerOptions(ruled, manager, before)
  if (isUnknown(sub)) addHiddenCode(call.judge, `The effect of ${name} is only known at run time`)
  else if (manager.starting?.test(sub)) return startFromProject(call, words)
  else judgeManagerCommand(ruled, manager, sub, words)
  checkArguments(call)
  return undefined
}

function judgeManagerCommand(call: SimpleCommand, manager: Manager, sub: string, words: readonly Field[]): void {
  const { options, passing, refused } = manager
  const isNamed = /^(run|r|run-script|task|tool|workspace)$/.test(sub)
  const own = passing?.test(sub)
    ? readOptions(isNamed ? words : [], { ...grammarOf(options), stops: true })
    : readOptions(words, grammarOf(options))
  checkManagerOptions(call, manager, own)
  if (refused && sub === '-') call.ask(`${call.name} reads its input as code`)
  judgeSubcommand(call, manager, sub)
  if (leavesMachine(toListedName(call.name), [sub, ...words])) reportNetwork(call)
}

function checkManagerOptions(
  call: SimpleCommand,
  { refused }: Manager,
  { problem, operands, values }: CommandOptions,
): void {
  if (problem !== undefined) call.ask(`${call.name} is given ${problem}`)
  for (const { value, role } of values) checkValue(call, value, role)
  const texts = [...operands.slice(0, maxCheckedOperands), ...values.map(({ value }) => value)]
  const word = refused && texts.find((text) => refused.test(text))
  if (word !== undefined) call.ask(`${call.name} is given ${renderField(word)}`)
}
const maxCheckedOperands = 200

function judgeSubcommand(call: SimpleCommand, manager: Manager, sub: string): void {
  const shown = `${call.name} ${sub}`.trim()
  if (manager.running.test(sub)) {
    call.judge.leaves = true
    checkProjectCode(call, shown)
  } else if (!manager.reading.test(sub) && (sub !== '' || call.args.length === 0))
    judgeUnlistedCommand(call, sub, shown)
}

function judgeUnlistedCommand(call: SimpleCommand, sub: string, shown: string): void {
  call.judge.leaves = true
  call.ask(`${shown} is not on the list of commands that run without approval`)
  if (sub !== 'eval') return
  call.judge.hasUnknownCode = true
  for (const word of call.args) addLiteral(call.judge, word)
}

/** Judges `npm exec -- tsc`, `npx -y tsc`, `uv run --with x pytest`. */
function startFromProject(call: SimpleCommand, words: readonly Field[]): CommandOutput {
  let at = 0
  while (words[at]?.startsWith('-') && words[at] !== '--') {
    const word = words[at++] ?? ''
    const next = words[at] ?? ''
    if (startOptions.code.test(word)) return runCommandLine(call, word.includes('=') ? word.slice(7) : next)
    at += judgeStartOption(call, word)
  }
  const [first = '', ...rest] = words.slice(words[at] === '--' ? at + 1 : at)
  checkProjectCode(call, `${call.name} ${renderField(first)}`)
  const name = first.replace(/(?<!^)@[\w.^~-]+$/, '')
  return name === '' ? undefined : call.judge.judgeVector(call, [name, ...rest], call.stdin)
}

/** Returns how many further words the option takes. */
function judgeStartOption(call: SimpleCommand, word: Field): number {
  if (startOptions.valued.test(word)) return 1
  if (!startOptions.plain.test(word)) call.ask(`${call.name} is given ${renderField(word)}`)
  return 0
}

function runCommandLine(call: SimpleCommand, text: Field): CommandOutput {
  call.ask(`${call.name} runs a command line`, null)
  return call.judge.walkText(call, text)
}

/** Returns undefined when the program runs no code of the project. */
export function findRunner(name: string): ((call: SimpleCommand) => CommandOutput) | undefined {
  const plain = toListedName(name)
  const languageName = Object.hasOwn(interpreterNames, plain) ? (interpreterNames[plain] ?? '') : plain
  const language = Object.hasOwn(interpreters, languageName) ? interpreters[languageName] : undefined
  if (language) return (call) => judgeInterpreter(call, language)
  const manager = Object.hasOwn(managers, plain) ? managers[plain] : undefined
  if (name === 'uv')
    return (call) =>
      call.args[0] === 'pip'
        ? judgeManager({ ...call, args: call.args.slice(1) }, managers['pip'] as Manager)
        : judgeManager(call, managers['uv'] as Manager)
  if (manager) return (call) => judgeManager(call, manager)
  if (packageRunners.has(name)) return (call) => startFromProject(call, call.args)
  if (name === 'cross-env') return (call) => call.judge.judgeVector(call, ['env', ...call.args], call.stdin)
  return projectTools.has(name) ? judgeTool : undefined
}
