import { describe, expect, it } from 'vitest'
import {
  createTranscriptionBindingCall,
  parseTranscriptionBinding,
  transcriptionVendors,
} from '#backends/media/transcription.ts'
import { getFailure } from '#backends/media/vendor.ts'
import { videoVendors } from '#backends/media/video.ts'
import { ascii } from './fixtures.ts'

const access = { baseUrl: 'https://api.test', key: 'secret' }
const sound = { model: 'm', bytes: ascii('sound'), mime: 'audio/ogg', name: 'voice.ogg' }

describe('requests for transcriptions', () => {
  it.each([
    ['openai', 'gpt-4o-mini-transcribe', 'json'],
    ['groq', 'whisper-large-v3-turbo', 'verbose_json'],
  ] as const)('are forms for %s', async (vendor, model, format) => {
    const sent = transcriptionVendors[vendor].createRequest(
      { ...sound, model, language: 'de', prompt: 'Talaria' },
      access,
    )
    expect(sent).toMatchObject({
      url: 'https://api.test/audio/transcriptions',
      headers: { authorization: 'Bearer secret' },
    })
    const body = sent.body as FormData
    expect(['model', 'response_format', 'language', 'prompt'].map((name) => body.get(name))).toEqual([
      model,
      format,
      'de',
      'Talaria',
    ])
    const file = body.get('file') as File
    expect([file.name, file.type, await file.text()]).toEqual(['voice.ogg', 'audio/ogg', 'sound'])
  })

  it.each([
    ['mistral', '/audio/transcriptions', ['model', 'language', 'file']],
    ['xai', '/stt', ['language', 'file']],
  ] as const)('have for %s the fields that it knows, the file last', (vendor, path, names) => {
    const sent = transcriptionVendors[vendor].createRequest({ ...sound, language: 'de', prompt: 'Talaria' }, access)
    expect(sent).toMatchObject({ url: `https://api.test${path}`, headers: { authorization: 'Bearer secret' } })
    expect([...(sent.body as FormData).keys()]).toEqual(names)
  })

  it('are the bytes for Deepgram', () => {
    expect(transcriptionVendors.deepgram.createRequest({ ...sound, model: 'nova-3' }, access)).toEqual({
      url: 'https://api.test/v1/listen?model=nova-3&smart_format=true&detect_language=true',
      method: 'POST',
      headers: { authorization: 'Token secret', 'content-type': 'audio/ogg' },
      body: ascii('sound'),
    })
  })

  it('are base64 for the binding', () => {
    expect(createTranscriptionBindingCall({ ...sound, language: 'en' }).input).toEqual({
      audio: btoa('sound'),
      language: 'en',
    })
  })
})

describe('answers with transcriptions', () => {
  it.each([
    ['openai', { text: ' Hello. ' }, { text: 'Hello.' }],
    [
      'mistral',
      { model: 'm', text: 'Hi.', language: 'en', segments: [], usage: { prompt_audio_seconds: 3, total_tokens: 9 } },
      { text: 'Hi.', seconds: 3, language: 'en', segments: [] },
    ],
    ['xai', { text: 'Hi.', language: 'en', duration: 0.5, words: [] }, { text: 'Hi.', seconds: 0.5, language: 'en' }],
    ['openai', { text: 'Hello.', usage: { type: 'duration', seconds: 3 } }, { text: 'Hello.', seconds: 3 }],
    [
      'groq',
      { text: 'Hallo.', duration: '2.5', language: 'de', segments: [{ id: 0, start: 0, end: 2.5, text: 'Hallo.' }] },
      { text: 'Hallo.', seconds: 2.5, language: 'de', segments: [{ start: 0, end: 2.5, text: 'Hallo.' }] },
    ],
    [
      'deepgram',
      {
        metadata: { duration: 4.2 },
        results: { channels: [{ detected_language: 'en', alternatives: [{ transcript: 'Hello.' }] }] },
      },
      { text: 'Hello.', seconds: 4.2, language: 'en' },
    ],
  ] as const)('are read from %s', (vendor, answer, expected) => {
    expect(transcriptionVendors[vendor].parse(answer)).toEqual(expected)
  })

  it('are read from the binding', () => {
    const answer = { text: 'Hello.', transcription_info: { duration: 1, language: 'en' }, word_count: 1 }
    expect(parseTranscriptionBinding(answer)).toEqual({ text: 'Hello.', seconds: 1, language: 'en' })
  })

  it.each([
    ['openai', { error: { message: 'Invalid file format.' } }, 'refused', 'OpenAI: Invalid file format.'],
    ['deepgram', { err_code: 'X', err_msg: 'Corrupt.' }, 'refused', 'Deepgram: Corrupt.'],
    ['deepgram', 'text', 'failed', 'Deepgram sent an answer of an unexpected form.'],
  ] as const)('without a text from %s are failures', (vendor, answer, kind, message) => {
    expect(() => transcriptionVendors[vendor].parse(answer)).toThrow(expect.objectContaining({ kind, message }))
  })
})

describe('failureOf', () => {
  it.each([
    [400, '{"error":{"message":"bad prompt"}}', 'refused', 'V: bad prompt'],
    [401, '{"detail":{"message":"invalid key"}}', 'auth', 'V: invalid key'],
    [402, '', 'quota', 'V: it answered with status 402'],
    [429, 'busy', 'rate', 'V: it answered with status 429'],
    [500, '<html>', 'failed', 'V: it answered with status 500'],
  ] as const)('maps status %i', (status, text, kind, message) => {
    expect(getFailure('V', { status, headers: new Headers() }, text)).toMatchObject({ kind, message })
  })

  it('takes the pause from the answer', () => {
    const headers = new Headers({ 'retry-after': '7' })
    expect(getFailure('V', { status: 429, headers }, '').retryAfter).toBe(7)
  })
})

describe('video', () => {
  const request = { model: 'sora-2', prompt: 'waves', seconds: 8, aspect: 'portrait' } as const

  it('is a form for OpenAI, and a job that is asked', () => {
    const sent = videoVendors.openai.createRequest(request, access)
    const body = sent.body as FormData
    expect([sent.url, ...['model', 'prompt', 'seconds', 'size'].map((name) => body.get(name))]).toEqual([
      'https://api.test/videos',
      'sora-2',
      'waves',
      '8',
      '720x1280',
    ])
    const id = videoVendors.openai.parseStarted({ id: 'video_1', status: 'queued' })
    const job = { model: 'sora-2', id }
    expect(videoVendors.openai.createStatusRequest(job, access).url).toBe('https://api.test/videos/video_1')
    expect(videoVendors.openai.createResultRequest(job, access).url).toBe('https://api.test/videos/video_1/content')
    expect(videoVendors.openai.isDone({ id, status: 'in_progress' })).toBe(false)
    expect(videoVendors.openai.isDone({ id, status: 'completed' })).toBe(true)
    expect(() => videoVendors.openai.isDone({ id, status: 'failed', error: { message: 'moderated' } })).toThrow(
      'OpenAI: moderated',
    )
  })

  it('is in the queue of FAL', () => {
    const sent = videoVendors.fal.createRequest({ ...request, model: 'fal-ai/kling/v2', seconds: 5 }, access)
    expect(sent.url).toBe('https://api.test/fal-ai/kling/v2')
    expect(JSON.parse(sent.body as string)).toEqual({ prompt: 'waves', duration: '5', aspect_ratio: '9:16' })
    expect(videoVendors.fal.parseResult?.({ video: { url: 'https://files.test/v.mp4' } })).toEqual({
      kind: 'address',
      url: 'https://files.test/v.mp4',
    })
  })
})
