/**
 * Reads the few facts that a reply depends on from a request body without parsing it. Parsing 200 KB in every step of a
 * long turn would take longer than the measured code. Quotes inside JSON strings are escaped, so the unescaped bytes
 * `"role":"user"` can only be a key and its value.
 */

import type { Buffer } from 'node:buffer'
import { jsonEnd } from './directive.ts'

export type RequestFacts = {
  readonly text: string
  readonly step: number
  readonly tools: boolean
  readonly stream: boolean
  readonly usage: boolean
}

type Wire = {
  readonly messages?: readonly { readonly role?: string; readonly content?: unknown }[]
  readonly tools?: readonly unknown[]
  readonly stream?: boolean
  readonly stream_options?: { readonly include_usage?: boolean }
}

const textOf = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : Array.isArray(content)
      ? content.map((part: { readonly text?: unknown }) => (typeof part.text === 'string' ? part.text : '')).join('')
      : ''

const count = (buffer: Buffer, text: string, from: number): number => {
  let found = 0
  for (let at = buffer.indexOf(text, from); at >= 0; at = buffer.indexOf(text, at + text.length)) found++
  return found
}

/** Returns undefined for an unusual layout of the body, which is then parsed. */
const scanFacts = (body: Buffer): RequestFacts | undefined => {
  const user = body.lastIndexOf('"role":"user"')
  if (user < 1 || body[user - 1] !== 0x7b) return undefined
  const next = body.indexOf('{"role":"', user)
  const message = body.toString('utf8', user - 1, next < 0 ? body.length : next)
  const { content } = JSON.parse(message.slice(0, jsonEnd(message, 0))) as { content?: unknown }
  return {
    text: textOf(content),
    step: count(body, '"role":"assistant"', user),
    tools: body.includes('"tools":[{'),
    stream: body.includes('"stream":true'),
    usage: body.includes('"include_usage":true'),
  }
}

export const parseFacts = (parsed: Wire): RequestFacts => {
  const messages = parsed.messages ?? []
  const last = messages.findLastIndex((message) => message.role === 'user')
  return {
    text: textOf(messages[last]?.content),
    step: messages.slice(last + 1).filter((message) => message.role === 'assistant').length,
    tools: (parsed.tools?.length ?? 0) > 0,
    stream: parsed.stream === true,
    usage: parsed.stream_options?.include_usage === true,
  }
}

export const readFacts = (body: Buffer): RequestFacts =>
  scanFacts(body) ?? parseFacts(JSON.parse(body.toString('utf8')) as Wire)
