/** Tests images that are stored outside of their message. */

import { expect, it } from 'vitest'
import type { ImagePart, Message } from '#agent/core/message.ts'
import { getStoredPart, imageCopier, loadImages } from '#durable/workspace/attachments.ts'

const images = {
  get: (key: string) => Promise.resolve({ text: () => Promise.resolve(`the image ${key}`) }),
} as unknown as R2Bucket
const named = (key: string): Message => ({
  role: 'user',
  content: [{ type: 'image', mediaType: 'image/png', data: `blob:${key}` }],
})

it('an image reference resolves only within the tenant', async () => {
  const own = named('t/one/s/x/attachments/y')
  const others = [named('t/two/s/x/attachments/y'), named('t/one1/s/x/attachments/y')]
  const loaded = await loadImages([own, ...others], images, 't/one/')
  expect(loaded.map(({ content }) => content[0])).toEqual([
    { type: 'image', mediaType: 'image/png', data: 'the image t/one/s/x/attachments/y' },
    { type: 'text', text: '[an image that is no longer available]' },
    { type: 'text', text: '[an image that is no longer available]' },
  ])
})

it('a copy of a session copies only images of its tenant', async () => {
  const put: string[] = []
  const blobs = {
    get: (key: string) => Promise.resolve({ body: key }),
    put: (key: string, body: string) => Promise.resolve(void put.push(`${key} from ${body}`)),
  } as unknown as R2Bucket
  const own = imageCopier(blobs, { tenantId: 'one', sessionId: 'fork' })
  expect(await own(named('t/one/s/x/attachments/y'))).toEqual(named('t/one/s/fork/attachments/y'))
  expect(await own(named('t/two/s/x/attachments/z'))).toEqual(named('t/two/s/x/attachments/z'))
  expect(put).toEqual(['t/one/s/fork/attachments/y from t/one/s/x/attachments/y'])
})

/** A bucket that counts its reads. An image has as many characters as its name says, or `size`. */
function createBucket(size = 0) {
  const calls = { get: [] as string[], head: [] as string[] }
  const lengthOf = (key: string) => Number(/\.(\d+)$/.exec(key)?.[1] ?? size)
  const blobs = {
    get: (key: string) => {
      calls.get.push(key)
      return Promise.resolve({ text: () => Promise.resolve('x'.repeat(lengthOf(key))) })
    },
    head: (key: string) => {
      calls.head.push(key)
      return Promise.resolve({ size: lengthOf(key) })
    },
  } as unknown as R2Bucket
  return { blobs, calls }
}

const photos = (count: number, name: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => named(`t/one/s/x/attachments/${name(n)}`))
const kinds = (messages: readonly Message[]) => messages.map(({ content }) => content[0]?.type)

it('the oldest images of a request become notes, a quarter of the limit at once, and are not read', async () => {
  const { blobs, calls } = createBucket()
  const load = (count: number) =>
    loadImages(
      photos(count, (n) => `${n}.100`),
      blobs,
      't/one/',
      1_000,
    )
  expect(kinds(await load(10))).toEqual(Array(10).fill('image'))
  for (const count of [11, 12])
    expect(kinds(await load(count))).toEqual([...Array(3).fill('text'), ...Array(count - 3).fill('image')])
  expect(kinds(await load(14))).toEqual([...Array(5).fill('text'), ...Array(9).fill('image')])
  expect(calls.head).toEqual([])
  expect(calls.get).not.toContain(undefined)
  expect(calls.get.filter((key) => key.endsWith('/0.100'))).toHaveLength(1)
})

it('the newest image stays, however large it is', async () => {
  const { blobs } = createBucket()
  const messages = photos(3, () => '5000')
  expect(kinds(await loadImages(messages.slice(0, 1), createBucket(5_000).blobs, 't/one/', 1_000))).toEqual(['image'])
  expect(
    kinds(
      await loadImages(
        photos(3, (n) => `${n}.5000`),
        blobs,
        't/one/',
        1_000,
      ),
    ),
  ).toEqual(['text', 'text', 'image'])
})

it('the length of an image without one in its name is asked once', async () => {
  const { blobs, calls } = createBucket(600)
  const messages = photos(3, (n) => `old-${n}`)
  for (let n = 0; n < 2; n++)
    expect(kinds(await loadImages(messages, blobs, 't/one/', 1_000))).toEqual(['text', 'text', 'image'])
  expect(calls.head).toHaveLength(3)
})

it('a loaded image is held by its request alone, and knows the stored one', async () => {
  const { blobs } = createBucket()
  const [message] = photos(1, () => 'a.10')
  const load = async () => (await loadImages([message as Message], blobs, 't/one/', 1_000))[0]?.content[0] as ImagePart
  const [one, other] = [await load(), await load()]
  expect(one).not.toBe(other)
  expect([getStoredPart(one), getStoredPart(other)]).toEqual([message?.content[0], message?.content[0]])
  expect(getStoredPart(one)).toBe(message?.content[0])
})
