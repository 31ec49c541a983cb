/**
 * The protocol of Discord's gateway without its socket: frames in, and what to do next. The state is what a new socket
 * needs to continue where the last one ended.
 */

import * as z from 'zod'
import { parseJson } from '#agent/core/parse-json.ts'

export type GatewayState = {
  /** Absent: the next socket begins a new session. */
  readonly session?: { readonly id: string; readonly resumeUrl: string }
  /** The number of the last dispatch that was accepted. */
  readonly seq: number | null
  /** The bot's own account. */
  readonly userId?: string
}

export const newGatewayState: GatewayState = { seq: null }

export type GatewayStep =
  | { readonly kind: 'ignore' }
  /** The socket is open: identify or resume, and send heartbeats. */
  | { readonly kind: 'hello'; readonly heartbeatMs: number }
  | { readonly kind: 'heartbeat-requested' }
  | { readonly kind: 'heartbeat-acknowledged' }
  /** To be stored when `dispatch` is accepted. */
  | { readonly kind: 'dispatch'; readonly state: GatewayState; readonly type: string; readonly data: unknown }
  /** The socket is of no more use. `pauseMs`: Discord wants some time in between. */
  | { readonly kind: 'reconnect'; readonly state: GatewayState; readonly pauseMs: number }

/** An operation without data may leave `d` out. */
const frame = z.object({ op: z.int(), d: z.unknown().optional(), s: z.int().nullish(), t: z.string().nullish() })
const hello = z.object({ heartbeat_interval: z.number().min(1_000).max(600_000) })
const ready = z.object({
  session_id: z.string(),
  resume_gateway_url: z.string(),
  user: z.object({ id: z.string().regex(/^\d{1,20}$/) }),
})

/** Discord asks for one to five seconds. */
const invalidSessionPauseMs = 3_000

export function readFrame(text: string, state: GatewayState): GatewayStep {
  const parsed = frame.safeParse(parseJson(text))
  if (!parsed.success) return { kind: 'ignore' }
  const { op, d: data, s: seq, t: type } = parsed.data
  switch (op) {
    case 0:
      return readDispatch(type ?? '', data, { ...state, seq: seq ?? state.seq })
    case 1:
      return { kind: 'heartbeat-requested' }
    case 7:
      return { kind: 'reconnect', state, pauseMs: 0 }
    case 9:
      // `true`: the session can be resumed.
      return { kind: 'reconnect', state: data === true ? state : forget(state), pauseMs: invalidSessionPauseMs }
    case 10: {
      const greeting = hello.safeParse(data)
      return greeting.success ? { kind: 'hello', heartbeatMs: greeting.data.heartbeat_interval } : { kind: 'ignore' }
    }
    case 11:
      return { kind: 'heartbeat-acknowledged' }
    default:
      return { kind: 'ignore' }
  }
}

function readDispatch(type: string, data: unknown, state: GatewayState): GatewayStep {
  const greeting = type === 'READY' ? ready.safeParse(data) : undefined
  if (!greeting?.success) return { kind: 'dispatch', state, type, data }
  const { session_id: id, resume_gateway_url: resumeUrl, user } = greeting.data
  return { kind: 'dispatch', state: { ...state, session: { id, resumeUrl }, userId: user.id }, type, data }
}

const forget = ({ userId }: GatewayState): GatewayState => ({ seq: null, ...(userId !== undefined && { userId }) })

const intents = (1 << 9) | (1 << 12) | (1 << 15) // messages of guilds, direct messages, their content

/** The first frame of a socket. */
export function renderOpening(token: string, { session, seq }: GatewayState): string {
  if (session) return JSON.stringify({ op: 6, d: { token, session_id: session.id, seq } })
  const properties = { os: 'linux', browser: 'talaria', device: 'talaria' }
  return JSON.stringify({ op: 2, d: { token, intents, properties } })
}

export const renderHeartbeat = ({ seq }: GatewayState): string => JSON.stringify({ op: 1, d: seq })

/** Any other code than 1000 and 1001 keeps the session, so that it can be resumed. */
export const resumableClose = 4_000

/** Wrong token, wrong intents, and a bot that needs shards: no later attempt differs. */
const finalCodes: Readonly<Record<number, string>> = {
  4004: 'Discord does not accept the bot token',
  4010: 'Discord does not accept the shard',
  4011: 'the bot is in so many servers that Discord requires shards',
  4012: 'Discord does not know this version of the gateway',
  4013: 'Discord does not accept the intents',
  4014: 'the message content intent is not switched on (developer portal, page Bot)',
}
const freshCodes = new Set([1_000, 1_001, 4_003, 4_007, 4_009])

export type AfterClose =
  | { readonly kind: 'reconnect'; readonly state: GatewayState }
  | { readonly kind: 'stop'; readonly detail: string }

export function afterClose(code: number, state: GatewayState): AfterClose {
  const detail = finalCodes[code]
  if (detail !== undefined) return { kind: 'stop', detail }
  return { kind: 'reconnect', state: freshCodes.has(code) ? forget(state) : state }
}

/**
 * The address of a socket: where the session can be resumed, or where the API says. Only Discord's own hosts get the
 * token, unless the deployment has another API.
 */
export function socketAddress(url: string, isOfficialApi: boolean): string | undefined {
  if (!URL.canParse(url)) return undefined
  const address = new URL(url)
  const isSocket = address.protocol === 'wss:' || (!isOfficialApi && address.protocol === 'ws:')
  const isDiscord = address.hostname === 'discord.gg' || address.hostname.endsWith('.discord.gg')
  if (!isSocket || (isOfficialApi && !isDiscord)) return undefined
  address.searchParams.set('v', '10')
  address.searchParams.set('encoding', 'json')
  // Workers open sockets by fetch.
  return address.href.replace(/^ws/, 'http')
}
