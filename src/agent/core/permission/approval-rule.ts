/** Validates the rules of `approvals.rules`. */

import * as z from 'zod'

const pattern = z.string().min(1).max(1_000)

export const approvalRule = z.strictObject({
  do: z.enum(['allow', 'ask', 'deny']),
  tool: pattern.max(200).describe('Name of a tool, or toolset:NAME; * and ? are wildcards.'),
  match: pattern.optional().describe('A command, a path or an address; * and ? are wildcards.'),
  channel: pattern
    .max(200)
    .optional()
    .describe('Limits the rule to sessions of a platform, or of ID or ID:CHAT of a channel.'),
})
