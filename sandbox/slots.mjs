// Shares commands and memory between tenants. What cannot run at once waits in a queue; a free slot goes to the tenant
// with the fewest running commands, so that one tenant cannot keep out the others.

import { ProtocolError } from './protocol-error.mjs'

/** `tenantOf` maps a workspace to its tenant; `limitsMemory`: no control group limits the sum. */
export function openSlots({ limits, tenantOf, limitsMemory, workspacesWithJobs = () => [] }) {
  const workspaces = new Map()
  const tenants = new Map()
  /** Oldest first. */
  const waiting = new Set()
  let all = 0

  const runningOf = (name) => workspaces.get(name) ?? 0
  const isTenantFull = (name) => (tenants.get(tenantOf(name)) ?? 0) >= limits.TENANT_EXECS
  const canRun = (name) => all < limits.ALL_EXECS && !isTenantFull(name) && hasMemory(name)

  /** Reserves the memory limit of every workspace in which something runs. */
  function hasMemory(name) {
    if (!limitsMemory) return true
    const active = new Set([...workspaces.keys(), ...workspacesWithJobs(), name])
    return active.size * limits.MEMORY_BYTES <= limits.ALL_MEMORY_BYTES
  }

  /** Resolves with a function that releases the slot. Rejects when the wait is too long or the client has gone. */
  async function acquire(name, signal) {
    const queued = [...waiting]
    if (runningOf(name) + queued.filter((each) => each.name === name).length >= limits.EXECS)
      throw busy(`${limits.EXECS} commands run or wait in this workspace.`)
    const tenant = tenantOf(name)
    const own = queued.filter((each) => tenantOf(each.name) === tenant)
    if (own.length >= limits.QUEUE) throw busy(`${own.length} commands of this tenant wait.`)
    if (own.length > 0 || !canRun(name)) await waitForTurn(name, signal)
    return take(name)
  }

  function take(name) {
    const tenant = tenantOf(name)
    all++
    add(workspaces, name, 1)
    add(tenants, tenant, 1)
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      all--
      add(workspaces, name, -1)
      add(tenants, tenant, -1)
      wakeNext()
    }
  }

  function waitForTurn(name, signal) {
    return new Promise((resolve, reject) => {
      const leave = (settle) => () => {
        waiting.delete(entry)
        clearTimeout(timer)
        signal?.removeEventListener('abort', entry.cancel)
        settle()
      }
      const entry = {
        name,
        start: leave(resolve),
        cancel: leave(() => reject(busy('The client has gone.'))),
      }
      const timer = setTimeout(
        leave(() => reject(busy(`All slots of this server were taken for ${limits.QUEUE_MS} ms.`))),
        limits.QUEUE_MS,
      )
      waiting.add(entry)
      if (signal?.aborted) entry.cancel()
      else signal?.addEventListener('abort', entry.cancel, { once: true })
    })
  }

  function wakeNext() {
    const ready = [...waiting].filter(({ name }) => canRun(name))
    const count = ({ name }) => tenants.get(tenantOf(name)) ?? 0
    const fewest = Math.min(...ready.map(count))
    ready.find((entry) => count(entry) === fewest)?.start()
  }

  return { acquire, count: () => all, waiting: () => waiting.size, hasMemory, wake: wakeNext }
}

function add(counts, key, change) {
  const count = (counts.get(key) ?? 0) + change
  if (count > 0) counts.set(key, count)
  else counts.delete(key)
}

const busy = (reason) => new ProtocolError('busy', `Too many commands run at once: ${reason}`, 'Try again in a moment.')
