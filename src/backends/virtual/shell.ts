/**
 * Runs commands on a session's files: in a Worker Loader isolate, or inside the Durable Object when there is no loader.
 * Always resolves with a result, even when the isolate crashes.
 */

import { RpcTarget } from 'cloudflare:workers'
import { loadInProcessShell, shellCode } from '../modules.ts'
import type { Network } from './network.ts'
import type { FileAnswer, NetworkRequest, RunShell, ShellAnswer, ShellHost, ShellRequest } from './protocol.ts'
import type { FileEntry, SqlFiles } from './sql-files.ts'
import { awaitAnswer, type IsolateEnding, openIsolate } from '../open-isolate.ts'

export type OutputListener = (text: string) => void
export type ShellResult = ShellAnswer & { readonly killed: boolean }
export type ShellRunner = (request: ShellRequest, signal?: AbortSignal, listen?: OutputListener) => Promise<ShellResult>

/** Additional time for the shell to report its own timeout. */
const graceMs = 2000
const isolateLimits = { cpuMs: 30_000, subRequests: 50_000 }

export type ShellOptions = {
  readonly files: SqlFiles
  readonly prefix: string
  readonly loader?: WorkerLoader | undefined
  /** Evaluated for every command. */
  readonly network?: (() => Network | undefined) | undefined
}

export function openShell({ files, prefix, loader, network }: ShellOptions): ShellRunner {
  return async (request, signal, listen) => {
    const run = loader ? await runInIsolate(loader, prefix) : await runInline()
    const networkNow = network?.()
    const host = shellHost(files, { yields: loader === undefined, onOutput: listen, network: networkNow })
    try {
      const work = run(host, { ...request, network: networkNow !== undefined })
      return await awaitAnswer<ShellResult>(work.then(finishedResult), {
        timeoutMs: request.timeoutMs + graceMs,
        signal,
        onAbort: host.stop,
        graceMs,
        answer: (ending) => endedResult(request, ending),
      })
    } finally {
      host.stop()
    }
  }
}

async function runInline(): Promise<RunShell> {
  const { runShell } = await loadInProcessShell()
  return runShell
}

/** Exposes the host by RPC. */
class RemoteShellHost extends RpcTarget {
  readonly #host: ShellHost
  constructor(host: ShellHost) {
    super()
    this.#host = host
  }
  call(operation: string, args: readonly unknown[]): Promise<FileAnswer> {
    return this.#host.call(operation, args)
  }
  fetch(request: NetworkRequest): Promise<FileAnswer> {
    return this.#host.fetch(request)
  }
  print(text: string): Promise<void> {
    return this.#host.print(text)
  }
  stopped(): Promise<void> {
    return this.#host.stopped()
  }
}

type ShellEntrypoint = { readonly run: (host: RemoteShellHost, request: ShellRequest) => Promise<ShellAnswer> }

/** One isolate per session and build: sessions share no memory, and a running isolate starts a command in milliseconds. */
async function runInIsolate(loader: WorkerLoader, prefix: string): Promise<RunShell> {
  const isolate = { name: 'bash', code: await shellCode(), entrypoint: 'Shell', limits: isolateLimits }
  const entry = await openIsolate<ShellEntrypoint>({ loader, ...isolate, sharedBy: prefix })
  return async (host, request) => {
    const answer = await entry.run(new RemoteShellHost(host), request)
    // Copied, because RPC results are disposed with the call.
    const { env, unset, omitted, ...plain } = answer
    return { ...plain, env: { ...env }, unset: [...unset], ...(omitted && { omitted: { ...omitted } }) }
  }
}

const finishedResult = (answer: ShellAnswer): ShellResult => ({ ...answer, killed: false })

const stoppedResult = (request: ShellRequest, stderr: string, timedOut: boolean): ShellResult => ({
  exitCode: timedOut ? 124 : 137,
  stdout: '',
  stderr,
  truncated: false,
  timedOut,
  killed: !timedOut,
  cwd: request.cwd,
  env: {},
  unset: [],
})

function endedResult(request: ShellRequest, ending: IsolateEnding): ShellResult {
  if (ending.kind === 'timeout') return stoppedResult(request, 'bash: time-out\n', true)
  if (ending.kind === 'interrupted') return stoppedResult(request, 'bash: interrupted\n', false)
  return stoppedResult(request, `bash: the shell was stopped: ${messageOf(ending.error)}\n`, false)
}

type FileOperation = (files: SqlFiles, path: string, ...rest: never[]) => unknown

/** Throws the error that a shell prints for a missing file. */
function requireEntry(entry: FileEntry | undefined, path: string): FileEntry {
  if (!entry) throw new Error(`ENOENT: no such file or directory, stat '${path}'`)
  return entry
}

const operations: Readonly<Record<string, FileOperation>> = {
  stat: (files, path) => requireEntry(files.stat(path), path),
  lstat: (files, path) => requireEntry(files.lstat(path), path),
  exists: (files, path) => files.stat(path) !== undefined,
  list: (files, path) => files.list(path),
  read: (files, path) => files.read(path),
  write: (files, path, bytes: Uint8Array) => files.write(path, bytes),
  append: (files, path, bytes: Uint8Array) => files.append(path, bytes),
  mkdir: (files, path, recursive: boolean) => files.mkdir(path, recursive),
  remove: (files, path, options: { recursive: boolean; force: boolean }) => files.remove(path, options),
  copy: (files, from, to: string, recursive: boolean) => files.copy(from, to, recursive),
  move: (files, from, to: string) => files.move(from, to),
  symlink: (files, target, path: string) => files.symlink(target, path),
  readlink: (files, path) => files.readlink(path),
  realpath: (files, path) => files.realpath(path),
  chmod: (files, path, mode: number) => files.change(path, { mode }),
  touch: (files, path, modified: number) => files.change(path, { modified }),
}

/** Operations after which an inline shell yields to other tasks of the Durable Object. */
const yieldEveryOperations = 200

type StoppableShellHost = ShellHost & { readonly stop: () => void }

type ShellHostOptions = {
  /** The shell runs inside the Durable Object and has to yield regularly. */
  readonly yields: boolean
  readonly onOutput?: ((text: string) => void) | undefined
  readonly network?: Network | undefined
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/**
 * Implements the operations that a session offers to its shell. After `stop` all of them fail, so that a command that
 * still runs cannot change anything.
 */
function shellHost(files: SqlFiles, { yields, onOutput: listen, network }: ShellHostOptions): StoppableShellHost {
  const ended = new AbortController()
  let count = 0
  let over = false
  let stop = (): void => {}
  const stopped = new Promise<void>((resolve) => {
    stop = () => {
      over = true
      ended.abort()
      resolve()
    }
  })
  return {
    stop: () => stop(),
    stopped: () => stopped,
    async print(text) {
      if (!over) listen?.(text)
    },
    async call(name, args): Promise<FileAnswer> {
      const operation = operations[name]
      if (!operation) return { error: `EINVAL: unknown operation '${name}'` }
      if (yields && ++count % yieldEveryOperations === 0) await scheduler.wait(0)
      if (over) return { error: 'EINTR: interrupted' }
      try {
        return { ok: await operation(files, ...(args as [string, ...never[]])) }
      } catch (error) {
        return { error: messageOf(error) }
      }
    },
    async fetch(request): Promise<FileAnswer> {
      if (!network) return { error: 'this host has no network' }
      if (over) return { error: 'interrupted' }
      return network.fetch(request, ended.signal).then(
        (ok) => ({ ok }),
        (error: unknown) => ({ error: messageOf(error) }),
      )
    },
  }
}
