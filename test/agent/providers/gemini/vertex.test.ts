/** Tests Gemini at Vertex AI: tokens of service accounts, and the addresses of projects and locations. */

import { describe, expect, it } from 'vitest'
import { userText } from '#agent/core/message.ts'
import { getProvider } from '#agent/providers/profiles/providers.ts'
import { classifyError } from '#agent/providers/errors/classify-error.ts'
import { resolveRoute } from '#agent/routing/route.ts'
import { createGemini } from '#agent/providers/gemini/gemini.ts'
import { withServiceAccounts } from '#backends/dialects/vertex.ts'
import { createSkippingClock } from '#test/support/clock.ts'
import { createVertexApi, type VertexApi } from '#test/support/vertex-api.ts'

type Route = { readonly variables?: Record<string, string>; readonly file?: object; readonly isTenantAddress?: true }

function createCalls(api: VertexApi, prefix = 'https://', clock = createSkippingClock()) {
  const send = async (request: Request) => {
    const url = request.url.startsWith(prefix) ? request.url.replace(prefix, 'https://') : 'https://unknown.test'
    const answer = await api.answer(new Request(url, request))
    return answer ?? Response.json({ error: { code: 404, message: `no ${url}` } }, { status: 404 })
  }
  const dialect = withServiceAccounts(createGemini(send), send, clock)
  return async ({ variables = {}, file = {}, isTenantAddress }: Route = {}) => {
    const key = JSON.stringify({ ...api.file, ...file })
    const route = resolveRoute('vertex/gemini-3.5-flash', { variables: { VERTEX_SERVICE_ACCOUNT: key, ...variables } })
    const endpoint = { ...route!.endpoints[0]!, ...(isTenantAddress && { isTenantAddress }) }
    const { message } = await dialect.call(
      { model: 'gemini-3.5-flash', system: '', transcript: [userText('Hi')], tools: [] },
      endpoint,
      { signal: AbortSignal.timeout(20_000), onDelta: () => {}, onActivity: () => {}, sleep: () => Promise.resolve() },
    )
    return message.content
  }
}
const spoken = [{ type: 'text', text: 'Hello from Vertex.' }]
const lastUrl = ({ state }: VertexApi) => state.calls.at(-1)

describe('the provider vertex', () => {
  it.each([
    [{}, {}, 'aiplatform.googleapis.com', 'global'],
    [{ VERTEX_LOCATION: 'europe-west4' }, {}, 'europe-west4-aiplatform.googleapis.com', 'europe-west4'],
    [{ GOOGLE_CLOUD_LOCATION: 'eu' }, {}, 'aiplatform.eu.rep.googleapis.com', 'eu'],
    [{ VERTEX_LOCATION: 'eu' }, { location: 'us-east1' }, 'us-east1-aiplatform.googleapis.com', 'us-east1'],
    [{}, { location: 'evil.example.com/x' }, 'aiplatform.googleapis.com', 'global'],
  ])('with %j and %j calls %s', async (variables: Record<string, string>, file, host, location) => {
    const api = await createVertexApi()
    expect(await createCalls(api)({ variables, file })).toEqual(spoken)
    expect(lastUrl(api)).toBe(
      `https://${host}/v1/projects/p-1/locations/${location}/publishers/google/models/gemini-3.5-flash:streamGenerateContent?alt=sse`,
    )
  })

  it('asks for one token for all that wait, and for the next before its end', async () => {
    const clock = createSkippingClock()
    const api = await createVertexApi()
    const call = createCalls(api, 'https://', clock)
    await Promise.all(Array.from({ length: 20 }, () => call()))
    await call()
    expect(api.state.issued).toBe(1)
    clock.pass(3_599 * 800 + 1)
    await call()
    expect(api.state.issued).toBe(2)
  })

  it('asks for another token when the service refuses the one it has, and once alone', async () => {
    const api = await createVertexApi()
    const call = createCalls(api)
    await call()
    api.state.valid = 'revoked'
    expect(await call()).toEqual(spoken)
    expect(api.state.issued).toBe(2)
  })

  it('waits for no exchange that has died with its object', async () => {
    const clock = createSkippingClock()
    const api = await createVertexApi()
    const call = createCalls(api, 'https://', clock)
    const { promise: stuck, resolve } = Promise.withResolvers<Response>()
    api.state.answerToken = () => stuck as unknown as Response
    const first = call().catch(() => {})
    await expect.poll(() => api.state.calls.length).toBe(1)
    api.state.answerToken = undefined
    const second = call()
    await expect.poll(() => (clock.pass(5_000), api.state.calls.length), { interval: 20 }).toBeGreaterThan(2)
    expect(await second).toEqual(spoken)
    resolve(Response.json({}))
    await first
  })

  it('also asks for tokens behind the prefix of the deployment, and never at the address of the file', async () => {
    const api = await createVertexApi()
    const variables = { MODEL_ADDRESS_PREFIX: 'https://egress.test/models' }
    expect(await createCalls(api, 'https://egress.test/models/')({ variables })).toEqual(spoken)
    expect(api.state.calls[0]).toBe('https://oauth2.googleapis.com/token')
    // The address of a tenant names no place for assertions.
    const evil = { VERTEX_BASE_URL: 'https://evil.test/aiplatform.googleapis.com/v1/projects/-/locations/x/publishers' }
    await expect(createCalls(api)({ variables: evil, isTenantAddress: true })).rejects.toThrow('no https://evil.test/')
    expect(api.state.calls.filter((url) => url.includes('token'))).toEqual(
      Array.from({ length: 2 }, () => 'https://oauth2.googleapis.com/token'),
    )
  })

  it.each<readonly [string, (api: VertexApi) => object, RegExp, string]>([
    [
      'a key that Google does not know',
      ({ strangerKey }) => ({ private_key: strangerKey }),
      /refused the service account agent-\d+@p-1\S+: Invalid JWT/,
      'auth',
    ],
    [
      'a key that is none',
      () => ({ private_key: 'secret' }),
      /private_key of the service account agent-\d+@p-1/,
      'auth',
    ],
    ['no project', () => ({ project_id: '' }), /not the JSON of a service account with a project/, 'auth'],
    ['a project that changes the address', () => ({ project_id: 'p/../../x' }), /not the JSON of a service/, 'auth'],
  ])('says what is wrong with %s, without the key', async (_name, fileOf, words, kind) => {
    const api = await createVertexApi()
    const error: unknown = await createCalls(api)({ file: fileOf(api) }).catch((thrown: unknown) => thrown)
    expect(String(error)).toMatch(words)
    expect(String(error)).not.toMatch(/PRIVATE KEY|secret/)
    expect(classifyError(error, { model: 'gemini-3.5-flash' } as never).kind).toBe(kind)
  })

  it('tries again when Google gives no token for the moment', async () => {
    const api = await createVertexApi()
    api.state.answerToken = () => new Response('busy', { status: 503 })
    const error: unknown = await createCalls(api)().catch((thrown: unknown) => thrown)
    expect(String(error)).toContain('Google gives no token (503)')
    expect(classifyError(error, { model: 'gemini-3.5-flash' } as never).kind).toBe('overloaded')
  })

  it('takes a key in base64, and is one key although JSON has commas', async () => {
    const api = await createVertexApi()
    const json = JSON.stringify(api.file, null, 2)
    const variables = { VERTEX_SERVICE_ACCOUNT: btoa(json) }
    expect(await createCalls(api)({ variables })).toEqual(spoken)
    const route = resolveRoute('google-vertex/gemini-3.5-flash', { variables: { VERTEX_SERVICE_ACCOUNT: json } })
    expect(route?.endpoints.map(({ key }) => key)).toEqual([json])
    expect(getProvider('vertex-ai')?.id).toBe('vertex')
  })
})
