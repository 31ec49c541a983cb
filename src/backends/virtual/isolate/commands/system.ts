/** Implements uname, id, jobs, kill, ulimit, umask and nproc with fixed answers. */

import { type Command, command, errorResult, parse, textResult } from './io.ts'

const unameFields = [
  ['s', 'Linux'],
  ['n', 'workspace'],
  ['r', '6.6.0'],
  ['v', '#1 SMP'],
  ['m', 'x86_64'],
  ['o', 'GNU/Linux'],
] as const

const uname = command('uname', async (args) => {
  const { flags } = parse(args, '')
  const selected = flags.size === 0 ? new Set(['s']) : flags
  return textResult(
    `${unameFields.flatMap(([flag, text]) => (selected.has('a') || selected.has(flag) ? [text] : [])).join(' ')}\n`,
  )
})

const id = command('id', async (args) => {
  const { flags } = parse(args, '')
  if (flags.has('n')) return textResult('user\n')
  return textResult(flags.has('u') || flags.has('g') ? '1000\n' : 'uid=1000(user) gid=1000(user) groups=1000(user)\n')
})

/** The shell runs one command at a time, so there are no jobs. */
const jobs = command('jobs', async () => textResult(''))
const kill = command('kill', async (args) => errorResult('kill', `(${args.at(-1) ?? ''}) - No such process`))
const ulimit = command('ulimit', async () => textResult('unlimited\n'))
const nproc = command('nproc', async () => textResult('1\n'))

/** New files have the modes of the usual mask. Another one is refused, so that nobody relies on it. */
const umask = command('umask', async (args) => {
  const { flags, rest } = parse(args, '')
  const [mask] = rest
  if (mask === undefined) return textResult(flags.has('S') ? 'u=rwx,g=rx,o=rx\n' : '0022\n')
  if (/^0*22$|^u=rwx,g=rx,o=rx$/.test(mask)) return textResult('')
  return errorResult('umask', `${mask}: the mask is always 0022 here. Set modes with chmod.`)
})

export const systemCommands: readonly Command[] = [uname, id, jobs, kill, ulimit, umask, nproc]
