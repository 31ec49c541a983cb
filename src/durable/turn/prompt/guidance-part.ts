/** Builds the layers of our own guidance: how the agent works in the place, with the tools and on the model it has. */

import { createLayer } from '#agent/prompt/layers.ts'
import { renderModelGuidance } from '#agent/prompt/guidance/models.ts'
import { renderPlatformHint } from '#agent/prompt/guidance/platforms.ts'
import { renderBehaviour, renderToolGuidance } from '#agent/prompt/guidance/tool-use.ts'
import type { PromptPart } from './prompt-part.ts'

export const guidancePart: PromptPart = ({ session, tools, model }) => [
  createLayer('platform', renderPlatformHint(session.meta.source) ?? ''),
  createLayer('tools', renderToolGuidance(tools)),
  createLayer('model', (model && renderModelGuidance(model.id)) ?? ''),
  createLayer('behaviour', renderBehaviour(tools)),
]
