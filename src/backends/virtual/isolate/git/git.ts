/** Implements the git command: parses its global options and runs a subcommand. */

import * as library from 'isomorphic-git'
import { type Command, command, type CommandContext, type ExecResult, pathIn, textResult } from '../commands/io.ts'
import { type Arguments, parseArguments } from './arguments.ts'
import { type GitOutput, branch, checkout, switchTo, tag } from './branches.ts'
import { commit } from './commit.ts'
import { log, show } from './history.ts'
import { merge, stash } from './merging.ts'
import { clone, fetch, pull, push } from './network.ts'
import { type GitCall, fatal, findRepository, GitError } from './repository.ts'
import { config, diff, init, lsFiles, remote, revParse } from './setup.ts'
import { add, mv, reset, restore, rm } from './staging.ts'
import { longStatus, shortStatus } from './status.ts'

type GitRun = (call: GitCall, options: Arguments) => Promise<GitOutput & { readonly exitCode?: number }>
type Subcommand = { readonly valued: string; readonly run: GitRun }

const printed =
  (write: (call: GitCall, options: Arguments) => Promise<string>): GitRun =>
  async (call, options) => ({ stdout: await write(call, options) })

const status = printed((call, options) => {
  const paths = [...options.rest, ...(options.after ?? [])]
  return options.flag('s', 'short', 'porcelain')
    ? shortStatus(call, paths, options.flag('b', 'branch'))
    : longStatus(call, paths)
})

const subcommands: Readonly<Record<string, Subcommand>> = {
  add: { valued: '', run: printed(add) },
  branch: { valued: 'u', run: branch },
  checkout: { valued: 'bB', run: checkout },
  commit: { valued: 'mFC', run: printed(commit) },
  diff: {
    valued: 'U',
    run: async (call, options) => {
      const { stdout, differs } = await diff(call, options)
      return { stdout, exitCode: differs ? 1 : 0 }
    },
  },
  fetch: { valued: '', run: fetch },
  log: { valued: 'nU', run: printed(log) },
  'ls-files': { valued: '', run: printed(lsFiles) },
  merge: { valued: 'ms', run: printed(merge) },
  mv: { valued: '', run: printed(mv) },
  pull: { valued: '', run: pull },
  push: { valued: '', run: push },
  remote: { valued: '', run: printed(remote) },
  reset: { valued: '', run: printed(reset) },
  restore: { valued: 's', run: printed(restore) },
  'rev-parse': { valued: '', run: printed(revParse) },
  rm: { valued: '', run: printed(rm) },
  show: { valued: 'U', run: printed(show) },
  stash: { valued: 'm', run: printed(stash) },
  status: { valued: '', run: status },
  switch: { valued: 'cC', run: switchTo },
  tag: { valued: 'm', run: tag },
}

/** Subcommands that need no repository. */
const withoutRepository: Readonly<Record<string, (context: CommandContext, options: Arguments) => Promise<string>>> = {
  clone,
  config,
  init,
}

type GitInvocation = { readonly context: CommandContext; readonly verb: string; readonly args: readonly string[] }

/** `-C dir`, `-c key=value` and `--no-pager` come before the command. */
function parseInvocation(args: readonly string[], context: CommandContext): GitInvocation {
  let cwd = context.cwd
  let i = 0
  for (; i < args.length && (args[i] ?? '').startsWith('-'); i++) {
    if (args[i] === '-C') cwd = pathIn({ ...context, cwd }, args[++i] ?? '.')
    else if (args[i] === '-c') i++
    else if (args[i] === '--version') return { context, verb: 'version', args: [] }
  }
  return { context: { ...context, cwd }, verb: args[i] ?? 'help', args: args.slice(i + 1) }
}

const helpText = `usage: git <command> [<args>]\n\nAvailable here: ${[...Object.keys(withoutRepository), ...Object.keys(subcommands)].toSorted().join(', ')}\n`

async function run({ context, verb, args }: GitInvocation): Promise<ExecResult> {
  if (verb === 'version') return textResult(`git version 2.39.5 (isomorphic-git ${library.version()})\n`)
  if (verb === 'help') return textResult(helpText, 1)
  const outside = withoutRepository[verb]
  if (outside) return textResult(await outside(context, parseArguments(args, 'bo')))
  const subcommand = subcommands[verb]
  if (!subcommand) throw new GitError(`git: '${verb}' is not available on this host. See 'git help'.`, 1)
  const repository = await findRepository(context)
  const {
    stdout = '',
    stderr = '',
    exitCode = 0,
  } = await subcommand.run({ context, repository }, parseArguments(args, subcommand.valued))
  return textResult(stdout, exitCode, stderr)
}

const errorResult = (error: unknown): ExecResult => {
  if (error instanceof GitError) {
    const stdout = 'stdout' in error ? String(error.stdout) : ''
    return textResult(stdout, error.exitCode, error.message === '' ? '' : `${error.message}\n`)
  }
  return errorResult(fatal(error instanceof Error ? error.message : String(error)))
}

export const git: Command = command('git', (args, context) => run(parseInvocation(args, context)).catch(errorResult))
