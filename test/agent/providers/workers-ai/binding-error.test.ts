import { describe, expect, it } from 'vitest'
import type { AiBinding } from '#agent/providers/workers-ai/workers-ai.ts'
import { toFailure } from '../support/conformance.ts'
import { callBinding } from '../support/workers-ai-calls.ts'

describe('an error of the binding', () => {
  const thrown = (message: string, fields: object = {}): AiBinding => ({
    run: () => Promise.reject(Object.assign(new Error(message), { name: 'InferenceUpstreamError' }, fields)),
  })
  it.each<readonly [string, AiBinding, string]>([
    ['a lack of capacity', thrown('3040: Capacity temporarily exceeded, please try again.'), 'overloaded'],
    ['used up neurons', thrown('4006: you have used up your daily free allocation of 10,000 neurons'), 'quota'],
    ['a limited account', thrown('AiError: AiError: 3036: Account limited'), 'quota'],
    ['an unknown model', thrown('5007: No such model @cf/x/y or task'), 'missing-model'],
    [
      'a documented number after another',
      thrown('InferenceUpstreamError: 1234: 3006: Request is too large'),
      'too-large',
    ],
    ['a number in a field', thrown('It failed.', { code: 3040 }), 'overloaded'],
    ['a text without a number', thrown('Network connection lost.'), 'network'],
    ['an unknown number', thrown('9999: boom'), 'unknown'],
  ])('about %s has the right kind', async (_name, binding, kind) => {
    const error: unknown = await callBinding(binding).catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(Error)
    expect(toFailure(error).kind).toBe(kind)
  })

  it('keeps the original error as its cause', async () => {
    const error = await callBinding(thrown('3040: Capacity temporarily exceeded')).catch((caught: unknown) => caught)
    expect(error).toMatchObject({ error: { number: 3040 }, cause: { name: 'InferenceUpstreamError' } })
    expect(toFailure(error)).toMatchObject({ status: 503 })
  })
})
