import { describe, expect, it } from 'vitest'
import type { ToolDeployment } from '#agent/core/vendor/tool-deployment.ts'
import { mediaAvailability } from '#agent/routing/media-providers.ts'
import { chooseMedia, priceImage } from '#agent/routing/media-vendors.ts'

const deploymentWith = (
  keys: Readonly<Record<string, string>>,
  settings: ToolDeployment['settings'] = {},
  ai = false,
) => {
  const addresses: Readonly<Record<string, string>> = {
    gemini: 'https://g.test/v1beta/openai',
    groq: 'https://groq.test/openai',
  }
  return {
    settings,
    vendor: (id) => ({
      id,
      baseUrl: addresses[id] ?? `https://${id}.test`,
      isReplaced: false,
      keys: keys[id] === undefined ? [] : [keys[id]],
      paidBy: 'deployment',
      variable: `${id.toUpperCase()}_API_KEY`,
    }),
    hasProvider: () => true,
    hasBinding: (name) => name === 'AI' && ai,
    variable: () => undefined,
  } satisfies ToolDeployment
}

describe('chooseMedia', () => {
  it.each([
    ['image', { fal: 'f', gemini: 'g' }, {}, { provider: 'gemini', baseUrl: 'https://g.test/v1beta', usd: 0.067 }],
    [
      'image',
      { fal: 'f', gemini: 'g' },
      { image: { provider: 'fal' } },
      { provider: 'fal', model: 'fal-ai/flux-2-pro' },
    ],
    ['transcription', { groq: 'k' }, {}, { provider: 'groq', baseUrl: 'https://groq.test/openai/v1', keys: ['k'] }],
    ['speech', { openai: 'o' }, { tts: { model: 'tts-9' } }, { provider: 'openai', model: 'tts-9', usd: undefined }],
    ['video', { fal: 'f' }, {}, { provider: 'fal' }],
    [
      'video',
      { openai: 'o', fal: 'f' },
      { video: { provider: 'fal', model: 'fal-ai/veo3' } },
      { provider: 'fal', model: 'fal-ai/veo3', usd: undefined },
    ],
  ] as const)('of %s takes the setting, else the first that has a key', (use, keys, settings, expected) => {
    expect(chooseMedia(use, deploymentWith(keys, settings))).toMatchObject(expected)
  })

  it('takes the binding before the vendors that came later, and names what is missing', () => {
    expect(chooseMedia('image', deploymentWith({}, {}, true))).toMatchObject({ provider: 'workers-ai', keys: [] })
    expect(mediaAvailability('image')(deploymentWith({}, {}, true))).toEqual({ by: 'workers-ai' })
    expect(mediaAvailability('image')(deploymentWith({}))).toEqual({
      reason:
        'Set OPENAI_API_KEY, set GEMINI_API_KEY, set FAL_API_KEY, bind AI, set XAI_API_KEY, set OPENROUTER_API_KEY or set DEEPINFRA_API_KEY, or store a key with POST /api/credentials.',
    })
    expect(chooseMedia('speech', deploymentWith({ openai: 'o' }, { tts: { provider: 'elevenlabs' } }))).toEqual({
      reason: 'Set ELEVENLABS_API_KEY, or store a key with POST /api/credentials.',
    })
  })

  it('lets a request name provider and model', () => {
    const deployment = deploymentWith({ openai: 'o', groq: 'k' })
    expect(chooseMedia('transcription', deployment, { provider: 'groq', model: 'whisper-large-v3' })).toMatchObject({
      provider: 'groq',
      model: 'whisper-large-v3',
      usd: undefined,
    })
  })
})

describe('the price of an image', () => {
  const choice = (provider: 'openai' | 'fal', model: string, usd: number | undefined) =>
    ({ provider, model, usd, baseUrl: '', keys: [] }) as const
  const current = choice('openai', 'gpt-image-2', 0.053)

  it.each([
    ['low, square', { quality: 'low', size: '1024x1024' }, 0.006, 0.006],
    ['high, square', { quality: 'high', size: '1024x1024' }, 0.211, 0.211],
    ['high and larger', { quality: 'high', size: '2048x1024' }, 0.422, 0.422],
    ['high and smaller', { quality: 'high', size: '512x512' }, 0.211, 0.211],
    ['of no named quality', { size: '1024x1024' }, 0.053, 0.211],
    ['of automatic quality and size', { quality: 'auto', size: 'auto' }, 0.053, 0.3165],
    ['of a quality that is not known', { quality: 'max', size: '1024x1024' }, 0.211, 0.211],
  ])('%s', (_name, options, usd, maxUsd) => {
    const price = priceImage(current, options)
    expect([price.usd, price.maxUsd]).toEqual([expect.closeTo(usd, 6), expect.closeTo(maxUsd, 6)])
  })

  it('is one price elsewhere, and unknown for an unknown model', () => {
    const options = { quality: 'high', size: '2048x2048' }
    expect(priceImage(choice('fal', 'fal-ai/flux-2-pro', 0.05), options)).toEqual({ usd: 0.05, maxUsd: 0.05 })
    expect(priceImage(choice('openai', 'other', undefined), options)).toEqual({ usd: undefined, maxUsd: undefined })
  })
})
