/** Tests images that are stored outside of their message. */

import { expect, it } from 'vitest'
import type { Message } from '#agent/core/message.ts'
import { imageCopier, loadImages } from '#durable/workspace/attachments.ts'

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
