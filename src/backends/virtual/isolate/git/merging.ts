/** Implements git merge and stash. */

import * as git from 'isomorphic-git'
import type { Arguments } from './arguments.ts'
import { changesBetween, listModes, renderStat } from './changes.ts'
import { branchOf, type GitCall, getCommit, fatal, GitError, headOf, getIdentity, shortOid } from './repository.ts'
import { setUnmerged, getStatus } from './status.ts'

const ourMarker = 'HEAD'

/** Names our side HEAD in conflict markers, as git does. */
async function renameMarkers({ context, repository }: GitCall, paths: readonly string[], ours: string): Promise<void> {
  for (const path of paths) {
    const file = `${repository.dir}/${path}`
    const text = await context.fs.readFile(file)
    await context.fs.writeFile(file, text.replaceAll(`<<<<<<< ${ours}\n`, `<<<<<<< ${ourMarker}\n`))
  }
}

async function writeConflict(
  call: GitCall,
  error: InstanceType<typeof git.Errors.MergeConflictError>,
  name: string,
  theirs: string,
): Promise<GitError> {
  const { context, repository } = call
  const paths = error.data.filepaths
  const deleted = [...error.data.deleteByUs, ...error.data.deleteByTheirs]
  const both = paths.filter((path) => !deleted.includes(path))
  await renameMarkers(call, both, (await branchOf(repository)) ?? 'HEAD')
  await setUnmerged(call, paths)
  await context.fs.writeFile(`${repository.gitdir}/MERGE_HEAD`, `${theirs}\n`)
  await context.fs.writeFile(`${repository.gitdir}/MERGE_MSG`, `Merge branch '${name}'\n`)
  const lines = [
    ...both.map((path) => `Auto-merging ${path}\nCONFLICT (content): Merge conflict in ${path}\n`),
    ...deleted.map((path) => `CONFLICT (modify/delete): ${path} deleted on one side and modified on the other.\n`),
  ]
  return Object.assign(new GitError('', 1), {
    stdout: `${lines.join('')}Automatic merge failed; fix conflicts and then commit the result.\n`,
  })
}

async function abort(call: GitCall): Promise<string> {
  const { repository, context } = call
  if (!(await context.fs.exists(`${repository.gitdir}/MERGE_HEAD`)))
    throw fatal('There is no merge to abort (MERGE_HEAD missing).')
  await git.checkout({ ...repository, ref: (await branchOf(repository)) ?? 'HEAD', force: true })
  await setUnmerged(call, [])
  for (const name of ['MERGE_HEAD', 'MERGE_MSG']) await context.fs.rm(`${repository.gitdir}/${name}`, { force: true })
  return ''
}

export async function merge(call: GitCall, options: Arguments): Promise<string> {
  const { repository } = call
  if (options.flag('abort')) return abort(call)
  const [name] = options.rest
  if (name === undefined) throw fatal('No remote for the current branch.')
  const [ours, theirs] = [await headOf(repository), await getCommit(repository, name).catch(() => undefined)]
  if (theirs === undefined) throw new GitError(`merge: ${name} - not something we can merge`, 1)
  if (ours === undefined) throw fatal('nothing to merge into: there is no commit yet')
  const { rows } = await getStatus(call)
  if (rows.length > 0)
    throw new GitError(
      'error: Your local changes would be overwritten by merge.\nPlease commit your changes or stash them before you merge.\nAborting',
      1,
    )
  return mergeInto(call, options, { name, ours, theirs })
}

type MergePair = { readonly name: string; readonly ours: string; readonly theirs: string }

async function mergeInto(call: GitCall, options: Arguments, { name, ours, theirs }: MergePair): Promise<string> {
  const { repository } = call
  const branch = await branchOf(repository)
  try {
    const result = await git.merge({
      ...repository,
      ...(branch !== undefined && { ours: branch }),
      theirs: name,
      abortOnConflict: false,
      fastForward: !options.flag('no-ff'),
      fastForwardOnly: options.flag('ff-only'),
      message: options.value('m', 'message') ?? `Merge branch '${name}'\n`,
      author: await getIdentity(call, 'AUTHOR'),
      committer: await getIdentity(call, 'COMMITTER'),
    })
    if (result.alreadyMerged) return 'Already up to date.\n'
    await git.checkout({ ...repository, ref: branch ?? theirs, force: true })
    const changes = await changesBetween(repository, [
      { of: 'commit', oid: ours },
      { of: 'commit', oid: await headOf(repository) },
    ])
    const heading = result.fastForward
      ? `Updating ${shortOid(ours)}..${shortOid(theirs)}\nFast-forward\n`
      : "Merge made by the 'ort' strategy.\n"
    return options.flag('q', 'quiet') ? '' : heading + (await renderStat(changes)) + listModes(changes)
  } catch (error) {
    if (error instanceof git.Errors.MergeConflictError) throw await writeConflict(call, error, name, theirs)
    if (error instanceof git.Errors.FastForwardError) throw fatal('Not possible to fast-forward, aborting.')
    throw error
  }
}

type StashOp = 'push' | 'pop' | 'apply' | 'drop' | 'list' | 'clear'
const stashOperations: Readonly<Record<string, StashOp>> = {
  push: 'push',
  save: 'push',
  pop: 'pop',
  apply: 'apply',
  drop: 'drop',
  list: 'list',
  clear: 'clear',
}

/** Sets the user's name and email, because the library's stash reads them only from the settings. */
async function ensureIdentity(call: GitCall): Promise<void> {
  const { name, email } = await getIdentity(call, 'AUTHOR')
  if ((await git.getConfig({ ...call.repository, path: 'user.name' })) !== undefined) return
  await git.setConfig({ ...call.repository, path: 'user.name', value: name })
  await git.setConfig({ ...call.repository, path: 'user.email', value: email })
}

async function pushStash(call: GitCall, message: string | undefined): Promise<string> {
  const { repository } = call
  if ((await getStatus(call)).rows.length === 0) return 'No local changes to save\n'
  await ensureIdentity(call)
  await git.stash({ ...repository, op: 'push', ...(message !== undefined && { message }) })
  const head = (await headOf(repository)) ?? ''
  const { commit } = await git.readCommit({ ...repository, oid: head })
  const branch = (await branchOf(repository)) ?? '(no branch)'
  const about = `WIP on ${branch}: ${shortOid(head)} ${commit.message.split('\n')[0] ?? ''}`
  return `Saved working directory and index state ${message === undefined ? about : `On ${branch}: ${message}`}\n`
}

export async function stash(call: GitCall, options: Arguments): Promise<string> {
  const [word = 'push', which = ''] = options.rest
  const op = stashOperations[word]
  if (!op) throw fatal(`unknown stash command: ${word}`)
  const quiet = options.flag('q', 'quiet')
  const message = options.value('m', 'message')
  if (op === 'push') return pushStash(call, message).then((text) => (quiet ? '' : text))
  const refIdx = Number(/\d+/.exec(which)?.[0] ?? 0)
  const answer = await git.stash({ ...call.repository, op, refIdx })
  if (op === 'list') return stashes(answer)
  return quiet || op === 'clear' ? '' : `${op === 'apply' ? 'Applied' : 'Dropped'} stash@{${refIdx}}\n`
}

const stashes = (answer: unknown): string =>
  (Array.isArray(answer) ? answer.map(String) : String(answer ?? '').split('\n'))
    .filter(Boolean)
    .map((line) => `${line}\n`)
    .join('')
