/** Whose thinking goes back to whom in Anthropic's dialect: other makers speak it too, and cannot read Claude's. */

import { describe, expect, it } from 'vitest'
import { type Message, userText } from '../../../../src/agent/model/message.ts'
import { anthropic } from '../../../../src/agent/providers/anthropic/anthropic.ts'
import { sealerOf } from '../../../../src/agent/providers/anthropic/blocks.ts'
import { overHttp } from '../support/exchange.ts'
import { anthropicFaults } from '../fakes/anthropic.ts'
import { anthropicAnswers } from '../fixtures/anthropic.ts'
import { found, tools } from '../support/requests.ts'

const question = userText('look')
const ask = async (model: string, transcript: readonly Message[], at = '127.0.0.1') => {
  const { reply, body, text } = await overHttp(anthropic, { base: (origin) => origin.replace('127.0.0.1', at) })(
    { model, system: '', transcript, tools, maxTokens: 10_000, reasoningEffort: 'low' },
    anthropicAnswers.thinking,
  )
  expect(anthropicFaults(body)).toEqual([])
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
  return (await ask(to, [question, calling, found('c1', 'seen')], at)).isThere
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
    expect(sealerOf('anthropic/claude-opus-4.5', 'https://openrouter.ai/api')).toBe('anthropic')
    expect(sealerOf('kimi-k2.6', 'https://api.kimi.com/coding')).toBe('anthropic@api.kimi.com')
  })
})
