/** Implements git init, config, remote, rev-parse, ls-files and diff. */

import * as git from 'isomorphic-git'
import { type CommandContext, pathIn } from '../commands/io.ts'
import type { Arguments } from './arguments.ts'
import { changesBetween, type TreeState } from './changes.ts'
import { listGlobal, readGlobal, writeGlobal } from './global-config.ts'
import { changesText } from './history.ts'
import {
  branchOf,
  type GitCall,
  getCommit,
  fatal,
  findRepository,
  GitError,
  headOf,
  repositoryPath,
  pathMatcher,
  repositoryAt,
  shortOid,
} from './repository.ts'

export async function init(context: CommandContext, options: Arguments): Promise<string> {
  const dir = pathIn(context, options.rest[0] ?? '.')
  const repository = repositoryAt(context, dir)
  const exists = await context.fs.exists(repository.gitdir)
  const defaultBranch =
    options.value('b', 'initial-branch') ?? (await readGlobal(context, 'init.defaultBranch')) ?? 'main'
  await context.fs.mkdir(dir, { recursive: true })
  await git.init({ ...repository, defaultBranch })
  const word = exists ? 'Reinitialized existing' : 'Initialized empty'
  return options.flag('q', 'quiet') ? '' : `${word} Git repository in ${repository.gitdir}/\n`
}

async function listConfig({ context, repository }: GitCall): Promise<string> {
  const text = await context.fs.readFile(`${repository.gitdir}/config`)
  let section = ''
  const own = text.split('\n').flatMap((line) => {
    const heading = /^\s*\[([\w.-]+)(?:\s+"(.*)")?\]/.exec(line)
    if (heading) section = [heading[1], heading[2]].filter((part) => part !== undefined).join('.')
    const entry = /^\s*([\w-]+)\s*=\s*(.*)$/.exec(line)
    return entry ? [`${section}.${entry[1]?.toLowerCase()}=${entry[2]}`] : []
  })
  return [...(await listGlobal(context)), ...own].map((line) => `${line}\n`).join('')
}

/** Reads or writes the user's settings, also without a repository. */
async function globalConfig(
  context: CommandContext,
  options: Arguments,
  path?: string,
  value?: string,
): Promise<string> {
  if (path === undefined) return readOut((await listGlobal(context)).join('\n'))
  if (value === undefined && !options.flag('unset')) return readOut(await readGlobal(context, path))
  await writeGlobal(context, path, value)
  return ''
}

export async function config(context: CommandContext, options: Arguments): Promise<string> {
  const [path, value] = /^[sg]et$/.test(options.rest[0] ?? '') ? options.rest.slice(1) : options.rest
  if (options.flag('global', 'system')) return globalConfig(context, options, path, value)
  const repository = await findRepository(context)
  if (options.flag('l', 'list') || path === undefined) return listConfig({ context, repository })
  if (options.flag('unset') || value !== undefined) {
    await git.setConfig({ ...repository, path, value })
    return ''
  }
  const own = (await git.getConfig({ ...repository, path })) as unknown
  return readOut(own === undefined ? await readGlobal(context, path) : String(own))
}

function readOut(value: string | undefined): string {
  if (value === undefined) throw new GitError('', 1)
  return `${value}\n`
}

export async function remote({ repository }: GitCall, options: Arguments): Promise<string> {
  const [verb, name = '', url = ''] = options.rest
  const remotes = await git.listRemotes({ ...repository })
  const existing = remotes.find(({ remote: one }) => one === name)
  if (verb === undefined) {
    const lines = remotes.flatMap(({ remote: one, url: address }) =>
      options.flag('v', 'verbose') ? [`${one}\t${address} (fetch)`, `${one}\t${address} (push)`] : [one],
    )
    return lines.map((line) => `${line}\n`).join('')
  }
  if (verb === 'add') {
    if (existing) throw new GitError(`error: remote ${name} already exists.`, 3)
    await git.addRemote({ ...repository, remote: name, url })
    return ''
  }
  if (!existing) throw new GitError(`error: No such remote: '${name}'`, 2)
  if (verb === 'get-url') return `${existing.url}\n`
  if (verb === 'set-url') await git.addRemote({ ...repository, remote: name, url, force: true })
  else if (verb === 'remove' || verb === 'rm') await git.deleteRemote({ ...repository, remote: name })
  else throw fatal(`git remote ${verb} is not available here`)
  return ''
}

export async function revParse({ repository }: GitCall, options: Arguments): Promise<string> {
  if (options.flag('show-toplevel')) return `${repository.dir}\n`
  if (options.flag('git-dir', 'absolute-git-dir')) return `${repository.gitdir}\n`
  if (options.flag('is-inside-work-tree')) return 'true\n'
  const lines: string[] = []
  for (const name of options.rest) {
    const oid = await getCommit(repository, name)
    if (options.flag('abbrev-ref')) lines.push(name === 'HEAD' ? ((await branchOf(repository)) ?? 'HEAD') : name)
    else lines.push(options.flag('short') ? shortOid(oid) : oid)
  }
  return lines.map((line) => `${line}\n`).join('')
}

export async function lsFiles(call: GitCall, options: Arguments): Promise<string> {
  const isWanted = pathMatcher([...options.rest, ...(options.after ?? [])].map((path) => repositoryPath(call, path)))
  if (options.flag('o', 'others')) {
    const matrix = await git.statusMatrix({ ...call.repository })
    return matrix
      .filter(([path, head, workdir, stage]) => head === 0 && stage === 0 && workdir !== 0 && isWanted(path))
      .map(([path]) => `${path}\n`)
      .join('')
  }
  return (await git.listFiles({ ...call.repository }))
    .filter(isWanted)
    .map((path) => `${path}\n`)
    .join('')
}

/** Resolves the two states that git diff compares. */
async function listStates(
  { repository }: GitCall,
  options: Arguments,
  revisions: readonly string[],
): Promise<readonly [TreeState, TreeState]> {
  const [range, second] = revisions
  const [first, other] = range?.includes('..') ? range.split(/\.{2,3}/) : [range, second]
  const at = async (name: string | undefined): Promise<TreeState> => ({
    of: 'commit',
    oid: await getCommit(repository, name || 'HEAD'),
  })
  if (other !== undefined) return [await at(first), await at(other)]
  if (options.flag('cached', 'staged'))
    return [first === undefined ? { of: 'commit', oid: await headOf(repository) } : await at(first), { of: 'index' }]
  return [first === undefined ? { of: 'index' } : await at(first), { of: 'files' }]
}

export async function diff(call: GitCall, options: Arguments): Promise<{ stdout: string; differs: boolean }> {
  const [revisions, paths] = await options.revisionsAndPaths(call)
  const isWanted = pathMatcher(paths.map((path) => repositoryPath(call, path)))
  const changes = await changesBetween(call.repository, await listStates(call, options, revisions), isWanted)
  const differs = changes.length > 0 && options.flag('exit-code', 'quiet')
  return { stdout: options.flag('quiet') ? '' : await changesText(options, changes, true), differs }
}
