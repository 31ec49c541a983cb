/** Whose thinking goes back to whom in Anthropic's dialect: other makers speak it too, and cannot read Claude's. */

import { describe, expect, it } from 'vitest'
import { type Message, userText } from '../../../../src/agent/model/message.ts'
import { anthropic } from '../../../../src/agent/providers/anthropic/anthropic.ts'
import { resolveSealIssuer } from '../../../../src/agent/providers/anthropic/blocks.ts'
import { exchangeOverHttp } from '../support/exchange.ts'
import { findAnthropicViolations } from '../fakes/anthropic.ts'
import { anthropicResponses } from '../fixtures/anthropic.ts'
import { toolResult, tools } from '../support/requests.ts'

const question = userText('look')
const ask = async (model: string, transcript: readonly Message[], at = '127.0.0.1') => {
  const { reply, body, text } = await exchangeOverHttp(anthropic, {
    toBaseUrl: (origin) => origin.replace('127.0.0.1', at),
  })({ model, system: '', transcript, tools, maxTokens: 10_000, reasoningEffort: 'low' }, anthropicResponses.thinking)
  expect(findAnthropicViolations(body)).toEqual([])
  return { said: reply!.message, isThere: text.includes('"type":"thinking","thinking"') }
}
/** Whether what one has thought on the way to its call is sent to the other. */
const goesBack = async (from: string, to: string, at?: string) => {
  const { said } = await ask(from, [question])
  const calling: Message = {
    role: 'assistant',
    content: [
      ...said.content.filter(({ type }) => type === 'thinking'),
      { type: 'call', id: 'c1', name: 'look', input: {} },
    ],
    stop: 'tools',
  }
  return (await ask(to, [question, calling, toolResult('c1', 'seen')], at)).isThere
}

describe('thinking', () => {
  it.each([
    ['claude-opus-4-5', 'claude-sonnet-5', true],
    ['MiniMax-M3', 'MiniMax-M3', true],
    ['MiniMax-M3', 'claude-opus-4-5', false],
    ['claude-opus-4-5', 'MiniMax-M3', false],
  ])('of %s is sent to %s: %s', async (from, to, isSent) => {
    expect(await goesBack(from, to)).toBe(isSent)
  })

  it.each([
    ['claude-opus-4-5', true],
    ['MiniMax-M3', false],
  ])('of %s is sent to another host: %s', async (model, isSent) => {
    expect(await goesBack(model, model, 'localhost')).toBe(isSent)
  })

  it('of Claude is sealed by the dialect, as it always was', () => {
    expect(resolveSealIssuer('anthropic/claude-opus-4.5', 'https://openrouter.ai/api')).toBe('anthropic')
    expect(resolveSealIssuer('kimi-k2.6', 'https://api.kimi.com/coding')).toBe('anthropic@api.kimi.com')
  })
})
