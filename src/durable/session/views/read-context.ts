/** Reads what takes how much of the context window of a session: prompt, tools and messages, as its next request has them. */

import type { Message } from '#agent/core/message.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { PromptRecord } from '#agent/core/prompt-layer.ts'
import type { ToolSchema } from '#agent/core/request/tool-schema.ts'
import { getThresholdTokens } from '#agent/policy/compress-context.ts'
import { estimateMessageTokens } from '#agent/prompt/estimate-tokens.ts'
import { ephemeralTokens, promptTokens, schemaTokens } from '#durable/turn/context-tokens.ts'
import { loopLimits } from '#durable/turn/loop-limits.ts'
import { buildPrompt } from '#durable/turn/prompt/build-prompt.ts'
import { turnScope } from '#durable/turn/tools/turn-scope.ts'
import { iso } from './api-views.ts'
import type { Session } from '../session.ts'

/** The window that is assumed for an unknown model, as in the view of the loop. */
export const assumedWindow = 128_000
const maxListedTools = 20

export type ContextView = Awaited<ReturnType<typeof readContext>>

/** `authority`: for whom the first turn would act. */
export async function readContext(session: Session, authority: Authority) {
  await session.ensureTenant()
  const { prompt, builtAt } = await readPrompt(session, authority)
  const { store, settings, meta, toolRuntime } = session
  const options = store.current()?.options
  const model = session.promptModel(options?.model ?? meta.model ?? undefined)
  const window = model?.contextWindow ?? assumedWindow
  const schemas = toolRuntime.schemas(settings, turnScope(session))
  const messages = countMessages(store.transcript())
  const ephemeral = ephemeralTokens(options)
  const { compression } = loopLimits(settings)
  const tokens = prompt.tokens + ephemeral + schemaTokens(schemas) + messages.tokens
  return {
    session_id: session.sessionId,
    model: model?.id ?? null,
    window,
    tokens,
    share: Math.round((tokens / window) * 10_000) / 10_000,
    compression: {
      enabled: compression.enabled,
      threshold: Math.round(getThresholdTokens(compression, window, model?.id)),
    },
    prompt: { ...prompt, built_at: builtAt === undefined ? null : iso(builtAt) },
    ephemeral: { tokens: ephemeral },
    tools: countTools(schemas),
    messages,
  }
}

/** Before the first turn it is the prompt that this turn would get. */
async function readPrompt(session: Session, authority: Authority) {
  const { meta } = session
  if (meta.prompt !== undefined)
    return { prompt: viewPrompt(meta.promptRecord, promptTokens(meta)), builtAt: meta.promptRecord?.builtAt }
  const { promptRecord } = await buildPrompt(session, { authority })
  const total = promptRecord.layers.reduce((sum, { tokens }) => sum + tokens, 0)
  return { prompt: viewPrompt(promptRecord, total), builtAt: undefined }
}

/** Prompts that are older than layers have none. */
const viewPrompt = (record: PromptRecord | undefined, tokens: number) => ({
  tokens,
  layers: (record?.layers ?? []).map(({ name, tier, tokens: size, budget, isTruncated: truncated }) => ({
    name,
    tier,
    tokens: size,
    budget,
    truncated,
  })),
})

/** The largest tools first. */
function countTools(schemas: readonly ToolSchema[]) {
  const all = schemas.map((schema) => ({ name: schema.name, tokens: schemaTokens(schema) }))
  const largest = all.toSorted((a, b) => b.tokens - a.tokens).slice(0, maxListedTools)
  return { tokens: schemaTokens(schemas), count: schemas.length, largest }
}

/** By role, or by source for messages that nobody typed. The largest kind first. */
function countMessages(transcript: readonly Message[]) {
  const kinds = new Map<string, { count: number; tokens: number }>()
  for (const message of transcript) {
    const kind = ('source' in message && message.source) || message.role
    const { count, tokens } = kinds.get(kind) ?? { count: 0, tokens: 0 }
    kinds.set(kind, { count: count + 1, tokens: tokens + estimateMessageTokens(message) })
  }
  const list = [...kinds].map(([kind, sizes]) => ({ kind, ...sizes })).toSorted((a, b) => b.tokens - a.tokens)
  return { tokens: list.reduce((sum, { tokens }) => sum + tokens, 0), count: transcript.length, kinds: list }
}
