/** Tests that the format a client asks for reaches the model. */

import { beforeAll, describe, expect, it } from 'vitest'
import { model, says } from '../support/scripted-model.ts'
import { applyMigrations, call, type ErrorBody } from './client.ts'

beforeAll(applyMigrations)

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const messages = [{ role: 'user', content: 'where?' }]

describe('the format of an answer', () => {
  it.each([
    [
      '/v1/chat/completions',
      { messages, response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } },
    ],
    [
      '/v1/responses',
      { input: 'where?', text: { format: { type: 'json_schema', name: 'x', schema }, verbosity: 'low' } },
    ],
  ])('of %s reaches the model with its schema', async (path, body) => {
    const scripted = model([says('{"city":"Bonn"}')])
    expect((await call('POST', path, { body: { model: scripted.id, ...body } })).status).toBe(200)
    expect(JSON.stringify(scripted.requests[0])).toContain(JSON.stringify(JSON.stringify(schema)).slice(1, -1))
  })

  it.each([
    ['/v1/chat/completions', { messages, response_format: { type: 'text' } }],
    ['/v1/responses', { input: 'where?', text: { format: null } }],
  ])('of %s may be plain text', async (path, body) => {
    const scripted = model([says('Bonn')])
    expect((await call('POST', path, { body: { model: scripted.id, ...body } })).status).toBe(200)
    expect(JSON.stringify(scripted.requests[0])).not.toContain('JSON')
  })

  it('that is unknown is refused', async () => {
    const { status, body } = await call<ErrorBody>('POST', '/v1/chat/completions', {
      body: { messages, response_format: { type: 'grammar' } },
    })
    expect([status, body.error.param]).toEqual([400, 'response_format.type'])
  })
})
