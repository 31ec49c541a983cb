/** Defines the settings of a turn: its model, the bounds of the loop, subagents, compression and the prompt. */

import * as z from 'zod'

export const count = (max: number) => z.int().min(1).max(max)

export const modelId = z
  .string()
  .regex(/^[^\s/]+\/\S+$/, 'Write it as provider/model.')
  .max(200)

export const compressionShare = z.number().min(0.1).max(0.95)

const maxSoulChars = 20_000
const personalityName = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, 'Lower-case letters, digits, - and _.')
const personality = z.string().trim().min(1).max(4_000)
const maxPersonalities = 100

/** Repetitions within one turn, with their defaults. */
const thresholds = (exact: number, sameTool: number, noProgress: number) =>
  z.strictObject({
    exact_failure: count(1_000).optional().describe(`Failures of the same call. Default: ${exact}.`),
    same_tool_failure: count(1_000).optional().describe(`Failures of one tool. Default: ${sameTool}.`),
    idempotent_no_progress: count(1_000)
      .optional()
      .describe(`Equal results of one reading call. Default: ${noProgress}.`),
  })

export const turnSettings = {
  model: z
    .strictObject({
      default: modelId
        .optional()
        .describe('provider/model of new turns. Default: MODEL, else that of the first provider with a key.'),
      temperature: z.number().min(0).max(2).optional().describe('Default: that of the provider.'),
      max_tokens: count(1_000_000).optional().describe('Most tokens of one answer. Default: that of the provider.'),
      reasoning_effort: z
        .string()
        .max(20)
        .optional()
        .describe('none, minimal, low, medium, high, xhigh, max or ultra. Above what the model knows, its highest.'),
    })
    .optional(),
  agent: z
    .strictObject({
      max_turns: count(10_000).optional().describe('Most model calls of one turn. Default: 90.'),
      max_turn_seconds: count(86_400).optional().describe('Time limit of one turn. Default: none.'),
      max_wait_seconds: z.int().min(0).max(86_400).optional().describe('Longest total wait for providers in one turn.'),
      first_byte_timeout: count(3_600).optional().describe('Longest wait in seconds for the first byte of an answer.'),
      idle_timeout: count(3_600).optional().describe('Longest pause in seconds within an answer.'),
      workspace_state: z
        .boolean()
        .optional()
        .describe(
          'Tells the model the branch, changes and processes of the workspace when a turn starts. Default: true.',
        ),
      soul: z.string().max(maxSoulChars).optional().describe('Who the agent is: replaces the built-in identity.'),
      personality: personalityName.optional().describe('How the agent speaks: a name, or none. Default: none.'),
      personalities: z
        .record(
          personalityName.refine((name) => name !== 'none', 'This name stands for no personality.'),
          personality,
        )
        .refine((own) => Object.keys(own).length <= maxPersonalities, `At most ${maxPersonalities} personalities.`)
        .optional()
        .describe('Personalities of the tenant by name, beside the built-in ones.'),
    })
    .optional(),
  delegation: z
    .strictObject({
      max_iterations: count(10_000).optional().describe('Most model calls of a subagent. Default: 50.'),
      max_concurrent_children: count(100)
        .optional()
        .describe('Subagents of one session that run at once; more wait. Default: 10.'),
      max_spawn_depth: count(10).optional().describe('Levels of subagents; with 1 they cannot delegate. Default: 1.'),
      model: modelId.optional().describe('The model of subagents. Default: that of their parent.'),
      paused: z.boolean().optional().describe('No subagent is started; the agent is told so.'),
    })
    .optional(),
  tool_loop_guardrails: z
    .strictObject({
      warnings_enabled: z.boolean().optional().describe('Warns the model of repeated calls. Default: true.'),
      hard_stop_enabled: z.boolean().optional().describe('Stops a turn that repeats calls. Default: false.'),
      warn_after: thresholds(2, 3, 2).optional(),
      hard_stop_after: thresholds(5, 8, 5).optional(),
      max_web_searches: count(10_000).optional().describe('Web searches of one turn. Default: 50.'),
      max_subagents: count(10_000).optional().describe('Subagents that one turn may start. Default: 50.'),
    })
    .optional(),
  compression: z
    .strictObject({
      enabled: z.boolean().optional().describe('Summarises long conversations. Default: true.'),
      threshold: compressionShare
        .optional()
        .describe('Share of the context window. Default: 0.5, and 0.75 for windows below 512,000 tokens.'),
      threshold_tokens: count(20_000_000).optional().describe('Compresses at this many tokens, if that is earlier.'),
      target_ratio: z
        .number()
        .min(0.05)
        .max(0.8)
        .optional()
        .describe('Share of the threshold that the last messages may have.'),
      protect_first_n: z.int().min(0).max(100).optional().describe('Kept until the second compression.'),
      protect_last_n: count(1_000)
        .optional()
        .describe('Last messages that are never summarised; at most half of all. Default: 20.'),
    })
    .optional(),
  session_reset: z
    .strictObject({
      mode: z
        .enum(['none', 'idle', 'daily', 'both'])
        .optional()
        .describe('When a chat begins a new conversation by itself. Default: none.'),
      idle_minutes: count(525_600).optional().describe('Minutes of silence for idle. Default: 1440.'),
      at_hour: z.int().min(0).max(23).optional().describe('Hour of the day for daily, in `timezone`. Default: 4.'),
    })
    .optional()
    .describe('When a chat begins a new conversation by itself. Default: none.'),
  prompt_caching: z
    .strictObject({
      enabled: z.boolean().optional().describe('Default: true.'),
      ttl: z
        .enum(['5m', '1h'])
        .optional()
        .describe('How long a provider keeps the prefix; writing 1h costs more. Default: 5m.'),
    })
    .optional()
    .describe('Cache marks for providers that cache prompts only on request.'),
} as const
