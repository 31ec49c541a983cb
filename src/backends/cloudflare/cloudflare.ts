/**
 * A container on Cloudflare. The container comes when it is needed, sleeps when nobody asks, and may be replaced at any
 * time; then the workspace comes back from its last copy, and the model is told.
 */

import { BackendError, type Capabilities } from '../../agent/model/backend.ts'
import { hostBackend } from '../host/host-backend.ts'
import type { HostPort, HostMemory } from '../host/host-port.ts'
import type { PortableBackend } from '../portable-backend.ts'
import type { SandboxResult, SandboxPort, SandboxFailure } from './sandbox-port.ts'
import type { Egress } from './egress.ts'

export type CloudflareOptions = {
  readonly sandbox: SandboxPort
  readonly memory: HostMemory
  /** Asked with every script. */
  readonly egress: () => Egress
  readonly languages?: readonly string[]
  /** For tests, whose machine is elsewhere. */
  readonly root?: string
  readonly state?: string
}

const DESCRIPTION =
  'A Linux container of your own with bash, git, node and the usual tools; the workspace is /workspace. It sleeps when it is not used: programs installed elsewhere and background jobs may be gone later, the workspace comes back.'

export function cloudflareBackend({ sandbox: box, memory, root, state, egress, languages }: CloudflareOptions): PortableBackend {
  const backend = hostBackend({
    kind: 'cloudflare',
    port: portOf(box, egress),
    root: root ?? '/workspace',
    ...(state !== undefined && { state }),
    network: 'none',
    languages: languages ?? ['bash', 'node'],
    describe: DESCRIPTION,
    memory,
  })
  return {
    ...backend,
    get capabilities(): Capabilities {
      return { ...backend.capabilities, network: egress().hosts.length > 0 ? 'allowlist' : 'none' }
    },
    describe: () => `${DESCRIPTION} ${reach(egress())}`,
  }
}

const SHOWN = 10

function reach({ hosts }: Egress): string {
  if (hosts.length === 0) return 'It has no network.'
  const more = hosts.length > SHOWN ? ` and ${hosts.length - SHOWN} more` : ''
  return `Of the network it reaches these only, over HTTP: ${hosts.slice(0, SHOWN).join(', ')}${more}.`
}

/** Tries of a request that is known not to have begun. */
const TRIES = 4
const MAX_PAUSE_MS = 15_000

function portOf(box: SandboxPort, egress: () => Egress): HostPort {
  return {
    // A script may have done something; the others may be done twice.
    run: (script, timeoutMs) => asked(() => inTime(box.run(script, timeoutMs, egress()), timeoutMs + 60_000), 'once'),
    read: (path) => asked(() => inTime(box.read(path), 120_000), 'again'),
    write: async (path, bytes) => void (await asked(() => inTime(box.write(path, bytes), 120_000), 'again')),
    restore: () => asked(() => inTime(box.restore(), 300_000), 'again'),
    destroy: async () => void (await asked(() => inTime(box.destroy(), 60_000), 'again')),
  }
}

/** A container that stalls answers nothing, whatever time-out it was given. */
async function inTime<T>(work: Promise<SandboxResult<T>>, ms: number): Promise<SandboxResult<T>> {
  let timer: ReturnType<typeof setTimeout> | null = null
  const late = new Promise<SandboxResult<T>>((resolve) => {
    const trouble = { code: 'LATE', message: `It did not answer within ${ms / 1000} s.`, admitted: true }
    timer = setTimeout(() => resolve({ trouble }), ms)
  })
  return Promise.race([work.catch((error: unknown) => ({ trouble: unnamed(error) })), late]).finally(() =>
    clearTimeout(timer),
  )
}

/** What the object itself throws: it was reset, or has no container. */
function unnamed(error: unknown): SandboxFailure {
  const message = error instanceof Error ? error.message : String(error)
  return { code: 'OBJECT', message, admitted: true }
}

async function asked<T>(ask: () => Promise<SandboxResult<T>>, repeat: 'once' | 'again'): Promise<T> {
  for (let tries = 1; ; tries++) {
    const answer = await ask()
    if ('ok' in answer) return answer.ok
    const { trouble } = answer
    const may =
      NOT_BEGUN.has(trouble.code) || (trouble.retryable === true && (repeat === 'again' || trouble.admitted === false))
    if (!may || tries === TRIES || isMissing(trouble))
      throw errorOf(trouble, repeat === 'once' && !NOT_BEGUN.has(trouble.code))
    await new Promise((resolve) =>
      setTimeout(resolve, Math.min(trouble.retryAfterMs ?? 500 * 2 ** tries, MAX_PAUSE_MS)),
    )
  }
}

const NOT_BEGUN: ReadonlySet<string> = new Set(['CONTAINER_UNAVAILABLE'])
const MISSING = /Containers have not been enabled|no container|does not have a container/i
const FULL = /max_container_instances_exceeded|no_container_instance_available/i
const isMissing = ({ message }: SandboxFailure): boolean => MISSING.test(message)

export const containerSetUpHint =
  'It needs containers: `npm run dev:sandbox` locally (with a container engine), a deployment with wrangler.sandbox.toml otherwise.'

function errorOf({ code, message }: SandboxFailure, mayHaveRun: boolean): BackendError {
  if (MISSING.test(message)) return new BackendError('unavailable', 'There are no containers here.', containerSetUpHint)
  if (FULL.test(message))
    return new BackendError(
      'unavailable',
      'All containers are in use.',
      'Try again in a minute, or raise max_instances.',
    )
  if (code === 'NO_SPACE' || code === 'FILE_TOO_LARGE')
    return new BackendError('quota', message, 'Remove files that are not needed.')
  if (code === 'FILE_NOT_FOUND' || code === 'IS_DIRECTORY' || code === 'PERMISSION_DENIED')
    return new BackendError('invalid', message)
  return mayHaveRun
    ? new BackendError(
        'unavailable',
        `${message} It is unknown whether the command ran, and how far.`,
        'Look at what it was to change before running it again.',
      )
    : new BackendError('unavailable', `The container cannot be used now: ${message}`, 'Try again later.')
}
