import { describe, expect, it } from 'vitest'
import { deleteCarriedFiles, readCarriedFile, storeCarriedFiles } from '#durable/channels/carried-files.ts'
import { bindings } from '../../worker/client.ts'

const blobs = bindings.BLOBS
const bytesOf = (text: string) => Uint8Array.from(new TextEncoder().encode(text))
const mediaOf = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ kind: 'document', reference: String(n), isCarried: true }) as const)
const storeOf = (sessionId: string, name: string, count = 1, at = Date.now()) =>
  storeCarriedFiles(blobs, mediaOf(count), {
    owner: { tenantId: 'carried', sessionId },
    name,
    files: mediaOf(count).map(({ reference }) => ({ reference, bytes: bytesOf(`${name} ${reference}`) })),
    at,
  })
const listKeys = async () => (await blobs!.list({ prefix: 't/carried/' })).objects.map(({ key }) => key)

describe('the files that a message carries', () => {
  it('are read by their session alone, the same after a repeated delivery, until they are deleted', async () => {
    const owner = { tenantId: 'carried', sessionId: 'ses_1' }
    const [reference] = await storeOf('ses_1', 'mail')
    expect(await storeOf('ses_1', 'mail')).toEqual([reference])
    expect(await listKeys()).toEqual(['t/carried/s/ses_1/carried/mail/0'])
    expect(await readCarriedFile(blobs, owner, reference!)).toEqual({ kind: 'fetched', bytes: bytesOf('mail 0') })
    const failed = { kind: 'failed', canRetry: false }
    expect(await readCarriedFile(blobs, { ...owner, sessionId: 'ses_2' }, reference!)).toMatchObject(failed)
    await deleteCarriedFiles(blobs, owner, [reference!])
    expect(await readCarriedFile(blobs, owner, reference!)).toMatchObject(failed)
    expect(await readCarriedFile(undefined, owner, reference!)).toMatchObject({
      ...failed,
      detail: expect.stringContaining('BLOBS'),
    })
    expect(await listKeys()).toEqual([])
  })

  it('are stored up to the number that a session reads, and replaced after five days', async () => {
    expect(await storeOf('ses_3', 'many', 25)).toHaveLength(25)
    expect(await listKeys()).toHaveLength(20)
    await storeOf('ses_3', 'later', 1, Date.now() + 6 * 86_400_000)
    expect(await listKeys()).toEqual(['t/carried/s/ses_3/carried/later/0'])
  })
})
