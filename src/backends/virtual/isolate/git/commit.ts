/** Implements git commit. */

import * as git from 'isomorphic-git'
import { readText } from '../commands/io.ts'
import type { Arguments } from './arguments.ts'
import { changesBetween, listModes, renderStat } from './changes.ts'
import { branchOf, type GitCall, GitError, headOf, getIdentity, shortOid } from './repository.ts'
import { stage } from './staging.ts'
import { longStatus, getStatus, listUnmerged } from './status.ts'

const unmergedMessage = `error: Committing is not possible because you have unmerged files.
hint: Fix them up in the work tree, and then use "git add/rm <file>".`

async function renderMessage(
  call: GitCall,
  options: Arguments,
  amended: git.CommitObject | undefined,
): Promise<string> {
  const message = await givenMessage(call, options, amended)
  if (message.trim() === '') throw new GitError('Aborting commit due to empty commit message.', 1)
  return `${message.trimEnd()}\n`
}

async function givenMessage(call: GitCall, options: Arguments, amended: git.CommitObject | undefined): Promise<string> {
  const { context, repository } = call
  const messages = options.values('m', 'message')
  if (messages.length > 0) return messages.join('\n\n')
  const file = options.value('F', 'file')
  if (file !== undefined) return readText(context, file)
  const prepared = `${repository.gitdir}/MERGE_MSG`
  if (await context.fs.exists(prepared)) return context.fs.readFile(prepared)
  if (amended) return amended.message
  throw new GitError('error: there is no editor here: give the message with -m or -F', 1)
}

async function listParents({ context, repository }: GitCall, head: string | undefined): Promise<string[]> {
  const path = `${repository.gitdir}/MERGE_HEAD`
  const merged = (await context.fs.exists(path)) ? [(await context.fs.readFile(path)).trim()] : []
  return [...(head ? [head] : []), ...merged]
}

/** The parents of a commit, and the commit that it amends. */
type CommitBase = { readonly parent: string[]; readonly before: git.CommitObject | undefined }

async function getCommitBase(call: GitCall, amend: boolean): Promise<CommitBase> {
  const head = await headOf(call.repository)
  if (!amend || !head) return { parent: await listParents(call, head), before: undefined }
  const { commit: before } = await git.readCommit({ ...call.repository, oid: head })
  return { parent: before.parent, before }
}

export async function commit(call: GitCall, options: Arguments): Promise<string> {
  const { repository, context } = call
  if (options.flag('a', 'all')) await stage(call, () => true, true)
  if ((await listUnmerged(call)).length > 0) throw new GitError(unmergedMessage)
  const { parent, before } = await getCommitBase(call, options.flag('amend'))
  const staged = (await getStatus(call)).rows.some(({ index }) => index !== ' ')
  const needless = !staged && !before && parent.length < 2
  if (needless && !options.flag('allow-empty')) throw new NothingToCommit(await longStatus(call))
  const message = await renderMessage(call, options, before)
  const author = before?.author ?? (await getAuthor(call, options))
  const committer = await getIdentity(call, 'COMMITTER')
  const oid = await git.commit({ ...repository, message, author, committer, parent })
  for (const name of ['MERGE_HEAD', 'MERGE_MSG']) await context.fs.rm(`${repository.gitdir}/${name}`, { force: true })
  return options.flag('q', 'quiet') ? '' : report(call, oid, parent[0])
}

/** The error when there is nothing to commit; the status is printed to standard output. */
class NothingToCommit extends GitError {
  readonly stdout: string
  constructor(stdout: string) {
    super('', 1)
    this.stdout = stdout
  }
}

async function getAuthor(call: GitCall, options: Arguments) {
  const person = await getIdentity(call, 'AUTHOR')
  const [, name, email] = /^([^<]*)<(.*)>$/.exec(options.value('author') ?? '') ?? []
  return name === undefined || email === undefined ? person : { ...person, name: name.trimEnd(), email }
}

async function report({ repository }: GitCall, oid: string, parent: string | undefined): Promise<string> {
  const branch = (await branchOf(repository)) ?? 'detached HEAD'
  const { commit: made } = await git.readCommit({ ...repository, oid })
  const changes = await changesBetween(repository, [
    { of: 'commit', oid: parent },
    { of: 'commit', oid },
  ])
  const root = parent === undefined ? ' (root-commit)' : ''
  const heading = `[${branch}${root} ${shortOid(oid)}] ${made.message.split('\n')[0] ?? ''}\n`
  return heading + (await renderStat(changes, { short: true })) + listModes(changes)
}
