/** Tests storing PDF files in R2, and which of them are loaded for a request. */

import { describe, expect, it } from 'vitest'
import type { Message, TextPart } from '#agent/core/message.ts'
import { imageCopier } from '#durable/workspace/attachments.ts'
import { loadPdfs, storePdf } from '#durable/workspace/pdfs.ts'

function createBucket() {
  const objects = new Map<string, string>()
  const blobs = {
    put: async (key: string, value: string | ReadableStream) =>
      void objects.set(key, typeof value === 'string' ? value : await new Response(value).text()),
    get: async (key: string) => {
      const value = objects.get(key)
      return value === undefined ? null : { text: async () => value, body: new Response(value).body }
    },
  } as unknown as R2Bucket
  return { objects, blobs }
}

const file = (pages = 1, size = 9) => ({ name: 'a.pdf', pages, bytes: new Uint8Array(size) })
const within = 't/one/'
const prefix = 't/one/s/x/attachments/'
async function storeMessage(blobs: R2Bucket, pages: number, size?: number): Promise<Message> {
  const pdf = await storePdf(file(pages, size), blobs, prefix)
  return { role: 'user', content: [{ type: 'text', text: 'its text', ...(pdf && { pdf }) }] }
}
const isLoaded = ({ content: [part] }: Message) => !(part as TextPart).pdf?.data.startsWith('blob:')

describe('storePdf', () => {
  it('stores a reference, never the bytes', async () => {
    const { blobs, objects } = createBucket()
    const pdf = await storePdf(file(), blobs, prefix)
    expect(pdf?.data).toMatch(/^blob:t\/one\/s\/x\/attachments\/.*\.12$/)
    expect([...objects.values()]).toEqual(['AAAAAAAAAAAA'])
  })

  it('leaves files as their text that no model takes, or that cannot be stored', async () => {
    const { blobs } = createBucket()
    expect(await storePdf(file(101), blobs, prefix)).toBeUndefined()
    expect(await storePdf(file(1, 6_100_000), blobs, prefix)).toBeUndefined()
    expect(await storePdf(file(), undefined, prefix)).toBeUndefined()
    const broken = { put: () => Promise.reject(new Error('down')) } as unknown as R2Bucket
    expect(await storePdf(file(), broken, prefix)).toBeUndefined()
  })
})

describe('loadPdfs', () => {
  it('loads the newest files within the pages of the window', async () => {
    const { blobs } = createBucket()
    const messages = [await storeMessage(blobs, 10), await storeMessage(blobs, 8), await storeMessage(blobs, 8)]
    const load = async (contextWindow: number) =>
      (await loadPdfs(messages, { blobs, within, contextWindow })).map(isLoaded)
    expect(await load(200_000)).toEqual([false, true, true])
    expect(await load(400_000)).toEqual([true, true, true])
    expect(await load(8_192)).toEqual([false, false, false])
  })

  it('loads no more bytes than a request may have', async () => {
    const { blobs } = createBucket()
    const messages = [await storeMessage(blobs, 1, 5_900_000), await storeMessage(blobs, 1, 5_900_000)]
    expect((await loadPdfs(messages, { blobs, within, contextWindow: 1e6 })).map(isLoaded)).toEqual([false, true])
  })

  it('keeps the text of a file that is gone or of another tenant', async () => {
    const { blobs, objects } = createBucket()
    const messages = [await storeMessage(blobs, 1)]
    expect(await loadPdfs(messages, { blobs, within: 't/two/', contextWindow: 1e6 })).toEqual(messages)
    objects.clear()
    expect(await loadPdfs(messages, { blobs, within, contextWindow: 1e6 })).toEqual(messages)
  })
})

it('copies files for a fork, which outlives the session', async () => {
  const { blobs, objects } = createBucket()
  const stored = await storeMessage(blobs, 1)
  objects.set(`${prefix}sent`, 'c2VudA==')
  const sent = { kind: 'file' as const, at: 0, data: `blob:${prefix}sent` }
  const message = { ...stored, content: [...stored.content, { type: 'text', text: 'a.txt', sent }] } as Message
  const copied = await imageCopier(blobs, { tenantId: 'one', sessionId: 'fork' })(message)
  expect((copied.content[0] as TextPart).pdf?.data).toContain('fork')
  expect((copied.content[1] as TextPart).sent).toMatchObject({ data: expect.stringMatching(/^blob:.*fork.*sent$/) })
  for (const key of objects.keys()) if (!key.includes('fork')) objects.delete(key)
  expect((await loadPdfs([copied], { blobs, within, contextWindow: 1e6 })).map(isLoaded)).toEqual([true])
})
