/** Gathers the events of a run by its steps: calls of tools with their times, and what happened between them. */

import type { SessionEvent } from './types.ts'

export type RunCall = {
  readonly id: string
  readonly tool: string
  readonly at: string
  readonly durationMs: number | undefined
  readonly failed: boolean
}
export type RunStep = {
  /** The number of the message of the model. 0: before the first one. */
  readonly step: number
  readonly at: string
  /** The model has written words, or thought. */
  readonly hasText: boolean
  readonly calls: readonly RunCall[]
  readonly happened: readonly (Happening & { readonly at: string })[]
}

/** The event between two calls, as the name of a word and the values in it. */
export type Happening =
  | { readonly word: 'fellBack'; readonly from: string; readonly to: string; readonly reason: string }
  | { readonly word: 'startedAgain'; readonly reason: string }
  | { readonly word: 'askedToAllow'; readonly tool: string }
  | { readonly word: 'askedPerson'; readonly question: string }
  | { readonly word: 'askedSubagent'; readonly goal: string }
  | { readonly word: 'subagentEnded'; readonly status: string }
  | { readonly word: 'tookMessage'; readonly input: string }
  | { readonly word: 'decided'; readonly decision: string }
  | { readonly word: 'summarised' | 'wasAnswered' | 'waits' }

function toHappening(event: SessionEvent): Happening | undefined {
  switch (event.type) {
    case 'provider.fallback':
      return { word: 'fellBack', from: event.from, to: event.to, reason: event.reason }
    case 'turn.restarted':
      return { word: 'startedAgain', reason: event.reason }
    case 'approval.request':
      return { word: 'askedToAllow', tool: event.tool }
    case 'question.request':
      return { word: 'askedPerson', question: event.question }
    case 'subagent.start':
      return { word: 'askedSubagent', goal: event.goal }
    case 'subagent.complete':
      return { word: 'subagentEnded', status: event.status }
    case 'run.steered':
      return { word: 'tookMessage', input: event.input }
    case 'approval.responded':
      return { word: 'decided', decision: event.decision }
    case 'context.compressed':
      return { word: 'summarised' }
    case 'question.answered':
      return { word: 'wasAnswered' }
    case 'run.waiting':
      return { word: 'waits' }
    default:
      return undefined
  }
}

export function addToSteps(steps: readonly RunStep[], event: SessionEvent): readonly RunStep[] {
  const last = steps.at(-1)
  const number = 'step' in event && event.step !== undefined ? event.step : (last?.step ?? 0)
  const all = steps.some(({ step }) => step === number)
    ? steps
    : [...steps, { step: number, at: event.at, hasText: false, calls: [], happened: [] }]
  return all.map((one) => (one.step === number ? addToStep(one, event) : one))
}

/** The steps in which something is to be seen. What comes before the first message belongs to the first step. */
export function listSteps(steps: readonly RunStep[]): readonly RunStep[] {
  const [first, next, ...rest] = steps
  const joined =
    first?.step === 0 && next ? [{ ...next, happened: [...first.happened, ...next.happened] }, ...rest] : steps
  return joined.filter(({ hasText, calls, happened }) => hasText || calls.length > 0 || happened.length > 0)
}

function addToStep(step: RunStep, event: SessionEvent): RunStep {
  if (event.type === 'message.delta' || event.type === 'reasoning.delta')
    return step.hasText ? step : { ...step, hasText: true }
  if (event.type === 'tool.started') {
    const call = { id: event.call_id, tool: event.tool, at: event.at, durationMs: undefined, failed: false }
    return { ...step, calls: [...step.calls.filter(({ id }) => id !== call.id), call] }
  }
  if (event.type === 'tool.completed') {
    const { call_id: id, duration_ms: durationMs, failed } = event
    return { ...step, calls: step.calls.map((call) => (call.id === id ? { ...call, durationMs, failed } : call)) }
  }
  const happening = toHappening(event)
  return happening ? { ...step, happened: [...step.happened, { ...happening, at: event.at }] } : step
}
