/** Tests answers to paths that do not exist: 404 with what was probably meant, and 405 with the allowed methods. */

import { beforeAll, describe, expect, it } from 'vitest'
import { applyMigrations, call, type ErrorBody, newTenant, request } from './client.ts'

beforeAll(applyMigrations)

describe('an unknown path', () => {
  it.each([
    ['POST', '/chat/completions', 'Did you mean POST /v1/chat/completions?'],
    ['GET', '/models', 'Did you mean GET /v1/models?'],
    ['POST', '/responses', 'Did you mean POST /v1/responses?'],
    ['POST', '/openai/v1/responses', 'Did you mean POST /v1/responses?'],
    ['POST', '/api/v1/chat/completions', 'Did you mean POST /v1/chat/completions?'],
    ['POST', '/v1/chat/completion', 'Did you mean POST /v1/chat/completions?'],
    ['POST', '/v1/v1/response', 'Did you mean POST /v1/responses?'],
    ['GET', '/v1/sessions', 'Did you mean GET /api/sessions?'],
    ['GET', '/api/sessions/', 'Did you mean GET /api/sessions?'],
    ['GET', '/api/sessions/ses_1/message', 'Did you mean GET /api/sessions/{id}/messages?'],
    ['GET', '//api/sessions', 'Did you mean GET /api/sessions?'],
    ['GET', '/v1', 'GET /v1/models'],
    ['GET', '/v1/', 'GET /v1/models'],
    ['GET', '/v1/v1', 'GET /v1/models'],
    ['POST', '/v1/completions', 'POST /v1/chat/completions'],
    ['POST', '/v1/moderations', 'no moderation'],
    ['POST', '/v1/assistants', 'POST /v1/responses'],
    ['POST', '/v1/threads/t/runs', '`conversation`'],
    ['POST', '/v1/messages', 'not the API of Anthropic'],
    ['GET', '/api/tags', 'not the API of Ollama'],
  ])('is a 404 with a hint: %s %s', async (method, path, hint) => {
    const { status, body } = await call<ErrorBody>(method, path, { ...(method === 'POST' && { body: {} }) })
    expect([status, body.error.type, body.error.code]).toEqual([404, 'not_found_error', 'not_found'])
    expect(body.error.message).toContain(hint)
  })

  it('without any likeness has no guess', async () => {
    const { body } = await call<ErrorBody>('GET', '/api/zzzzzzzzzzzzzzzzzzzz')
    expect(body.error.message).toBe('There is nothing at this path. GET /openapi.json lists all routes.')
  })

  it('below /v1 and /api is a 401 without a key', async () => {
    for (const path of ['/v1/chat/completion', '/v1/completions', '/api/session']) {
      const { status } = await call('GET', path, { key: null })
      expect([path, status]).toEqual([path, 401])
    }
  })

  it('answers a very long path at once', async () => {
    const { status } = await call('GET', `/api/${'a/'.repeat(2_000)}`)
    expect(status).toBe(404)
  })
})

describe('a known path with a wrong method', () => {
  it.each([
    ['GET', '/v1/chat/completions', 'POST'],
    ['POST', '/v1/models', 'GET'],
    ['PUT', '/v1//embeddings/', 'POST'],
    ['DELETE', '/api/sessions', 'GET, POST'],
  ])('is a 405: %s %s', async (method, path, allowed) => {
    const answer = await request(method, path)
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, allowed])
    expect(((await answer.json()) as ErrorBody).error.code).toBe('method_not_allowed')
  })

  it('names its methods also to a key of another tenant, which can read them in the document', async () => {
    const { key } = await newTenant(['read'])
    expect((await call('PUT', '/api/sessions/ses_nobody', { key })).status).toBe(405)
  })
})
