/**
 * Sends hostile requests that are generated from the OpenAPI document. No answer is a 5xx, and every answer matches its
 * schema. `FUZZ` is the number of requests, `FUZZ_SEED` the seed; a failure names the seed of its request, which
 * `FUZZ=1 FUZZ_SEED=N` repeats.
 */

import { env } from 'cloudflare:workers'
import { beforeAll, expect, it, vi } from 'vitest'
import { model, says } from '../support/scripted-model.ts'
import { adminKey, applyMigrations, call, newKey, newSession, request } from './client.ts'
import { expectDocumented } from './described.ts'
import { listOperations, type JsonSchema, type Operation, sample } from './document.ts'

const { FUZZ = '300', FUZZ_SEED = '1' } = env as unknown as Readonly<Record<string, string | undefined>>
const [count, firstSeed] = [Number(FUZZ), Number(FUZZ_SEED)]
const concurrent = 8
/** How often each status was answered. */
const statuses = new Map<number, number>()
const requestsPerTenant = 200
/** Generous for a busy machine; only a request that hangs exceeds it. */
const timeoutMs = 30_000

type Random = {
  readonly below: (limit: number) => number
  readonly pick: <T>(list: readonly T[]) => T
  readonly chance: (of: number) => boolean
}

/** Mulberry32. */
function createRandom(seed: number): Random {
  let state = Math.imul(seed, 0x9e3779b1) | 0
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return { below, pick: (list) => list[below(list.length)] as never, chance: (of) => below(of) === 0 }
}

const strings = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\uD800',
  'x\uDFFFy',
  '\u202Eevil',
  '\u{1F600}'.repeat(50),
  '__proto__',
  'constructor',
  'toString',
  '../../etc/passwd',
  '..\\..',
  '/',
  '//',
  '%',
  '%00',
  '%2e%2e%2f',
  '%ff%fe',
  "'; DROP TABLE session; --",
  '"%*_ OR NEAR(',
  '*',
  'a*b*',
  '-x -y',
  '{{7*7}}',
  '${x}',
  '<script>',
  'a\r\nx-injected: 1',
  'null',
  'undefined',
  'NaN',
  '1e999',
  '-1',
  '0x10',
  '9'.repeat(400),
  'x'.repeat(5_000),
  'default',
  'talaria',
  'data:image/png;base64,!!!!',
  'https://[::1]/',
  'javascript:1',
  '/help',
]
const numbers = [0, -0, -1, 1, 0.5, 1e308, -1e308, 2 ** 31, 2 ** 53, 2 ** 53 + 2, Number.MIN_VALUE, 1e21]
const values = [null, true, false, [], {}, [[]], [null], { a: 1 }, ...numbers, ...strings.slice(0, 12)]

const deepObject = (depth: number): unknown => {
  let value: unknown = 1
  for (let n = 0; n < depth; n++) value = n % 2 ? [value] : { a: value }
  return value
}

/** Names that JSON text may have and object literals may not. */
const withProto = (value: object, inner: unknown): object =>
  Object.defineProperty({ ...value }, '__proto__', { value: inner, enumerable: true })

function mutate(random: Random, value: unknown, depth = 0): unknown {
  if (random.chance(depth === 0 ? 12 : 5)) return random.pick(values)
  if (typeof value === 'string') return random.chance(2) ? random.pick(strings) : value
  if (typeof value === 'number') return random.pick(numbers)
  if (Array.isArray(value)) {
    const changed = value.map((one: unknown) => mutate(random, one, depth + 1))
    return random.chance(4) ? [...changed, random.pick(values)] : changed
  }
  if (typeof value !== 'object' || value === null) return random.pick(values)
  const entries = Object.entries(value).filter(() => !random.chance(10))
  const changed = Object.fromEntries(
    entries.map(([name, inner]) => [name, random.chance(3) ? mutate(random, inner, depth + 1) : inner]),
  )
  if (random.chance(8)) return { ...changed, [random.pick(strings)]: random.pick(values) }
  return random.chance(12) ? withProto(changed, random.pick(values)) : changed
}

/** A value of the schema, with some of the optional fields. */
function generate(random: Random, schema: JsonSchema, depth = 0): unknown {
  if (depth > 6) return null
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return generate(random, random.pick(choices), depth + 1)
  if (schema.type === 'object' && schema.properties) {
    const named = Object.entries(schema.properties).filter(
      ([name]) => schema.required?.includes(name) || random.chance(4),
    )
    return Object.fromEntries(named.map(([name, inner]) => [name, generate(random, inner, depth + 1)]))
  }
  if (schema.type === 'array') {
    const length = Math.max(schema.minItems ?? 0, random.below(3))
    return Array.from({ length }, () => generate(random, schema.items ?? {}, depth + 1))
  }
  if (schema.enum) return random.pick(schema.enum)
  return sample(schema)
}

function textOf(random: Random, schema: JsonSchema | undefined): string | Uint8Array {
  const valid = generate(random, schema ?? {})
  const text = JSON.stringify(random.chance(4) ? valid : mutate(random, valid)) ?? ''
  switch (random.below(16)) {
    case 0:
      return text.slice(0, random.below(text.length + 1))
    case 1:
      return `\uFEFF${text}`
    case 2:
      return new Uint8Array([0xff, 0xfe, 0x00, 0xc3, 0x28, ...new TextEncoder().encode(text)])
    case 3:
      return JSON.stringify(deepObject(50 + random.below(2_000)))
    case 4:
      return `${'['.repeat(20_000)}`
    case 5:
      return JSON.stringify({ ...(valid as object), filler: 'x'.repeat(100_000) })
    case 6:
      return text.replace('{', '{"__proto__":{"admin":true},')
    case 7:
      return text + text
    default:
      return text
  }
}

/** Ids that exist. Most requests should get past the check of the id. */
type Pool = { readonly keys: readonly string[]; readonly ids: readonly string[]; readonly session: string }

const resourceOf = ({ path }: Operation, pool: Pool): string =>
  path.startsWith('/api/sessions/') ? pool.session : (pool.ids[0] ?? 'x')

function addressOf(random: Random, operation: Operation, pool: Pool): string {
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    // A deleted session would turn the rest of its requests into 404s.
    const isKept = operation.method !== 'DELETE' || operation.path !== '/api/sessions/{id}' || random.chance(20)
    if (name === 'id' && isKept && !random.chance(4)) return resourceOf(operation, pool)
    const value = random.chance(3) ? random.pick(strings) : random.pick([...pool.ids, '1', 'a.txt'])
    return random.chance(6) ? value.replace(/[\s?#]/g, '') : encodeURIComponent(value.toWellFormed())
  })
  const query = operation.parameters.flatMap((one) => {
    if (one.in !== 'query' || (!one.required && !random.chance(3))) return []
    const value = random.chance(2) ? random.pick(strings) : String(generate(random, one.schema))
    return [`${one.name}=${random.chance(8) ? value.replace(/[\s#]/g, '') : encodeURIComponent(value.toWellFormed())}`]
  })
  if (random.chance(10)) query.push(`${encodeURIComponent(random.pick(strings).toWellFormed())}=1`)
  return query.length ? `${path}?${query.join('&')}` : path
}

function headersOf(random: Random, operation: Operation): Record<string, string> {
  const names = operation.parameters.flatMap((one) => (one.in === 'header' ? [one.name] : []))
  const extra = ['content-type', 'accept', 'origin', 'x-forwarded-for', 'x-http-method-override', 'range', 'if-match']
  const chosen = [...names, ...extra].filter(() => random.chance(6))
  return Object.fromEntries(chosen.map((name) => [name, random.pick([...strings, 'multipart/form-data', 'gzip'])]))
}

/** The runtime refuses some headers before they are sent, and warns about characters beyond Latin-1. */
function sendable(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name, value]) => {
      try {
        return /^[\t -~\u0080-\u00FF]*$/.test(value) && Boolean(new Headers({ [name]: value }))
      } catch {
        return false
      }
    }),
  )
}

async function newPool(n: number): Promise<Pool> {
  const id = `fuzz${n}`
  await call('POST', '/api/admin/tenants', { body: { id, name: id } })
  const key = await newKey(id, ['chat', 'read', 'write', 'jobs', 'approve'])
  const { id: scripted } = model(() => says('ok'))
  await call('PATCH', '/api/settings', { key, body: { model: { default: scripted } } })
  const { id: session } = await newSession({ model: scripted }, key)
  const chat = await call<{ run_id: string }>('POST', `/api/sessions/${session}/chat`, { key, body: { input: 'hi' } })
  const response = await call<{ id: string }>('POST', '/v1/responses', { key, body: { input: 'hi' } })
  return {
    keys: [key, key, key, key, adminKey, 'nonsense'],
    ids: [chat.body.run_id, response.body.id, session],
    session,
  }
}

/** They ask services that have no stand-in here, so nothing answers: where media come from, and where accounts sign in. */
const unanswered = [
  { path: /^\/v1\/(?:audio|images)\//, code: 'provider_error' },
  { path: /^\/api\/credentials\/oauth(?:\?|$)/, code: 'unavailable' },
]

async function sendOne(seed: number, operations: readonly Operation[], pool: Pool): Promise<void> {
  const random = createRandom(seed)
  const operation = random.pick(operations)
  const address = addressOf(random, operation, pool)
  const hasBody = operation.method !== 'GET' && operation.method !== 'DELETE'
  const options = {
    key: operation.scope === null ? null : random.pick(pool.keys),
    headers: sendable(headersOf(random, operation)),
    ...(hasBody && { body: textOf(random, operation.body) }),
  }
  const name = `seed ${seed}: ${operation.method} ${address.slice(0, 300)}`
  // A context may have 10 000 timers.
  let timer: ReturnType<typeof setTimeout> | null = null
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${name} hangs`)), timeoutMs)
  })
  const answered = request(operation.method, address, options).then(async (response) => {
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
    if (isStream) return { response, text: undefined, ended: await response.body?.cancel() }
    return { response, text: await response.text() }
  })
  const { response, text } = await Promise.race([answered, late]).finally(() => clearTimeout(timer))
  statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
  const code = unanswered.find(({ path }) => path.test(address))?.code ?? 'not_configured'
  const isMissing = response.status >= 501 && [`"${code}"`, '"not_configured"'].some((one) => text?.includes(one))
  if (response.status >= 500 && !isMissing) throw new Error(`${name} → ${response.status} ${text?.slice(0, 500)}`)
  if (text === undefined) return
  try {
    expectDocumented(operation.method, new URL(address, 'https://talaria.test').pathname, { response, text })
  } catch (error) {
    throw new Error(`${name} → ${response.status}: ${String(error).slice(0, 2_000)}`, { cause: error })
  }
}

beforeAll(applyMigrations)

it(`${count} hostile requests from seed ${firstSeed} get no 5xx, and answers that match their schemas`, async () => {
  vi.spyOn(console, 'warn').mockReturnValue(undefined)
  const operations = await listOperations()
  const failures: string[] = []
  for (let from = 0; from < count; from += requestsPerTenant) {
    const pool = await newPool(from)
    const seeds = Array.from({ length: Math.min(requestsPerTenant, count - from) }, (_, n) => firstSeed + from + n)
    const worker = async () => {
      for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift())
        await sendOne(seed, operations, pool).catch((error: unknown) => failures.push(String(error)))
    }
    await Promise.all(Array.from({ length: concurrent }, worker))
    if (failures.length > 20) break
  }
  expect(failures).toEqual([])
  // An eighth is accepted, or the requests prove little.
  const accepted = [...statuses].reduce((sum, [status, n]) => sum + (status < 300 ? n : 0), 0)
  console.log('answers by status:', JSON.stringify(Object.fromEntries(statuses)))
  expect(accepted).toBeGreaterThan(count >= 1_000 ? count / 8 : -1)
}, 3_600_000)
