/** Implements git add, rm, mv, restore and reset. */

import * as git from 'isomorphic-git'
import { pathIn } from '../commands/io.ts'
import type { Arguments } from './arguments.ts'
import { changesBetween } from './changes.ts'
import {
  branchOf,
  type GitCall,
  getCommit,
  fatal,
  GitError,
  headOf,
  repositoryPath,
  pathMatcher,
  shortOid,
} from './repository.ts'
import { setUnmerged, getStatus, listUnmerged } from './status.ts'

async function clearUnmerged(call: GitCall, paths: readonly string[]): Promise<void> {
  const unmerged = await listUnmerged(call)
  if (unmerged.length > 0)
    await setUnmerged(
      call,
      unmerged.filter((path) => !paths.includes(path)),
    )
}

/** Adds everything below these paths that differs from the index. */
export async function stage(call: GitCall, isSelected: (path: string) => boolean, tracked: boolean): Promise<string[]> {
  const { repository } = call
  const conflicts = new Set(await listUnmerged(call))
  const matrix = await git.statusMatrix({ ...repository, filter: (path) => isSelected(path) })
  const changed = matrix.filter(([path, head, workdir, index]) => {
    if (tracked && head === 0 && index === 0) return false
    return isSelected(path) && (workdir !== index || conflicts.has(path))
  })
  for (const [filepath, , workdir] of changed)
    if (workdir === 0) await git.remove({ ...repository, filepath })
    else await git.add({ ...repository, filepath })
  const paths = changed.map(([path]) => path)
  await clearUnmerged(call, paths)
  return paths
}

/** Throws unless the path exists, is tracked or is a pattern, and is not ignored (without `force`). */
async function requireAddable(call: GitCall, name: string, tracked: readonly string[], force: boolean): Promise<void> {
  const filepath = repositoryPath(call, name)
  const exists = await call.context.fs.exists(pathIn(call.context, name))
  if (!exists && !/[*?[]/.test(name) && !tracked.some(pathMatcher([filepath])))
    throw fatal(`pathspec '${name}' did not match any files`)
  if (!exists || filepath === '.' || tracked.includes(filepath)) return
  const ignored = await git.isIgnored({ ...call.repository, filepath })
  if (ignored && !force)
    throw new GitError(
      `The following paths are ignored by one of your .gitignore files:\n${name}\nhint: Use -f if you really want to add them.`,
      1,
    )
  if (ignored) await git.add({ ...call.repository, filepath, force })
}

export async function add(call: GitCall, options: Arguments): Promise<string> {
  const update = options.flag('u', 'update')
  const names = [...options.rest, ...(options.after ?? [])]
  if (names.length === 0 && !update && !options.flag('A', 'all'))
    throw new GitError('Nothing specified, nothing added.', 0)
  const tracked = await git.listFiles({ ...call.repository })
  for (const name of names) await requireAddable(call, name, tracked, options.flag('f', 'force'))
  const isSelected = pathMatcher(names.map((name) => repositoryPath(call, name)))
  const staged = await stage(call, isSelected, update)
  return options.flag('v', 'verbose') ? staged.map((path) => `add '${path}'\n`).join('') : ''
}

export async function rm(call: GitCall, options: Arguments): Promise<string> {
  const files = await git.listFiles({ ...call.repository })
  const removed: string[] = []
  for (const name of [...options.rest, ...(options.after ?? [])]) {
    const inside = repositoryPath(call, name)
    const matched = files.filter(pathMatcher([inside]))
    if (matched.length === 0 && !options.flag('f')) throw fatal(`pathspec '${name}' did not match any files`)
    if (matched.some((path) => path !== inside) && !options.flag('r') && !/[*?[]/.test(name))
      throw fatal(`not removing '${name}' recursively without -r`)
    removed.push(...matched)
  }
  for (const filepath of removed) {
    await git.remove({ ...call.repository, filepath })
    if (!options.flag('cached')) await call.context.fs.rm(`${call.repository.dir}/${filepath}`, { force: true })
  }
  await clearUnmerged(call, removed)
  return options.flag('q', 'quiet') ? '' : removed.map((path) => `rm '${path}'\n`).join('')
}

export async function mv(call: GitCall, options: Arguments): Promise<string> {
  const { context, repository } = call
  const [sources, destination] = [options.rest.slice(0, -1), options.rest.at(-1) ?? '']
  const target = pathIn(context, destination)
  const into = (await context.fs.exists(target)) && (await context.fs.stat(target)).isDirectory
  for (const source of sources) {
    const from = pathIn(context, source)
    const files = (await git.listFiles({ ...repository })).filter(pathMatcher([repositoryPath(call, source)]))
    if (files.length === 0) throw fatal(`not under version control, source=${source}, destination=${destination}`)
    const to = into ? `${target}/${from.replace(/^.*\//, '')}` : target
    if (!options.flag('f') && (await context.fs.exists(to)))
      throw fatal(`destination exists, source=${source}, destination=${destination}`)
    await context.fs.mv(from, to)
    const moved = repositoryPath(call, to)
    for (const filepath of files) {
      await git.remove({ ...repository, filepath })
      await git.add({ ...repository, filepath: moved + filepath.slice(repositoryPath(call, from).length) })
    }
  }
  return ''
}

/** Overwrites files of the working tree with those of a commit or the index. */
export async function restoreFiles(
  call: GitCall,
  source: string | undefined,
  names: readonly string[],
): Promise<number> {
  const { repository, context } = call
  const isSelected = pathMatcher(names.map((name) => repositoryPath(call, name)))
  const from =
    source === undefined
      ? ({ of: 'index' } as const)
      : ({ of: 'commit', oid: await getCommit(repository, source) } as const)
  const changes = await changesBetween(repository, [from, { of: 'files' }], isSelected)
  const all =
    source === undefined ? await git.listFiles({ ...repository }) : await git.listFiles({ ...repository, ref: source })
  if (!all.some(isSelected) && changes.length === 0)
    throw new GitError(`error: pathspec '${names[0] ?? ''}' did not match any file(s) known to git`, 1)
  for (const { path, before } of changes) {
    const file = `${repository.dir}/${path}`
    if (!before) continue
    const { blob } = await git.readBlob({ ...repository, oid: before.oid })
    await context.fs.mkdir(file.replace(/\/[^/]*$/, ''), { recursive: true })
    await context.fs.writeFile(file, blob)
    if (before.mode === '100755') await context.fs.chmod(file, 0o755)
    if (source !== undefined) await git.add({ ...repository, filepath: path })
  }
  return changes.length
}

/** Resets the index to a commit, below these paths. */
async function unstage(call: GitCall, ref: string | undefined, isSelected: (path: string) => boolean): Promise<void> {
  const { repository } = call
  const changes = await changesBetween(repository, [{ of: 'commit', oid: ref }, { of: 'index' }], isSelected)
  for (const { path, before } of changes)
    if (ref && before) await git.resetIndex({ ...repository, filepath: path, ref })
    else await git.remove({ ...repository, filepath: path })
}

export async function restore(call: GitCall, options: Arguments): Promise<string> {
  const names = [...options.rest, ...(options.after ?? [])]
  if (names.length === 0) throw fatal('you must specify path(s) to restore')
  const source = options.value('source', 's')
  const staged = options.flag('staged', 'S')
  if (staged)
    await unstage(
      call,
      source === undefined ? await headOf(call.repository) : await getCommit(call.repository, source),
      pathMatcher(names.map((name) => repositoryPath(call, name))),
    )
  if (!staged || options.flag('worktree', 'W')) await restoreFiles(call, source, names)
  return ''
}

async function moveBranch(call: GitCall, oid: string): Promise<void> {
  const branch = await branchOf(call.repository)
  const ref = branch === undefined ? 'HEAD' : `refs/heads/${branch}`
  await git.writeRef({ ...call.repository, ref, value: oid, force: true })
}

export async function reset(call: GitCall, options: Arguments): Promise<string> {
  const { repository } = call
  const [revisions, paths] = await options.revisionsAndPaths(call)
  const target = revisions[0] === undefined ? await headOf(repository) : await getCommit(repository, revisions[0])
  if (paths.length > 0) {
    await unstage(call, target, pathMatcher(paths.map((path) => repositoryPath(call, path))))
    return listUnstaged(call, options)
  }
  if (target && revisions.length > 0) await moveBranch(call, target)
  if (options.flag('soft')) return ''
  if (options.flag('hard')) return target ? resetHard(call, target, options) : ''
  await unstage(call, target, () => true)
  await setUnmerged(call, [])
  return listUnstaged(call, options)
}

async function listUnstaged(call: GitCall, options: Arguments): Promise<string> {
  const { rows } = await getStatus(call)
  const changed = rows.filter(({ files }) => files !== ' ')
  if (options.flag('q', 'quiet') || changed.length === 0) return ''
  return `Unstaged changes after reset:\n${changed.map(({ path, files }) => `${files}\t${path}\n`).join('')}`
}

async function resetHard(call: GitCall, oid: string, options: Arguments): Promise<string> {
  const { repository, context } = call
  const branch = await branchOf(repository)
  await git.checkout({ ...repository, ref: branch ?? oid, force: true })
  await setUnmerged(call, [])
  for (const name of ['MERGE_HEAD', 'MERGE_MSG']) await context.fs.rm(`${repository.gitdir}/${name}`, { force: true })
  const { commit } = await git.readCommit({ ...repository, oid })
  return options.flag('q', 'quiet') ? '' : `HEAD is now at ${shortOid(oid)} ${commit.message.split('\n')[0] ?? ''}\n`
}
