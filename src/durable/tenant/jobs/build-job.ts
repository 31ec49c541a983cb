/** Builds a job from the fields of a request, or says what is wrong with them. */

import { combineAuthorities } from '#agent/core/permission/contribution.ts'
import { actAs, type Authority, narrow } from '#agent/core/permission/authority.ts'
import { scan } from '#agent/untrusted/injection-scan.ts'
import { resolveZone } from '#agent/schedule/civil-time.ts'
import {
  isJobId,
  type Job,
  type JobChange,
  type JobOrigin,
  type JobPlan,
  pinnedModel,
} from '#agent/schedule/job/job.ts'
import { parseTargets, renderTarget, type Target } from '#agent/schedule/job/targets.ts'
import { nextRun } from '#agent/schedule/next-run.ts'
import { parseSchedule } from '#agent/schedule/parse-schedule.ts'
import { restoreSchedule, type Schedule, storeSchedule } from '#agent/schedule/schedule.ts'
import { explainFinding } from './explain-finding.ts'
import { isToolsetOrTool } from '#tools/tool-names.ts'

/** `param`: the field that is wrong. */
export type JobFault = { readonly kind: 'wrong'; readonly param: string; readonly message: string }

export type BuiltJob = { readonly kind: 'built'; readonly job: Job; readonly at: number | undefined }

export type BuildContext = {
  readonly authority: Authority
  readonly now: number
  readonly newId: () => string
  /** The zone of jobs without one. */
  readonly zone: string
  /** The default model now: that of the project, or of the tenant. */
  readonly defaultModel: string
  readonly origin?: JobOrigin | undefined
  /** The hashes of the scripts in the change, when its author may approve them. */
  readonly approved: readonly string[]
  /** Whether another job has this name. */
  readonly isNameTaken: (name: string) => boolean
  /** Whether there is a job with this id or name. */
  readonly hasJob: (reference: string) => boolean
}

const wrong = (param: string, message: string): JobFault => ({ kind: 'wrong', param, message })

/** Of a field that is absent the job keeps its value; null removes it. */
export function buildJob(change: JobChange, before: Job | undefined, context: BuildContext): BuiltJob | JobFault {
  const timing = buildTiming(change, before, context)
  if (timing.kind === 'wrong') return timing
  const plan = buildPlan(change, before?.plan ?? emptyPlan(context), context)
  if ('message' in plan) return plan
  const fault = findFault(plan, context)
  if (fault) return fault
  const { kind: _, parsed, ...when } = timing
  const { now } = context
  const job: Job = { ...(before ? keepProgress(change, before, plan) : newJob(context)), ...when, plan, updatedAt: now }
  const repeat = resolve(change.repeat, before?.repeat)
  return {
    kind: 'built',
    job: { ...job, ...optional('repeat', repeat) },
    at: job.state === 'scheduled' ? firstRun(parsed, now) : undefined,
  }
}

/** A change ends a series of failures. A new schedule begins to count its runs. */
function keepProgress(change: JobChange, before: Job, plan: JobPlan): JobBase {
  const { timezone: _timezone, repeat: _repeat, blocked: _blocked, seen, ...kept } = before
  const isNew = change.schedule !== undefined || change.repeat !== undefined
  return {
    ...kept,
    // Another source has nothing to compare with.
    ...optional('seen', isSame(before.plan.monitor, plan.monitor) ? seen : undefined),
    runCount: isNew ? 0 : kept.runCount,
    state: isRescheduled(change) && kept.state === 'completed' ? 'scheduled' : kept.state,
    failureStreak: 0,
  }
}

type JobBase = Omit<Job, 'plan' | 'schedule' | 'scheduleText' | 'display'>

const newJob = ({ newId, now }: BuildContext): JobBase => ({
  id: newId(),
  runCount: 0,
  state: 'scheduled',
  createdAt: now,
  updatedAt: now,
  failureStreak: 0,
})

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)
const isRescheduled = ({ schedule, timezone }: JobChange): boolean => schedule !== undefined || timezone !== undefined

/** The value of a field that may be removed. */
const resolve = <T>(changed: T | null | undefined, before: T | undefined): T | undefined =>
  changed === undefined ? before : (changed ?? undefined)

/** A field that is left out when it has no value. */
const optional = <K extends string, T>(key: K, value: T | undefined): { readonly [key in K]?: T } =>
  (value === undefined ? {} : { [key]: value }) as { readonly [key in K]?: T }

/** A time that has just passed runs at once. */
const firstRun = (schedule: Schedule, now: number): number | undefined =>
  schedule.kind === 'once' ? schedule.at : nextRun(schedule, now)

type Timing = Pick<Job, 'schedule' | 'scheduleText' | 'display' | 'timezone'> & {
  readonly kind: 'timing'
  readonly parsed: Schedule
}

function buildTiming(change: JobChange, before: Job | undefined, { now, zone }: BuildContext): Timing | JobFault {
  const timezone = resolve(change.timezone, before?.timezone)
  if (timezone !== undefined && resolveZone(timezone) === undefined)
    return wrong('timezone', 'This is no IANA time zone, such as Europe/Berlin.')
  const zoneField = optional('timezone', timezone)
  if (before && !needsParsing(change, before)) {
    const { schedule, scheduleText, display } = before
    return { kind: 'timing', schedule, scheduleText, display, ...zoneField, parsed: restoreSchedule(schedule) }
  }
  const text = change.schedule ?? before?.scheduleText
  if (text === undefined) return wrong('schedule', 'A job needs a schedule.')
  const parsed = parseSchedule(text, { now, zone: timezone ?? zone })
  if (!parsed.ok) return wrong('schedule', parsed.error)
  const { schedule, display } = parsed
  return {
    kind: 'timing',
    schedule: storeSchedule(schedule),
    scheduleText: text,
    display,
    ...zoneField,
    parsed: schedule,
  }
}

/** Another zone moves the times of a cron expression only. */
const needsParsing = ({ schedule, timezone }: JobChange, before: Job): boolean =>
  schedule !== undefined || (timezone !== undefined && before.schedule.kind === 'cron')

const emptyPlan = ({ origin, authority, defaultModel }: BuildContext): JobPlan => ({
  name: '',
  prompt: '',
  deliver: origin ? 'origin' : 'local',
  skills: [],
  approvedScripts: [],
  isScriptOnly: false,
  contextFrom: [],
  isContinuous: false,
  isAttached: false,
  authority: combineAuthorities([jobAuthority(authority)]),
  expectedModel: defaultModel,
  ...optional('origin', origin),
})

function buildPlan(change: JobChange, before: JobPlan, context: BuildContext): JobPlan | JobFault {
  const pinned = change.model === undefined ? optional('id', before.model) : pinnedModel(change)
  if ('error' in pinned) return wrong('model', pinned.error)
  const unknown = change.enabled_toolsets?.find((name) => !isToolsetOrTool(name))
  if (unknown !== undefined) return wrong('enabled_toolsets', `There is no toolset or tool ${unknown}.`)
  const monitor = buildMonitor(change, before)
  if (monitor?.kind === 'wrong') return monitor
  const prompt = choose(change.prompt, before.prompt)
  const script = resolve(change.script, before.script)
  return {
    name: choose(change.name, before.name || nameFrom(prompt, script, context.isNameTaken)),
    prompt,
    deliver: choose(change.deliver, before.deliver),
    skills: choose(change.skills, before.skills),
    approvedScripts: listApproved(change, before, context),
    isScriptOnly: choose(change.no_agent, before.isScriptOnly),
    contextFrom: choose(change.context_from, before.contextFrom),
    isContinuous: choose(change.continuity, before.isContinuous),
    isAttached: choose(change.attach_to_session, before.isAttached),
    authority: combineAuthorities([jobAuthority(context.authority), before.authority]),
    ...optional('model', pinned.id),
    ...optional('expectedModel', pinned.id === undefined ? expectedModel(change, before, context) : undefined),
    ...optional('script', script),
    ...optional('monitor', monitor),
    ...optional('toolsets', resolve(change.enabled_toolsets, before.toolsets)),
    ...optional('workdir', resolve(change.workdir, before.workdir)),
    ...optional('project', resolve(change.project_id, before.project)),
    ...optional('maxTurns', resolve(change.max_turns, before.maxTurns)),
    ...optional('maxUsd', resolve(change.max_usd, before.maxUsd)),
    ...optional('origin', before.origin),
  }
}

const maxApprovedScripts = 20

/** A script that runs in another directory does other things, so that it has to be approved again. */
function listApproved(change: JobChange, before: JobPlan, { approved }: BuildContext): readonly string[] {
  const isSamePlace = change.workdir === undefined || (change.workdir ?? undefined) === before.workdir
  const kept = isSamePlace ? before.approvedScripts : []
  return [...new Set([...kept, ...approved])].slice(-maxApprovedScripts)
}

const choose = <T>(changed: T | undefined, kept: T): T => changed ?? kept

/** A job without a pinned model keeps the default that it was made for, until a change of its model accepts another. */
function expectedModel(change: JobChange, before: JobPlan, { defaultModel }: BuildContext): string | undefined {
  const isKept = change.model === undefined && change.project_id === undefined
  return isKept ? before.expectedModel : defaultModel
}

/** A job never schedules jobs, approves or administers. */
export function jobAuthority(authority: Authority): Authority {
  const { requestId: _, ...lasting } = narrow(actAs(authority, { kind: 'job', id: 'cron' }), {
    scopes: ['chat', 'read', 'write'],
  })
  return lasting
}

function buildMonitor(change: JobChange, { monitor }: JobPlan): JobPlan['monitor'] | JobFault {
  const { monitor_script: script, monitor_url: url } = change
  if (script && url) return wrong('monitor_url', 'A job has either monitor_script or monitor_url.')
  if (script) return { kind: 'script', text: script }
  if (url) return { kind: 'url', text: url }
  const isRemoved = monitor && (monitor.kind === 'script' ? script === null : url === null)
  return isRemoved ? undefined : monitor
}

const maxDefaultName = 40

function nameFrom(prompt: string, script: string | undefined, isTaken: (name: string) => boolean): string {
  const text = (prompt || (script ?? '')).replace(/[\p{Cc}\s]+/gu, ' ').trim()
  const base = [...text].slice(0, maxDefaultName).join('').trim() || 'job'
  for (let n = 1; ; n++) {
    const name = n === 1 ? base : `${base} (${n})`
    if (!isTaken(name)) return name
  }
}

function findFault(plan: JobPlan, { authority, isNameTaken, hasJob }: BuildContext): JobFault | undefined {
  const { name, prompt, contextFrom } = plan
  if (isNameTaken(name) || isJobId(name)) return wrong('name', `The name "${name}" is taken. Choose another one.`)
  const [finding] = scan(prompt, 'strict')
  if (finding) return wrong('prompt', explainFinding(finding))
  const missing = contextFrom.find((reference) => reference !== 'self' && !hasJob(reference))
  if (missing !== undefined) return wrong('context_from', `There is no job "${missing}".`)
  return findMissingPart(plan) ?? findTargetFault(plan, authority)
}

function findMissingPart({ prompt, script, isScriptOnly, skills }: JobPlan): JobFault | undefined {
  if (isScriptOnly)
    return script === undefined ? wrong('no_agent', 'A job without an agent needs a script.') : undefined
  const hasWork = prompt.trim() !== '' || skills.length > 0
  return hasWork ? undefined : wrong('prompt', 'A job needs a prompt, or a script with no_agent.')
}

/** A person who acts in one chat delivers only there. */
function findTargetFault({ deliver, origin }: JobPlan, { channel }: Authority): JobFault | undefined {
  const parsed = parseTargets(deliver)
  if (!parsed.ok) return wrong('deliver', parsed.error)
  for (const target of parsed.targets) {
    if (target.kind === 'origin' && !origin)
      return wrong('deliver', 'This job was not made in a conversation, so it has no origin.')
    if (channel && !isWithin(target, channel, origin))
      return wrong('deliver', `You may deliver only to this chat, and not to ${renderTarget(target)}.`)
  }
  return undefined
}

function isWithin(target: Target, channel: NonNullable<Authority['channel']>, origin: JobOrigin | undefined): boolean {
  switch (target.kind) {
    case 'local':
    case 'origin':
      return true
    case 'session':
      return target.sessionId === origin?.sessionId
    case 'chat':
      return target.connection === channel.connection && target.chat === channel.chat
    case 'home':
    case 'webhook':
      return false
  }
}
