/**
 * Tests images that are too large for the provider: the Images binding shrinks them, and they are omitted if that is
 * not enough.
 */

import { evictDurableObject } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import { imageShrinker, shrinkOversizedImages, shrinkImages } from '#durable/workspace/shrink-images.ts'
import { userText } from '#agent/core/message.ts'
import { bindings, call, applyMigrations } from '../../worker/client.ts'
import type { Run } from '../../worker/listen.ts'
import { type Answer, provider } from './bytes.ts'
import { notesIn, createChaosSession } from './chaos-session.ts'
import { answers } from './wire.ts'
import { openaiChat } from './wires/openai-chat.ts'

beforeAll(applyMigrations)

const [width, height] = [2_600, 1_200]

/** Grey noise: nothing about it can be said shorter. */
async function makePng(): Promise<Uint8Array> {
  const rows = new Uint8Array((width + 1) * height)
  let state = 1
  for (let at = 0; at < rows.length; at++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    rows[at] = at % (width + 1) === 0 ? 0 : state >>> 24
  }
  const packed = new Blob([rows]).stream().pipeThrough(new CompressionStream('deflate'))
  const head = new DataView(new ArrayBuffer(13))
  head.setUint32(0, width)
  head.setUint32(4, height)
  head.setUint8(8, 8)
  const signature = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const parts = [
    signature,
    chunk('IHDR', new Uint8Array(head.buffer)),
    chunk('IDAT', new Uint8Array(await new Response(packed).arrayBuffer())),
    chunk('IEND', new Uint8Array()),
  ]
  return new Uint8Array(await new Blob(parts).arrayBuffer())
}

let made: Promise<Uint8Array> | undefined
/** Compressing it takes longer than most tests. */
const png = () => (made ??= makePng())

function chunk(name: string, data: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(12 + data.length)
  const view = new DataView(bytes.buffer)
  view.setUint32(0, data.length)
  bytes.set(new TextEncoder().encode(name), 4)
  bytes.set(data, 8)
  view.setUint32(8 + data.length, crc32(bytes.subarray(4, 8 + data.length)))
  return bytes
}

function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0)
  }
  return ~crc >>> 0
}

const base64 = (bytes: Uint8Array): string => {
  let binary = ''
  for (let at = 0; at < bytes.length; at += 32_768) binary += String.fromCharCode(...bytes.subarray(at, at + 32_768))
  return btoa(binary)
}

describe('an image', () => {
  const images = () => bindings.IMAGES as ImagesBinding

  it('comes out with the same shape, at most 2000 pixels a side, as JPEG, and the message as it was stays', async () => {
    const data = base64(await png())
    const message = { role: 'user', content: [{ type: 'image', mediaType: 'image/png', data }] } as const
    const [smaller] = await shrinkImages([message], imageShrinker(images()))
    const part = smaller?.content[0]
    if (part?.type !== 'image') throw new Error('The image is gone.')
    expect(part.mediaType).toBe('image/jpeg')
    expect(part.data.length).toBeLessThan(data.length)
    const info = await images().info(new Blob([Uint8Array.from(atob(part.data), (c) => c.charCodeAt(0))]).stream())
    expect(info).toMatchObject({ width: 2_000, height: Math.round((height * 2_000) / width) })
    expect(message.content[0].data).toBe(data)
  }, 30_000)

  it('with more pixels than any provider takes is made smaller unasked, another one is not', async () => {
    const [head, seen] = [await png(), [] as string[]]
    const wide = head.slice()
    new DataView(wide.buffer).setUint32(16, 9_000)
    const parts = [wide, head].map((bytes) => ({ type: 'image', mediaType: 'image/png', data: base64(bytes) }) as const)
    const message = { role: 'user', content: parts } as const
    const shrink = async ({ data }: { readonly data: string }) => {
      seen.push(data)
      return { type: 'image', mediaType: 'image/jpeg', data: 'c21hbGw=' } as const
    }
    const [smaller] = await shrinkOversizedImages([message], shrink)
    expect(smaller?.content.map((part) => part.type === 'image' && part.mediaType)).toEqual(['image/jpeg', 'image/png'])
    expect(seen).toEqual([parts[0]?.data])
    const [same] = await shrinkOversizedImages([{ ...message, content: parts.slice(1) }], shrink)
    expect(same?.content).toEqual(parts.slice(1))
  })

  it.each([
    ['is an address', { type: 'image', mediaType: 'image/png;url', data: 'https://images.test/a.png' }],
    ['is no picture', { type: 'image', mediaType: 'image/png', data: btoa('not a picture') }],
  ] as const)('that %s stays as it is', async (_name, part) => {
    const message = { role: 'user', content: [part] } as const
    expect(await shrinkImages([message, userText('x')], imageShrinker(images()))).toEqual([message, userText('x')])
  })
})

describe('a provider that finds an image too large', () => {
  const tooLarge = openaiChat.error(400, 'messages.0.content.0: image exceeds 5 MB maximum')
  const urlIn = (asked: object) => /data:image\/\w+;base64,[\w+/=]+/.exec(JSON.stringify(asked))?.[0] ?? ''
  const show = async (answer: (asked: object) => Answer) => {
    const session = await createChaosSession(provider((_nth, asked) => answer(asked)))
    const url = `data:image/png;base64,${base64(await png())}`
    const body = { input: 'What is it?', attachments: [{ type: 'image', url }] }
    return (await call<Run>('POST', `/api/sessions/${session.id}/chat`, { key: session.key, body })).body
  }

  it('gets a smaller image, which the run notes', async () => {
    const run = await show((asked) =>
      urlIn(asked).startsWith('data:image/png')
        ? tooLarge
        : answers(openaiChat, `I see it: ${urlIn(asked).length > 1_000}`),
    )
    expect(run.output).toBe('I see it: true')
    expect(notesIn(run)).toEqual(['shrink images'])
  }, 30_000)

  it.each([
    ['too large', tooLarge],
    ['for no reason', openaiChat.error(400, 'Invalid request.')],
  ])(
    'gets it once when it is refused %s: later turns and objects know it, and send another one',
    async (_, refusal) => {
      const sent: number[] = []
      const [bad, good] = await Promise.all([png(), new Uint8Array([0x89, 0x50, 0x4e, 0x47, 1, 2, 3, 4])])
      const refused = base64(bad).slice(0, 100)
      const session = await createChaosSession(
        provider((_nth, asked) => {
          const text = JSON.stringify(asked)
          sent.push(text.match(/data:image/g)?.length ?? 0)
          return text.includes(refused) || /data:image\/jpeg/.test(text) ? refusal : answers(openaiChat, 'Yes.')
        }),
      )
      const say = async (input: string, image?: Uint8Array) => {
        const attachments = image && [{ type: 'image', url: `data:image/png;base64,${base64(image)}` }]
        const body = { input, ...(attachments && { attachments }) }
        sent.length = 0
        return (await call<Run>('POST', `/api/sessions/${session.id}/chat`, { key: session.key, body })).body
      }
      expect((await say('What is it?', bad)).output).toBe('Yes.')
      expect([sent[0], sent.at(-1)]).toEqual([1, 0])
      await evictDurableObject(bindings.SESSION.getByName(`t/${session.tenant}/s/${session.id}`))
      expect(notesIn(await say('And now?'))).toEqual([])
      expect(sent).toEqual([0])
      expect(notesIn(await say('And this?', good))).toEqual([])
      expect(sent).toEqual([1])
      await say('All?')
      expect(sent).toEqual([1])
    },
    30_000,
  )

  it('gets none when a smaller one is too large as well', async () => {
    const run = await show((asked) => (urlIn(asked) ? tooLarge : answers(openaiChat, 'I see nothing.')))
    expect(run.output).toBe('I see nothing.')
    expect(notesIn(run)).toEqual(['shrink images', 'leave out images'])
  }, 30_000)
})
