/**
 * Takes up requests a few at a time. Work that is ready keeps the one thread from its connections: when many requests
 * come in the same moment, all of them advance in step, and hardly anything leaves before the last one has got as far
 * as the first. One behind the other, each is through when it is through, and the last no later.
 */

/** Enough to keep the thread busy while one of them waits for its storage; more of them when very many wait. */
const abreast = 3
const share = 1 / 16
/** Milliseconds without any movement, after which the one who leads is taken for gone: its client has left. */
const stuckMs = 250

/** In order. The first one leads: it waits until the thread has looked at its connections, and lets the next go. */
const waiting: (() => void)[] = []
let busy = 0
let moved = 0

export async function paced<T>(work: () => Promise<T>): Promise<T> {
  if (Date.now() - moved > stuckMs) release(waiting.length)
  if (busy < abreast && !waiting.length) busy++
  else await place()
  moved = Date.now()
  try {
    return await work()
  } finally {
    busy = Math.max(0, busy - 1)
  }
}

async function place(): Promise<void> {
  let called = Promise.withResolvers<void>()
  const call = (): void => called.resolve()
  waiting.push(call)
  while (waiting.includes(call)) {
    if (waiting[0] === call) {
      await scheduler.wait(0)
      if (waiting[0] === call) release(Math.max(abreast, Math.ceil(waiting.length * share)))
    } else {
      await Promise.race([called.promise, scheduler.wait(stuckMs)])
      called = Promise.withResolvers<void>()
      if (Date.now() - moved > stuckMs) release(waiting.indexOf(call))
    }
  }
}

/** Those who were let go before count no longer: what they have to wait for, they do not wait for here. */
function release(count: number): void {
  moved = Date.now()
  const released = waiting.splice(0, count)
  busy = released.length
  for (const call of released) call()
  waiting[0]?.()
}
