/**
 * Takes up requests a few at a time. Work that is ready keeps the one thread from its connections: when many requests
 * come in the same moment, all of them advance in step, and hardly anything leaves before the last one has got as far
 * as the first. One behind the other, each is through when it is through, and the last no later.
 */

/** Enough to keep the thread busy while one of them waits for its storage; more of them when very many wait. */
const abreast = 3
const share = 1 / 16
/** Milliseconds; longer than any stretch of work. A request whose client has left does not give its place back. */
const stuckMs = 250
let busy = 0
let moved = 0
const waiting: (() => void)[] = []

/** Resolves when this request may be taken up. Its place is free again once the thread has looked at its connections. */
export async function pace(later: (work: Promise<unknown>) => void): Promise<void> {
  const isFree = busy < abreast
  if (isFree) busy++
  else if (Date.now() - moved <= stuckMs) await place()
  moved = Date.now()
  later(scheduler.wait(0).then(giveBack))
}

function giveBack(): void {
  moved = Date.now()
  busy = Math.max(0, busy - 1)
  const room = Math.max(abreast, waiting.length * share)
  for (; busy < room && waiting.length; busy++) waiting.shift()?.()
}

async function place(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  waiting.push(resolve)
  while (waiting.includes(resolve)) {
    await Promise.race([promise, scheduler.wait(stuckMs)])
    if (Date.now() - moved > stuckMs) giveBack()
  }
}
