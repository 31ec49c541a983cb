/** Summarises the context of a session with its settings, its tools and the window of the model in use. */

import type { Message } from '#agent/core/message.ts'
import type { View } from '#agent/core/ports.ts'
import type { Settings } from '#agent/core/settings.ts'
import { changesNothing } from '#agent/core/tool.ts'
import type { Turn } from '#agent/core/turn.ts'
import { getThresholdTokens } from '#agent/policy/compress-context.ts'
import { type BoundaryOptions, planCompression } from '#agent/prompt/compression/boundaries.ts'
import { maxEffectsChars } from '#agent/prompt/compression/effects.ts'
import { maskMessage } from '#agent/prompt/compression/mask.ts'
import { estimateMessageTokens } from '#agent/prompt/estimate-tokens.ts'
import type { Route } from '#agent/routing/route.ts'
import type { SideCall } from '#durable/models/side-call.ts'
import { redactorFor } from '#durable/platform/redaction.ts'
import { collectCarryOver } from './carry-over.ts'
import { loopLimits } from '../loop-limits.ts'
import {
  requestSummary,
  summarise as summariseContext,
  type SummariseResult,
  type WrittenSummary,
} from './summarise.ts'
import { turnScope } from '../tools/turn-scope.ts'
import type { TurnSession } from '../turn-session.ts'

export type Summariser = {
  /** Summarises the older messages of the context. `keepTurns`: see BoundaryOptions. */
  readonly summarise: (turn: Turn, focus: string | undefined, keepTurns?: number) => Promise<SummariseResult>
  /** Summarises these messages. */
  readonly summariseMessages: (messages: readonly Message[], focus: string | undefined) => Promise<WrittenSummary>
}

const defaultBoundaries = { protectFirst: 3, protectLast: 20, targetRatio: 0.2 } as const

export const defaultContextWindow = 128_000

/** The share of the window, in characters, that each carried text may have. */
const carriedShare = 0.05
const charsPerToken = 4

/** The tail is a share of the threshold, so that it suits the window of each model. */
function getBoundaries(settings: Settings, route: Pick<Route, 'id' | 'contextWindow'> | undefined): BoundaryOptions {
  const { protect_first_n: first, protect_last_n: last, target_ratio: ratio } = settings.compression ?? {}
  const window = route?.contextWindow ?? defaultContextWindow
  const threshold = getThresholdTokens(loopLimits(settings).compression, window, route?.id)
  return {
    protectFirst: first ?? defaultBoundaries.protectFirst,
    protectLast: last ?? defaultBoundaries.protectLast,
    tailTokens: threshold * (ratio ?? defaultBoundaries.targetRatio),
  }
}

/** Counts what a compression would replace now. Called only when the context is nearly full, because it reads all of it. */
export const createCompressibleTokens =
  (session: TurnSession, route: Route | undefined): View['compressibleTokens'] =>
  () =>
    planCompression(session.store.contextEntries(), getBoundaries(session.settings, route)).tokens

type SummariserOptions = {
  readonly routesOf: (turn: Turn) => readonly Route[]
  readonly side: SideCall
}

export function createSummariser(session: TurnSession, env: Env, { routesOf, side }: SummariserOptions): Summariser {
  const mask = (text: string) => redactorFor(env, session.tenantId).redact(text)
  const summarise: Summariser['summarise'] = (turn, focus, keepTurns) => {
    const route = routesOf(turn)[turn.route.model]
    const window = route?.contextWindow ?? defaultContextWindow
    const maxChars = Math.min(maxEffectsChars, Math.floor(window * carriedShare * charsPerToken))
    const toolbox = session.toolRuntime.toolbox(session.settings, turnScope(session))
    return summariseContext({
      entries: session.store.contextEntries(),
      boundaries: { ...getBoundaries(session.settings, route), ...(keepTurns !== undefined && { keepTurns }) },
      focus,
      mask,
      // The todo list is carried over itself. A tool that is gone may have had an effect.
      hasEffect: (name, input) => {
        const tool = toolbox.get(name)
        return tool?.toolset !== 'todo' && !changesNothing(tool?.effectOf?.(input) ?? tool?.effect)
      },
      carryOver: (effects) => collectCarryOver({ session, effects, maxChars }),
      side,
    })
  }
  return {
    summarise,
    summariseMessages: (messages, focus) => {
      const tokens = messages.reduce((sum, message) => sum + estimateMessageTokens(message), 0)
      const masked = messages.map((message) => maskMessage(message, mask))
      return requestSummary({ messages: masked, focus, tokens, mask }, side)
    },
  }
}
