import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { replaceClock } from '#durable/platform/clock.ts'
import { isUnknownMethod, retryCalls } from '#durable/platform/retry-calls.ts'

const unknown = () => new TypeError('The RPC receiver does not implement the method "later".')
const interrupted = (more = {}) => Object.assign(new Error('Network connection lost.'), { retryable: true, ...more })

let waits: number[] = []

beforeEach(() => {
  waits = []
  replaceClock({
    now: () => 0,
    wait: (ms) => {
      waits.push(ms)
      return Promise.resolve()
    },
    schedule: () => () => undefined,
  })
})
afterEach(() => replaceClock())

/** Stubs whose calls fail with these errors, one after the other, and then answer with their arguments. */
function connectTo(failures: readonly Error[]) {
  const left = [...failures]
  const log: string[] = []
  let stubs = 0
  const connect = () => {
    const stub = ++stubs
    const call = (...args: readonly unknown[]) => {
      log.push(`${stub}: ${JSON.stringify(args)}`)
      const failure = left.shift()
      return failure ? Promise.reject(failure) : Promise.resolve(args)
    }
    return { id: 'an id', name: 'a name', snapshot: call, part: { read: call, add: call }, fetch: call }
  }
  return { connect, log }
}

const unchanged = (args: readonly unknown[]) => args
const calls = { 'part.read': unchanged, snapshot: unchanged }

describe('a call to an object', () => {
  it('is made once when it succeeds', async () => {
    const { connect, log } = connectTo([])
    expect(await retryCalls(connect, calls).part.read('a', 1)).toEqual(['a', 1])
    expect(log).toEqual(['1: ["a",1]'])
    expect(waits).toEqual([])
  })

  it('is repeated on a new stub with growing pauses when it may run twice', async () => {
    const { connect, log } = connectTo([interrupted(), interrupted(), interrupted()])
    expect(await retryCalls(connect, calls).snapshot('a')).toEqual(['a'])
    expect(log).toEqual(['1: ["a"]', '2: ["a"]', '3: ["a"]', '4: ["a"]'])
    const [first = 0, second = 0, third = 0] = waits
    expect(first).toBeGreaterThanOrEqual(50)
    expect(second).toBeGreaterThanOrEqual(200)
    expect(third).toBeLessThanOrEqual(2_400)
  })

  it('fails after four attempts', async () => {
    const { connect, log } = connectTo(Array.from({ length: 9 }, () => interrupted()))
    await expect(retryCalls(connect, calls).snapshot('a')).rejects.toThrow('Network connection lost')
    expect(log).toHaveLength(4)
  })

  it('is not repeated when it may have run and is not idempotent', async () => {
    const { connect, log } = connectTo([interrupted()])
    await expect(retryCalls(connect, calls).part.add('a')).rejects.toThrow('Network connection lost')
    expect(log).toHaveLength(1)
  })

  it.each([
    ['overloaded', interrupted({ overloaded: true })],
    ['an error of the code', new Error('No such thing.')],
  ])('is not repeated when the object is %s', async (_, error) => {
    const { connect, log } = connectTo([error])
    await expect(retryCalls(connect, calls).part.read('a')).rejects.toBe(error)
    expect(log).toHaveLength(1)
  })

  it('of a method that the object does not have is repeated once, whatever it is', async () => {
    const once = connectTo([unknown()])
    expect(await retryCalls(once.connect, calls).part.add('a')).toEqual(['a'])
    const twice = connectTo([unknown(), unknown()])
    const error: unknown = await retryCalls(twice.connect, calls)
      .part.add('a')
      .catch((reason: unknown) => reason)
    expect(isUnknownMethod(error)).toBe(true)
    expect(twice.log).toHaveLength(2)
  })

  it('is repeated with the arguments that its rule makes', async () => {
    const { connect, log } = connectTo([interrupted(), interrupted()])
    const rule = ([n]: readonly unknown[]) => (n === 'first' ? ['repeat'] : undefined)
    await retryCalls(connect, { 'part.add': rule }).part.add('first')
    expect(log).toEqual(['1: ["first"]', '2: ["repeat"]', '3: ["repeat"]'])
  })

  it('with a stream is sent once', async () => {
    const { connect, log } = connectTo([unknown()])
    await expect(retryCalls(connect, calls).part.read(new ReadableStream())).rejects.toThrow('does not implement')
    expect(log).toHaveLength(1)
  })
})

it('a stub keeps its id and name, and awaiting it is no call', async () => {
  const { connect, log } = connectTo([])
  const stub = retryCalls(connect, calls)
  expect([stub.id, stub.name]).toEqual(['an id', 'a name'])
  const { part } = await stub
  await part.read('a')
  expect(log).toEqual(['1: ["a"]'])
})
