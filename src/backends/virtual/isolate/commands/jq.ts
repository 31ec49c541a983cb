/** Adds the date functions that the jq of just-bash lacks. All times are UTC. */

import { type Command, command, originalCommand } from './io.ts'

const definitions: Readonly<Record<string, string>> = {
  fromdateiso8601: 'def fromdateiso8601: fromdate;',
  todateiso8601: 'def todateiso8601: todate;',
  dateadd: 'def dateadd(u; n): . + n;',
  datesub: 'def datesub(u; n): . - n;',
  localtime: 'def localtime: gmtime;',
  strflocaltime: 'def strflocaltime(f): strftime(f);',
}
const missing = new RegExp(String.raw`\b(${Object.keys(definitions).join('|')})\b`, 'g')

/** Options with the number of words that follow them. */
const valued: Readonly<Record<string, number>> = {
  '--arg': 2,
  '--argjson': 2,
  '--slurpfile': 2,
  '--rawfile': 2,
  '--indent': 1,
}

/** The index of the program. Undefined when a file has it. */
function findProgram(args: readonly string[]): number | undefined {
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? ''
    if (/^(?:-[A-Za-z]*f[A-Za-z]*|--from-file.*)$/.test(arg)) return undefined
    if (!arg.startsWith('-')) return at
    at += valued[arg] ?? 0
  }
  return undefined
}

export const jq: Command = command('jq', async (args, context) => {
  const run = originalCommand(context)
  const at = findProgram(args)
  const program = at === undefined ? '' : (args[at] ?? '')
  const used = new Set([...program.matchAll(missing)].map(([name]) => name))
  if (at === undefined || used.size === 0) return run(args)
  const defined = [...used].map((name) => definitions[name]).join(' ')
  return run(args.with(at, `${defined} ${program}`))
})
