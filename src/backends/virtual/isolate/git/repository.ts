/** A repository over the shell's files, and the words that name its commits. */

import * as git from 'isomorphic-git'
import { type Context, pathIn } from '../commands/io.ts'
import { readGlobal } from './global-config.ts'

export type Repository = {
  readonly fs: { readonly promises: GitFiles }
  readonly dir: string
  readonly gitdir: string
  readonly cache: object
}

export type Call = { readonly context: Context; readonly repository: Repository }

/** What git answers when it cannot: the sentence for stderr and the exit code. */
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

/** Errors of the shell begin with their code. */
async function coded<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw Object.assign(new Error(message), { code: /^E[A-Z]+/.exec(message)?.[0] ?? 'EIO' })
  }
}

let looks = 0

/**
 * The clock of this machine may stand still between two writes, so a file's time does not say that it is the
 * same: every look gives another change time, and git compares contents.
 */
function statOf(stat: Awaited<ReturnType<Context['fs']['stat']>>): GitStat {
  return {
    size: stat.size,
    mode: stat.isSymbolicLink ? 0o120000 : (stat.mode & 0o777) | (stat.isDirectory ? 0o040000 : 0o100000),
    mtimeMs: stat.mtime.getTime(),
    ctimeMs: ++looks * 1000,
    ino: 0,
    uid: 1000,
    gid: 1000,
    dev: 0,
    isFile: () => stat.isFile,
    isDirectory: () => stat.isDirectory,
    isSymbolicLink: () => stat.isSymbolicLink,
  }
}

function gitFiles({ fs }: Context) {
  type Encoding = string | { encoding?: string } | undefined
  const wantsText = (options: Encoding): boolean =>
    (typeof options === 'string' ? options : options?.encoding) === 'utf8'
  return {
    readFile: async (path: string, options?: Encoding) =>
      wantsText(options) ? coded(fs.readFile(path)) : Buffer.from(await coded(fs.readFileBuffer(path))),
    async writeFile(path: string, content: string | Uint8Array, options?: { mode?: number }) {
      await coded(fs.writeFile(path, content))
      if (options?.mode !== undefined) await coded(fs.chmod(path, options.mode & 0o777))
    },
    unlink: (path: string) => coded(fs.rm(path)),
    rm: (path: string) => coded(fs.rm(path)),
    readdir: (path: string) => coded(fs.readdir(path)),
    mkdir: (path: string) => coded(fs.mkdir(path)),
    async rmdir(path: string) {
      if ((await coded(fs.readdir(path))).length > 0) throw Object.assign(new Error(path), { code: 'ENOTEMPTY' })
      await coded(fs.rm(path, { recursive: true }))
    },
    stat: async (path: string) => statOf(await coded(fs.stat(path))),
    lstat: async (path: string) => statOf(await coded(fs.lstat(path))),
    readlink: (path: string) => coded(fs.readlink(path)),
    symlink: (target: string, path: string) => coded(fs.symlink(target, path)),
    chmod: (path: string, mode: number) => coded(fs.chmod(path, mode)),
  }
}

export const repositoryAt = (context: Context, dir: string): Repository => ({
  fs: { promises: gitFiles(context) },
  dir,
  gitdir: dir === '/' ? '/.git' : `${dir}/.git`,
  cache: {},
})

/** The repository that the working directory is in. */
export async function findRepository(context: Context): Promise<Repository> {
  for (let dir = context.cwd; ; dir = dir.replace(/\/[^/]*$/, '') || '/') {
    if (await context.fs.exists(dir === '/' ? '/.git' : `${dir}/.git`)) return repositoryAt(context, dir)
    if (dir === '/') throw fatal('not a git repository (or any of the parent directories): .git')
  }
}

/** A path as the repository names it: '.' is the whole of it. */
export function insideOf({ context, repository }: Call, path: string): string {
  const whole = pathIn(context, path)
  if (whole === repository.dir) return '.'
  const start = repository.dir === '/' ? '/' : `${repository.dir}/`
  if (!whole.startsWith(start)) throw fatal(`${path}: '${path}' is outside repository at '${repository.dir}'`)
  return whole.slice(start.length)
}

/** Whether a path is named by one of these; no names are all paths. Stars match across directories, as in git. */
export function named(paths: readonly string[]): (path: string) => boolean {
  const tests = paths.map((wanted) => {
    const plain = wanted.replace(/\/$/, '')
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

const STEP = /[~^]\d*/g

/** The commit a name stands for: branches, tags, hashes and their beginnings, with ~n and ^n. */
export async function commitOf(repository: Repository, name: string): Promise<string> {
  const base = name.replace(STEP, '')
  let oid = await baseOf(repository, base === '' || base === '@' ? 'HEAD' : base, name)
  for (const [step] of name.slice(base.length).matchAll(STEP)) {
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

async function baseOf(repository: Repository, base: string, whole: string): Promise<string> {
  const found = await git.resolveRef({ ...repository, ref: base }).catch(() => undefined)
  const expanded = found ?? (await expandedOid(repository, base))
  const oid = expanded ?? (await git.resolveRef({ ...repository, ref: `remotes/${base}` }).catch(() => undefined))
  if (oid === undefined) throw unknown(whole)
  // An annotated tag stands for what it points to.
  const { oid: peeled } = await git.readCommit({ ...repository, oid }).catch(() => ({ oid }))
  return peeled
}

const expandedOid = (repository: Repository, oid: string): Promise<string | undefined> =>
  /^[0-9a-f]{4,40}$/.test(oid)
    ? git.expandOid({ ...repository, oid }).catch(() => undefined)
    : Promise.resolve(undefined)

export const headOf = (repository: Repository): Promise<string | undefined> =>
  commitOf(repository, 'HEAD').catch(() => undefined)

/** `undefined` on a detached head. */
export async function branchOf(repository: Repository): Promise<string | undefined> {
  return (await git.currentBranch({ ...repository })) ?? undefined
}

export type Person = {
  readonly name: string
  readonly email: string
  readonly timestamp: number
  readonly timezoneOffset: number
}

/** Seconds and minutes west of Greenwich out of `1767225600 +0100` or a date. */
function timeOf(text: string | undefined): { timestamp: number; timezoneOffset: number } {
  const [, seconds, sign, hours, minutes] = /^@?(\d+)(?: ([+-])(\d{2})(\d{2}))?$/.exec(text ?? '') ?? []
  const west = (sign === '-' ? 1 : -1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0))
  if (seconds !== undefined) return { timestamp: Number(seconds), timezoneOffset: west === 0 ? 0 : west }
  const parsed = text === undefined ? Number.NaN : Date.parse(text)
  return { timestamp: Math.floor((Number.isNaN(parsed) ? Date.now() : parsed) / 1000), timezoneOffset: 0 }
}

/** Who commits: variables, the repository, the person's own settings, in this order. Somebody always does. */
export async function personOf({ context, repository }: Call, role: 'AUTHOR' | 'COMMITTER'): Promise<Person> {
  const given = (field: string): string | undefined => context.exportedEnv?.[`GIT_${role}_${field}`]
  const setting = async (path: string): Promise<string | undefined> =>
    ((await git.getConfig({ ...repository, path })) as string | undefined) ?? (await readGlobal(context, path))
  return {
    name: given('NAME') ?? (await setting('user.name')) ?? 'user',
    email: given('EMAIL') ?? (await setting('user.email')) ?? 'user@localhost',
    ...timeOf(given('DATE')),
  }
}

export const short = (oid: string): string => oid.slice(0, 7)
