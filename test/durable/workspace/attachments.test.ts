/** Images that are stored beside a message, on their way to a model. */

import { expect, it } from 'vitest'
import type { Message } from '../../../src/agent/model/message.ts'
import { imageCopier, loadImages } from '../../../src/durable/workspace/attachments.ts'

const images = {
  get: (key: string) => Promise.resolve({ text: () => Promise.resolve(`the image ${key}`) }),
} as unknown as R2Bucket
const named = (key: string): Message => ({
  role: 'user',
  content: [{ type: 'image', mediaType: 'image/png', data: `blob:${key}` }],
})

it('an image that a message names is the session’s tenant’s, or it is not there', async () => {
  const own = named('t/one/s/x/attachments/y')
  const others = [named('t/two/s/x/attachments/y'), named('t/one1/s/x/attachments/y')]
  const loaded = await loadImages([own, ...others], images, 't/one/')
  expect(loaded.map(({ content }) => content[0])).toEqual([
    { type: 'image', mediaType: 'image/png', data: 'the image t/one/s/x/attachments/y' },
    { type: 'text', text: '[an image that is gone]' },
    { type: 'text', text: '[an image that is gone]' },
  ])
})

it('a copy of a session takes along what its tenant has, and nothing of others', async () => {
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
