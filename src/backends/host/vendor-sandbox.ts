/**
 * The life of a rented machine: found by the id that is remembered, woken when it sleeps, replaced when it is gone.
 * Two who ask at once get the same one.
 */

import { BackendError, type Capabilities } from '../../agent/model/backend.ts'
import type { HostMemory } from './host-port.ts'

/** What every service wants to know, and what a deployment may say of the machines it rents there. */
export type VendorOptions = {
  readonly key: string
  readonly memory: HostMemory
  /** Address of the service, in place of its own. */
  readonly api?: string
  readonly languages?: readonly string[]
  readonly network?: Capabilities['network']
  readonly root?: string
  /** Where the shell keeps its directory and variables from one command to the next. */
  readonly state?: string
  readonly fetch?: typeof fetch
}

export type VendorSandbox<M> = {
  readonly memory: HostMemory
  readonly create: () => Promise<{ readonly id: string; readonly machine: M }>
  /** Ready for use, or undefined when there is no such machine any more. */
  readonly wake: (id: string) => Promise<M | undefined>
}

/** For so long a machine that was awake is taken for awake. */
const awakeMs = 60_000

export function openVendorSandbox<M>({ memory, create, wake }: VendorSandbox<M>): {
  readonly get: () => Promise<M>
  readonly forget: () => void
} {
  let known: { readonly machine: M; readonly at: number } | undefined
  let asking: Promise<M> | undefined

  async function find(): Promise<M> {
    const { id } = memory.read()
    const found = id === undefined ? undefined : await wake(id)
    if (found !== undefined) return found
    const made = await create()
    // Before anything runs on it: who dies now must not pay for a machine that nobody remembers.
    memory.write({ ...memory.read(), id: made.id })
    return made.machine
  }

  async function get(): Promise<M> {
    if (known && Date.now() - known.at < awakeMs) return known.machine
    asking ??= find().finally(() => (asking = undefined))
    const machine = await asking
    known = { machine, at: Date.now() }
    return machine
  }

  return { get, forget: () => (known = undefined) }
}

/** Asks again until it is so. */
export async function pollUntil(isSo: () => Promise<boolean>, vendor: string, patienceMs = 90_000): Promise<void> {
  for (const deadline = Date.now() + patienceMs; !(await isSo());) {
    if (Date.now() > deadline)
      throw new BackendError('unavailable', `The machine at ${vendor} does not get ready.`, 'Try again later.')
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}
