/** Lists the layers of the system prompt in their order, each with its tier and its budget of tokens. */

import type { PromptLayer, PromptTier } from '#agent/core/prompt-layer.ts'

type LayerKind = { readonly tier: PromptTier; readonly budget: number }

const stable = (budget: number): LayerKind => ({ tier: 'stable', budget })
const context = (budget: number): LayerKind => ({ tier: 'context', budget })
const volatile = (budget: number): LayerKind => ({ tier: 'volatile', budget })

/** The order of this list is the order in the prompt. The budgets of `instructions` and `workspace` hold their longest texts. */
const layerKinds = {
  identity: stable(20_000),
  platform: stable(400),
  environment: stable(1_200),
  tools: stable(1_200),
  model: stable(600),
  behaviour: stable(1_500),
  skills: stable(6_000),
  personality: context(2_000),
  instructions: context(50_000),
  project: context(10_000),
  workspace: context(500_000),
  memory: volatile(2_500),
  project_memory: volatile(2_500),
  user: volatile(1_500),
  date: volatile(100),
} as const satisfies Readonly<Record<string, LayerKind>>

export type LayerName = keyof typeof layerKinds

const positions: readonly string[] = Object.keys(layerKinds)

/** The place of a layer in the prompt. */
export const layerPosition = ({ name }: PromptLayer): number => positions.indexOf(name)

export type LayerOptions = Pick<PromptLayer, 'isTruncated' | 'owner'> & { readonly budget?: number }

/** Creates a layer. A budget replaces that of the list. */
export const createLayer = (name: LayerName, text: string, options: LayerOptions = {}): PromptLayer => ({
  name,
  ...layerKinds[name],
  text,
  ...options,
})
