/**
 * Runs commands over a session's files: in a Worker Loader isolate when there is one, in the object itself
 * otherwise, by the same code. The caller always gets an answer, even from a shell that died.
 */

import { RpcTarget } from 'cloudflare:workers'
import { inlineShell, shellCode } from '../modules.ts'
import type { Network } from './network.ts'
import type { FileAnswer, NetworkRequest, RunShell, ShellAnswer, ShellHost, ShellRequest } from './protocol.ts'
import { shellHost } from './shell-host.ts'
import type { SqlFiles } from './sql-files.ts'

export type OutputListener = (text: string) => void
export type ShellResult = ShellAnswer & { readonly killed: boolean }
export type Shell = (request: ShellRequest, signal?: AbortSignal, listen?: OutputListener) => Promise<ShellResult>

/** What a shell gets beyond its time-out before it is given up: it has its own clock and should answer first. */
const PATIENCE_MS = 2000
const ISOLATE_LIMITS = { cpuMs: 30_000, subRequests: 50_000 }

export type ShellOptions = {
  readonly files: SqlFiles
  readonly prefix: string
  readonly loader?: WorkerLoader | undefined
  /** Asked with every command. */
  readonly network?: (() => Network | undefined) | undefined
}

export function openShell({ files, prefix, loader, network }: ShellOptions): Shell {
  return async (request, signal, listen) => {
    const run = loader ? await isolated(loader, prefix) : await inline()
    const way = network?.()
    const host = shellHost(files, { yields: loader === undefined, onOutput: listen, network: way })
    const giveUp = deadline(request.timeoutMs + PATIENCE_MS, host.stop, signal)
    try {
      return await Promise.race([
        run(host, { ...request, network: way !== undefined }).then(finished, crashed(request)),
        giveUp.reached(request),
      ])
    } finally {
      giveUp.clear()
      host.stop()
    }
  }
}

async function inline(): Promise<RunShell> {
  const { runShell } = await inlineShell()
  return runShell
}

/** The session's files as the other isolate sees them. */
class RemoteHost extends RpcTarget {
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

type ShellEntrypoint = { readonly run: (host: RemoteHost, request: ShellRequest) => Promise<ShellAnswer> }

/** One isolate per session and build: sessions share no memory, and a warm one starts a command in milliseconds. */
async function isolated(loader: WorkerLoader, prefix: string): Promise<RunShell> {
  const code = await shellCode()
  const version = code.slice(3, 19)
  const worker = loader.get(`shell:${version}:${prefix}`, () => ({
    compatibilityDate: '2026-10-20',
    compatibilityFlags: ['nodejs_compat'],
    mainModule: 'bash.js',
    modules: { 'bash.js': code },
    globalOutbound: null,
    limits: ISOLATE_LIMITS,
  }))
  const entry = worker.getEntrypoint('Shell') as unknown as ShellEntrypoint
  return async (host, request) => {
    const answer = await entry.run(new RemoteHost(host), request)
    // A copy: what comes over RPC is disposed of with the call.
    return { ...answer, env: { ...answer.env }, unset: [...answer.unset] }
  }
}

const finished = (answer: ShellAnswer): ShellResult => ({ ...answer, killed: false })

const dead = (request: ShellRequest, stderr: string, timedOut: boolean): ShellResult => ({
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

const crashed =
  (request: ShellRequest) =>
  (error: unknown): ShellResult =>
    dead(request, `bash: the shell was stopped: ${error instanceof Error ? error.message : String(error)}\n`, false)

function deadline(ms: number, stop: () => void, signal?: AbortSignal) {
  let timer: ReturnType<typeof setTimeout> | null = null
  let onAbort = (): void => {}
  const reached = (request: ShellRequest): Promise<ShellResult> =>
    new Promise((resolve) => {
      timer = setTimeout(() => resolve(dead(request, 'bash: time-out\n', true)), ms)
      onAbort = () => {
        stop()
        clearTimeout(timer)
        timer = setTimeout(() => resolve(dead(request, 'bash: interrupted\n', false)), PATIENCE_MS)
      }
      signal?.addEventListener('abort', onAbort, { once: true })
      if (signal?.aborted) onAbort()
    })
  const clear = (): void => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
  }
  return { reached, clear }
}
