/** Implements Slack's Socket Mode: the events that else come by webhook arrive as envelopes, and each is acknowledged. */

import * as z from 'zod'
import { parseJson } from '#agent/core/parse-json.ts'
import type { ChannelConnection, InboundEvent, SocketAddress, SocketFrame } from '../channel.ts'
import { parseCallback, parseForm } from './parse-event.ts'
import { callSlack } from './slack-api.ts'

/** The address holds a ticket for one connection. */
export async function openSocket(connection: ChannelConnection): Promise<SocketAddress> {
  const { app_token: token = '' } = connection.secrets
  const answer = await callSlack({ ...connection, secrets: { bot_token: token } }, 'apps.connections.open', {})
  if (answer.kind === 'failed') {
    const { kind, detail } = answer.outcome
    const waitMs = answer.outcome.kind === 'retry' ? answer.outcome.waitMs : undefined
    const isFinal = kind === 'forbidden' || kind === 'fatal'
    return { kind: 'failed', detail, ...(waitMs !== undefined && { waitMs }), ...(isFinal && { isFinal }) }
  }
  const address = socketAddress(answer.result['url'], connection.apiBase)
  return address === undefined
    ? { kind: 'failed', detail: 'Slack named no usable address for a socket' }
    : { kind: 'found', address }
}

/** Upgrades are requests of `fetch`, which knows http names. Only Slack's own hosts, or those of a replaced API. */
function socketAddress(given: unknown, apiBase: string): string | undefined {
  const url = typeof given === 'string' ? URL.parse(given) : null
  if (!url || !/^wss?:$/.test(url.protocol)) return undefined
  const isOwn = url.protocol === 'wss:' && /(?:^|\.)slack\.com$/.test(url.hostname)
  if (!isOwn && new URL(apiBase).hostname !== url.hostname) return undefined
  return url.href.replace(/^ws/, 'http')
}

const envelope = z.object({
  type: z.string(),
  envelope_id: z.string().optional(),
  reason: z.string().optional(),
  accepts_response_payload: z.boolean().optional(),
  payload: z.unknown().optional(),
})
type SocketEnvelope = z.infer<typeof envelope>

export function readFrame(text: string, receivedAt: number, ignoredAnswer: object): SocketFrame {
  const parsed = envelope.safeParse(parseJson(text))
  if (!parsed.success) return { kind: 'ignored' }
  const { type, reason, envelope_id: id, accepts_response_payload: takesAnswer } = parsed.data
  if (type === 'hello') return { kind: 'ready' }
  if (type === 'disconnect')
    return reason === 'link_disabled'
      ? { kind: 'ended', detail: 'Socket Mode is switched off for this app' }
      : { kind: 'closing' }
  if (id === undefined) return { kind: 'ignored' }
  const event = readEvent(parsed.data, receivedAt)
  return {
    kind: 'events',
    events: event ? [event] : [],
    acknowledge: (isIgnored) =>
      JSON.stringify({ envelope_id: id, ...(isIgnored && takesAnswer && { payload: ignoredAnswer }) }),
  }
}

function readEvent({ type, payload }: SocketEnvelope, receivedAt: number): InboundEvent | undefined {
  switch (type) {
    case 'events_api':
      return parseCallback(payload)
    case 'interactive':
      return parseForm(new URLSearchParams({ payload: JSON.stringify(payload) }), receivedAt)
    case 'slash_commands':
      return parseForm(new URLSearchParams(listTexts(payload)), receivedAt)
    default:
      return undefined
  }
}

const listTexts = (fields: unknown): Record<string, string> =>
  typeof fields === 'object' && fields !== null
    ? Object.fromEntries(Object.entries(fields).filter(([, value]) => typeof value === 'string'))
    : {}
