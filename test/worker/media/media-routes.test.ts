/** Tests `/v1/audio/…` and `/v1/images/…`: with the official SDK, by several providers, billed and limited. */

import { SELF } from 'cloudflare:test'
import OpenAI, { toFile } from 'openai'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { itInTurn } from '#test/support/long.ts'
import { mp3Bytes, opusBytes, pngBytes, wavBytes } from '../../backends/media/fixtures.ts'
import { deployment } from '../../support/deployment.ts'
import { sentTo, vendors } from '../../support/media-vendors.ts'
import { applyMigrations, bindings, call, type ErrorBody, newKey, newTenant } from '../client.ts'

beforeAll(applyMigrations)
afterEach(() => delete deployment.ai)

const image = encodeBase64Bytes(pngBytes('made'))
beforeEach(() =>
  vendors.begin(({ url }) => {
    if (url.endsWith('/images/generations')) return Response.json({ created: 1, data: [{ b64_json: image }] })
    if (url.endsWith('/audio/speech')) return new Response(mp3Bytes('spoken'))
    if (url.endsWith('/audio/transcriptions'))
      return Response.json({ text: 'Hello there.', usage: { type: 'duration', seconds: 3 } })
    return undefined
  }),
)

const client = (apiKey: string) =>
  new OpenAI({
    baseURL: 'https://talaria.test/v1',
    apiKey,
    maxRetries: 0,
    fetch: (url, init) => SELF.fetch(url as string, init as RequestInit<RequestInitCfProperties>),
  })

const speak = (key: string, body: object) =>
  SELF.fetch('https://talaria.test/v1/audio/speech', {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'tts-1', voice: 'alloy', ...body }),
  })

async function withCredential(provider: string, settings: object) {
  const tenant = await newTenant()
  await call('POST', '/api/credentials', { key: tenant.key, body: { provider, key: `key-of-${provider}` } })
  expect((await call('PATCH', '/api/settings', { key: tenant.key, body: settings })).status).toBe(200)
  return tenant
}

describe('the official SDK', () => {
  it('makes images', async () => {
    const { key } = await newTenant()
    const made = await client(key).images.generate({ model: 'gpt-image-1.5', prompt: 'a fox', size: '1024x1024', n: 1 })
    expect(made.data?.[0]?.b64_json).toBe(image)
    expect(sentTo('/images/')).toEqual([{ model: 'gpt-image-1.5', prompt: 'a fox', size: '1024x1024' }])
    expect(vendors.calls[0]?.key).toBe('Bearer test-key')
  })

  it('may send every field of images with its default', async () => {
    const { key } = await newTenant()
    const passed = {
      size: 'auto',
      quality: 'auto',
      background: 'auto',
      output_format: 'png',
      moderation: 'auto',
    } as const
    const own = { response_format: 'b64_json', stream: false, partial_images: 0, style: 'vivid', user: 'u' } as const
    const fields = { ...passed, ...own, output_compression: 100, safety_identifier: 's' }
    await client(key).images.generate({ model: 'gpt-image-2', prompt: 'a fox', n: 1, ...fields })
    expect(sentTo('/images/')).toEqual([{ model: 'gpt-image-2', prompt: 'a fox', ...passed, output_compression: 100 }])
  })

  it('edits images', async () => {
    const { key } = await newTenant()
    vendors.begin(() => Response.json({ data: [{ b64_json: image }] }))
    const [one, two, mask] = await Promise.all(
      ['one', 'two', 'mask'].map((name) => toFile(pngBytes(name), `${name}.bin`)),
    )
    const options = { prompt: 'bluer', size: '1024x1024', n: 1 } as const
    const made = await client(key).images.edit({ image: [one!, two!], mask: mask!, input_fidelity: 'high', ...options })
    expect(made.data?.[0]?.b64_json).toBe(image)
    await client(key).images.edit({ image: one!, model: 'gpt-image-1.5', ...options })
    const [several, single] = vendors.calls
    expect([several?.url, several?.key]).toEqual(['https://model.test/v1/images/edits', 'Bearer test-key'])
    const texts = [...(several?.form ?? [])].filter(([, value]) => typeof value === 'string')
    expect(Object.fromEntries(texts)).toEqual({
      model: 'gpt-image-2',
      prompt: 'bluer',
      size: '1024x1024',
      input_fidelity: 'high',
    })
    const bytesOf = async (value: unknown) => [(value as File).type, await (value as File).text()]
    expect(await Promise.all((several?.form?.getAll('image[]') ?? []).map(bytesOf))).toEqual([
      ['image/png', new TextDecoder().decode(pngBytes('one'))],
      ['image/png', new TextDecoder().decode(pngBytes('two'))],
    ])
    expect(await bytesOf(several?.form?.get('mask'))).toEqual(['image/png', new TextDecoder().decode(pngBytes('mask'))])
    expect([single?.form?.get('model'), single?.form?.getAll('image[]').length, single?.form?.get('mask')]).toEqual([
      'gpt-image-1.5',
      1,
      null,
    ])
    const { body } = await call<{ data: readonly object[] }>('GET', '/api/usage?group=model', { key })
    expect(body.data).toContainEqual(expect.objectContaining({ key: 'openai/gpt-image-2', calls: 1, cost_usd: 0.053 }))
  })

  it('speaks', async () => {
    const { key } = await newTenant()
    const answer = await client(key).audio.speech.create({ model: 'gpt-4o-mini-tts', voice: 'nova', input: 'Hello.' })
    expect([answer.headers.get('content-type'), new Uint8Array(await answer.arrayBuffer())]).toEqual([
      'audio/mpeg',
      mp3Bytes('spoken'),
    ])
    expect(sentTo('/audio/speech')).toEqual([
      { model: 'gpt-4o-mini-tts', input: 'Hello.', voice: 'nova', response_format: 'mp3' },
    ])
  })

  it('transcribes', async () => {
    const { key } = await newTenant()
    const file = await toFile(opusBytes(['sound']), 'anything.bin')
    const sdk = client(key)
    const json = await sdk.audio.transcriptions.create({ file, model: 'whisper-1', language: 'en' })
    const text = await sdk.audio.transcriptions.create({ file, model: 'whisper-1', response_format: 'text' })
    expect([json.text, String(text).trim()]).toEqual(['Hello there.', 'Hello there.'])
    const form = vendors.calls[0]?.form
    const sent = form?.get('file') as File
    // The type by the bytes, whatever the client calls the file.
    expect([form?.get('model'), form?.get('language'), sent.name, sent.type]).toEqual([
      'whisper-1',
      'en',
      'audio.ogg',
      'audio/ogg',
    ])
  })
})

describe('other providers', () => {
  it('Groq transcribes with times, as subtitles too', async () => {
    const { key } = await withCredential('groq', { stt: { provider: 'groq' } })
    vendors.begin(() =>
      Response.json({
        text: 'One. Two.',
        duration: 3.5,
        language: 'english',
        segments: [
          { start: 0, end: 1.5, text: ' One.' },
          { start: 1.5, end: 3_661.25, text: ' Two.' },
        ],
      }),
    )
    const file = await toFile(wavBytes('x'.repeat(28)), 'a.wav')
    const options = { file, model: 'whisper-1', response_format: 'srt' } as const
    const srt: unknown = await client(key).audio.transcriptions.create(options)
    expect(srt).toBe('1\n00:00:00,000 --> 00:00:01,500\nOne.\n\n2\n00:00:01,500 --> 01:01:01,250\nTwo.\n\n')
    const verbose = await client(key).audio.transcriptions.create({ ...options, response_format: 'verbose_json' })
    expect(verbose).toMatchObject({ text: 'One. Two.', duration: 3.5, segments: [{ id: 0 }, { id: 1 }] })
    expect([vendors.calls[0]?.url, vendors.calls[0]?.key, vendors.calls[0]?.form?.get('model')]).toEqual([
      'https://api.groq.com/openai/v1/audio/transcriptions',
      'Bearer key-of-groq',
      'whisper-large-v3-turbo',
    ])
  })

  it('ElevenLabs speaks with its own voice, whatever voice of OpenAI the client names', async () => {
    const { key } = await withCredential('elevenlabs', { tts: { provider: 'elevenlabs', voice: 'abc123' } })
    vendors.begin(() => new Response(opusBytes(['x'])))
    const answer = await speak(key, { input: 'Hello.', response_format: 'opus' })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'audio/ogg'])
    expect([vendors.calls[0]?.url, vendors.calls[0]?.key]).toEqual([
      'https://api.elevenlabs.io/v1/text-to-speech/abc123?output_format=opus_48000_64',
      'key-of-elevenlabs',
    ])
  })

  it('Gemini speaks as WAV, also in pieces, and no other format', async () => {
    const { key } = await withCredential('gemini', { tts: { provider: 'gemini', voice: 'Puck' } })
    vendors.begin(({ url, body }) => {
      if (!url.endsWith('/v1beta/models/gemini-3.8-flash-tts:generateContent')) return undefined
      const { contents, generationConfig } = JSON.parse(body) as {
        readonly contents: readonly [{ readonly parts: readonly [{ readonly text: string }] }]
        readonly generationConfig: object
      }
      expect(generationConfig).toEqual({
        responseModalities: ['AUDIO'],
        speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Puck' } } },
      })
      const data = btoa(contents[0].parts[0].text.slice(13, 21))
      const inlineData = { mimeType: 'audio/L16;codec=pcm;rate=24000', data }
      return Response.json({ candidates: [{ content: { parts: [{ inlineData }] } }] })
    })
    const input = Array.from({ length: 300 }, (_, at) => `Line ${String(at).padStart(3, '0')}.`).join(' ')
    const answer = await speak(key, { input })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'audio/wav'])
    const sound = new Uint8Array(await answer.arrayBuffer())
    expect(new TextDecoder('latin1').decode(sound.subarray(44))).toMatch(/^Line 000Line \d{3}Line \d{3}$/)
    expect(new Set(vendors.calls.map((one) => one.key))).toEqual(new Set(['key-of-gemini']))
    vendors.calls = []
    const [mp3, long] = await Promise.all([
      speak(key, { input: 'Hi.', response_format: 'mp3' }),
      speak(key, { input: 'a '.repeat(5_000) }),
    ])
    expect([mp3.status, long.status, vendors.calls.length]).toEqual([400, 400, 0])
    expect([await mp3.text(), await long.text()].join()).toMatch(/makes wav, pcm, not mp3.*at most 8000 characters/s)
  })

  itInTurn('FAL makes images in its queue', async () => {
    const { key } = await withCredential('fal', { image: { provider: 'fal' } })
    let asked = 0
    vendors.begin(({ url }) => {
      // A poll that fails says nothing about the job, which is paid.
      if (url.endsWith('/status') && ++asked === 1) return new Response('<html>', { status: 503 })
      if (url.endsWith('/status')) return Response.json({ status: 'COMPLETED' })
      if (url.includes('/requests/')) return Response.json({ images: [{ url: 'https://files.fal.media/a.png' }] })
      if (url.startsWith('https://files.fal.media')) return new Response(pngBytes('fal'))
      return Response.json({ request_id: 'r1', status_url: 'https://evil.test/' })
    })
    const made = await client(key).images.generate({ model: 'gpt-image-2', prompt: 'a fox', size: '1024x1536' })
    expect(made.data?.[0]?.b64_json).toBe(encodeBase64Bytes(pngBytes('fal')))
    expect(vendors.calls.map(({ url }) => url)).toEqual([
      'https://queue.fal.run/fal-ai/flux-2-pro',
      'https://queue.fal.run/fal-ai/flux-2-pro/requests/r1/status',
      'https://queue.fal.run/fal-ai/flux-2-pro/requests/r1/status',
      'https://queue.fal.run/fal-ai/flux-2-pro/requests/r1',
      'https://files.fal.media/a.png',
    ])
    // The key goes to FAL alone.
    expect(vendors.calls.map((one) => one.key)).toEqual([...Array.from({ length: 4 }, () => 'Key key-of-fal'), ''])
    expect(sentTo('queue.fal.run').at(0)).toMatchObject({ image_size: 'portrait_16_9' })
  })

  it('Workers AI does all three by its binding', async () => {
    const asked: (readonly [string, object])[] = []
    deployment.ai = {
      run: async (model, input) => {
        asked.push([model, input])
        if (model.includes('flux')) return { image }
        if (model.includes('whisper')) return { text: 'Bound.', transcription_info: { duration: 1 } }
        return new Response(mp3Bytes('bound')).body
      },
    }
    const provider = { provider: 'workers-ai' }
    const { key } = await withCredential('openai', { image: provider, tts: provider, stt: provider })
    const sdk = client(key)
    const file = await toFile(mp3Bytes(), 'a.mp3')
    expect((await sdk.images.generate({ prompt: 'a fox' })).data?.[0]?.b64_json).toBe(image)
    expect((await sdk.audio.transcriptions.create({ file, model: 'whisper-1' })).text).toBe('Bound.')
    expect(new Uint8Array(await (await speak(key, { input: 'Hi.' })).arrayBuffer())).toEqual(mp3Bytes('bound'))
    expect(asked).toEqual([
      ['@cf/black-forest-labs/flux-1-schnell', { prompt: 'a fox', steps: 4 }],
      ['@cf/openai/whisper-large-v3-turbo', { audio: encodeBase64Bytes(mp3Bytes()) }],
      ['@cf/deepgram/aura-1', { text: 'Hi.', encoding: 'mp3' }],
    ])
  })
})

describe('a long text', () => {
  it('is spoken in pieces and comes as one file in the order of the text', async () => {
    const { key } = await newTenant()
    vendors.begin(async ({ body }) => {
      const { input } = JSON.parse(body) as { readonly input: string }
      return new Response(mp3Bytes(`<${input.slice(0, 8)}>`))
    })
    const input = Array.from({ length: 1_000 }, (_, at) => `Line ${String(at).padStart(3, '0')}.`).join(' ')
    const whole = new Uint8Array(await (await speak(key, { input })).arrayBuffer())
    const starts = [...new TextDecoder('latin1').decode(whole).matchAll(/<(Line \d{3})>/g)].map(([, start]) => start)
    expect(starts.length).toBe(3)
    expect(starts).toEqual(starts.toSorted())
    expect(
      sentTo('/audio/speech')
        .map(({ input: piece }) => piece)
        .join(' '),
    ).toBe(input)
  })
})

/** One image of it costs $0.053. */
const medium = { quality: 'medium', size: '1024x1024' }

describe('money', () => {
  it('is in the usage of the tenant', async () => {
    const { key } = await newTenant()
    await client(key).images.generate({ prompt: 'a fox' })
    const { body } = await call<{ data: readonly object[] }>('GET', '/api/usage?group=model', { key })
    expect(body.data).toEqual([expect.objectContaining({ key: 'openai/gpt-image-2', calls: 1, cost_usd: 0.053 })])
  })

  it.each([
    {
      failure: 'by a refusal',
      respond: () => Response.json({ error: { message: 'rejected' } }, { status: 400 }),
      units: 2,
    },
    { failure: 'by a lost answer', respond: () => Promise.reject(new Error('reset')), units: 3 },
  ])('of images that were made before one fails $failure is counted, and they are sent', async ({ respond, units }) => {
    const { key } = await withCredential('gemini', { image: { provider: 'gemini' } })
    const inlineData = { mimeType: 'image/png', data: image }
    vendors.begin(() =>
      vendors.calls.length > 2 ? respond() : Response.json({ candidates: [{ content: { parts: [{ inlineData }] } }] }),
    )
    const made = await client(key).images.generate({ prompt: 'a fox', n: 4 })
    expect(made.data?.map(({ b64_json: data }) => data)).toEqual([image, image])
    expect(vendors.calls).toHaveLength(3)
    const { body } = await call<{ data: readonly [{ readonly cost_usd: number }] }>('GET', '/api/usage', { key })
    expect(body.data[0].cost_usd / 0.067).toBeCloseTo(units)
  })

  it('that is spent sends nothing', async () => {
    const { id, key } = await newTenant()
    await call('PATCH', `/api/admin/tenants/${id}`, { body: { limits: { usd_per_day: 0.08 } } })
    const ask = () => call<ErrorBody>('POST', '/v1/images/generations', { key, body: { prompt: 'a fox', ...medium } })
    const answers = [await ask(), await ask()]
    expect(answers.map(({ status, body }) => [status, body.error?.param])).toEqual([
      [200, undefined],
      [429, 'usd_per_day'],
    ])
    expect(vendors.calls).toHaveLength(1)
  })

  it('cannot be counted for a model without a known price: nothing is sent', async () => {
    const { id, key } = await newTenant()
    await call('PATCH', `/api/admin/tenants/${id}`, { body: { limits: { usd_per_day: 1 } } })
    const body = { model: 'tts-1', voice: 'alloy', input: 'x' }
    const answer = await call<ErrorBody>('POST', '/v1/audio/speech', { key, body })
    expect([answer.status, answer.body.error.param, vendors.calls.length]).toEqual([400, 'model', 0])
  })

  it('is settled: what a refused call has reserved is free again', async () => {
    const { id, key } = await newTenant()
    await call('PATCH', `/api/admin/tenants/${id}`, { body: { limits: { usd_per_day: 0.06 } } })
    vendors.begin(() => Response.json({ error: { message: 'not allowed' } }, { status: 400 }))
    const ask = () => call('POST', '/v1/images/generations', { key, body: { prompt: 'x', ...medium } })
    expect([(await ask()).status, (await ask()).status]).toEqual([400, 400])
  })

  it.each([
    ['of the best quality', { quality: 'high' }],
    ['of a quality that the vendor chooses', { quality: 'auto' }],
    ['of many pixels', { size: '2048x2048' }],
    ['that are several', { n: 2 }],
  ])('images %s are refused before they are bought, when a limit has no room for them', async (_name, asked) => {
    const { id, key } = await newTenant()
    await call('PATCH', `/api/admin/tenants/${id}`, { body: { limits: { usd_per_day: 0.08 } } })
    const body = { prompt: 'a fox', ...medium, ...asked }
    const answer = await call<ErrorBody>('POST', '/v1/images/generations', { key, body })
    expect([answer.status, answer.body.error.param, vendors.calls.length]).toEqual([429, 'usd_per_day', 0])
  })
})

describe('failures', () => {
  it.each([
    { status: 401, body: { error: { message: 'bad key' } }, expected: [401, 'provider_key_rejected'] },
    { status: 429, body: { error: { message: 'slow' } }, expected: [429, 'rate_limit_exceeded'] },
    { status: 400, body: { error: { message: 'rejected' } }, expected: [400, 'invalid_request'] },
    { status: 500, body: { error: { message: 'down' } }, expected: [502, 'provider_error'] },
    { status: 200, body: null, expected: [502, 'provider_error'] },
    { status: 200, body: [], expected: [502, 'provider_error'] },
    { status: 200, body: { error: { message: 'rejected' } }, expected: [400, 'invalid_request'] },
    { status: 200, body: { data: [{ b64_json: btoa('<html>') }] }, expected: [502, 'provider_error'] },
    { status: 200, body: { data: [{ b64_json: '!' }] }, expected: [502, 'provider_error'] },
  ])('of the vendor are errors: $status $body', async ({ status, body, expected }) => {
    const { key } = await newTenant()
    vendors.begin(() => Response.json(body, { status }))
    const answer = await call<ErrorBody>('POST', '/v1/images/generations', { key, body: { prompt: 'a fox' } })
    expect([answer.status, answer.body.error.code]).toEqual(expected)
    // SDKs must not send again what may have been paid.
    expect(answer.headers.get('x-should-retry')).toBe(answer.status === 502 ? 'false' : null)
    expect(JSON.stringify(answer.body)).not.toContain('test-key')
  })

  it('HTML where JSON is expected is one', async () => {
    const { key } = await newTenant()
    vendors.begin(() => new Response('<html>challenge</html>'))
    const answer = await call<ErrorBody>('POST', '/v1/images/generations', { key, body: { prompt: 'a fox' } })
    expect([answer.status, answer.body.error.message]).toEqual([502, expect.stringContaining('no JSON')])
  })

  it('an image at a private address is not fetched', async () => {
    const { key } = await newTenant()
    vendors.begin(() => Response.json({ data: [{ url: 'http://169.254.169.254/latest/meta-data' }] }))
    const answer = await call<ErrorBody>('POST', '/v1/images/generations', { key, body: { prompt: 'a fox' } })
    expect([answer.status, answer.body.error.message]).toEqual([502, expect.stringContaining('may not be called')])
    expect(vendors.calls).toHaveLength(1)
  })

  it.each([
    ['images/generations', { prompt: 'x' }, { image: { provider: 'fal' } }, 'FAL_API_KEY'],
    ['audio/speech', { model: 'tts-1', input: 'x' }, { tts: { provider: 'elevenlabs' } }, 'ELEVENLABS_API_KEY'],
    ['images/generations', { prompt: 'x' }, { image: { provider: 'workers-ai' } }, 'ind AI'],
    ['images/generations', { prompt: 'x', model: 'gemini/gemini-3.1-flash-image' }, {}, 'GEMINI_API_KEY'],
  ])('%s without a provider says what to set', async (path, body, settings, hint) => {
    const { key } = await newTenant()
    await call('PATCH', '/api/settings', { key, body: settings })
    const answer = await call<ErrorBody>('POST', `/v1/${path}`, { key, body })
    expect([answer.status, answer.body.error.code]).toEqual([501, 'not_configured'])
    expect(answer.body.error.message).toContain(hint)
  })

  it.each([
    [{}, 400],
    [{ prompt: '' }, 400],
    [{ prompt: 'x', n: 11 }, 400],
    [{ prompt: 'x', response_format: 'url' }, 400],
    [{ prompt: 'x', stream: true }, 400],
    [{ prompt: 'x', partial_images: 2 }, 400],
    [{ prompt: 'x', output_compression: 101 }, 400],
    [{ prompt: 'x', wings: 2 }, 400],
  ])('images refuse %j', async (body, status) => {
    const { key } = await newTenant()
    expect((await call('POST', '/v1/images/generations', { key, body })).status).toBe(status)
    expect(vendors.calls).toHaveLength(0)
  })

  itInTurn.each([
    [{ image: { provider: 'workers-ai' } }, {}, 501, 'ind AI'],
    [{ image: { provider: 'fal' } }, {}, 501, 'FAL_API_KEY'],
    [{}, { stream: 'true' }, 400, 'not streamed'],
    [{}, { response_format: 'url' }, 400, 'b64_json'],
    [{}, { partial_images: '2' }, 400, 'not streamed'],
    [{}, { n: '0' }, 400, 'n: '],
    [{}, { wings: '2' }, 400, 'wings'],
    [{}, { prompt: '' }, 400, 'prompt is missing'],
    [{}, { image: '' }, 400, 'image is missing'],
    [{}, { image: new File(['<html>'], 'a.png', { type: 'image/png' }) }, 400, 'no PNG'],
  ])('edits with %j and %j are refused with %i', async (settings, fields, status, reason) => {
    const { key } = await newTenant()
    await call('PATCH', '/api/settings', { key, body: settings })
    const form = new FormData()
    const given = { prompt: 'x', image: new File([pngBytes()], 'a.png'), ...fields }
    for (const [name, value] of Object.entries(given)) form.set(name, value as string)
    const answer = await SELF.fetch('https://talaria.test/v1/images/edits', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: form,
    })
    expect([answer.status, await answer.text()]).toEqual([status, expect.stringContaining(reason)])
    expect(vendors.calls).toHaveLength(0)
  })

  it('edits by Workers AI and masks of other providers are refused, and Gemini edits', async () => {
    const [file, mask] = await Promise.all([toFile(pngBytes('in'), 'a.png'), toFile(pngBytes('mask'), 'b.png')])
    deployment.ai = { run: async () => ({ image }) }
    const bound = await withCredential('gemini', { image: { provider: 'workers-ai' } })
    await expect(client(bound.key).images.edit({ image: file, prompt: 'x' })).rejects.toMatchObject({
      status: 501,
      code: 'not_configured',
    })
    const sdk = client((await withCredential('gemini', { image: { provider: 'gemini' } })).key)
    await expect(sdk.images.edit({ image: file, mask, prompt: 'x' })).rejects.toMatchObject({
      status: 400,
      param: 'mask',
    })
    expect(vendors.calls).toHaveLength(0)
    const inlineData = { mimeType: 'image/png', data: image }
    vendors.begin(() => Response.json({ candidates: [{ content: { parts: [{ inlineData }] } }] }))
    expect((await sdk.images.edit({ image: file, prompt: 'x' })).data?.[0]?.b64_json).toBe(image)
    expect(sentTo('generativelanguage').at(0)).toMatchObject({
      contents: [
        { parts: [{ text: 'x' }, { inlineData: { mimeType: 'image/png', data: encodeBase64Bytes(pngBytes('in')) } }] },
      ],
    })
  })

  it('transcriptions refuse what is no sound', async () => {
    const { key } = await newTenant()
    const file = await toFile(pngBytes(), 'voice.mp3', { type: 'audio/mpeg' })
    await expect(client(key).audio.transcriptions.create({ file, model: 'whisper-1' })).rejects.toMatchObject({
      status: 400,
    })
    expect(vendors.calls).toHaveLength(0)
  })
})

it('no key of a tenant is sent for another tenant', async () => {
  await withCredential('openai', {})
  const { key } = await newTenant()
  await client(key).images.generate({ prompt: 'a fox' })
  expect(vendors.calls[0]?.key).toBe('Bearer test-key')
  expect(bindings.BLOBS).toBeDefined()
})

describe('a role', () => {
  const roles = {
    reader: { scopes: ['chat', 'read'], max_risk: 'net' },
    files: { scopes: ['chat', 'read'], toolsets: ['file'] },
    maker: { scopes: ['chat', 'read'], toolsets: ['image_gen', 'tts', 'transcribe'] },
  }
  const speech = { model: 'tts-1', voice: 'alloy', input: 'Hello.' }
  const sound = async () => {
    const form = new FormData()
    form.set('file', new File([wavBytes('spoken')], 'a.wav'))
    form.set('model', 'whisper-1')
    return form
  }
  /** The status of each media route for a key. */
  async function tryAll(key: string) {
    const post = (path: string, body: BodyInit, headers = {}) =>
      SELF.fetch(`https://talaria.test/v1/${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, ...headers },
        body,
      })
    const json = { 'content-type': 'application/json' }
    const answers = await Promise.all([
      post('images/generations', JSON.stringify({ prompt: 'a fox' }), json),
      post('audio/speech', JSON.stringify(speech), json),
      post('audio/transcriptions', await sound()),
    ])
    return answers.map(({ status }) => status)
  }

  it('buys media only where it has the tool and the risk for it', async () => {
    const { id, key } = await newTenant()
    await call('PATCH', '/api/settings', { key, body: { roles } })
    const keyOf = (role: keyof typeof roles) => newKey(id, ['chat', 'read'], { role })
    expect(await tryAll(await keyOf('reader'))).toEqual([403, 403, 403])
    expect(await tryAll(await keyOf('files'))).toEqual([403, 403, 403])
    expect(await tryAll(await keyOf('maker'))).toEqual([200, 200, 200])
    expect(await tryAll(key)).toEqual([200, 200, 200])
  })

  it.each([
    ['the settings switch it off', { toolsets: { disabled: ['image_generate'] } }],
    ['a rule denies it', { approvals: { rules: [{ do: 'deny', tool: 'image_generate' }] } }],
  ])('and every other key makes no image where %s', async (_why, settings) => {
    const { key } = await newTenant()
    expect((await call('PATCH', '/api/settings', { key, body: settings })).status).toBe(200)
    expect(await tryAll(key)).toEqual([403, 200, 200])
    expect(sentTo('/images/')).toEqual([])
  })
})
