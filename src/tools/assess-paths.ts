/** Assesses the paths of file tools by the path policy that also judges commands. */

import {
  findReadProblem,
  findWriteProblem,
  isSecretPath,
  type PathScope,
  secretGlobs,
} from '#agent/path-policy/judge-path.ts'
import type { Assessment } from '#agent/core/permission/approval.ts'
import { followLinks, type Links } from '#agent/path-policy/links.ts'
import { BackendError, type ExecutionBackend, type FileLink } from '#agent/core/backend.ts'
import { assessByRisk } from '#agent/policy/approval/approval.ts'

const maxSecretFiles = 1_000

/** Lists the files below a path that may hold secrets. Returns undefined when the host cannot tell. */
export async function listSecretFiles(
  backend: ExecutionBackend,
  root: string = backend.capabilities.root,
): Promise<readonly string[] | undefined> {
  const query = { target: 'files', path: root, offset: 0, limit: maxSecretFiles } as const
  try {
    const results = await Promise.all(secretGlobs.map((pattern) => backend.files.search({ ...query, pattern })))
    return [...new Set(results.flatMap(({ hits }) => hits.map(({ path }) => path)))].filter(isSecretPath)
  } catch (error) {
    if (error instanceof BackendError) return undefined
    throw error
  }
}

/** Lists the links of a host. One that cannot be reached has none: then the call fails as well. */
export async function listLinks(
  { files }: Pick<ExecutionBackend, 'files'>,
  text: string,
): Promise<readonly FileLink[]> {
  try {
    return (await files.links?.(text.includes('node_modules'))) ?? []
  } catch (error) {
    if (error instanceof BackendError) return []
    throw error
  }
}

const toMap = (links: readonly FileLink[]): Links => new Map(links.map(({ path, target }) => [path, target]))

/** Lists the links that lead to secrets: who reads everything in a directory may read by them. */
export function listSecretLinks(links: readonly FileLink[]): readonly string[] {
  const byPath = toMap(links)
  return links.flatMap(({ path }) => (followLinks(path, '/', byPath).some(isSecretPath) ? [path] : []))
}

type Find = (path: string, scope: PathScope) => string | undefined

/** Judges paths after links: as they are written, and where they lead. */
async function assess(
  risk: 'read' | 'write',
  paths: readonly string[],
  backend: ExecutionBackend,
  find: Find,
): Promise<Assessment> {
  const scope = { workspace: backend.capabilities.root }
  const links = toMap(paths.length > 0 ? await listLinks(backend, paths.join(' ')) : [])
  const judged = paths.map((path) => {
    const resolved = backend.resolve(path)
    const real = followLinks(resolved, '/', links)[0] ?? resolved
    const problem = find(real, scope) ?? find(resolved, scope)
    return { path, resolved, real, problem, shown: real === resolved ? path : `${path} (${real})` }
  })
  const reasons = judged.flatMap(({ shown, problem }) =>
    problem === undefined ? [] : [`it would ${risk} ${shown}, ${problem}`],
  )
  const subjects = judged.flatMap(({ path, resolved, real }) => [...new Set([path, resolved, real])])
  const { rule, ...assessment } = assessByRisk(risk, subjects)
  if (reasons.length === 0) return { ...assessment, ...(rule !== undefined && { rule }) }
  const [only, ...more] = judged
  // “Always” covers exactly this file.
  const own = more.length === 0 && only !== undefined ? { rule: only.real } : {}
  return { ...assessment, verdict: 'ask', reasons, ...own }
}

export const assessReads = (paths: readonly string[], backend: ExecutionBackend): Promise<Assessment> =>
  assess('read', paths, backend, (path, scope) => findReadProblem(path, scope))

export const assessWrites = (paths: readonly string[], backend: ExecutionBackend): Promise<Assessment> =>
  assess('write', paths, backend, findWriteProblem)

/** A search leaves out files with secrets, unless its path is one. So only the path itself is judged. */
export const assessSearch = (path: string, backend: ExecutionBackend): Promise<Assessment> =>
  assess('read', [path], backend, (resolved, scope) => findReadProblem(resolved, scope, 'tree'))
