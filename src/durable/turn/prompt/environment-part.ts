/** Describes the workspace where commands run and files are. */

import { createLayer } from '#agent/prompt/layers.ts'
import type { PromptContext, PromptPart } from './prompt-part.ts'

export const environmentPart: PromptPart = (context) =>
  usesWorkspace(context)
    ? createLayer('environment', `Your workspace: ${context.session.toolRuntime.backend.describe()}`)
    : undefined

/** Whether the session has a tool that works on files or runs commands. */
export const usesWorkspace = ({ tools }: Pick<PromptContext, 'tools'>): boolean =>
  [...tools.values()].some(({ needs }) => needs.includes('backend'))
