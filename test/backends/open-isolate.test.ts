import { afterEach, expect, it, vi } from 'vitest'
import { awaitAnswer, type IsolateEnding, openIsolate, replaceIsolate } from '../../src/backends/open-isolate.ts'
import { replaceClock } from '#durable/platform/clock.ts'
import { createTestClock } from '#test/support/clock.ts'

afterEach(() => replaceClock())

function createLoader() {
  const [loaded, shared]: [WorkerLoaderWorkerCode[], [string | null, WorkerLoaderWorkerCode][]] = [[], []]
  const stub = { getEntrypoint: (name?: string) => ({ read: async () => name }) } as unknown as WorkerStub
  const loader = {
    load: (code: WorkerLoaderWorkerCode) => (loaded.push(code), stub),
    get: (name: string | null, code: () => WorkerLoaderWorkerCode) => (shared.push([name, code()]), stub),
  } as unknown as WorkerLoader
  return { loader, loaded, shared }
}

const isolate = {
  name: 'pdf',
  code: '// 0123456789abcdef\nrest',
  entrypoint: 'Reader',
  limits: { cpuMs: 1, subRequests: 2 },
}

type Reader = { readonly read: () => Promise<string> }

it('starts an isolate without network, environment and secrets', async () => {
  const { loader, loaded } = createLoader()
  const entry = await openIsolate<Reader>({ loader, ...isolate, modules: { 'more.js': 'x' } })
  expect(await entry.read()).toBe('Reader')
  const [code] = loaded
  expect(code).toMatchObject({ mainModule: 'pdf.js', globalOutbound: null, limits: isolate.limits })
  expect(code?.modules).toEqual({ 'pdf.js': isolate.code, 'more.js': 'x' })
  expect(code && 'env' in code).toBe(false)
})

it('shares an isolate by build and owner', async () => {
  const { loader, loaded, shared } = createLoader()
  await openIsolate({ loader, ...isolate, sharedBy: 'one' })
  await openIsolate({ loader, ...isolate, sharedBy: 'two' })
  await openIsolate({ loader, ...isolate, code: '// fedcba9876543210\nrest', sharedBy: 'one' })
  expect(loaded).toEqual([])
  expect(shared.map(([name]) => name)).toEqual([
    'pdf:0123456789abcdef:one',
    'pdf:0123456789abcdef:two',
    'pdf:fedcba9876543210:one',
  ])
})

it('gives an owner another isolate after one was replaced, and other owners the same', async () => {
  const { loader, shared } = createLoader()
  const open = (sharedBy: string) => openIsolate({ loader, ...isolate, sharedBy })
  await open('three')
  replaceIsolate({ name: 'pdf', sharedBy: 'three' })
  await open('three')
  await open('three')
  await open('four')
  const [before, after, again, other] = shared.map(([name]) => name)
  expect(before).toBe('pdf:0123456789abcdef:three')
  expect(after).toMatch(/^pdf:0123456789abcdef:three:[\da-f]{8}$/)
  expect([again, other]).toEqual([after, 'pdf:0123456789abcdef:four'])
})

const describe = ({ kind }: IsolateEnding): string => kind

it('returns the answer, and what ended the work without one', async () => {
  const clock = createTestClock()
  replaceClock(clock)
  const waiting = { timeoutMs: 1_000, answer: describe }
  expect(await awaitAnswer(Promise.resolve('an answer'), waiting)).toBe('an answer')
  expect(await awaitAnswer(Promise.reject(new Error('gone')), waiting)).toBe('crashed')
  const late = awaitAnswer(new Promise<string>(() => undefined), waiting)
  await clock.pass(1_000)
  expect(await late).toBe('timeout')
  expect(clock.pending()).toBe(0)
})

it.each([
  ['at once without a time of grace', 0, undefined, 'interrupted'],
  ['after the time of grace', 500, undefined, 'interrupted'],
  ['with the answer that comes within it', 500, 'stopped by itself', 'stopped by itself'],
])('ends after an abort %s', async (_, graceMs, answered, expected) => {
  const clock = createTestClock()
  replaceClock(clock)
  const stop = new AbortController()
  const work = Promise.withResolvers<string>()
  const onAbort = vi.fn<() => void>(() => answered !== undefined && work.resolve(answered))
  const found = awaitAnswer(work.promise, {
    timeoutMs: 60_000,
    signal: stop.signal,
    onAbort,
    graceMs,
    answer: describe,
  })
  stop.abort()
  await clock.pass(graceMs)
  expect(await found).toBe(expected)
  expect(onAbort).toHaveBeenCalledOnce()
  expect(clock.pending()).toBe(0)
})

it('does not wait when it was aborted before', async () => {
  const never = new Promise<string>(() => undefined)
  const waiting = { timeoutMs: 60_000, signal: AbortSignal.abort(), answer: describe }
  expect(await awaitAnswer(never, waiting)).toBe('interrupted')
})
