/** Tests that a request for more output than the model allows is repeated with less, under either name of the field. */

import { beforeAll, expect, it } from 'vitest'
import { fails, model, says } from '../../support/scripted-model.ts'
import { applyMigrations, call, newSession, newTenant } from '../../worker/client.ts'

beforeAll(applyMigrations)

it.each([
  ['max_completion_tokens', 'openai'],
  ['max_tokens', 'openrouter'],
])('%s is lowered', async (field, provider) => {
  const { key } = await newTenant()
  const message = `${field} is too large: 200000. This model supports at most 128000 completion tokens, whereas you provided 200000.`
  const scripted = model(
    (asked) => (Number(asked[field]) > 128_000 ? fails(400, message) : says('fine')),
    `cap-${provider}`,
  )
  const { id } = await newSession({ model: `${provider}/cap-${provider}` }, key)
  const { body } = await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'hi', max_tokens: 200_000 } })
  expect(body['output']).toBe('fine')
  expect(scripted.requests.map((asked) => asked[field])).toEqual([200_000, 127_936])
})
