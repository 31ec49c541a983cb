/** Requests to Claude, and their bodies as text and as JSON. */

import type { MessageCreateParamsStreaming } from '@anthropic-ai/sdk/resources/messages'
import type { ModelRequest, Quirks } from '#agent/core/dialect.ts'
import { type AssistantMessage, type Message, userText } from '#agent/core/message.ts'
import { renderMessagesBody } from '#agent/providers/anthropic/body.ts'
import { pixelPng, toolResult, tools } from './requests.ts'

export const createClaudeRequest = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: 'claude',
  system: 'Be kind.',
  transcript: [userText('hello')],
  tools,
  maxTokens: 10_000,
  ...more,
})
export const renderText = (more: Partial<ModelRequest>, quirks?: Quirks) =>
  new TextDecoder().decode(renderMessagesBody(createClaudeRequest(more), quirks))
export const renderJson = (more: Partial<ModelRequest>, quirks?: Quirks) =>
  JSON.parse(renderText(more, quirks)) as MessageCreateParamsStreaming
export const sealedThinking = (text: string, data: object): AssistantMessage['content'][number] => ({
  type: 'thinking',
  text,
  sealed: { by: 'anthropic', data },
})

/** Has images, sealed thinking, parallel calls and a failed result. */
export const fullTranscript: readonly Message[] = [
  {
    role: 'user',
    content: [
      { type: 'text', text: 'look' },
      { type: 'image', mediaType: 'image/png', data: pixelPng },
    ],
  },
  {
    role: 'assistant',
    content: [
      sealedThinking('hm', { signature: 'c2ln' }),
      sealedThinking('', { redacted: 'cmVk' }),
      { type: 'text', text: 'So.' },
      { type: 'call', id: 'c1', name: 'look', input: { at: 'a' } },
      { type: 'call', id: 'c2', name: 'find', input: {} },
    ],
    stop: 'tools',
  },
  toolResult('c1', 'seen', {
    content: [
      { type: 'text', text: 'seen' },
      { type: 'image', mediaType: 'image/jpg', data: pixelPng },
    ],
  }),
  toolResult('c2', '', { name: 'find', failed: true, content: [] }),
  userText('go on'),
]
