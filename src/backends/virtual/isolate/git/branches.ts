/** Implements git branch, checkout, switch and tag. */

import * as git from 'isomorphic-git'
import type { Arguments } from './arguments.ts'
import {
  branchOf,
  type GitCall,
  getCommit,
  fatal,
  GitError,
  headOf,
  getIdentity,
  type Repository,
  shortOid,
} from './repository.ts'
import { restoreFiles } from './staging.ts'

export type GitOutput = { readonly stdout?: string; readonly stderr?: string }

async function listRemoteBranches({ repository }: GitCall): Promise<string[]> {
  const names: string[] = []
  for (const { remote } of await git.listRemotes({ ...repository }))
    for (const name of await git.listBranches({ ...repository, remote })) names.push(`${remote}/${name}`)
  return names.filter((name) => !name.endsWith('/HEAD'))
}

async function listBranches(call: GitCall, options: Arguments): Promise<string> {
  const { repository } = call
  const current = await branchOf(repository)
  const local = options.flag('r') ? [] : await git.listBranches({ ...repository })
  const lines: string[] = []
  const details = async (name: string): Promise<string> => {
    if (!options.flag('v', 'vv')) return ''
    const { oid, commit } = await git.readCommit({ ...repository, oid: await getCommit(repository, name) })
    return ` ${shortOid(oid)} ${commit.message.split('\n')[0] ?? ''}`
  }
  const head = await headOf(repository)
  if (current === undefined && head && !options.flag('r')) lines.push(`* (HEAD detached at ${shortOid(head)})`)
  const widest = options.flag('v', 'vv') ? Math.max(...local.map((name) => name.length)) : 0
  for (const name of local) lines.push(`${name === current ? '*' : ' '} ${name.padEnd(widest)}${await details(name)}`)
  if (options.flag('a', 'all', 'r'))
    for (const name of await listRemoteBranches(call)) lines.push(`  ${options.flag('r') ? '' : 'remotes/'}${name}`)
  return lines.map((line) => `${line}\n`).join('')
}

async function deleteBranch(call: GitCall, name: string, options: Arguments): Promise<string> {
  const { repository } = call
  if (name === (await branchOf(repository)))
    throw new GitError(`error: Cannot delete branch '${name}' checked out at '${repository.dir}'`, 1)
  const oid = await getCommit(repository, `refs/heads/${name}`).catch(() => undefined)
  if (oid === undefined) throw new GitError(`error: branch '${name}' not found.`, 1)
  const head = await headOf(repository)
  const merged =
    head === oid || (head && (await git.isDescendent({ ...repository, oid: head, ancestor: oid }).catch(() => false)))
  if (!merged && !options.flag('D'))
    throw new GitError(
      `error: The branch '${name}' is not fully merged.\nIf you are sure you want to delete it, run 'git branch -D ${name}'.`,
      1,
    )
  await git.deleteBranch({ ...repository, ref: name })
  return options.flag('q', 'quiet') ? '' : `Deleted branch ${name} (was ${shortOid(oid)}).\n`
}

async function currentName(repository: Repository): Promise<GitOutput> {
  const name = await branchOf(repository)
  return { stdout: name === undefined ? '' : `${name}\n` }
}

export async function branch(call: GitCall, options: Arguments): Promise<GitOutput> {
  const { repository } = call
  const [name, start] = options.rest
  if (options.flag('show-current')) return currentName(repository)
  if (name === undefined || options.flag('list', 'a', 'r', 'v')) return { stdout: await listBranches(call, options) }
  if (options.flag('d', 'D', 'delete')) {
    let stdout = ''
    for (const one of options.rest) stdout += await deleteBranch(call, one, options)
    return { stdout }
  }
  if (options.flag('m', 'M')) {
    const oldref = start === undefined ? ((await branchOf(repository)) ?? '') : name
    await git.renameBranch({
      ...repository,
      oldref,
      ref: start ?? name,
      checkout: oldref === (await branchOf(repository)),
    })
    return {}
  }
  await create(call, name, start)
  return {}
}

async function create(call: GitCall, name: string, start: string | undefined, force = false): Promise<void> {
  const { repository } = call
  if ((await git.listBranches({ ...repository })).includes(name) && !force)
    throw fatal(`a branch named '${name}' already exists`)
  if (!/^(?![./-])(?!.*(\.\.|[\s~^:?*[\\]|\/$|\.lock$))/.test(name)) throw fatal(`'${name}' is not a valid branch name`)
  const oid = await getCommit(repository, start ?? 'HEAD')
  await git.writeRef({ ...repository, ref: `refs/heads/${name}`, value: oid, force: true })
}

/** Checks out a branch, a commit or a remote branch. Fails when local changes would be lost. */
async function checkoutRef(call: GitCall, name: string, force: boolean): Promise<string> {
  const { repository, context } = call
  const current = await branchOf(repository)
  if (name === current) return `Already on '${name}'\n`
  const before = await headOf(repository)
  const local = (await git.listBranches({ ...repository })).includes(name)
  const remote = local ? false : (await getCommit(repository, `origin/${name}`).catch(() => undefined)) !== undefined
  const ref = local || remote ? name : await getCommit(repository, name)
  try {
    await git.checkout({ ...repository, ref, force })
  } catch (error) {
    if (!(error instanceof git.Errors.CheckoutConflictError)) throw error
    const files = error.data.filepaths.map((path) => `\t${path}\n`).join('')
    throw new GitError(
      `error: Your local changes to the following files would be overwritten by checkout:\n${files}Please commit your changes or stash them before you switch branches.\nAborting`,
      1,
    )
  }
  await context.fs.writeFile(previousBranchFile(repository), current ?? before ?? '')
  return local || remote ? `Switched to branch '${name}'\n` : `HEAD is now at ${shortOid(ref)}\n`
}

const previousBranchFile = ({ gitdir }: Repository): string => `${gitdir}/PREVIOUS_BRANCH`

/** A branch, or the commit of a detached head. */
async function previousBranch({ context, repository }: GitCall): Promise<string> {
  const path = previousBranchFile(repository)
  const name = (await context.fs.exists(path)) ? await context.fs.readFile(path) : ''
  if (name === '') throw fatal('there is no previous branch')
  return name
}

async function createAndCheckout(
  call: GitCall,
  name: string,
  start: string | undefined,
  force: boolean,
): Promise<string> {
  const { repository, context } = call
  const before = await branchOf(repository)
  if ((await headOf(repository)) === undefined && start === undefined)
    await git.writeRef({ ...repository, ref: 'HEAD', value: `refs/heads/${name}`, symbolic: true, force: true })
  else {
    await create(call, name, start, force)
    if (start !== undefined) await checkoutRef(call, name, false)
    // Local changes stay: only the name of the branch changes.
    else await git.writeRef({ ...repository, ref: 'HEAD', value: `refs/heads/${name}`, symbolic: true, force: true })
  }
  await context.fs.writeFile(previousBranchFile(repository), before ?? '')
  return `Switched to a new branch '${name}'\n`
}

export async function switchTo(call: GitCall, options: Arguments): Promise<GitOutput> {
  const quiet = options.flag('q', 'quiet')
  const made = options.value('c', 'b', 'C', 'B')
  const [name] = options.rest
  if (made === undefined && name === undefined) throw fatal('missing branch or commit argument')
  const target = name === '-' ? await previousBranch(call) : (name ?? '')
  const stderr =
    made === undefined
      ? await checkoutRef(call, target, options.flag('f', 'force', 'discard-changes'))
      : await createAndCheckout(call, made, name, options.value('C', 'B') !== undefined)
  return quiet ? {} : { stderr }
}

export async function checkout(call: GitCall, options: Arguments): Promise<GitOutput> {
  if (options.value('b', 'B') !== undefined) return switchTo(call, options)
  const [revisions, paths] = options.rest[0] === '-' ? [['-'], []] : await withRemote(call, options)
  if (paths.length === 0) return revisions.length === 0 ? {} : switchTo(call, options)
  const count = await restoreFiles(call, revisions[0], paths)
  return options.after || options.flag('q')
    ? {}
    : { stderr: `Updated ${count} path${count === 1 ? '' : 's'} from the index\n` }
}

async function withRemote(call: GitCall, options: Arguments): Promise<readonly [readonly string[], readonly string[]]> {
  const [first = ''] = options.rest
  const remote = await getCommit(call.repository, `origin/${first}`).catch(() => undefined)
  const divided = options.revisionsAndPaths(call)
  return remote && !options.after
    ? divided.catch(() => [[first], []] as const)
    : divided.catch((error: unknown) => {
        throw error instanceof GitError && !options.after
          ? new GitError(`error: pathspec '${first}' did not match any file(s) known to git`, 1)
          : error
      })
}

export async function tag(call: GitCall, options: Arguments): Promise<GitOutput> {
  const { repository } = call
  const [name, start] = options.rest
  if (name === undefined || options.flag('l', 'list'))
    return { stdout: (await git.listTags({ ...repository })).map((one) => `${one}\n`).join('') }
  if (options.flag('d', 'delete')) {
    const oid = await git.resolveRef({ ...repository, ref: `refs/tags/${name}` }).catch(() => undefined)
    if (oid === undefined) throw new GitError(`error: tag '${name}' not found.`, 1)
    await git.deleteTag({ ...repository, ref: name })
    return { stdout: `Deleted tag '${name}' (was ${shortOid(oid)})\n` }
  }
  const object = await getCommit(repository, start ?? 'HEAD')
  const force = options.flag('f', 'force')
  if ((await git.listTags({ ...repository })).includes(name) && !force) throw fatal(`tag '${name}' already exists`)
  const message = options.value('m', 'message')
  if (message === undefined) await git.tag({ ...repository, ref: name, object, force })
  else
    await git.annotatedTag({
      ...repository,
      ref: name,
      object,
      message: `${message}\n`,
      tagger: await getIdentity(call, 'COMMITTER'),
      force,
    })
  return {}
}
