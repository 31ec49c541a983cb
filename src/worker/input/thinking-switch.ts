/** Reads the switches by which compatible servers turn the reasoning of a model off. */

import * as z from 'zod'

const flag = z.boolean().nullish()

export const thinkingFields = {
  thinking: z
    .union([z.boolean(), z.looseObject({ type: z.string().max(20).nullish() })])
    .nullish()
    .describe('`{"type": "disabled"}` or false: same as `reasoning_effort: "none"`.'),
  think: z
    .union([z.boolean(), z.string().max(20)])
    .nullish()
    .describe('false: same as `reasoning_effort: "none"`.'),
  enable_thinking: flag.describe('false: same as `reasoning_effort: "none"`.'),
  chat_template_kwargs: z.looseObject({ enable_thinking: flag, thinking: flag }).nullish(),
}

const switchesSchema = z.object(thinkingFields)

/** Returns the effort that the switches name; undefined when they leave it to the model. */
export function readThinkingSwitch(body: z.infer<typeof switchesSchema>): string | undefined {
  const { thinking, think, enable_thinking: enabled, chat_template_kwargs: template } = body
  if (typeof think === 'string') return think
  const type = typeof thinking === 'object' ? thinking?.type : undefined
  const switches = [thinking, think, enabled, template?.enable_thinking, template?.thinking]
  return switches.includes(false) || type === 'disabled' ? 'none' : undefined
}
