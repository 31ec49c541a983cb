/** Tests the step that compresses the context: every error in it returns as a failure. */

import { expect, it } from 'vitest'
import { newTurn, type Result } from '../../../src/agent/model/turn.ts'
import { createPerform, type ModelEffects, type TurnEffects } from '../../../src/durable/turn/effects.ts'

it('fails like a model call when the conversation cannot be read', async () => {
  const model: Partial<ModelEffects> = {
    choose: () => ({ route: { model: 'm', dialect: 'openai-chat' }, endpoint: { id: 'k', key: 'k' } }) as never,
    transcript: () => Promise.reject(new Error('get: Network connection lost. (10001)')),
    errorContext: () => ({ promptTokens: 1, contextWindow: 100, messages: 1, now: 0, stalled: false }) as never,
  }
  const effects = { model, billing: { takeSideUsage: () => undefined, report: () => {} } } as unknown as TurnEffects
  const results: Result[] = []
  for await (const result of createPerform(effects)({ do: 'compress' }, newTurn('t', 0, 1))) results.push(result)
  expect(results).toMatchObject([{ of: 'failure', failure: { kind: 'network' } }])
})
