/** Tests which failures to read the file of a vendor are final. */

import { describe, expect, it } from 'vitest'
import { type MediaTransport, readSource, requireType } from '#durable/models/media/vendor-transport.ts'

const named = (name: string, message: string) => Object.assign(new Error(message), { name })

const readFrom = (answer: () => Promise<Response>) => {
  const guardedFetch = async () => ({ response: await answer(), url: 'https://a.example/' })
  const transport = { env: {}, guardedFetch } as unknown as MediaTransport
  return readSource(transport, 'FAL', { kind: 'address', url: 'https://a.example/x.png' })
}
const status = (code: number) => () => Promise.resolve(new Response('x', { status: code }))
const failing = (error: Error) => () => Promise.reject(error)

describe('a file that a vendor has made', () => {
  it.each([
    [
      'at a private address',
      failing(named('BlockedAddress', 'http://10.0.0.1/x may not be called')),
      'may not be called',
    ],
    ['that is too large', failing(named('ResponseTooLarge', 'more than 32 MB')), 'more than 32 MB'],
    ['that is not there', status(404), 'answered 404'],
    ['that is not for us', status(403), 'answered 403'],
  ])('and that is %s is refused at once, with the reason', async (_name, answer, reason) => {
    await expect(readFrom(answer)).rejects.toMatchObject({
      kind: 'unreadable',
      message: expect.stringContaining(reason) as string,
    })
  })

  it.each([
    ['while its server is down', status(503)],
    ['while it is limited', status(429)],
    ['over a broken line', failing(new Error('Network connection lost.'))],
  ])('may be read later: %s', async (_name, answer) => {
    await expect(readFrom(answer)).rejects.toMatchObject({ kind: 'unknown' })
  })

  it('is refused when it is of another kind', async () => {
    const bytes = new Uint8Array(await readFrom(() => Promise.resolve(new Response('<html>'))))
    expect(() => requireType('FAL', bytes, 'image')).toThrow(expect.objectContaining({ kind: 'unreadable' }) as Error)
  })
})
