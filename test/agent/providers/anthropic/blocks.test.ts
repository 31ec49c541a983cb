/** Tests which model and host gets earlier thinking back. Other makers use the same API, but cannot read Claude's thinking. */

import { describe, expect, it } from 'vitest'
import { type Message, userText } from '#agent/core/message.ts'
import { anthropic } from '#backends/dialects/anthropic.ts'
import { resolveSealIssuer } from '#agent/providers/anthropic/blocks.ts'
import { exchangeOverHttp } from '../support/exchange.ts'
import { findAnthropicViolations } from '../fakes/anthropic.ts'
import { anthropicRecordings } from '../fixtures/anthropic.ts'
import { toolResult, tools } from '../support/requests.ts'

const question = userText('look')
const send = async (model: string, transcript: readonly Message[], at = '127.0.0.1') => {
  const { reply, body, text } = await exchangeOverHttp(anthropic, {
    toBaseUrl: (origin) => origin.replace('127.0.0.1', at),
  })({ model, system: '', transcript, tools, maxTokens: 10_000, reasoningEffort: 'low' }, anthropicRecordings.thinking)
  expect(findAnthropicViolations(body)).toEqual([])
  return { message: reply!.message, isThere: text.includes('"type":"thinking","thinking"') }
}
/** Returns whether the thinking before a tool call of one model is sent to the other. */
const isSentBack = async (from: string, to: string, at?: string) => {
  const { message } = await send(from, [question])
  const withCall: Message = {
    role: 'assistant',
    content: [
      ...message.content.filter(({ type }) => type === 'thinking'),
      { type: 'call', id: 'c1', name: 'look', input: {} },
    ],
    stop: 'tools',
  }
  return (await send(to, [question, withCall, toolResult('c1', 'seen')], at)).isThere
}

describe('earlier thinking', () => {
  it.each([
    ['claude-opus-4-5', 'claude-sonnet-5', true],
    ['MiniMax-M3', 'MiniMax-M3', true],
    ['MiniMax-M3', 'claude-opus-4-5', false],
    ['claude-opus-4-5', 'MiniMax-M3', false],
  ])('of %s is sent to %s: %s', async (from, to, isSent) => {
    expect(await isSentBack(from, to)).toBe(isSent)
  })

  it.each([
    ['claude-opus-4-5', true],
    ['MiniMax-M3', false],
  ])('of %s is sent to another host: %s', async (model, isSent) => {
    expect(await isSentBack(model, model, 'localhost')).toBe(isSent)
  })

  it('has an issuer with the host name, except for Claude', () => {
    expect(resolveSealIssuer('anthropic/claude-opus-4.5', 'https://openrouter.ai/api')).toBe('anthropic')
    expect(resolveSealIssuer('kimi-k2.6', 'https://api.kimi.com/coding')).toBe('anthropic@api.kimi.com')
  })
})
