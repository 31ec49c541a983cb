/** Judges programs and builtins that run shell code, such as `bash -c`, `eval` and `source`, by that code. */

import { isKnown, isLiteral, mayBeOption, renderField, anyWords, type Field } from './field.ts'
import { resolvePaths, getZone } from './path-zones.ts'
import { isOnline, checkReads, checkProjectCode, checkArgumentPaths } from './call-checks.ts'
import { getFileContent } from './simple-command.ts'
import { cloneShell, joinFiles, type Call, type Policy, type Shell, type Stream } from './shell-state.ts'

const unknownCodeReason = 'Shell code that is only known at run time is run'

/** Judges texts as code. Unknown parts of a text may be any code. */
export function judgeText(call: Call, texts: Stream, shell: Shell = call.shell): Stream {
  if (texts === 'unknown') {
    call.ask(`${call.name}: ${unknownCodeReason.toLowerCase()}`, null)
    return 'unknown'
  }
  let output: Stream = 'unknown'
  for (const text of texts) {
    if (call.judge.decodedTexts.has(text.replace(/\n+$/, '')))
      call.ask(`${call.name} runs text that has been decoded: ${renderField(text).slice(0, 120)}`, null)
    if (!isKnown(text)) call.ask(`${unknownCodeReason}: ${renderField(text).slice(0, 120)}`, null)
    output = call.judge.judgeScript(text, shell, call.stdin)
  }
  return texts.length === 1 ? output : 'unknown'
}

const createInnerShell = (call: Call, positional?: readonly Field[]): Shell => ({
  ...cloneShell(call.shell),
  positional: positional ?? [],
})

type Flags = { code: boolean; stdin: boolean }

/** Judges bash, sh and other shells. */
export const shellProgram: Policy = (call) => {
  const { args } = call
  const flags: Flags = { code: false, stdin: false }
  let at = 0
  while (/^[-+]./.test(args[at] ?? '') && args[at] !== '--') at += readShellOption(call, args[at] ?? '', flags)
  if (args[at] === '--' || args[at] === '-') at++
  return judgeShell(call, { rest: args.slice(at), ...flags })
}

/** Returns how many words an option takes. */
function readShellOption(call: Call, arg: Field, flags: Flags): number {
  if (arg.startsWith('--')) {
    if (!harmlessOptions.has(arg)) call.ask(`${call.name} is given ${renderField(arg)}`)
    return arg === '--rcfile' || arg === '--init-file' ? 2 : 1
  }
  if (arg.startsWith('-') && arg.includes('c')) flags.code = true
  if (arg.includes('s')) flags.stdin = true
  if (arg.startsWith('-') && arg.includes('i')) call.ask(`${call.name} reads its start files and waits for input`)
  return /[oO]$/.test(arg) ? 2 : 1
}

const harmlessOptions = new Set([
  '--norc',
  '--noprofile',
  '--posix',
  '--version',
  '--help',
  '--login',
  '--restricted',
  '--verbose',
])

type ShellInput = { readonly rest: readonly Field[]; readonly code: boolean; readonly stdin: boolean }

function judgeShell(call: Call, { rest, code, stdin }: ShellInput): Stream {
  const [first, ...others] = rest
  if (first !== undefined && mayBeOption(first)) call.ask(`${call.name} is given a word that may be an option`, null)
  if (code) {
    const shell = createInnerShell(call, others.slice(1))
    if (others[0] !== undefined) shell.vars.set('0', { candidates: [others[0]] })
    const output = first === undefined ? 'unknown' : judgeText(call, [first], shell)
    joinFiles(call.shell, shell)
    return output
  }
  if (first !== undefined && !stdin) return judgeFile(call, first, others)
  if (call.stdin === 'none') {
    if (!call.args.some((arg) => arg === '--version' || arg === '--help')) call.ask(`${call.name} waits for commands`)
    return 'unknown'
  }
  const shell = createInnerShell(call, rest)
  const output = judgeText({ ...call, stdin: 'none' }, call.stdin, shell)
  joinFiles(call.shell, shell)
  return output
}

/** Judges a script file: its content when this command line wrote it, otherwise as code of the project. */
export function judgeFile(call: Call, path: Field, args: readonly Field[]): Stream {
  if (path === '/dev/stdin' || path === '-')
    return judgeText({ ...call, stdin: 'none' }, call.stdin === 'none' ? 'unknown' : call.stdin)
  const all = resolvePaths(path, call.shell)
  if (all.some((resolved) => call.shell.files.has(resolved))) {
    const content = getFileContent(call.shell, path)
    const isForeignScript = content !== 'unknown' && content.some((text) => /^#!(?!.*\b(ba|da|z|k|a)?sh\b)/.test(text))
    if (content === 'unknown' || isForeignScript)
      call.ask(`${renderField(path)} is run, and has just been written with something that cannot be judged`, null)
    return isForeignScript ? 'unknown' : judgeText({ ...call, stdin: 'none' }, content, createInnerShell(call, args))
  }
  const isOwnFile = isLiteral(path) && all.every((resolved) => ownZones.has(getZone(resolved, call.judge.host)))
  if (!isOwnFile) call.ask(`${call.name} runs ${renderField(path)}, a file outside the workspace`)
  else checkProjectCode(call, `${call.name} ${renderField(path)}`)
  checkArgumentPaths(call, args)
  return 'unknown'
}

const ownZones = new Set(['inside', 'temporary'])

export const evalBuiltin: Policy = (call) => {
  const words = call.args[0] === '--' ? call.args.slice(1) : call.args
  if (words.length === 0) return ['']
  const isKnownText = words.every((word) => !word.includes(anyWords))
  return judgeText(call, isKnownText ? [words.join(' ')] : 'unknown')
}

export const sourceBuiltin: Policy = (call) => {
  const [first = '', ...others] = call.args[0] === '--' ? call.args.slice(1) : call.args
  const all = resolvePaths(first, call.shell)
  if (all.some((resolved) => call.shell.files.has(resolved))) return judgeText(call, getFileContent(call.shell, first))
  if (first === '/dev/stdin')
    return judgeText({ ...call, stdin: 'none' }, call.stdin === 'none' ? 'unknown' : call.stdin)
  const isOwnFile =
    isLiteral(first) && first !== '' && all.every((resolved) => getZone(resolved, call.judge.host) === 'inside')
  if (!isOwnFile) call.ask(`${renderField(first)} is read as shell code from outside the workspace`)
  else if (isOnline(call)) call.ask(`${renderField(first)} is read as shell code`)
  // The script may set any variable.
  checkReads(call, others)
  return 'unknown'
}

export const trapBuiltin: Policy = (call) => {
  const [code, ...signals] = call.args[0] === '--' ? call.args.slice(1) : call.args
  if (code === undefined || code === '-' || /^-[lp]+$/.test(code) || signals.length === 0) return undefined
  judgeText({ ...call, stdin: 'none' }, [code], cloneShell(call.shell))
  return ['']
}

/** Judges code that another program runs in a shell: `su -c`, `watch`, `script -c`. */
export const judgeCode = (call: Call, text: Field): void => {
  const shell = createInnerShell(call)
  judgeText({ ...call, stdin: 'none' }, [text], shell)
  joinFiles(call.shell, shell)
}
