/** Assembles the layers of a system prompt in their fixed order, each within its budget. */

import type { PromptLayer, PromptLayerSize } from '#agent/core/prompt-layer.ts'
import { estimateTokens } from './estimate-tokens.ts'
import { layerPosition } from './layers.ts'
import { truncateToTokens } from './truncate-text.ts'

export type AssembledPrompt = { readonly text: string; readonly layers: readonly PromptLayerSize[] }

/** Layers without text are left out. Two layers of one name keep the order in which they are given. */
export function assemblePrompt(layers: readonly PromptLayer[]): AssembledPrompt {
  const fitted = layers
    .filter(({ text }) => text.trim() !== '')
    .toSorted((a, b) => layerPosition(a) - layerPosition(b))
    .map(fitLayer)
  return { text: fitted.map(({ text }) => text).join('\n\n'), layers: fitted.map(({ size }) => size) }
}

function fitLayer({ name, tier, text, budget, isTruncated = false }: PromptLayer) {
  const fitted = truncateToTokens(text.trim(), budget, name)
  const tokens = estimateTokens(fitted.text)
  const size: PromptLayerSize = { name, tier, tokens, budget, isTruncated: isTruncated || fitted.isTruncated }
  return { text: fitted.text, size }
}
