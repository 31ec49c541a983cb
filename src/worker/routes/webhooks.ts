/**
 * `/webhooks/{platform}/{connection}`: where platforms deliver. The signature comes first, over the bytes as they came;
 * what is refused leaves no trace. Everything that is verified is answered with 2xx, once what comes of it is durable:
 * an answer before that would lose the message, any other later would bring it again.
 */

import type { Channel, Heard } from '../../channels/channel.ts'
import { gate, withoutMention } from '../../channels/gate.ts'
import { connections } from '../../db/channels.ts'
import { connected, type Connected, forgetConnection } from '../../durable/channels/connection.ts'
import { tenantSnapshot } from '../../durable/tenant/tenant-snapshot.ts'
import { tenantStub } from '../../durable/tenant/tenant-stub.ts'
import { readUpTo } from '../body.ts'
import { AppError, notFound } from '../errors.ts'
import type { OpenRoute, Web } from '../route.ts'
import { sessionStub } from '../sessions.ts'

const maxBytes = 1024 * 1024
const shape = /^[A-Za-z0-9_]{1,100}$/

export const webhookRoutes: readonly OpenRoute[] = [
  {
    method: 'post',
    path: '/webhooks/:platform/:connection',
    scope: null,
    tag: 'Channels',
    summary: 'Where a messaging platform delivers, signed as it signs',
    responses: {
      200: { description: 'Verified; what comes of it is durable' },
      401: { description: 'The signature is missing or wrong' },
      413: { description: 'More than 1 MB' },
    },
    mount: (app) => void app.post('/webhooks/:platform/:connection', webhook),
  },
]

async function webhook(web: Web): Promise<Response> {
  const { env } = web
  const id = web.req.param('connection') ?? ''
  const connection = shape.test(id) ? await connected(env, id, Date.now()) : undefined
  if (!connection) throw notFound()
  if ('refused' in connection) throw new AppError(503, 'not_configured', 'This channel cannot be used now.')
  const { channel, line } = connection
  if (channel.platform !== web.req.param('platform')) throw notFound()
  const body = await readUpTo(web.req.raw, maxBytes, '1 MB')
  if (!(await channel.verify(web.req.raw.headers, body, line.secrets))) return new Response(null, { status: 401 })
  if (connection.status === 'active') {
    const heard = channel.parse(jsonOf(body))
    if (heard) await hear(web, connection, heard)
  }
  return new Response(null, { status: 200 })
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined // signed, and still nothing that we know
  }
}

async function hear(web: Web, connection: Connected, heard: Heard): Promise<void> {
  const { env } = web
  const { settings } = connection
  const first = (await isPaired(web, connection, heard)) ? 'take' : gate(heard, settings, connection.account)
  if (first === 'ignore') return
  // Who we are there matters only where we have to be named.
  const account = connection.account ?? (first === 'overhear' ? await askAccount(env, connection) : undefined)
  const verdict = first === 'overhear' ? gate(heard, settings, account) : first
  if (heard.of === 'press') return press(web, connection, heard)
  const session = sessionStub(env, connection.tenantId, await sessionIdFor(connection.id, heard))
  const taken = await session.hear({
    key: heard.key,
    runId: `run_${await nameOf([connection.id, heard.key])}`,
    origin: {
      connection: connection.id,
      platform: connection.channel.platform,
      isGroup: heard.isGroup,
      ...heard.place,
    },
    asker: { person: heard.person.id, message: heard.message },
    name: heard.person.name,
    text: withoutMention(heard.text, account),
    isOverheard: verdict === 'overhear',
    mode: settings.busy_mode,
    tenant: await tenantSnapshot(env, connection.tenantId),
  })
  // It is being deleted: the platform shall ask again, and begins a new one.
  if (!taken) throw new AppError(503, 'unavailable', 'This session is being deleted. Try again in a moment.')
}

/**
 * Somebody in a direct chat whom no setting names: let in by a code, or told one. The code is said once and owed to
 * nobody: who missed it writes again.
 */
async function isPaired({ env, executionCtx }: Web, connection: Connected, heard: Heard): Promise<boolean> {
  const { channel, line, settings, tenantId, account } = connection
  if (heard.isGroup || gate(heard, settings, account) !== 'ignore') return false
  const who = { platform: channel.platform, person: heard.person.id, name: heard.person.name }
  const met = await tenantStub(env, tenantId).meetPerson(who, heard.of === 'message')
  if (met.is === 'told') {
    const text = `You are not known here yet. Give this code to whoever runs this bot: ${met.code}\nIt is valid for an hour.`
    executionCtx.waitUntil(channel.send(line, { place: heard.place, chunk: { text, spans: [] } }))
  }
  return met.is === 'approved'
}

async function askAccount(
  env: Env,
  { channel, line, id, tenantId, secrets }: Connected,
): Promise<Connected['account']> {
  const asked = await channel.account(line)
  // Then nobody has been named as far as we know; the next one asks again.
  if ('refused' in asked) return undefined
  await connections(env.DB, tenantId).setAccount({ id, secrets }, asked)
  forgetConnection(id)
  return asked
}

/** The same chat of the same connection is the same session, whoever asks and however often. */
const sessionIdFor = async (connection: string, { place }: Heard): Promise<string> =>
  `ses_${await nameOf([connection, place.chat, place.thread ?? null])}`

async function nameOf(parts: readonly (string | null)[]): Promise<string> {
  const text = new TextEncoder().encode(JSON.stringify(parts))
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', text))
  return [...digest.subarray(0, 16)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

type Press = Extract<Heard, { of: 'press' }>

async function press(web: Web, connection: Connected, heard: Press): Promise<void> {
  const { env } = web
  const { channel, line, settings, tenantId } = connection
  const session = sessionStub(env, tenantId, await sessionIdFor(connection.id, heard))
  const isAdmin = settings.admins.includes(heard.person.id)
  const answer = await session.press({ data: heard.data, person: heard.person.id, isAdmin })
  const show = shownTo({ channel, line }, heard, answer ?? { toast: 'Expired: nobody waits for this any more.' })
  web.executionCtx.waitUntil(show.catch((error: unknown) => console.warn('The answer to a button is not seen.', error)))
}

/** What was decided is durable by now; whether it is seen at once is not as important. */
async function shownTo(
  { channel, line }: { readonly channel: Channel; readonly line: Connected['line'] },
  { press: id, message, place }: Press,
  { toast, ends }: { readonly toast: string; readonly ends?: string },
): Promise<void> {
  await channel.answerPress(line, id, toast)
  const [chunk] = ends === undefined ? [] : channel.render(ends, 'plain')
  if (chunk) await channel.send(line, { place, chunk, edits: message })
}
