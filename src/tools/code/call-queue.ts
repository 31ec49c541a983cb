/**
 * Calls of one program, which come when they come: those that touch nothing in common run side by side, the others one
 * after the other, in the order in which they were made. The same rules as for the calls of a message (../group-calls.ts).
 */

import type { TouchedResources } from '../group-calls.ts'

const WIDTH = 8

type Waiting = { readonly touched: TouchedResources; readonly start: () => void }

export function createCallQueue() {
  const running = new Set<Waiting>()
  let waiting: readonly Waiting[] = []

  const go = (): void => {
    const left: Waiting[] = []
    for (const one of waiting) {
      const inFront = [...running, ...left]
      if (running.size < WIDTH && inFront.every(({ touched }) => !collide(one.touched, touched))) {
        running.add(one)
        one.start()
      } else left.push(one)
    }
    waiting = left
  }
  return async <T>(touched: TouchedResources, work: () => Promise<T>): Promise<T> => {
    const one: { touched: TouchedResources; start: () => void } = { touched, start: () => {} }
    await new Promise<void>((start) => {
      one.start = start
      waiting = [...waiting, one]
      go()
    })
    try {
      return await work()
    } finally {
      running.delete(one)
      go()
    }
  }
}

function collide(one: TouchedResources, other: TouchedResources): boolean {
  if (one === 'nothing' || other === 'nothing') return false
  if (one === 'alone' || other === 'alone') return true
  return one.some((name) => other.includes(name))
}
