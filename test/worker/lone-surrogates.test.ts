/**
 * Sends half a character in every path of every route of the OpenAPI document: in the parts of the address, in the query
 * and in the fields of bodies that hold paths. No answer is a 5xx, and a path of a file is refused with 400.
 */

import { beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { applyMigrations, call, type ErrorBody, newSession, newTenant, request } from './client.ts'
import { fillPath, type JsonSchema, listOperations, type Operation, sample } from './document.ts'

const half = 'a\uD800b'
/** Half a character as UTF-8 would have it, which is no valid percent-encoding. */
const encodedHalf = 'a%ED%A0%80b'
const pathFields = /^(?:path|paths|to|from|file|dir|directory|cwd|workdir)$/

let operations: readonly Operation[]
let key: string
let session: string

beforeAll(async () => {
  await applyMigrations()
  ;({ key } = await newTenant())
  session = (await newSession({}, key)).id
  await call('PUT', `/api/sessions/${session}/files/report.md`, { key, body: 'text' })
  operations = (await listOperations()).filter(({ scope }) => scope !== null)
})

const address = ({ path }: Operation, values: Readonly<Record<string, string>>) =>
  fillPath(path, path.startsWith('/api/sessions/{id}') ? { id: session, path: 'report.md', ...values } : values)

type Sent = { readonly name: string; readonly status: number }

async function send({ method, path, body }: Operation, target: string, given?: unknown): Promise<Sent> {
  const hasBody = method !== 'GET' && method !== 'DELETE'
  const response = await request(method, target, {
    key,
    ...(hasBody && { body: given ?? sample(body ?? { type: 'object' }) }),
  })
  await response.body?.cancel()
  return { name: `${method} ${path} ${target}`, status: response.status }
}

/** Media are asked of a provider whose address nothing answers. */
const isFault = ({ name, status }: Sent) =>
  status >= 500 && status !== 501 && status !== 503 && !(status === 502 && /\/v1\/(?:audio|images)\//.test(name))

/** The names of the fields of a body that hold a path. */
const listPathFields = ({ properties = {} }: JsonSchema): readonly string[] =>
  Object.keys(properties).filter((name) => pathFields.test(name))

describe('half a character', () => {
  it('in a part of the address is no 5xx, and of a file a 400', async () => {
    const sent: Sent[] = []
    for (const operation of operations)
      for (const { name } of operation.parameters.filter((one) => one.in === 'path')) {
        const target = address(operation, { [name]: 'HALF' }).replace('HALF', encodedHalf)
        sent.push(await send(operation, target))
      }
    expect(sent.length).toBeGreaterThan(90)
    expect(sent.filter(isFault)).toEqual([])
    // Unknown ids have one answer, so only paths in what exists are refused.
    const files = sent.filter(({ name }) => name.includes(`${session}/files/${encodedHalf}`))
    expect(files.map(({ name, status }) => [name, status])).toEqual(files.map(({ name }) => [name, 400]))
    expect(files.length).toBeGreaterThan(3)
  })

  it('in a query is no 5xx', async () => {
    const sent: Sent[] = []
    for (const operation of operations)
      for (const { name } of operation.parameters.filter((one) => one.in === 'query'))
        sent.push(await send(operation, `${address(operation, {})}?${name}=${encodedHalf}`))
    expect(sent.length).toBeGreaterThan(60)
    expect(sent.filter(isFault)).toEqual([])
  })

  itInTurn('in the working directory of a job is a 400, also in a change', async () => {
    const job = { name: 'Nightly', schedule: 'every 1h', prompt: 'go' }
    const made = await call<{ id: string }>('POST', '/api/jobs', { key, body: { ...job, workdir: 'a/b' } })
    expect(made.status).toBe(201)
    for (const [method, path, body] of [
      ['POST', '/api/jobs', job],
      ['PATCH', `/api/jobs/${made.body.id}`, {}],
    ] as const)
      for (const workdir of [half, 'a\0b']) {
        const refused = await call<ErrorBody>(method, path, { key, body: { ...body, workdir } })
        expect([refused.status, refused.body.error.param]).toEqual([400, 'workdir'])
      }
  })

  it('in every text of a body is no 5xx, and in a path a 400', async () => {
    const failed: Sent[] = []
    const paths: Sent[] = []
    for (const operation of operations)
      for (const [name, schema] of Object.entries(operation.body?.properties ?? {})) {
        const isPath = listPathFields(operation.body ?? {}).includes(name)
        const value = schema.type === 'array' ? [half] : half
        const given = { ...(sample(operation.body ?? {}) as object), [name]: value }
        const one = await send(operation, address(operation, {}), given)
        const named = { ...one, name: `${one.name} ${name}` }
        if (isFault(named)) failed.push(named)
        // An unknown id is answered before the body is looked at.
        if (isPath && one.status !== 404) paths.push(named)
      }
    expect(failed).toEqual([])
    expect(paths.map(({ name, status }) => [name, status])).toEqual(paths.map(({ name }) => [name, 400]))
    expect(paths.length).toBeGreaterThan(2)
  })
})
