/**
 * Queues the calls of one program. Calls that touch no resource in common run concurrently, the others in the order in
 * which they were made. group-calls.ts applies the same rules to the calls of a message.
 */

import type { TouchedResources } from '../group-calls.ts'

const maxConcurrent = 8

type QueuedCall = { readonly touched: TouchedResources; readonly start: () => void }

export function createCallQueue() {
  const running = new Set<QueuedCall>()
  let queued: readonly QueuedCall[] = []

  const startReady = (): void => {
    const blocked: QueuedCall[] = []
    for (const one of queued) {
      const earlier = [...running, ...blocked]
      if (running.size < maxConcurrent && earlier.every(({ touched }) => !conflicts(one.touched, touched))) {
        running.add(one)
        one.start()
      } else blocked.push(one)
    }
    queued = blocked
  }
  return async <T>(touched: TouchedResources, work: () => Promise<T>): Promise<T> => {
    const one: { touched: TouchedResources; start: () => void } = { touched, start: () => {} }
    await new Promise<void>((start) => {
      one.start = start
      queued = [...queued, one]
      startReady()
    })
    try {
      return await work()
    } finally {
      running.delete(one)
      startReady()
    }
  }
}

function conflicts(one: TouchedResources, other: TouchedResources): boolean {
  if (one === 'nothing' || other === 'nothing') return false
  if (one === 'alone' || other === 'alone') return true
  return one.some((name) => other.includes(name))
}
