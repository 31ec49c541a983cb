/**
 * Records spans of turns, model calls and tools, if the deployment names a collector. Attributes follow the semantic
 * conventions for generative AI. Texts of the conversation are no part of them.
 */

import { isRunEnd, type SessionEvent } from '#agent/core/event.ts'
import type { Perform } from '#agent/core/ports.ts'
import type { Result, Turn } from '#agent/core/turn.ts'
import { clock } from '#durable/platform/clock.ts'
import { addSpan, flushSpans, isTraced, type TraceSpan } from '#durable/platform/otlp.ts'
import type { ChosenModel } from './effects.ts'
import type { TurnSession } from './turn-session.ts'

/** A run is one trace: its id is made of the run's. */
const traceIdOf = (runId: string): string => getHex(runId, 32)
const turnSpanIdOf = (runId: string): string => getHex(`turn ${runId}`, 16)

function getHex(text: string, digits: number): string {
  const hex = [...text].filter((char) => /[0-9a-f]/.test(char)).join('')
  return hex.padStart(digits, '1').slice(-digits)
}

const requestOf = ({ options }: Turn) => ({ 'talaria.request.id': options.authority?.requestId })

const newSpanId = (): string => crypto.randomUUID().replaceAll('-', '').slice(0, 16)

/** Adds a span for each model call and tool. Without a collector it returns `perform` itself. */
export function withTrace(env: Env, choose: (turn: Turn) => ChosenModel | undefined, perform: Perform): Perform {
  if (!isTraced(env)) return perform
  return async function* (step, turn) {
    const start = clock.now()
    const chosen = step.do === 'call-model' ? choose(turn) : undefined
    for await (const result of perform(step, turn)) {
      const span = createSpan(result, chosen)
      const ids = { traceId: traceIdOf(turn.id), parentSpanId: turnSpanIdOf(turn.id), spanId: newSpanId() }
      const attributes = { ...span?.attributes, ...requestOf(turn) }
      if (span) addSpan({ ...span, ...ids, attributes, start, end: clock.now() })
      yield result
    }
  }
}

type SpanFacts = Pick<TraceSpan, 'name' | 'kind' | 'isFailed' | 'attributes'>

function createSpan(result: Result, chosen: ChosenModel | undefined): SpanFacts | undefined {
  if (result.of === 'tool') {
    const { name, callId, failed } = result.message
    const attributes = {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
      'gen_ai.tool.call.id': callId,
    }
    return { name: `execute_tool ${name}`, kind: 'internal', isFailed: failed, attributes }
  }
  if ((result.of !== 'model' && result.of !== 'failure') || !chosen) return undefined
  const { route } = chosen
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.system': route.id.split('/')[0],
    'gen_ai.request.model': route.model,
    'gen_ai.usage.input_tokens': result.usage?.input,
    'gen_ai.usage.output_tokens': result.usage?.output,
    'error.type': result.of === 'failure' ? result.failure.kind : undefined,
  }
  return { name: `chat ${route.model}`, kind: 'client', isFailed: result.of === 'failure', attributes }
}

/** Adds the span of a turn that has ended, and sends all spans in the background. */
export function traceTurnEnd(session: TurnSession, env: Env, events: readonly SessionEvent[]): void {
  if (!isTraced(env)) return
  const end = events.find(isRunEnd)
  const turn = session.store.current()
  if (!end || !turn) return
  addSpan({
    traceId: traceIdOf(end.run_id),
    spanId: turnSpanIdOf(end.run_id),
    name: 'invoke_agent talaria',
    kind: 'internal',
    start: turn.startedAt,
    end: clock.now(),
    isFailed: end.type === 'run.failed',
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.conversation.id': session.sessionId,
      'gen_ai.usage.input_tokens': end.usage.input,
      'gen_ai.usage.output_tokens': end.usage.output,
      'talaria.run.id': end.run_id,
      'talaria.tenant.id': session.tenantId,
      'talaria.exit_reason': end.exit_reason,
      ...requestOf(turn),
    },
  })
  session.runInBackground(flushSpans(env))
}
