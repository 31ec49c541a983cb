import { describe, expect, it } from 'vitest'
import type { ModelRequest, Quirks } from '#agent/core/dialect.ts'
import { anthropic } from '#backends/dialects/anthropic.ts'
import { anthropicRecordings, errorResponse } from '../fixtures/anthropic.ts'
import { createClaudeRequest } from '../support/anthropic-requests.ts'
import { toFailure } from '../support/conformance.ts'
import { exchangeOverHttp } from '../support/exchange.ts'

describe('the headers of a request', () => {
  const send = async (more: Partial<ModelRequest>, quirks: Quirks = {}, headers: Record<string, string> = {}) =>
    await exchangeOverHttp(anthropic, { headers, toBaseUrl: (origin) => `${origin}/v1/` })(
      createClaudeRequest(more),
      anthropicRecordings.text,
      {
        quirks,
      },
    )

  it('carry the key as `x-api-key` and the default API version', async () => {
    const { headers, path } = await send({})
    expect(headers).toMatchObject({ 'x-api-key': 'key-1', 'anthropic-version': '2023-06-01' })
    expect(headers).not.toHaveProperty('authorization')
    expect(path).toBe('/v1/messages')
  })

  it('carry the key as a bearer token if the quirks say so, and the headers of the profile', async () => {
    const { headers } = await send({}, { bearer: true }, { 'Anthropic-Version': '2026-10-21' })
    expect(headers).toMatchObject({ authorization: 'Bearer key-1', 'anthropic-version': '2026-10-21' })
    expect(headers).not.toHaveProperty('x-api-key')
  })

  it('are not sent to the target of a redirect', async () => {
    const redirect = { status: 302, headers: { location: 'http://127.0.0.1:9/' }, body: '' }
    const { error } = await exchangeOverHttp(anthropic)(createClaudeRequest(), redirect)
    expect(error).toMatchObject({ status: 302 })
  })

  it('omit the beta of the long context window when a repair turns it off', async () => {
    const betas = { 'anthropic-beta': 'oauth-2025-04-20,context-1m-2025-08-07' }
    expect((await send({}, {}, betas)).headers).toMatchObject(betas)
    const withoutLongContext = { repairs: { longContext: 'off' } } as const
    expect((await send(withoutLongContext, {}, betas)).headers).toMatchObject({ 'anthropic-beta': 'oauth-2025-04-20' })
    const onlyLongContext = { 'anthropic-beta': 'context-1m-2025-08-07' }
    expect((await send(withoutLongContext, {}, onlyLongContext)).headers).not.toHaveProperty('anthropic-beta')
  })
})

describe('an error about thinking', () => {
  it.each([
    'messages.1.content.0: Invalid `signature` in `thinking` block',
    'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.',
    'messages.1.content.0: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`.',
  ])('is classified as `thinking-signature`: %s', async (message) => {
    const { error } = await exchangeOverHttp(anthropic)(
      createClaudeRequest(),
      errorResponse(400, 'invalid_request_error', message),
    )
    expect(toFailure(error).kind).toBe('thinking-signature')
  })
})
