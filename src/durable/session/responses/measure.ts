/** Summarises conversations and counts their tokens for requests that start no turn. */

import type { Message } from '#agent/core/message.ts'
import type { Counts } from '#agent/core/usage.ts'
import { createSummaryMessage } from '#agent/prompt/compression/summary-message.ts'
import { truncateMiddle } from '#agent/prompt/compression/truncate.ts'
import { estimateMessageTokens, estimateTokens } from '#agent/prompt/estimate-tokens.ts'
import { textIn } from '#agent/core/message.ts'
import type { ToolSchema } from '#agent/core/request/tool-schema.ts'
import { buildPrompt } from '#durable/turn/prompt/build-prompt.ts'
import type { Session } from '../session.ts'

export type Summarised = { readonly text: string; readonly usage: Counts }

/** Without a usable model, an excerpt replaces the summary. The session itself does not change. */
export async function summariseWith(
  session: Session,
  added: readonly Message[],
  focus: string | undefined,
): Promise<Summarised> {
  await session.ensureTenant()
  // The cost of the call is noted in the storage of the session.
  if (session.journal.isBlank) session.updateMeta({})
  session.arm()
  const messages = [...session.store.transcript(), ...added]
  const { text, usage } = await session.summariser.summariseMessages(messages, focus)
  return { text: textIn(createSummaryMessage(text, renderNewestRequest(messages))), usage }
}

const maxRequestChars = 8_000

/** A summary must not reword the request that is being worked on. */
function renderNewestRequest(messages: readonly Message[]): readonly string[] {
  const request = messages.findLast((message) => message.role === 'user' && !message.source)
  const text = request ? textIn(request) : ''
  return text ? [`The newest request, word for word:\n${truncateMiddle(text, maxRequestChars)}`] : []
}

/** `system`: the system text of the request. */
export type CountRequest = {
  readonly messages: readonly Message[]
  readonly system: string
  readonly tools: readonly ToolSchema[]
}

/** Counts what the next model call would consist of: prompt, tools, conversation and the given messages. */
export async function countTokens(session: Session, { messages, system, tools }: CountRequest): Promise<number> {
  const { toolRuntime, settings, meta } = session
  const { prompt } = meta.prompt === undefined ? await buildPrompt(session) : { prompt: meta.prompt }
  const schemas = toolRuntime.schemas(settings, tools.length ? { clientTools: tools } : {})
  const fixed = estimateTokens([prompt, system].join('\n')) + estimateTokens(JSON.stringify(schemas))
  const added = messages.reduce((sum, message) => sum + estimateMessageTokens(message), 0)
  return fixed + session.store.contextTokens() + added
}
