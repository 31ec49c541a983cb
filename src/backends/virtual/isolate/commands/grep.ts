/**
 * Extends grep of just-bash: several -e, -H, and patterns with look-around or back references, or with -o and an empty
 * match, which its linear engine does not support. These run as RegExp, after a check for catastrophic backtracking, on lines of limited length.
 */

import { parseSearchPattern } from '../../search-pattern.ts'
import {
  type Command,
  command,
  errorResult,
  type CommandContext,
  type ExecResult,
  originalCommand,
  parse,
  readText,
  textResult,
} from './io.ts'

const backtrackingSyntax = /\(\?<?[=!]|\\[1-9]/
const maxLineChars = 10_000
const specialCharacters = /[.*+?^${}()|[\]\\]/g

type GrepOptions = { readonly pattern: RegExp; readonly flags: ReadonlySet<string>; readonly maxCount: number }

/** Converts a basic expression to an extended one, in which special characters have no backslash. */
const toExtended = (basic: string): string =>
  basic.replace(/\\([(){}|+?])|([(){}|+?])/g, (_, meta?: string, plain?: string) => meta ?? `\\${plain ?? ''}`)

function compile(source: string, flags: ReadonlySet<string>): RegExp {
  let text = flags.has('P') || flags.has('E') ? source : toExtended(source)
  if (flags.has('w')) text = `\\b(?:${text})\\b`
  if (flags.has('x')) text = `^(?:${text})$`
  const posix = text.replace(/\[\[:(\w+):\]\]/g, (_, name: string) => ({ digit: '\\d', space: '\\s' })[name] ?? '\\w')
  return parseSearchPattern(flags.has('i') ? `(?i)${posix}` : posix)
}

/** With -o the engine of just-bash fails at a pattern that matches nothing at the end of a line. */
function needsOwnSearch(source: string, flags: ReadonlySet<string>): boolean {
  if (backtrackingSyntax.test(source)) return true
  if (!flags.has('o')) return false
  try {
    return compile(source, flags).test('')
  } catch {
    return false
  }
}

function matchesIn(line: string, { pattern, flags }: GrepOptions): string[] | undefined {
  const clipped = line.slice(0, maxLineChars)
  if (flags.has('v')) return pattern.test(clipped) ? undefined : [line]
  if (!flags.has('o')) return pattern.test(clipped) ? [line] : undefined
  const all = [...clipped.matchAll(new RegExp(pattern.source, `${pattern.flags}g`))]
  // An empty match counts and prints nothing.
  return all.length > 0 ? all.map(([text]) => text).filter(Boolean) : undefined
}

function searchText(
  text: string,
  name: string,
  options: GrepOptions,
): { readonly out: string; readonly count: number } {
  const lines = text.replace(/\n$/, '').split('\n')
  let count = 0
  let out = ''
  for (const [i, line] of lines.entries()) {
    const found = count < options.maxCount ? matchesIn(line, options) : undefined
    if (!found) continue
    count++
    for (const one of found) out += `${name}${options.flags.has('n') ? `${i + 1}:` : ''}${one}\n`
  }
  const { flags } = options
  if (flags.has('q')) return { out: '', count }
  if (flags.has('l')) return { out: count > 0 ? `${name.replace(/:$/, '')}\n` : '', count }
  return { out: flags.has('c') ? `${name}${count}\n` : out, count }
}

/** Options that this search supports; with others just-bash handles the pattern. */
const supportedFlags = new Set('PEoqivnclhHwxs')

const isNamed = (flags: ReadonlySet<string>, files: number): boolean =>
  !flags.has('h') && (files > 1 || flags.has('H') || flags.has('l'))

async function grepWithBacktracking(context: CommandContext, args: readonly string[]): Promise<ExecResult | undefined> {
  const { flags, values, rest } = parse(args, 'emABC')
  const [source = '', names] = values.has('e') ? [values.get('e'), rest] : [rest[0], rest.slice(1)]
  const isSupported =
    [...flags].every((flag) => supportedFlags.has(flag)) && [...values.keys()].every((name) => /^[em]$/.test(name))
  if (!isSupported || !needsOwnSearch(source, flags)) return undefined
  const options = {
    pattern: compile(source, flags),
    flags,
    maxCount: Number(values.get('m') ?? Number.POSITIVE_INFINITY),
  }
  const named = isNamed(flags, names.length)
  const results: { out: string; count: number }[] = []
  for (const name of names.length > 0 ? names : ['-'])
    results.push(searchText(await readText(context, name), named ? `${name}:` : '', options))
  return textResult(results.map(({ out }) => out).join(''), results.some(({ count }) => count > 0) ? 0 : 1)
}

/** Joins several -e into one, because just-bash uses only the last. */
function joinPatterns(args: readonly string[]): string[] {
  const { flags, values, rest } = parse(args, 'efmABCd')
  const patterns = args.flatMap((arg, i) => (/^-[a-zA-Z]*e$/.test(arg) ? [args[i + 1] ?? ''] : []))
  if (patterns.length < 2 || values.has('f')) return [...args]
  const fixed = flags.has('F')
  const parts = patterns.map((one) => (fixed ? one.replace(specialCharacters, String.raw`\$&`) : one))
  const simple = !fixed && !flags.has('E') && !flags.has('P')
  const keptFlags = [...flags]
    .filter((flag) => flag !== 'F')
    .map((flag) => (flag.length > 1 ? `--${flag}` : `-${flag}`))
  const numbers = ['m', 'A', 'B', 'C'].flatMap((one) => (values.has(one) ? [`-${one}`, values.get(one) ?? ''] : []))
  const long = [...values].flatMap(([name, value]) => (name.length > 1 ? [`--${name}=${value}`] : []))
  return [
    ...keptFlags,
    ...(fixed ? ['-E'] : []),
    ...numbers,
    ...long,
    '-e',
    parts.join(simple ? '\\|' : '|'),
    '--',
    ...rest,
  ]
}

/** Prefixes file names of `grep -r x .` with `./`, as grep does. */
function addDotPrefix(args: readonly string[], result: ExecResult): ExecResult {
  const recursive = args.some((arg) => /^-[a-zA-Z]*[rR]/.test(arg))
  const bare = args.some((arg) => /^-[a-zA-Z]*h/.test(arg))
  if (!recursive || bare || !(args.at(-1) === '.' || args.at(-1) === './')) return result
  return { ...result, stdout: result.stdout.replace(/^(?!--$|\.\/)(?=.)/gm, './') }
}

async function run(args: string[], context: CommandContext, implied: string): Promise<ExecResult> {
  try {
    const own = await grepWithBacktracking(context, implied === '' ? args : [implied, ...args])
    if (own) return own
  } catch (error) {
    return errorResult('grep', error instanceof Error ? error.message : String(error), 2)
  }
  const withName = args.some((arg) => /^-[a-zA-Z]*H/.test(arg))
  const plain = withName
    ? args.map((arg) => (/^-[a-zA-Z]*H/.test(arg) ? arg.replace('H', '') : arg)).filter((arg) => arg !== '-')
    : args
  return addDotPrefix(
    args,
    await originalCommand(context)([...joinPatterns(plain), ...(withName ? ['/dev/null'] : [])]),
  )
}

const grep = command('grep', (args, context) => run(args, context, ''))
const egrep = command('egrep', (args, context) => run(args, context, '-E'))

export const grepCommands: readonly Command[] = [grep, egrep]
