/**
 * Sends spans to an OpenTelemetry collector by OTLP/HTTP as JSON, if the deployment names one. Spans wait in a bounded
 * buffer of the isolate and are sent in batches in the background. A failure loses spans and nothing else.
 */

import { log } from '#agent/core/log.ts'
import { clock } from './clock.ts'

type Attribute = string | number | boolean | undefined

export type TraceSpan = {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  /** `client`: a request to another system. */
  readonly kind: 'internal' | 'client'
  /** Milliseconds since 1970. */
  readonly start: number
  readonly end: number
  readonly isFailed: boolean
  readonly attributes: Readonly<Record<string, Attribute>>
}

type OtlpSettings = Pick<Env, 'OTEL_EXPORTER_OTLP_ENDPOINT' | 'OTEL_EXPORTER_OTLP_HEADERS'>

const maxBuffered = 1_000
const batchSpans = 200
const timeoutMs = 5_000
const buffer: TraceSpan[] = []

export const isTraced = (settings: OtlpSettings): boolean => Boolean(settings.OTEL_EXPORTER_OTLP_ENDPOINT?.trim())

/** Drops the span when the buffer is full. */
export function addSpan(span: TraceSpan): void {
  if (buffer.length < maxBuffered) buffer.push(span)
}

/** Sends all spans of the buffer. Never rejects. */
export async function flushSpans(settings: OtlpSettings): Promise<void> {
  while (buffer.length) {
    const batch = buffer.splice(0, batchSpans)
    if (!(await send(settings, batch))) return
  }
}

async function send(settings: OtlpSettings, spans: readonly TraceSpan[]): Promise<boolean> {
  const abort = new AbortController()
  const cancel = clock.schedule(timeoutMs, () => abort.abort())
  try {
    const address = `${settings.OTEL_EXPORTER_OTLP_ENDPOINT?.trim().replace(/\/+$/, '')}/v1/traces`
    const headers = { ...parseHeaders(settings.OTEL_EXPORTER_OTLP_HEADERS ?? ''), 'content-type': 'application/json' }
    const body = JSON.stringify(renderSpans(spans))
    const response = await fetch(address, { method: 'POST', headers, body, redirect: 'manual', signal: abort.signal })
    await response.body?.cancel()
    if (!response.ok) log.warn('telemetry.refused', `The collector answered ${response.status}; spans are lost.`)
    return response.ok
  } catch (error) {
    log.warn('telemetry.unreachable', 'The collector cannot be reached; spans are lost.', { error })
    return false
  } finally {
    cancel()
  }
}

/** Format: `name=value,name=value`, with values encoded as in URLs. A malformed pair is ignored. */
function parseHeaders(text: string): Record<string, string> {
  const pairs = text.split(',').map((pair) => /^\s*([\w-]+)\s*=\s*(.*?)\s*$/.exec(pair))
  return Object.fromEntries(pairs.flatMap((pair) => (pair ? [[pair[1] ?? '', decode(pair[2] ?? '')]] : [])))
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    if (error instanceof URIError) return text
    throw error
  }
}

const kinds = { internal: 1, client: 3 } as const

const renderSpans = (spans: readonly TraceSpan[]) => ({
  resourceSpans: [
    {
      resource: { attributes: renderAttributes({ 'service.name': 'talaria' }) },
      scopeSpans: [{ scope: { name: 'talaria' }, spans: spans.map(renderSpan) }],
    },
  ],
})

const renderSpan = ({ traceId, spanId, parentSpanId, name, kind, start, end, isFailed, attributes }: TraceSpan) => ({
  traceId,
  spanId,
  ...(parentSpanId !== undefined && { parentSpanId }),
  name,
  kind: kinds[kind],
  startTimeUnixNano: toNanoseconds(start),
  endTimeUnixNano: toNanoseconds(Math.max(start, end)),
  attributes: renderAttributes(attributes),
  status: { code: isFailed ? 2 : 1 },
})

/** 64-bit numbers are strings in the JSON of OTLP. */
const toNanoseconds = (ms: number): string => `${Math.round(ms)}000000`

const renderAttributes = (attributes: Readonly<Record<string, Attribute>>) =>
  Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: renderAttribute(value) }],
  )

function renderAttribute(value: string | number | boolean) {
  if (typeof value === 'string') return { stringValue: value.slice(0, 1_000) }
  if (typeof value === 'boolean') return { boolValue: value }
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}
