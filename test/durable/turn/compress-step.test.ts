/** The step that shortens the context, on its own: whatever goes wrong in it comes back as a failure. */

import { expect, it } from 'vitest'
import { newTurn, type Result } from '../../../src/agent/model/turn.ts'
import { performer, type World } from '../../../src/durable/turn/effects.ts'

it('fails like a model call when the conversation cannot be read', async () => {
  const world: Partial<World> = {
    choose: () => ({ route: { model: 'm', dialect: 'openai-chat' }, endpoint: { id: 'k', key: 'k' } }) as never,
    transcript: () => Promise.reject(new Error('get: Network connection lost. (10001)')),
    circumstances: () => ({ promptTokens: 1, contextWindow: 100, messages: 1, now: 0, stalled: false }) as never,
    asides: () => undefined,
  }
  const results: Result[] = []
  for await (const result of performer(world as World)({ do: 'compress' }, newTurn('t', 0, 1))) results.push(result)
  expect(results).toMatchObject([{ of: 'failure', failure: { kind: 'network' } }])
})
