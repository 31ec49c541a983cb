/** Builds the system prompt of a session from its parts. */

import { joinMarks } from '#agent/core/marks.ts'
import type { PromptLayer, PromptMaterial, PromptRecord } from '#agent/core/prompt-layer.ts'
import { type AssembledPrompt, assemblePrompt } from '#agent/prompt/assemble.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import { memoryReach } from '#agent/memory/memory-reach.ts'
import { personalLayers } from '#agent/memory/personal-layers.ts'
import { clock } from '#durable/platform/clock.ts'
import { promptParts } from './prompt-parts.ts'
import type { PartResult, PromptContext, PromptPart } from './prompt-part.ts'
import type { TurnSession } from '../turn-session.ts'
import type { ToolScope } from '../tools/turn-scope.ts'

/** A prompt, and what is stored beside it. */
export type BuiltPrompt = { readonly prompt: string; readonly promptRecord: PromptRecord }

export type BuildOptions = {
  /** The model that the first request names. */
  readonly model?: string | undefined
  /** The authority that asks first. Default: the last one. */
  readonly authority?: Authority | undefined
  /** Asks the tenant for its material, whatever is cached. */
  readonly isFresh?: boolean
  readonly parts?: readonly PromptPart[]
}

/** Returns at once when the material and every part do: then nothing is awaited between creating a session and its first turn. */
export function buildPrompt(
  session: TurnSession,
  { model, authority = session.asker(), isFresh = false, parts = promptParts }: BuildOptions = {},
): BuiltPrompt | Promise<BuiltPrompt> {
  const build = (material: PromptMaterial | undefined) =>
    buildWith(createContext(session, { model, authority }, material), parts)
  const material = session.promptMaterial(isFresh)
  return isSync(material) ? build(material) : Promise.resolve(material).then(build)
}

function createContext(
  session: TurnSession,
  { model, authority }: { readonly model: string | undefined; readonly authority: Authority },
  material: PromptMaterial | undefined,
): PromptContext {
  const { settings, meta, toolRuntime } = session
  return {
    session,
    settings,
    authority,
    tools: toolRuntime.toolbox(settings, promptScope(meta, authority)),
    material: material ?? {},
    model: session.promptModel(model ?? meta.model ?? undefined),
    now: clock.now(),
  }
}

/** A subagent has the same tools in every turn. Other sessions keep their prompt while the bounds of callers change. */
function promptScope({ subagent }: TurnSession['meta'], authority: Authority): ToolScope {
  const { toolBounds } = authority
  return { ...(subagent && toolBounds && { toolBounds }), ...(!memoryReach(authority) && { withoutMemory: true }) }
}

function buildWith(context: PromptContext, parts: readonly PromptPart[]): BuiltPrompt | Promise<BuiltPrompt> {
  const results = parts.map((part) => part(context))
  return results.every(isSync) ? assemble(results, context) : Promise.all(results).then((all) => assemble(all, context))
}

function assemble(results: readonly PartResult[], { material, now }: PromptContext): BuiltPrompt {
  const given = results.flatMap((result) => result ?? [])
  const { text, layers } = assembleOnce(given)
  const { version } = material
  const personal = personalLayers(given)
  return {
    prompt: text,
    promptRecord: {
      layers,
      builtAt: now,
      marks: joinMarks(...given.map(({ marks }) => marks)),
      ...(version !== undefined && { material: version }),
      ...(personal && { personal }),
    },
  }
}

/** The last one made: sessions of one tenant and day have the same. */
let last: { readonly key: string; readonly assembled: AssembledPrompt } | undefined

function assembleOnce(layers: readonly PromptLayer[]): AssembledPrompt {
  const key = JSON.stringify(layers)
  if (last?.key !== key) last = { key, assembled: assemblePrompt(layers) }
  return last.assembled
}

/** The promise of an RPC call is no `Promise`: everything with a method `then` is waited for. */
const isSync = <T>(value: T | Promise<T>): value is T =>
  !(typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function')
