/** `…/export` writes a session down in five formats; `/api/sessions/import` takes two of them back. */

import * as z from 'zod'
import { exportFormats, exportFormatName, exportVersion, mediaTypes } from '../../agent/public-api/export.ts'
import { exportedMessageSchema } from '../../agent/public-api/exported-message.ts'
import type { Imported } from '../../durable/session/export.ts'
import { utf8Bytes } from '../../durable/platform/row-size.ts'
import { check, parseJson, readText } from '../body.ts'
import { AppError, invalid } from '../errors.ts'
import { idempotencyKey } from '../headers.ts'
import { idsFor, releasing, replayHeader } from '../idempotency.ts'
import { limitStorage } from '../limits.ts'
import { type Call, route } from '../route.ts'
import { found, sessionStub } from '../sessions.ts'
import { tooLarge } from '../submit.ts'
import { created, sessionShape } from '../shapes.ts'
import { askedModel } from './models.ts'

const tag = 'Sessions'

const head = z.looseObject({
  format: z.literal(exportFormatName).optional(),
  version: z.int().min(1).max(exportVersion).optional(),
  session: z.looseObject({ title: z.string().nullish(), model: z.string().nullish() }).optional(),
})
const whole = head.extend({ messages: z.array(z.unknown()).max(20_000) })

/** One JSON object, or a line for each message, with the session in the first. */
function readImport(text: string): { readonly about: z.infer<typeof head>; readonly messages: readonly unknown[] } {
  const start = text.trim()
  const firstLine = start.slice(0, Math.max(0, start.indexOf('\n'))).trim()
  const isLines = start.startsWith('{') && firstLine.endsWith('}') && isJson(firstLine)
  if (!isLines) {
    const { messages, ...about } = check(whole, loneLine(parseJson(text)))
    return { about, messages }
  }
  const lines = text.split('\n').filter((line) => line.trim())
  if (lines.length > 20_001) throw invalid('There are more than 20000 messages.', 'messages')
  const values = lines.map((line, i) => lineOf(line, i))
  const [first] = values
  const hasHead = typeof first === 'object' && first !== null && !('role' in first)
  return { about: hasHead ? check(head, first) : {}, messages: hasHead ? values.slice(1) : values }
}

/** A file of lines may have only one: a message, or a session without any. */
function loneLine(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || 'messages' in value) return value
  if ('role' in value) return { messages: [value] }
  return 'session' in value ? { ...value, messages: [] } : value
}

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function lineOf(line: string, i: number): unknown {
  try {
    return JSON.parse(line)
  } catch {
    throw new AppError(400, 'invalid_json', `Line ${i + 1} is not valid JSON.`, { param: 'body' })
  }
}

function importedFrom(text: string, { env, tenant }: Call<unknown, unknown>): Imported {
  const { about, messages: given } = readImport(text)
  const messages = given.map((one, i) => {
    const message = check(z.object({ messages: z.record(z.string(), exportedMessageSchema) }), {
      messages: { [i]: one },
    })
    return Object.values(message.messages)[0] as z.infer<typeof exportedMessageSchema>
  })
  const title = about.session?.title?.trim().slice(0, 100)
  return { title: title || null, model: modelHere(about.session?.model, env, tenant), messages }
}

/** A model that is not here does not keep a conversation out. */
function modelHere(model: string | null | undefined, env: Env, tenant: Call<unknown, unknown>['tenant']) {
  try {
    return askedModel(model ?? undefined, env, tenant) ?? null
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}

/** Letters of an id only: it stands in a header. */
const fileName = (id: string, extension: string) => `attachment; filename="${id}.${extension}"`

export const exportRoutes = [
  route({
    method: 'get',
    path: '/api/sessions/:id/export',
    scope: 'read',
    tag,
    summary: 'The conversation as json, jsonl, md, html or sharegpt',
    query: z.strictObject({ format: z.enum(exportFormats).default('json') }),
    responses: { 200: { description: 'The conversation, nothing masked', type: 'application/json' } },
    handle: async ({ env, tenant, param, query: { format } }) => {
      const body = found(await sessionStub(env, tenant.id, param('id')).transfer.export(format))
      return new Response(body, {
        headers: {
          'content-type': mediaTypes[format],
          'content-disposition': fileName(param('id'), format === 'sharegpt' ? 'sharegpt.json' : format),
          'x-content-type-options': 'nosniff',
          'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox",
        },
      })
    },
  }),
  route({
    method: 'post',
    path: '/api/sessions/import',
    scope: 'chat',
    tag,
    summary: 'A new session with the conversation of an export (json or jsonl)',
    headers: [idempotencyKey],
    bytes: true,
    responses: created('The new session', sessionShape),
    handle: async (call) => {
      const { env, tenant } = call
      const bodyText = await readText(call.web.req.raw)
      const imported = importedFrom(bodyText, call)
      const ids = await idsFor({ ...call, bodyText })
      const target = sessionStub(env, tenant.id, ids.sessionId)
      const take = async () => {
        await limitStorage(env, tenant, utf8Bytes(bodyText))
        const done = await target.transfer.import(imported, tenant)
        if (done.is === 'too-large') throw tooLarge(`messages.${done.message}`)
        return done.view
      }
      const view = (ids.replayed && (await target.info.get())) || (await releasing(ids, take))
      return Response.json(view, { status: 201, headers: replayHeader(ids) })
    },
  }),
]
