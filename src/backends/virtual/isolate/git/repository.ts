/** Opens a repository on the shell's files, and resolves revisions, paths and identities. */

import * as git from 'isomorphic-git'
import { type CommandContext, pathIn } from '../commands/io.ts'
import { readGlobal } from './global-config.ts'

export type Repository = {
  readonly fs: { readonly promises: GitFiles }
  readonly dir: string
  readonly gitdir: string
  readonly cache: object
}

export type GitCall = { readonly context: CommandContext; readonly repository: Repository }

/** An error of a git command: its message on stderr and its exit code. */
export class GitError extends Error {
  readonly exitCode: number
  constructor(message: string, exitCode = 128) {
    super(message)
    this.name = 'GitError'
    this.exitCode = exitCode
  }
}

export const fatal = (message: string): GitError => new GitError(`fatal: ${message}`)

type GitStat = Readonly<Record<'size' | 'mode' | 'mtimeMs' | 'ctimeMs' | 'ino' | 'uid' | 'gid' | 'dev', number>> & {
  readonly isFile: () => boolean
  readonly isDirectory: () => boolean
  readonly isSymbolicLink: () => boolean
}

type GitFiles = ReturnType<typeof gitFiles>

/** Adds the error code, with which messages of the shell's files begin. */
async function withErrorCode<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw Object.assign(new Error(message), { code: /^E[A-Z]+/.exec(message)?.[0] ?? 'EIO' })
  }
}

let statCount = 0

/**
 * The clock may stand still between two writes, so that equal times do not prove equal contents. Each call returns
 * another change time, so that git compares contents.
 */
function renderStat(stat: Awaited<ReturnType<CommandContext['fs']['stat']>>): GitStat {
  return {
    size: stat.size,
    mode: stat.isSymbolicLink ? 0o120000 : (stat.mode & 0o777) | (stat.isDirectory ? 0o040000 : 0o100000),
    mtimeMs: stat.mtime.getTime(),
    ctimeMs: ++statCount * 1000,
    ino: 0,
    uid: 1000,
    gid: 1000,
    dev: 0,
    isFile: () => stat.isFile,
    isDirectory: () => stat.isDirectory,
    isSymbolicLink: () => stat.isSymbolicLink,
  }
}

function gitFiles({ fs }: CommandContext) {
  type Encoding = string | { encoding?: string } | undefined
  const wantsText = (options: Encoding): boolean =>
    (typeof options === 'string' ? options : options?.encoding) === 'utf8'
  return {
    readFile: async (path: string, options?: Encoding) =>
      wantsText(options) ? withErrorCode(fs.readFile(path)) : Buffer.from(await withErrorCode(fs.readFileBuffer(path))),
    async writeFile(path: string, content: string | Uint8Array, options?: { mode?: number }) {
      await withErrorCode(fs.writeFile(path, content))
      if (options?.mode !== undefined) await withErrorCode(fs.chmod(path, options.mode & 0o777))
    },
    unlink: (path: string) => withErrorCode(fs.rm(path)),
    rm: (path: string) => withErrorCode(fs.rm(path)),
    readdir: (path: string) => withErrorCode(fs.readdir(path)),
    mkdir: (path: string) => withErrorCode(fs.mkdir(path)),
    async rmdir(path: string) {
      if ((await withErrorCode(fs.readdir(path))).length > 0)
        throw Object.assign(new Error(path), { code: 'ENOTEMPTY' })
      await withErrorCode(fs.rm(path, { recursive: true }))
    },
    stat: async (path: string) => renderStat(await withErrorCode(fs.stat(path))),
    lstat: async (path: string) => renderStat(await withErrorCode(fs.lstat(path))),
    readlink: (path: string) => withErrorCode(fs.readlink(path)),
    symlink: (target: string, path: string) => withErrorCode(fs.symlink(target, path)),
    chmod: (path: string, mode: number) => withErrorCode(fs.chmod(path, mode)),
  }
}

export const repositoryAt = (context: CommandContext, dir: string): Repository => ({
  fs: { promises: gitFiles(context) },
  dir,
  gitdir: dir === '/' ? '/.git' : `${dir}/.git`,
  cache: {},
})

/** Finds the repository that contains the working directory. */
export async function findRepository(context: CommandContext): Promise<Repository> {
  for (let dir = context.cwd; ; dir = dir.replace(/\/[^/]*$/, '') || '/') {
    if (await context.fs.exists(dir === '/' ? '/.git' : `${dir}/.git`)) return repositoryAt(context, dir)
    if (dir === '/') throw fatal('not a git repository (or any of the parent directories): .git')
  }
}

/** Converts a path to one relative to the repository; '.' is its root. */
export function repositoryPath({ context, repository }: GitCall, path: string): string {
  const whole = pathIn(context, path)
  if (whole === repository.dir) return '.'
  const start = repository.dir === '/' ? '/' : `${repository.dir}/`
  if (!whole.startsWith(start)) throw fatal(`${path}: '${path}' is outside repository at '${repository.dir}'`)
  return whole.slice(start.length)
}

/** Returns a test for paths that match one of these pathspecs; none match all. Stars match across directories, as in git. */
export function pathMatcher(paths: readonly string[]): (path: string) => boolean {
  const tests = paths.map((pattern) => {
    const plain = pattern.replace(/\/$/, '')
    const glob = /[*?[]/.test(plain)
      ? new RegExp(
          `^${plain
            .replace(/[.+^${}()|\\]/g, String.raw`\$&`)
            .replaceAll('*', '.*')
            .replaceAll('?', '.')}(/|$)`,
        )
      : undefined
    return (path: string) =>
      plain === '.' || path === plain || path.startsWith(`${plain}/`) || (glob?.test(path) ?? false)
  })
  return (path) => tests.length === 0 || tests.some((test) => test(path))
}

const ancestorPattern = /[~^]\d*/g

/** Resolves a revision to a commit: branch, tag or (abbreviated) hash, with ~n and ^n. */
export async function getCommit(repository: Repository, name: string): Promise<string> {
  const base = name.replace(ancestorPattern, '')
  let oid = await getBase(repository, base === '' || base === '@' ? 'HEAD' : base, name)
  for (const [step] of name.slice(base.length).matchAll(ancestorPattern)) {
    const count = step.length > 1 ? Number(step.slice(1)) : 1
    for (let i = 0; i < (step.startsWith('~') ? count : 1); i++) {
      const { commit } = await git.readCommit({ ...repository, oid })
      const parent = commit.parent[step.startsWith('^') && count > 0 ? count - 1 : 0]
      if (parent === undefined && count > 0) throw unknown(name)
      oid = parent ?? oid
    }
  }
  return oid
}

const unknown = (name: string): GitError =>
  fatal(`ambiguous argument '${name}': unknown revision or path not in the working tree.`)

async function getBase(repository: Repository, base: string, whole: string): Promise<string> {
  const found = await git.resolveRef({ ...repository, ref: base }).catch(() => undefined)
  const expanded = found ?? (await expandedOid(repository, base))
  const oid = expanded ?? (await git.resolveRef({ ...repository, ref: `remotes/${base}` }).catch(() => undefined))
  if (oid === undefined) throw unknown(whole)
  // An annotated tag resolves to its commit.
  const { oid: peeled } = await git.readCommit({ ...repository, oid }).catch(() => ({ oid }))
  return peeled
}

const expandedOid = (repository: Repository, oid: string): Promise<string | undefined> =>
  /^[0-9a-f]{4,40}$/.test(oid)
    ? git.expandOid({ ...repository, oid }).catch(() => undefined)
    : Promise.resolve(undefined)

export const headOf = (repository: Repository): Promise<string | undefined> =>
  getCommit(repository, 'HEAD').catch(() => undefined)

/** `undefined` on a detached head. */
export async function branchOf(repository: Repository): Promise<string | undefined> {
  return (await git.currentBranch({ ...repository })) ?? undefined
}

export type GitIdentity = {
  readonly name: string
  readonly email: string
  readonly timestamp: number
  readonly timezoneOffset: number
}

/** Parses `1767225600 +0100` or a date into seconds and minutes west of UTC. */
function renderTime(text: string | undefined): { timestamp: number; timezoneOffset: number } {
  const [, seconds, sign, hours, minutes] = /^@?(\d+)(?: ([+-])(\d{2})(\d{2}))?$/.exec(text ?? '') ?? []
  const west = (sign === '-' ? 1 : -1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0))
  if (seconds !== undefined) return { timestamp: Number(seconds), timezoneOffset: west === 0 ? 0 : west }
  const parsed = text === undefined ? Number.NaN : Date.parse(text)
  return { timestamp: Math.floor((Number.isNaN(parsed) ? Date.now() : parsed) / 1000), timezoneOffset: 0 }
}

/** Resolves the author or committer: from variables, the repository, the user's settings, or a default. */
export async function getIdentity(
  { context, repository }: GitCall,
  role: 'AUTHOR' | 'COMMITTER',
): Promise<GitIdentity> {
  const fromEnvironment = (field: string): string | undefined => context.exportedEnv?.[`GIT_${role}_${field}`]
  const setting = async (path: string): Promise<string | undefined> =>
    ((await git.getConfig({ ...repository, path })) as string | undefined) ?? (await readGlobal(context, path))
  return {
    name: fromEnvironment('NAME') ?? (await setting('user.name')) ?? 'user',
    email: fromEnvironment('EMAIL') ?? (await setting('user.email')) ?? 'user@localhost',
    ...renderTime(fromEnvironment('DATE')),
  }
}

export const shortOid = (oid: string): string => oid.slice(0, 7)
