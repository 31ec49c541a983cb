import { describe, expect, it } from 'vitest'
import { readBody } from '../../../../src/agent/providers/shared/read-body.ts'
import { skipSleep } from '../support/chunked-response.ts'

/** Sends one byte after the other; `after`: what stands behind them. */
function bodyOf(bytes: readonly number[], after: 'closes' | 'hangs' | 'goes on') {
  let at = 0
  let cancelled: () => void = () => {}
  const wasCancelled = new Promise<string>((resolve) => (cancelled = () => resolve('cancelled')))
  let closed: () => void = () => {}
  const wasClosed = new Promise<string>((resolve) => (closed = () => resolve('closed')))
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (at < bytes.length || after === 'goes on') return controller.enqueue(Uint8Array.of(bytes[at++] ?? 0))
        if (after === 'hangs') return new Promise(() => {})
        controller.close()
        closed()
      },
      cancel: () => cancelled(),
    },
    { highWaterMark: 0 },
  )
  return { body, left: Promise.race([wasCancelled, wasClosed]) }
}
const never = () => new Promise<void>(() => {})

describe('a body', () => {
  it('is read until it ends', async () => {
    const taken: number[] = []
    await readBody(bodyOf([1, 2, 3], 'closes').body, ([byte = 0]) => taken.push(byte) > 3, never)
    expect(taken).toEqual([1, 2, 3])
  })

  it.each([
    ['closes', never, 'closed'],
    ['hangs', skipSleep, 'cancelled'],
    ['goes on', never, 'cancelled'],
  ] as const)('that %s behind the end of the answer is read no further', async (after, sleep, outcome) => {
    const taken: number[] = []
    const { body, left } = bodyOf([1, 2], after)
    await readBody(body, ([byte = 0]) => taken.push(byte) === 2, sleep)
    expect(taken).toEqual([1, 2])
    expect(await left).toBe(outcome)
  })

  it('that cannot be understood is cancelled', async () => {
    const { body, left } = bodyOf([1], 'hangs')
    const reading = readBody(
      body,
      () => {
        throw new Error('no')
      },
      never,
    )
    await expect(reading).rejects.toThrow('no')
    expect(await left).toBe('cancelled')
  })
})
