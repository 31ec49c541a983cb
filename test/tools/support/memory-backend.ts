/** Implements a workspace in memory with files and search. Commands return the result that a test sets. */

import type { ExecResult, ExecutionBackend, FileStat, FileHit } from '#agent/core/backend.ts'
import { glob } from '#backends/virtual/glob.ts'
import { resolvePath, workspaceRoot } from '#backends/virtual/paths.ts'

export type Executed = {
  readonly command: string
  readonly cwd: string
  readonly timeoutMs: number
  readonly env: object
}

export type MemoryBackend = ExecutionBackend & {
  readonly texts: () => Record<string, string>
  readonly executed: Executed[]
  /** Paths whose content is damaged on read. */
  readonly broken: Set<string>
}

export function memoryBackend(
  files: Readonly<Record<string, string | Uint8Array>> = {},
  answer: Partial<ExecResult> = {},
): MemoryBackend {
  const store = new Map<string, Uint8Array>()
  const encode = (content: string | Uint8Array) =>
    typeof content === 'string' ? new TextEncoder().encode(content) : content
  for (const [path, content] of Object.entries(files)) store.set(resolvePath(path), encode(content))
  const decode = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes)
  const executed: Executed[] = []
  const broken = new Set<string>()
  const stat = async (given: string): Promise<FileStat | undefined> => {
    const path = resolvePath(given)
    const bytes = store.get(path)
    if (bytes) return { path, type: 'file', size: bytes.byteLength, modified: 0 }
    const isDirectory =
      path === workspaceRoot || path === '/' || [...store.keys()].some((key) => key.startsWith(`${path}/`))
    return isDirectory ? { path, type: 'directory', size: 0, modified: 0 } : undefined
  }
  return {
    kind: 'virtual',
    capabilities: {
      streaming: false,
      background: false,
      pty: false,
      network: 'none',
      languages: ['bash'],
      root: workspaceRoot,
    },
    describe: () => 'memory',
    resolve: resolvePath,
    texts: () => Object.fromEntries([...store].map(([path, bytes]) => [path, decode(bytes)])),
    executed,
    broken,
    async exec(command, { cwd = workspaceRoot, timeoutMs, env = {} }) {
      executed.push({ command, cwd, timeoutMs, env })
      const result = { exitCode: 0, stdout: '', stderr: '', truncated: false, timedOut: false, cwd, env: {}, ms: 1 }
      return { ...result, ...answer }
    },
    files: {
      stat,
      read: async (path) => (broken.has(resolvePath(path)) ? encode('damaged') : store.get(resolvePath(path))),
      async write(path, bytes) {
        const created = !store.has(resolvePath(path))
        store.set(resolvePath(path), bytes)
        return { created }
      },
      async list(given) {
        const folder = resolvePath(given)
        const prefix = folder === '/' ? '/' : `${folder}/`
        const below = [...store.keys()].filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length))
        const children = [...new Set(below.map((path) => prefix + path.split('/')[0]))].toSorted()
        return (await Promise.all(children.map(stat))).filter((entry) => entry !== undefined)
      },
      remove: async (path) => store.delete(resolvePath(path)),
      move: async () => undefined,
      async search({
        pattern,
        target,
        path = workspaceRoot,
        glob: wanted = '*',
        exclude = [],
        limit,
        offset,
        context = 0,
      }) {
        const root = resolvePath(path)
        const paths = [...store.keys()].filter((key) => key === root || key.startsWith(`${root}/`)).toSorted()
        const within = (key: string) => key.slice(root.length + 1) || key
        const hits: FileHit[] = []
        for (const key of paths) {
          if (target === 'files' && glob(pattern)(within(key))) hits.push({ path: key })
          if (target === 'files' || exclude.includes(key) || !glob(wanted)(within(key))) continue
          const lines = decode(store.get(key)).split('\n')
          for (const [i, text] of lines.entries()) {
            if (!new RegExp(pattern).test(text)) continue
            const around = {
              before: lines.slice(Math.max(0, i - context), i),
              after: lines.slice(i + 1, i + 1 + context),
            }
            hits.push({ path: key, line: i + 1, text, ...(context > 0 && around) })
          }
        }
        const page = hits.slice(offset, offset + limit)
        return { hits: page, total: hits.length, truncated: hits.length > offset + page.length }
      },
    },
  }
}
