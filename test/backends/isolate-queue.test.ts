/** Tests that an object never has more than ten isolates at work, and that the others wait. */

import { expect, it } from 'vitest'
import { queueIsolates } from '#backends/isolate-queue.ts'
import { awaitAnswer, openIsolate } from '#backends/open-isolate.ts'

type Worker = { readonly work: (name: string) => Promise<string> }

/** A loader that refuses an eleventh worker with work, like the platform. */
function createPlatform(maxBusy = 10) {
  const busy = new Map<string, number>()
  const finish = new Map<string, () => void>()
  let most = 0
  const stubOf = (id: string) => ({
    getEntrypoint: () => ({
      work: async (name: string) => {
        busy.set(id, (busy.get(id) ?? 0) + 1)
        if (busy.size > maxBusy) throw new Error('Too many dynamic workers')
        most = Math.max(most, busy.size)
        await new Promise<void>((resolve) => finish.set(name, resolve))
        const left = (busy.get(id) ?? 1) - 1
        if (left) busy.set(id, left)
        else busy.delete(id)
        return name
      },
    }),
  })
  const loader = { load: () => stubOf(crypto.randomUUID()), get: stubOf } as unknown as WorkerLoader
  return { loader: queueIsolates(loader), finish, most: () => most }
}

const isolate = { name: 'x', code: '// 0123456789abcdef\n', entrypoint: 'X', limits: { cpuMs: 1, subRequests: 1 } }
const settle = () => new Promise((resolve) => setTimeout(resolve, 0))

const begin = async (loader: WorkerLoader, name: string, sharedBy?: string): Promise<string> =>
  (await openIsolate<Worker>({ loader, ...isolate, ...(sharedBy !== undefined && { sharedBy }) })).work(name)

it('queues the eleventh isolate of an object, in order', async () => {
  const { loader, finish, most } = createPlatform()
  const names = Array.from({ length: 25 }, (_, n) => `${n}`)
  const works = names.map((name) => begin(loader, name))
  await settle()
  expect([...finish.keys()]).toEqual(names.slice(0, 10))
  for (const name of names) {
    finish.get(name)?.()
    await settle()
  }
  expect(await Promise.all(works)).toEqual(names)
  expect([most(), [...finish.keys()]]).toEqual([10, names])
})

it('counts calls of one isolate once', async () => {
  const { loader, finish, most } = createPlatform()
  const works = Array.from({ length: 9 }, (_, n) => begin(loader, `own ${n}`))
  works.push(...Array.from({ length: 30 }, (_, n) => begin(loader, `shared ${n}`, 'one')))
  await settle()
  expect([finish.size, most()]).toEqual([39, 10])
  for (const end of finish.values()) end()
  expect(await Promise.all(works)).toHaveLength(39)
})

it('counts an abandoned isolate until it has ended', async () => {
  const { loader, finish } = createPlatform()
  const abandoned = Array.from({ length: 10 }, (_, n) =>
    awaitAnswer(begin(loader, `slow ${n}`), { timeoutMs: 5, answer: ({ kind }) => kind }),
  )
  expect(await Promise.all(abandoned)).toEqual(Array.from({ length: 10 }, () => 'timeout'))
  const next = begin(loader, 'next')
  await settle()
  expect(finish.has('next')).toBe(false)
  finish.get('slow 3')?.()
  await settle()
  finish.get('next')?.()
  expect(await next).toBe('next')
})

it('goes on after a call that failed', async () => {
  const failing = { getEntrypoint: () => ({ work: () => Promise.reject(new Error('exceeded CPU')) }) }
  const loader = queueIsolates({ load: () => failing } as unknown as WorkerLoader, 1)
  for (let n = 0; n < 3; n++) await expect(begin(loader, `${n}`)).rejects.toThrow('exceeded CPU')
})

it('gives each object a queue of its own', async () => {
  const [one, other] = [createPlatform(), createPlatform()]
  for (let n = 0; n < 10; n++) void begin(one.loader, `${n}`)
  void begin(other.loader, 'free')
  await settle()
  expect(other.finish.has('free')).toBe(true)
})
