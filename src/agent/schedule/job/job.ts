/** Defines jobs, their runs and their targets. Times are milliseconds since 1970. */

import * as z from 'zod'
import type { ChatOrigin } from '#agent/core/delivery.ts'
import type { TurnAuthority } from '#agent/core/permission/contribution.ts'
import { modelId } from '#agent/core/request/turn-settings.ts'
import { sessionNamePattern } from '#agent/core/session-name.ts'
import { maxScheduleChars } from '../parse-schedule.ts'
import type { StoredSchedule } from '../schedule.ts'

const name = z
  .string()
  .trim()
  .min(1)
  .max(100)
  .regex(/^[^\p{Cc}]*$/u, 'One line without control characters.')
const shellText = z.string().trim().min(1).max(20_000)
const names = (max: number, hint: string) => z.array(z.string().trim().min(1).max(100)).max(max).describe(hint)

/** `timezone`, `repeat`, `model` … may be null, which removes them. */
export const jobFields = {
  name: name.optional().describe('Unique. Default: the beginning of the prompt.'),
  prompt: z.string().max(20_000).optional().describe('What the agent does. It knows nothing of this conversation.'),
  schedule: z
    .string()
    .max(maxScheduleChars)
    .describe('30m (once), every 2h, a cron expression such as "0 9 * * 1-5", or a time such as 2026-12-01T09:00.'),
  timezone: z.string().max(64).nullish().describe("IANA zone of cron expressions and times. Default: the tenant's."),
  repeat: z
    .int()
    .min(1)
    .max(1_000_000)
    .nullish()
    .describe('Scheduled runs until the job is completed. Default: for ever.'),
  deliver: z
    .string()
    .trim()
    .max(2_000)
    .optional()
    .describe(
      'local, origin, session:ID, PLATFORM_OR_CONNECTION:CHAT[:THREAD], an https address, or several with commas. Default: origin where there is one, else local.',
    ),
  skills: names(20, 'Skills that are loaded before the prompt.').optional(),
  model: z
    .string()
    .trim()
    .max(200)
    .nullish()
    .describe('Pins provider/model. Default: the default model, which may then not change.'),
  provider: z.string().trim().max(64).nullish().describe('Joined with a model that has no provider.'),
  script: shellText
    .nullish()
    .describe('Shell text that runs first. Its output goes before the prompt; without output the run is skipped.'),
  no_agent: z.boolean().optional().describe('Deliver the output of the script as it is, without a model.'),
  monitor_script: shellText
    .nullish()
    .describe('Shell text whose output is compared with that of the last run; unchanged: no run.'),
  monitor_url: z
    .url({ protocol: /^https?$/ })
    .max(2_000)
    .nullish()
    .describe('An address whose content is compared likewise.'),
  context_from: names(10, 'Ids or names of jobs, or "self": their last outputs go before the prompt.').optional(),
  continuity: z.boolean().optional().describe('Each run gets the output of the run before.'),
  enabled_toolsets: names(100, 'The only toolsets and tools of its runs.').nullish(),
  workdir: z
    .string()
    .trim()
    .min(1)
    .max(500)
    .refine((path) => path.isWellFormed() && !path.includes('\0'), 'is no path')
    .nullish()
    .describe('The working directory.'),
  attach_to_session: z.boolean().optional().describe('Also add results to the conversation that made the job.'),
  project_id: z.string().min(1).max(100).nullish().describe('The project of its runs.'),
  max_turns: z.int().min(1).max(10_000).nullish().describe('Model calls of one run.'),
  max_usd: z.number().positive().max(10_000).nullish().describe('Spending limit of one run.'),
} as const

export const newJobSchema = z.strictObject(jobFields)
export const jobChangeSchema = newJobSchema.partial()
export type JobChange = z.infer<typeof jobChangeSchema>
export type NewJob = z.infer<typeof newJobSchema>

/** The conversation that made the job. */
export type JobOrigin = {
  readonly sessionId: string
  readonly chat?: ChatOrigin
  /** The text that the person had typed when the model made the job. */
  readonly typed?: string
}

/** The work of a job. A run keeps a copy, so that a change of the job does not reach it. */
export type JobPlan = {
  readonly name: string
  readonly prompt: string
  readonly deliver: string
  readonly skills: readonly string[]
  /** `provider/model`, when it is pinned. */
  readonly model?: string
  /** The default model when the job was made or last accepted it. */
  readonly expectedModel?: string
  readonly script?: string
  /** The hashes (SHA-256) of scripts that somebody with the scope `approve` has written into the job. */
  readonly approvedScripts: readonly string[]
  readonly isScriptOnly: boolean
  readonly monitor?: { readonly kind: 'script' | 'url'; readonly text: string }
  readonly contextFrom: readonly string[]
  readonly isContinuous: boolean
  readonly toolsets?: readonly string[]
  readonly workdir?: string
  /** The id of the project that the sessions of its runs belong to. */
  readonly project?: string
  readonly isAttached: boolean
  readonly maxTurns?: number
  readonly maxUsd?: number
  readonly origin?: JobOrigin
  /** The common rights of everybody who has made or changed the job, in the name of the job. */
  readonly authority: TurnAuthority
}

export type JobState = 'scheduled' | 'paused' | 'completed'

export type Job = {
  readonly id: string
  readonly plan: JobPlan
  readonly schedule: StoredSchedule
  /** The text as it was given. */
  readonly scheduleText: string
  readonly display: string
  readonly timezone?: string
  readonly repeat?: number
  /** Scheduled runs that have begun. */
  readonly runCount: number
  readonly state: JobState
  readonly createdAt: number
  readonly updatedAt: number
  readonly lastRun?: {
    readonly at: number
    readonly status: JobRunStatus
    readonly error?: string
    readonly deliveryError?: string
  }
  readonly failureStreak: number
  /** The configuration error that was reported already. */
  readonly blocked?: string
  /** The text that the monitor has seen last. */
  readonly seen?: { readonly hash: string; readonly text: string }
  /** The output of the last completed run, for other jobs and for continuity. */
  readonly lastOutput?: string
}

export const jobRunStatuses = [
  'claimed',
  'running',
  'completed',
  'failed',
  'unknown',
  'missed',
  'skipped',
  'skipped_late',
] as const
export type JobRunStatus = (typeof jobRunStatuses)[number]
export type EndedStatus = Exclude<JobRunStatus, 'claimed' | 'running'>

const jobId = /^[0-9a-f]{12}$/
export const isJobId = (text: string): boolean => jobId.test(text)

/** The session of a run. */
export function jobSessionId(job: string, slot: string): string {
  const id = `cron_${job}_${slot.replace(/\.000Z$/, 'Z').replace(/[-:.]/g, '')}`
  if (!sessionNamePattern.test(id)) throw new Error(`No name of a session: ${id}`)
  return id
}

/** Joins the fields `provider` and `model`. */
export function pinnedModel({
  provider,
  model,
}: Pick<JobChange, 'provider' | 'model'>): { readonly id?: string } | { readonly error: string } {
  if (!model) return provider ? { error: 'A provider needs a model.' } : {}
  const id =
    model.includes('/') && (!provider || model.startsWith(`${provider}/`)) ? model : `${provider ?? ''}/${model}`
  return modelId.safeParse(id).success ? { id } : { error: 'Write the model as provider/model.' }
}
