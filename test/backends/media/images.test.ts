import { describe, expect, it } from 'vitest'
import { createImageBindingCall, imageVendors, parseImageBinding } from '#backends/media/images.ts'
import { createResultRequest, createStatusRequest, isQueueDone, parseQueued } from '#backends/media/queue.ts'
import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { pngBytes } from './fixtures.ts'

const access = { baseUrl: 'https://api.test/v1', key: 'secret' }
const picture = { mime: 'image/png', bytes: pngBytes('in') }
const data = encodeBase64Bytes(pngBytes('out'))
const made = [{ kind: 'bytes', bytes: pngBytes('out') }]

describe('requests for images', () => {
  it.each([
    {
      vendor: 'openai',
      request: { model: 'gpt-image-2', prompt: 'a fox', aspect: 'portrait', openai: { quality: 'low' } },
      url: 'https://api.test/v1/images/generations',
      headers: { authorization: 'Bearer secret' },
      body: { model: 'gpt-image-2', prompt: 'a fox', size: '1024x1536', quality: 'low' },
    },
    {
      vendor: 'gemini',
      request: { model: 'gemini-3.1-flash-image', prompt: 'a fox', aspect: 'landscape', images: [picture] },
      url: 'https://api.test/v1/models/gemini-3.1-flash-image:generateContent',
      headers: { 'x-goog-api-key': 'secret' },
      body: {
        contents: [
          {
            role: 'user',
            parts: [
              { text: 'a fox' },
              { inlineData: { mimeType: 'image/png', data: encodeBase64Bytes(pngBytes('in')) } },
            ],
          },
        ],
        generationConfig: { responseModalities: ['TEXT', 'IMAGE'], imageConfig: { aspectRatio: '16:9' } },
      },
    },
    {
      vendor: 'fal',
      request: { model: 'fal-ai/flux-2-pro', prompt: 'a fox', aspect: 'square', count: 2 },
      url: 'https://api.test/v1/fal-ai/flux-2-pro',
      headers: { authorization: 'Key secret' },
      body: { prompt: 'a fox', image_size: 'square_hd', num_images: 2 },
    },
    {
      vendor: 'xai',
      request: { model: 'grok-imagine-image', prompt: 'a fox', aspect: 'portrait' },
      url: 'https://api.test/v1/images/generations',
      headers: { authorization: 'Bearer secret' },
      body: { model: 'grok-imagine-image', prompt: 'a fox', n: 1, response_format: 'b64_json', aspect_ratio: '9:16' },
    },
    {
      vendor: 'deepinfra',
      request: { model: 'black-forest-labs/FLUX-2-pro', prompt: 'a fox', aspect: 'square' },
      url: 'https://api.test/v1/images/generations',
      headers: { authorization: 'Bearer secret' },
      body: {
        model: 'black-forest-labs/FLUX-2-pro',
        prompt: 'a fox',
        n: 1,
        response_format: 'b64_json',
        size: '1024x1024',
      },
    },
    {
      vendor: 'openrouter',
      request: { model: 'google/gemini-3.1-flash-image', prompt: 'bluer', aspect: 'landscape', images: [picture] },
      url: 'https://api.test/v1/chat/completions',
      headers: { authorization: 'Bearer secret' },
      body: {
        model: 'google/gemini-3.1-flash-image',
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'bluer' },
              { type: 'image_url', image_url: { url: `data:image/png;base64,${encodeBase64Bytes(pngBytes('in'))}` } },
            ],
          },
        ],
        modalities: ['image', 'text'],
        image_config: { aspect_ratio: '16:9' },
      },
    },
  ] as const)('writes one for $vendor', ({ vendor, request, url, headers, body }) => {
    const sent = imageVendors[vendor].createRequest(request, access)
    expect(sent).toMatchObject({ url, method: 'POST', headers: { ...headers, 'content-type': 'application/json' } })
    expect(JSON.parse(sent.body as string)).toEqual(body)
  })

  it('reads the images of OpenRouter, and what it says instead of one', () => {
    const answer = (message: object) => ({ choices: [{ message }] })
    const image = { image_url: { url: `data:image/png;base64,${data}` } }
    expect(imageVendors.openrouter.parse(answer({ content: 'Here.', images: [image] }))).toEqual(made)
    expect(() => imageVendors.openrouter.parse(answer({ content: 'I cannot.' }))).toThrow(/no image. I cannot/)
  })

  it.each(['xai', 'deepinfra'] as const)('refuses images to edit for %s', (vendor) => {
    const request = { model: 'm', prompt: 'bluer', images: [picture] }
    expect(() => imageVendors[vendor].createRequest(request, access)).toThrow(/cannot edit images/)
  })

  it('sends images that OpenAI edits as files', async () => {
    const sent = imageVendors.openai.createRequest({ model: 'gpt-image-2', prompt: 'bluer', images: [picture] }, access)
    expect(sent.url).toBe('https://api.test/v1/images/edits')
    const body = sent.body as FormData
    expect([body.get('model'), body.get('prompt')]).toEqual(['gpt-image-2', 'bluer'])
    const file = body.get('image[]') as File
    expect([file.type, new Uint8Array(await file.arrayBuffer())]).toEqual(['image/png', pngBytes('in')])
  })

  it('writes calls of the binding by model', () => {
    expect(createImageBindingCall({ model: '@cf/a/flux-1-schnell', prompt: 'fox' }).input).toEqual({
      prompt: 'fox',
      steps: 4,
    })
    expect(createImageBindingCall({ model: '@cf/b/lucid-origin', prompt: 'fox', aspect: 'portrait' }).input).toEqual({
      prompt: 'fox',
      width: 768,
      height: 1_344,
    })
  })
})

describe('answers with images', () => {
  it.each([
    ['openai', { data: [{ b64_json: data }] }, made],
    ['openai', { data: [{ url: 'https://files.test/a' }] }, [{ kind: 'address', url: 'https://files.test/a' }]],
    ['gemini', { candidates: [{ content: { parts: [{ text: 'here' }, { inlineData: { data } }] } }] }, made],
    [
      'fal',
      { images: [{ url: 'https://v3.fal.test/a.png' }] },
      [{ kind: 'address', url: 'https://v3.fal.test/a.png' }],
    ],
    ['fal', { images: [{ url: `data:image/png;base64,${data}` }] }, made],
  ] as const)('are read from %s', (vendor, answer, expected) => {
    expect(imageVendors[vendor].parse(answer)).toEqual(expected)
  })

  it('are read from the binding', () => {
    expect(parseImageBinding({ image: data })).toEqual(made[0])
  })

  it.each([
    [
      'openai',
      { error: { message: 'rejected by the safety system' } },
      'refused',
      'OpenAI: rejected by the safety system',
    ],
    ['openai', null, 'failed', 'OpenAI sent an answer of an unexpected form.'],
    ['openai', [], 'failed', 'OpenAI sent an answer of an unexpected form.'],
    ['openai', { data: [{}] }, 'failed', 'OpenAI sent an answer of an unexpected form.'],
    ['gemini', { candidates: [{ finishReason: 'SAFETY' }] }, 'refused', 'Gemini made no image.'],
    [
      'gemini',
      { candidates: [{ content: { parts: [{ text: 'I cannot.' }] } }] },
      'refused',
      'Gemini made no image. I cannot.',
    ],
    ['fal', { detail: [{ msg: 'field required' }] }, 'refused', 'FAL: field required'],
    ['openai', { data: [{ b64_json: '!' }] }, 'failed', 'OpenAI sent media that are not valid base64.'],
    [
      'gemini',
      { candidates: [{ content: { parts: [{ inlineData: { data: 'a' } }] } }] },
      'failed',
      'Gemini sent media that are not valid base64.',
    ],
    ['fal', { images: [{ url: 'data:image/png;base64,%' }] }, 'failed', 'FAL sent media that are not valid base64.'],
    ['fal', { images: [] }, 'failed', 'FAL sent an answer of an unexpected form.'],
  ] as const)('without one from %s are failures', (vendor, answer, kind, message) => {
    expect(() => imageVendors[vendor].parse(answer)).toThrow(expect.objectContaining({ kind, message }))
  })
})

describe('the queue of FAL', () => {
  it('is asked at addresses made from the id, not at those of the answer', () => {
    const id = parseQueued({ request_id: 'r-1', status_url: 'https://evil.test/steal' })
    expect(createStatusRequest('fal-ai/flux/dev', id, access)).toEqual({
      url: 'https://api.test/v1/fal-ai/flux/requests/r-1/status',
      method: 'GET',
      headers: { authorization: 'Key secret' },
    })
    expect(createResultRequest('fal-ai/flux/dev', id, access).url).toBe('https://api.test/v1/fal-ai/flux/requests/r-1')
  })

  it('refuses an id that is more than a name', () => {
    expect(() => parseQueued({ request_id: '../../admin' })).toThrow(/unexpected form/)
  })

  it.each([
    ['IN_QUEUE', false],
    ['IN_PROGRESS', false],
    ['COMPLETED', true],
  ])('is done or not: %s', (status, isDone) => {
    expect(isQueueDone({ status })).toBe(isDone)
  })

  it('fails for every other state', () => {
    const failure = expect.objectContaining({ kind: 'refused', message: 'FAL: the job ended as CANCELLED.' })
    expect(() => isQueueDone({ status: 'CANCELLED' })).toThrow(failure)
  })

  it.each([[null], [[]], [{}], [{ error: 'busy' }], ['<html>']])('learns nothing from %j', (answer) => {
    expect(isQueueDone(answer)).toBe(false)
  })
})
