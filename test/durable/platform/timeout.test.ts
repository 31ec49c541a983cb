import { afterEach, describe, expect, it } from 'vitest'
import { replaceClock } from '#durable/platform/clock.ts'
import { fetchWithDeadline, withDeadline, withTimeout } from '#durable/platform/timeout.ts'
import { createTestClock } from '#test/support/clock.ts'

afterEach(() => replaceClock())

it('returns the result of work that ends in time, and leaves no timer', async () => {
  const clock = createTestClock()
  replaceClock(clock)
  expect(await withTimeout(Promise.resolve('done'), 1_000, () => 'late')).toBe('done')
  await expect(withTimeout(Promise.reject(new Error('broken')), 1_000, () => 'late')).rejects.toThrow('broken')
  expect(clock.pending()).toBe(0)
})

it('returns or throws what onTimeout does when the time is over', async () => {
  const clock = createTestClock()
  replaceClock(clock)
  const never = new Promise<string>(() => undefined)
  const late = withTimeout(never, 1_000, () => 'late')
  const failed = withTimeout(never, 1_000, () => {
    throw new Error('too slow')
  }).catch((error: unknown) => String(error))
  await clock.pass(999)
  expect(clock.pending()).toBe(2)
  await clock.pass(1)
  expect(await late).toBe('late')
  expect(await failed).toBe('Error: too slow')
})

it('ignores an error of the work after the time is over', async () => {
  const clock = createTestClock()
  replaceClock(clock)
  const work = Promise.withResolvers<string>()
  const late = withTimeout(work.promise, 10, () => 'late')
  await clock.pass(10)
  expect(await late).toBe('late')
  work.reject(new Error('nobody waits'))
  await work.promise.catch(() => undefined)
})

describe('a request with a deadline', () => {
  const streams = (chunks: number) =>
    new Response(
      new ReadableStream({
        start(controller) {
          for (let n = 0; n < chunks; n++) controller.enqueue(new Uint8Array(10))
          controller.close()
        },
      }),
    )

  it.each<[string, () => Response, (response: Response) => Promise<unknown>]>([
    ['is read', () => streams(3), (response) => response.bytes()],
    ['is cancelled', () => streams(3), async (response) => response.body?.cancel()],
    ['has no body', () => new Response(null, { status: 204 }), () => Promise.resolve()],
    [
      'breaks',
      () => new Response(new ReadableStream({ pull: () => Promise.reject(new Error('broken')) })),
      (response) => response.bytes().catch(String),
    ],
  ])('leaves no timer after its body %s', async (_, answer, use) => {
    const clock = createTestClock()
    replaceClock(clock)
    const response = await fetchWithDeadline(60_000, () => Promise.resolve(answer()))
    await use(response)
    expect(clock.pending()).toBe(0)
  })

  it('leaves no timer when it fails', async () => {
    const clock = createTestClock()
    replaceClock(clock)
    await expect(fetchWithDeadline(60_000, () => Promise.reject(new Error('refused')))).rejects.toThrow('refused')
    expect(clock.pending()).toBe(0)
  })

  it('aborts while its body is read, and with the signal of its caller', async () => {
    const clock = createTestClock()
    replaceClock(clock)
    const caller = new AbortController()
    const signals: AbortSignal[] = []
    const send = (signal: AbortSignal) => {
      signals.push(signal)
      return Promise.resolve(new Response(new ReadableStream()))
    }
    await fetchWithDeadline(1_000, send)
    await fetchWithDeadline(5_000, send, caller.signal)
    await clock.pass(1_000)
    expect(signals[0]?.reason).toMatchObject({ name: 'TimeoutError' })
    expect(signals[1]?.aborted).toBe(false)
    caller.abort()
    expect(signals[1]?.aborted).toBe(true)
  })
})

it('ends the timer of work with a deadline, and aborts work that goes on', async () => {
  const clock = createTestClock()
  replaceClock(clock)
  expect(await withDeadline(1_000, () => Promise.resolve('done'))).toBe('done')
  await expect(withDeadline(1_000, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  expect(clock.pending()).toBe(0)
  const late = withDeadline(
    1_000,
    (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve('aborted'))),
  )
  await clock.pass(1_000)
  expect(await late).toBe('aborted')
})
