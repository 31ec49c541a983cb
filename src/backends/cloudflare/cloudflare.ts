/**
 * Makes a backend of a Cloudflare container. The container starts with the first request, sleeps when it is idle, and
 * may be replaced at any time. Then the workspace is restored from its last copy, and the next output says so.
 */

import { BackendError, type BackendCapabilities } from '#agent/core/backend.ts'
import { hostBackend } from '../host/host-backend.ts'
import type { HostPort, HostMemory } from '../host/host-port.ts'
import type { PortableBackend } from '../portable-backend.ts'
import { hasNoContainers, isAtCapacity, resetMessage } from './container-failure.ts'
import type { SandboxResult, SandboxPort, SandboxFailure } from './sandbox-port.ts'
import type { Egress } from './egress.ts'
import { changingError } from '../host/read-changing-file.ts'
import { withTimeout } from '#durable/platform/timeout.ts'

export type CloudflareOptions = {
  readonly sandbox: SandboxPort
  readonly memory: HostMemory
  /** Evaluated for every script. */
  readonly egress: () => Egress
  readonly languages?: readonly string[]
  /** For tests, which use other folders. */
  readonly root?: string
  readonly state?: string
  readonly temporary?: string
}

const baseDescription =
  'A private Linux container with bash, git, node and the usual tools; the workspace is /workspace. It sleeps when it is not used: programs installed elsewhere and background jobs may be gone later, the workspace comes back.'

export function cloudflareBackend({
  sandbox,
  memory,
  root,
  state,
  temporary = '/tmp',
  egress,
  languages,
}: CloudflareOptions): PortableBackend {
  const backend = hostBackend({
    kind: 'cloudflare',
    port: createPort(sandbox, egress),
    root: root ?? '/workspace',
    temporary,
    serverFiles: [`${temporary}/session-*-${'[0-9]'.repeat(13)}`],
    ...(state !== undefined && { state }),
    network: 'none',
    languages: languages ?? ['bash', 'node'],
    describe: baseDescription,
    memory,
  })
  return {
    ...backend,
    get capabilities(): BackendCapabilities {
      return { ...backend.capabilities, network: egress().hosts.length > 0 ? 'allowlist' : 'none' }
    },
    describe: () => `${baseDescription} ${describeNetwork(egress())}`,
  }
}

const maxListedHosts = 10

function describeNetwork({ hosts }: Egress): string {
  if (hosts.length === 0) return 'It has no network.'
  const more = hosts.length > maxListedHosts ? ` and ${hosts.length - maxListedHosts} more` : ''
  return `It reaches only these hosts, over HTTP: ${hosts.slice(0, maxListedHosts).join(', ')}${more}.`
}

/** Time for a container that is silent, for another one to start, and for the response. */
const startAndGraceMs = 130_000
/** Attempts of a request that is known not to have started. */
const maxAttempts = 4
const maxBackOffMs = 15_000
/** Time until an object that was reset has a new connection to the platform. */
const resetWaitMs = 1_000

function createPort(sandbox: SandboxPort, egress: () => Egress): HostPort {
  return {
    // A script that was started must not run twice; the other requests are idempotent.
    run: (script, timeoutMs) =>
      callWithRetry(() => settle(sandbox.run(script, timeoutMs, egress()), timeoutMs + startAndGraceMs), 'never'),
    read: (path) => callWithRetry(() => settle(sandbox.read(path), 120_000), 'idempotent'),
    write: async (path, bytes) =>
      void (await callWithRetry(() => settle(sandbox.write(path, bytes), 120_000), 'idempotent')),
    restore: () => callWithRetry(() => settle(sandbox.restore(), 300_000), 'idempotent'),
    destroy: async () => void (await callWithRetry(() => settle(sandbox.destroy(), 60_000), 'idempotent')),
  }
}

/** A container that stalls does not respond even after the timeout it was given. */
function settle<T>(work: Promise<SandboxResult<T>>, ms: number): Promise<SandboxResult<T>> {
  const settled = work.catch((error: unknown) => ({ trouble: getFailure(error) }))
  return withTimeout(settled, ms, () => ({
    trouble: { code: 'LATE', message: `It did not respond within ${ms / 1000} s.`, admitted: true },
  }))
}

/** Converts an error of the Durable Object itself, which was reset or has no container. */
function getFailure(error: unknown): SandboxFailure {
  const { message = String(error), retryable } = error as { readonly message?: string; readonly retryable?: boolean }
  if (message.includes(resetMessage))
    return { code: 'CONTAINER_UNAVAILABLE', message, admitted: false, retryable: true, retryAfterMs: resetWaitMs }
  return { code: 'OBJECT', message, admitted: true, retryable }
}

async function callWithRetry<T>(ask: () => Promise<SandboxResult<T>>, retry: 'never' | 'idempotent'): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const answer = await ask()
    if ('ok' in answer) return answer.ok
    const { trouble } = answer
    const canRetry =
      (notStartedCodes.has(trouble.code) && trouble.retryable !== false) ||
      (trouble.retryable === true && (retry === 'idempotent' || trouble.admitted === false))
    if (!canRetry || attempt === maxAttempts || hasNoContainers(trouble))
      throw toBackendError(
        trouble,
        retry === 'never' && !notStartedCodes.has(trouble.code) && trouble.admitted !== false,
      )
    await new Promise((resolve) =>
      setTimeout(resolve, Math.min(trouble.retryAfterMs ?? 500 * 2 ** attempt, maxBackOffMs)),
    )
  }
}

const notStartedCodes: ReadonlySet<string> = new Set(['CONTAINER_UNAVAILABLE'])

export const containerSetUpHint =
  'It needs containers: `npm run dev:sandbox` locally (with a container engine), a deployment with wrangler.sandbox.toml otherwise.'

function toBackendError(failure: SandboxFailure, mayHaveRun: boolean): BackendError {
  const { code, message } = failure
  if (hasNoContainers(failure))
    return new BackendError('unavailable', 'There are no containers here.', containerSetUpHint)
  if (isAtCapacity(failure))
    return new BackendError(
      'unavailable',
      'All containers are in use.',
      'Try again in a minute, or raise max_instances.',
    )
  if (code === 'NO_SPACE') return new BackendError('full', message, 'Remove files that are not needed.')
  if (code === 'FILE_TOO_LARGE') return new BackendError('too_large', message, 'Split it.')
  if (code === 'FILE_CHANGED') return changingError(message)
  if (code === 'FILE_NOT_FOUND' || code === 'IS_DIRECTORY' || code === 'PERMISSION_DENIED')
    return new BackendError('invalid', message)
  return mayHaveRun
    ? new BackendError(
        'unavailable',
        `${message} It is unknown whether the command ran, and how far.`,
        'Look at the files it should change before you run it again.',
      )
    : new BackendError('unavailable', `The container cannot be used now: ${message}`, 'Try again later.')
}
