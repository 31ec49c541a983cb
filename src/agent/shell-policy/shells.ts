/** Programs and builtins whose input is shell code: it is judged as if it stood here. */

import { isKnown, isLiteral, mayBeOption, shown, SPLIT, type Field } from './marks.ts'
import { places, zoneOf } from './paths.ts'
import { isOnline, reads, runsProject, staysInside } from './call.ts'
import { contentOf } from './simple.ts'
import { clone, joinFiles, type Call, type Policy, type Shell, type Stream } from './shell.ts'

const CARRIED = 'Shell code that is only known when it runs is run'

/** Judges text as code. Text with marks in it may hold any code at those places. */
export function runText(call: Call, texts: Stream, shell: Shell = call.shell): Stream {
  if (texts === 'unknown') {
    call.ask(`${call.name}: ${CARRIED.toLowerCase()}`, null)
    return 'unknown'
  }
  let output: Stream = 'unknown'
  for (const text of texts) {
    if (call.judge.decoded.has(text.replace(/\n+$/, '')))
      call.ask(`${call.name} runs text that has been decoded: ${shown(text).slice(0, 120)}`, null)
    if (!isKnown(text)) call.ask(`${CARRIED}: ${shown(text).slice(0, 120)}`, null)
    output = call.judge.script(text, shell, call.stdin)
  }
  return texts.length === 1 ? output : 'unknown'
}

const inside = (call: Call, positional?: readonly Field[]): Shell => ({
  ...clone(call.shell),
  positional: positional ?? [],
})

type Flags = { code: boolean; stdin: boolean }

/** bash, sh and their like. */
export const shellProgram: Policy = (call) => {
  const { args } = call
  const flags: Flags = { code: false, stdin: false }
  let at = 0
  while (/^[-+]./.test(args[at] ?? '') && args[at] !== '--') at += shellOption(call, args[at] ?? '', flags)
  if (args[at] === '--' || args[at] === '-') at++
  return runShell(call, { rest: args.slice(at), ...flags })
}

/** How many words an option takes. */
function shellOption(call: Call, arg: Field, flags: Flags): number {
  if (arg.startsWith('--')) {
    if (!HARMLESS.has(arg)) call.ask(`${call.name} is given ${shown(arg)}`)
    return arg === '--rcfile' || arg === '--init-file' ? 2 : 1
  }
  if (arg.startsWith('-') && arg.includes('c')) flags.code = true
  if (arg.includes('s')) flags.stdin = true
  if (arg.startsWith('-') && arg.includes('i')) call.ask(`${call.name} reads its start files and waits for input`)
  return /[oO]$/.test(arg) ? 2 : 1
}

const HARMLESS = new Set([
  '--norc',
  '--noprofile',
  '--posix',
  '--version',
  '--help',
  '--login',
  '--restricted',
  '--verbose',
])

type Wanted = { readonly rest: readonly Field[]; readonly code: boolean; readonly stdin: boolean }

function runShell(call: Call, { rest, code, stdin }: Wanted): Stream {
  const [first, ...others] = rest
  if (first !== undefined && mayBeOption(first)) call.ask(`${call.name} is given a word that may be an option`, null)
  if (code) {
    const shell = inside(call, others.slice(1))
    if (others[0] !== undefined) shell.vars.set('0', { candidates: [others[0]] })
    const output = first === undefined ? 'unknown' : runText(call, [first], shell)
    joinFiles(call.shell, shell)
    return output
  }
  if (first !== undefined && !stdin) return runFile(call, first, others)
  if (call.stdin === 'none') {
    if (!call.args.some((arg) => arg === '--version' || arg === '--help')) call.ask(`${call.name} waits for commands`)
    return 'unknown'
  }
  const shell = inside(call, rest)
  const output = runText({ ...call, stdin: 'none' }, call.stdin, shell)
  joinFiles(call.shell, shell)
  return output
}

/** A script: what this command wrote into it, or a file of the project. */
export function runFile(call: Call, path: Field, args: readonly Field[]): Stream {
  if (path === '/dev/stdin' || path === '-')
    return runText({ ...call, stdin: 'none' }, call.stdin === 'none' ? 'unknown' : call.stdin)
  const all = places(path, call.shell)
  if (all.some((place) => call.shell.files.has(place))) {
    const content = contentOf(call.shell, path)
    const foreign = content !== 'unknown' && content.some((text) => /^#!(?!.*\b(ba|da|z|k|a)?sh\b)/.test(text))
    if (content === 'unknown' || foreign)
      call.ask(`${shown(path)} is run, and has just been written with something that cannot be judged`, null)
    return foreign ? 'unknown' : runText({ ...call, stdin: 'none' }, content, inside(call, args))
  }
  const own = isLiteral(path) && all.every((place) => OWN.has(zoneOf(place, call.judge.around)))
  if (!own) call.ask(`${call.name} runs ${shown(path)}, a file outside the workspace`)
  else runsProject(call, `${call.name} ${shown(path)}`)
  staysInside(call, args)
  return 'unknown'
}

const OWN = new Set(['inside', 'temporary'])

export const evalBuiltin: Policy = (call) => {
  const words = call.args[0] === '--' ? call.args.slice(1) : call.args
  if (words.length === 0) return ['']
  const known = words.every((word) => !word.includes(SPLIT))
  return runText(call, known ? [words.join(' ')] : 'unknown')
}

export const sourceBuiltin: Policy = (call) => {
  const [first = '', ...others] = call.args[0] === '--' ? call.args.slice(1) : call.args
  const all = places(first, call.shell)
  if (all.some((place) => call.shell.files.has(place))) return runText(call, contentOf(call.shell, first))
  if (first === '/dev/stdin') return runText({ ...call, stdin: 'none' }, call.stdin === 'none' ? 'unknown' : call.stdin)
  const own = isLiteral(first) && first !== '' && all.every((place) => zoneOf(place, call.judge.around) === 'inside')
  if (!own) call.ask(`${shown(first)} is read as shell code from outside the workspace`)
  else if (isOnline(call)) call.ask(`${shown(first)} is read as shell code`)
  // What it sets is not known from here on.
  reads(call, others)
  return 'unknown'
}

export const trapBuiltin: Policy = (call) => {
  const [code, ...signals] = call.args[0] === '--' ? call.args.slice(1) : call.args
  if (code === undefined || code === '-' || /^-[lp]+$/.test(code) || signals.length === 0) return undefined
  runText({ ...call, stdin: 'none' }, [code], clone(call.shell))
  return ['']
}

/** Evaluates a text in a shell of another program: `su -c`, `watch`, `script -c`. */
export const runCode = (call: Call, text: Field): void => {
  const shell = inside(call)
  runText({ ...call, stdin: 'none' }, [text], shell)
  joinFiles(call.shell, shell)
}
