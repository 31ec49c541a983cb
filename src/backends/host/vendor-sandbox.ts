/**
 * Manages the sandbox of a session at a vendor: finds it by its stored id, resumes it when it is suspended, and replaces it when
 * it is gone. Concurrent callers share one lookup.
 */

import { BackendError, type BackendCapabilities } from '#agent/core/backend.ts'
import type { HostMemory } from './host-port.ts'

/** Options that all vendors share. */
export type HostVendorOptions = {
  readonly key: string
  readonly memory: HostMemory
  /** Base URL of the API, to replace the default. */
  readonly api?: string
  readonly languages?: readonly string[]
  readonly network?: BackendCapabilities['network']
  readonly root?: string
  /** The folder for our own files on the host. */
  readonly state?: string
  /** The second folder whose files belong to the session, `/tmp` by default. */
  readonly temporary?: string
  readonly fetch?: typeof fetch
}

export type VendorSandbox<Connection> = {
  readonly memory: HostMemory
  readonly create: () => Promise<{ readonly id: string; readonly connection: Connection }>
  /** Returns a running sandbox, or undefined when it does not exist any more. */
  readonly wake: (id: string) => Promise<Connection | undefined>
}

/** A sandbox that was awake is assumed to be awake for this time. */
const awakeMs = 60_000

export function openVendorSandbox<Connection>({ memory, create, wake }: VendorSandbox<Connection>): {
  readonly get: () => Promise<Connection>
  readonly forget: () => void
} {
  let cached: { readonly connection: Connection; readonly at: number } | undefined
  let finding: Promise<Connection> | undefined

  async function find(): Promise<Connection> {
    const { id } = memory.read()
    const found = id === undefined ? undefined : await wake(id)
    if (found !== undefined) return found
    const made = await create()
    // Stored before anything runs on it, so that a crash leaves no sandbox that costs money and has no owner.
    memory.write({ ...memory.read(), id: made.id })
    return made.connection
  }

  async function get(): Promise<Connection> {
    if (cached && Date.now() - cached.at < awakeMs) return cached.connection
    finding ??= find().finally(() => (finding = undefined))
    const connection = await finding
    cached = { connection, at: Date.now() }
    return connection
  }

  return { get, forget: () => (cached = undefined) }
}

/** Most sandboxes are ready after a few hundred milliseconds. */
const [minPollMs, maxPollMs] = [50, 800]

/** Polls until the condition is true, and throws after the timeout. */
export async function pollUntil(isReady: () => Promise<boolean>, vendor: string, timeoutMs = 90_000): Promise<void> {
  const deadline = Date.now() + timeoutMs
  for (let waitMs = minPollMs; !(await isReady()); waitMs = Math.min(2 * waitMs, maxPollMs)) {
    if (Date.now() > deadline)
      throw new BackendError('unavailable', `The sandbox at ${vendor} does not become ready.`, 'Try again later.')
    await new Promise((resolve) => setTimeout(resolve, waitMs))
  }
}
