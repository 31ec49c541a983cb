/** `/api/sessions/{id}/export` renders a conversation in five formats; `/api/sessions/import` reads two of them. */

import * as z from 'zod'
import {
  exportFormats,
  exportFormatName,
  exportVersion,
  formatsWithFiles,
  mediaTypes,
} from '#agent/public-api/export.ts'
import { exportedMessageSchema } from '#agent/public-api/exported-message.ts'
import type { ImportedSession } from '#durable/session/copies/export.ts'
import { trajectoryOutcomes } from '#durable/tenant/trajectories.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { utf8Bytes } from '#durable/platform/row-size.ts'
import { sessionNamePattern } from '#agent/core/session-name.ts'
import { tagsSchema } from '../input/tags.ts'
import { validate, parseJson, readText } from '../input/body.ts'
import { AppError, invalid } from '../errors.ts'
import { idempotencyKeyHeader } from '../headers.ts'
import { claimIds, releaseOnError, replayHeaders } from '../idempotency.ts'
import { requireStorageAdmission } from '../limits.ts'
import { type RouteCall, route } from '../route.ts'
import { requireFound, addressSession } from '../sessions.ts'
import { tooLarge } from '../submit.ts'
import { created, ok, pageLimit, sessionShape } from '../shapes.ts'
import { resolveRequestedModel } from '../input/requested-model.ts'
import { sessionParam } from '../openapi/path-params.ts'

const tag = 'Sessions'

const headSchema = z.looseObject({
  format: z.literal(exportFormatName).optional(),
  version: z.int().min(1).max(exportVersion).optional(),
  session: z
    .looseObject({ title: z.string().nullish(), model: z.string().nullish(), tags: tagsSchema.optional() })
    .optional(),
})
const fileSchema = z.object({
  path: z.string().min(1).max(4_096),
  bytes: z.number().min(0).default(0),
  content: z.base64().optional(),
})
const filesSchema = z.array(fileSchema).max(2_000)
const importSchema = headSchema.extend({ messages: z.array(z.unknown()).max(20_000), files: filesSchema.default([]) })

type ParsedImport = {
  readonly about: z.infer<typeof headSchema>
  readonly messages: readonly unknown[]
  readonly files: z.infer<typeof filesSchema>
}

/** Parses a JSON object, or lines with the session first and then one message each. */
function parseImport(text: string): ParsedImport {
  const start = text.trim()
  const firstLine = start.slice(0, Math.max(0, start.indexOf('\n'))).trim()
  const isLines = start.startsWith('{') && firstLine.endsWith('}') && isJson(firstLine)
  if (!isLines) {
    const { messages, files, ...about } = validate(importSchema, wrapSingleLine(parseJson(text)))
    return { about, messages, files }
  }
  const lines = text.split('\n').filter((line) => line.trim())
  if (lines.length > 22_001) throw invalid('There are more than 20000 messages.', 'messages')
  const values = lines.map((line, i) => parseLine(line, i))
  const [first] = values
  const hasHead = typeof first === 'object' && first !== null && !('role' in first) && !isFileLine(first)
  const rest = hasHead ? values.slice(1) : values
  const messages = rest.filter((line) => !isFileLine(line))
  if (messages.length > 20_000) throw invalid('There are more than 20000 messages.', 'messages')
  const { files } = validate(z.object({ files: filesSchema }), {
    files: rest.filter(isFileLine).map(({ file }) => file),
  })
  return { about: hasHead ? validate(headSchema, first) : {}, messages, files }
}

const isFileLine = (line: unknown): line is { readonly file: unknown } =>
  typeof line === 'object' && line !== null && 'file' in line && !('role' in line)

/** A lines file of one line parses as plain JSON: it is a message, or a session without messages. */
function wrapSingleLine(value: unknown): unknown {
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

function parseLine(line: string, i: number): unknown {
  try {
    return JSON.parse(line)
  } catch {
    throw new AppError(400, 'invalid_json', `Line ${i + 1} is not valid JSON.`, { param: 'body' })
  }
}

function parseImportedSession(text: string, { env, tenant }: RouteCall<unknown, unknown>): ImportedSession {
  const { about, messages: given, files } = parseImport(text)
  const messages = given.map((one, i) => {
    const message = validate(z.object({ messages: z.record(z.string(), exportedMessageSchema) }), {
      messages: { [i]: one },
    })
    return Object.values(message.messages)[0] as z.infer<typeof exportedMessageSchema>
  })
  const title = about.session?.title?.trim().slice(0, 100).toWellFormed()
  const model = resolveImportedModel(about.session?.model, env, tenant)
  return {
    title: title || null,
    model,
    tags: about.session?.tags,
    messages,
    files: files.map(({ path, bytes, content }) => ({ path, bytes, ...(content !== undefined && { content }) })),
  }
}

/** Drops a model that is not available here, so that the conversation can be imported. */
function resolveImportedModel(
  model: string | null | undefined,
  env: Env,
  tenant: RouteCall<unknown, unknown>['tenant'],
) {
  try {
    return resolveRequestedModel(model ?? undefined, env, tenant) ?? null
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}

/** The id is safe in a header: it has only letters, digits, _ and -. */
const renderDisposition = (id: string, extension: string) => `attachment; filename="${id}.${extension}"`

/** Without their parameters, as OpenAPI names media types. */
const pdfType = 'application/pdf'
const exportTypes = [...new Set(Object.values(mediaTypes).map((type) => type.replace(/;.*/, ''))), pdfType]

async function renderPdf(env: Env, owner: string, markdown: ReadableStream<Uint8Array>): Promise<BodyInit> {
  const { exportPdf } = await import('../files/export-pdf.ts')
  return (await exportPdf(env.LOADER, owner, markdown)) as Uint8Array<ArrayBuffer>
}

export const exportRoutes = [
  route({
    method: 'get',
    path: '/api/trajectories',
    id: 'listTrajectories',
    scope: 'read',
    tag,
    summary: 'The trajectories that `sessions.trajectory_days` keeps, of sessions that the key may open, as JSON lines',
    query: z.strictObject({
      outcome: z.enum(trajectoryOutcomes).default('completed').describe('How the runs ended.'),
      after: z
        .string()
        .max(500)
        .optional()
        .describe('A time, or `ended_at~session_id~run_id` of the last line that was read.'),
      limit: pageLimit(500).default(100),
    }),
    responses: { 200: { description: 'One line for each run, the oldest first', type: 'application/jsonl' } },
    handle: async (call) => (await import('../files/list-trajectories.ts')).listTrajectories(call),
  }),
  route({
    method: 'get',
    path: '/api/sessions/:id/export',
    id: 'getSessionExport',
    params: { id: sessionParam },
    scope: 'read',
    tag,
    summary: 'The conversation as json, jsonl, md, html, sharegpt or pdf',
    query: z.strictObject({
      format: z
        .enum([...exportFormats, 'pdf'])
        .default('json')
        .describe('The format of the answer. A PDF has what people and the agent said, without tools and thinking.'),
      files: z
        .enum(['0', '1'])
        .default('0')
        .describe('1 adds the files of the workspace, as base64. Only for json and jsonl.'),
    }),
    responses: { 200: { description: 'The conversation, nothing masked', type: exportTypes } },
    handle: async ({ env, authority, tenant, param, query: { format, files } }) => {
      const hasFiles = files === '1'
      if (hasFiles && (format === 'pdf' || !formatsWithFiles.includes(format)))
        throw invalid(`Files are exported with format=${formatsWithFiles.join(' or ')} only.`, 'files')
      const { transfer } = addressSession(env, tenant.id, param('id'))
      const options = format === 'pdf' ? ({ format: 'md', saidOnly: true } as const) : { format }
      const text = requireFound(await transfer.export(authority, { ...options, hasFiles }))
      const body = format === 'pdf' ? await renderPdf(env, `${tenant.id}/${param('id')}`, text) : text
      const event = { kind: 'session.exported', subject: param('id'), sessionId: param('id') } as const
      await tenantStub(env, tenant.id).audit.add(authority, {
        ...event,
        details: { format, ...(hasFiles && { files: true }) },
      })
      return new Response(body, {
        headers: {
          'content-type': format === 'pdf' ? pdfType : mediaTypes[format],
          'content-disposition': renderDisposition(param('id'), format === 'sharegpt' ? 'sharegpt.json' : format),
          'x-content-type-options': 'nosniff',
          'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox",
        },
      })
    },
  }),
  route({
    method: 'post',
    path: '/api/sessions/import',
    id: 'importSession',
    scope: 'chat',
    tag,
    summary: 'A new session with the conversation of an export (json or jsonl)',
    headers: [idempotencyKeyHeader],
    bytes: true,
    query: z.strictObject({
      id: z
        .string()
        .regex(sessionNamePattern)
        .optional()
        .describe('The id of the new session. If it exists, nothing is imported and the answer has status 200.'),
    }),
    responses: { ...created('The new session', sessionShape), ...ok('The session that exists', sessionShape) },
    handle: async (call) => {
      const { env, authority, tenant } = call
      const bodyText = await readText(call.web.req.raw)
      const imported = parseImportedSession(bodyText, call)
      const { id } = call.query
      const existing = id === undefined ? undefined : await addressSession(env, tenant.id, id).info.get(authority)
      if (existing) return Response.json(existing)
      const ids = await claimIds({ ...call, bodyText }, id)
      const target = addressSession(env, tenant.id, ids.sessionId)
      const take = async () => {
        await requireStorageAdmission(call, utf8Bytes(bodyText))
        const result = requireFound(await target.transfer.import(authority, imported, tenant))
        if (result.kind === 'too-large') throw tooLarge(`messages.${result.message}`)
        return result.view
      }
      const view = (ids.replayed && (await target.info.get(authority))) || (await releaseOnError(ids, take))
      return Response.json(view, { status: 201, headers: replayHeaders(ids) })
    },
  }),
]
