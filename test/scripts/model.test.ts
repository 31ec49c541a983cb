/** Tests what `npm start` says about the model. */

import { describe, expect, it } from 'vitest'
import { describeModel, listModelWarnings } from '../../scripts/lib/model.mjs'

describe('the model of a start', () => {
  it.each([
    [{}, 'demo/agent', 'no provider is set up'],
    [{ OPENAI_API_KEY: 'k' }, 'openai/gpt-5.4-mini', 'from OPENAI_API_KEY'],
    [{ GOOGLE_API_KEY: 'k' }, 'gemini/gemini-3.5-flash', 'from GOOGLE_API_KEY'],
    [{ OPENAI_API_KEY: 'k', MODEL: 'openai/x' }, 'openai/x', 'from MODEL'],
    [{ ANTHROPIC_API_KEY: 'k', MODEL: 'claude/x' }, 'claude/x', 'from MODEL'],
    [{ MODEL: 'demo/agent' }, 'demo/agent', 'from MODEL'],
    [{ MODEL: 'custom:mine/x' }, 'custom:mine/x', 'from MODEL'],
    [{ CUSTOM_BASE_URL: 'http://x/v1', MODEL: 'custom/x' }, 'custom/x', 'from MODEL'],
    [{ NVIDIA_API_KEY: 'k' }, 'nvidia', 'its cheapest known model'],
    [{ AI: 'binding' }, 'workers-ai/@cf/openai/gpt-oss-120b', 'the binding AI'],
  ])('with %j is %s', (settings, model, why) => {
    const found = describeModel(settings)
    expect(found.model).toBe(model)
    expect(found.why).toContain(why)
  })

  it.each([
    [{ MODEL: 'gpt-5.4' }, 'MODEL=gpt-5.4 cannot be used: write it as provider/model'],
    [{ MODEL: 'openai/x' }, 'MODEL=openai/x cannot be used: set OPENAI_API_KEY.'],
    [{ MODEL: 'nobody/x' }, 'there is no provider "nobody".'],
    [{ MODEL: 'opnai/gpt-5' }, 'there is no provider "opnai"; did you mean openai?'],
    [{ MODEL: 'Antropic/x' }, 'did you mean anthropic?'],
    [{ MODEL: 'workers-ai/x' }, 'needs the AI binding'],
    [{ OPENAI_API_KEY: 'k', MODEL: 'openai/' }, 'MODEL=openai/'],
    [{ CUSTOM_BASE_URL: 'http://x/v1' }, 'set MODEL=custom/NAME'],
    [{ NVIDIA_API_KEY: 'k', MODEL_CATALOG_URL: 'off' }, 'set MODEL=nvidia/NAME'],
  ])('with %j stops the start', (settings, message) => {
    expect(() => describeModel(settings)).toThrow(message)
    expect(() => describeModel(settings)).toThrow('docs/providers.md')
  })

  it('names settings without effect', () => {
    const settings = { FALLBACK_MODELS: 'demo/agent, openai/x', AUX_MODEL: 'none', AZURE_FOUNDRY_API_KEY: 'k' }
    expect(listModelWarnings(settings)).toEqual([
      'FALLBACK_MODELS: openai/x is skipped: set OPENAI_API_KEY',
      'AZURE_FOUNDRY_API_KEY has no effect yet: set AZURE_FOUNDRY_BASE_URL',
    ])
    expect(listModelWarnings({ OPENAI_API_KEY: 'k' })).toEqual([])
  })
})
