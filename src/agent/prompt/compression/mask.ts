/** Masks the secrets in messages, before anything is cut: half a secret would no longer be recognised. */

import type { Message, ToolCallPart } from '#agent/core/message.ts'

export type Mask = (text: string) => string

export function maskMessage(message: Message, mask: Mask): Message {
  if (message.role !== 'assistant') return { ...message, content: message.content.map((part) => maskPart(part, mask)) }
  return {
    ...message,
    content: message.content.map((part) => {
      if (part.type === 'call') return maskCall(part, mask)
      return { ...part, text: mask(part.text) }
    }),
  }
}

function maskCall({ raw, json: _json, ...call }: ToolCallPart, mask: Mask): ToolCallPart {
  return { ...call, input: maskTexts(call.input, mask), ...(raw !== undefined && { raw: mask(raw) }) }
}

const maskPart = <P extends { readonly type: string }>(part: P, mask: Mask): P =>
  part.type === 'text' && 'text' in part && typeof part.text === 'string' ? { ...part, text: mask(part.text) } : part

function maskTexts(value: unknown, mask: Mask): unknown {
  if (typeof value === 'string') return mask(value)
  if (Array.isArray(value)) return value.map((item) => maskTexts(item, mask))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, maskTexts(item, mask)]))
}
