import { describe, expect, it } from 'vitest'
import type { Media, MediaAnswer } from '#agent/core/media/media.ts'
import textToSpeech from '#tools/media/text-to-speech.tool.ts'
import { call } from '../support/call.ts'
import { memoryBackend } from '../support/memory-backend.ts'

const file = { path: 'media/hi.mp3', mime: 'audio/mpeg', bytes: 3, url: '/files/x' }
const made: MediaAnswer = { kind: 'made', files: [file], model: 'openai/m' }

async function speak(
  input: object,
  { answer = made, files = { 'media/hi.mp3': 'mp3' } as Record<string, string> } = {},
) {
  const asked: unknown[] = []
  const media = { createSpeech: async (order: unknown) => (asked.push(order), answer) } as unknown as Media
  const backend = memoryBackend(files)
  return { ...(await call(textToSpeech, input, { media, backend })), asked, backend }
}

describe('text_to_speech', () => {
  it('passes on how to speak', async () => {
    const order = { text: 'Hi.', voice: 'nova', format: 'mp3', speed: 1.5, instructions: 'calm', provider: 'openai' }
    const { asked, result } = await speak(order)
    expect(asked).toEqual([order])
    expect(result).toEqual({
      success: true,
      ...file,
      model: 'openai/m',
      file_path: 'media/hi.mp3',
      media_tag: 'MEDIA:media/hi.mp3',
      voice_compatible: false,
    })
  })

  it('also stores the file where it is asked to', async () => {
    const { result, backend } = await speak({ text: 'Hi.', output_path: 'out/a.mp3' })
    expect(result).toMatchObject({ success: true, path: 'media/hi.mp3', file_path: 'out/a.mp3' })
    expect(backend.texts()).toMatchObject({ '/workspace/out/a.mp3': 'mp3' })
  })

  it('says that a file could not be copied, which is paid and made', async () => {
    const { result, failed } = await speak({ text: 'Hi.', output_path: 'out/a.mp3' }, { files: {} })
    expect(failed).toBe(false)
    expect(result).toMatchObject({
      success: true,
      file_path: 'media/hi.mp3',
      note: expect.stringContaining('out/a.mp3'),
    })
  })

  it('asks before it writes where write_file asks', async () => {
    const services = { backend: memoryBackend() }
    const verdictOf = async (path?: string) =>
      (await textToSpeech.assess?.({ text: 'Hi.', ...(path && { output_path: path }) }, services))?.verdict
    expect(
      await Promise.all([verdictOf(), verdictOf('out/a.mp3'), verdictOf('.env'), verdictOf('/etc/passwd')]),
    ).toEqual(['allow', 'allow', 'ask', 'ask'])
  })
})
