/**
 * Stands in for Vertex AI and for Google's tokens: it verifies the assertion of the service account, gives tokens of an
 * hour, and answers at the address of the project and the location of the request alone.
 */

import { exportPKCS8, generateKeyPair, jwtVerify } from 'jose'

const tokenUrl = 'https://oauth2.googleapis.com/token'
const scope = 'https://www.googleapis.com/auth/cloud-platform'
const model =
  /^https:\/\/([\w.-]+)\/v1\/projects\/(p-1)\/locations\/([\w-]+)\/publishers\/google\/models\/([\w.-]+):(\w+)/

export type VertexApi = Awaited<ReturnType<typeof createVertexApi>>

/** All accounts have the same key, because keys take long to make. */
const keys = Promise.all([createKey(), createKey()])
let accounts = 0

export async function createVertexApi() {
  const [own, stranger] = await keys
  const email = `agent-${++accounts}@p-1.iam.gserviceaccount.com`
  const file = {
    type: 'service_account',
    project_id: 'p-1',
    private_key_id: '0123456789abcdef',
    private_key: own.pem,
    client_email: email,
    // An account that a stranger gave may name any address.
    token_uri: 'https://evil.example.com/token',
  }
  const state = { calls: [] as string[], issued: 0, valid: '', answerToken: undefined as (() => Response) | undefined }

  async function grant(request: Request): Promise<Response> {
    state.calls.push(request.url)
    if (state.answerToken) return state.answerToken()
    const form = new URLSearchParams(await request.text())
    try {
      if (form.get('grant_type') !== 'urn:ietf:params:oauth:grant-type:jwt-bearer') throw new Error('grant_type')
      const rules = { audience: tokenUrl, issuer: email, algorithms: ['RS256'], maxTokenAge: '1h' }
      const { payload } = await jwtVerify(form.get('assertion') ?? '', own.publicKey, rules)
      if (payload['scope'] !== scope) throw new Error('scope')
    } catch {
      return Response.json({ error: 'invalid_grant', error_description: 'Invalid JWT Signature.' }, { status: 400 })
    }
    state.valid = `ya29.a0-${++state.issued}-0123456789abcdefghij`
    return Response.json({ access_token: state.valid, expires_in: 3_599, token_type: 'Bearer' })
  }

  /** Undefined: the address is none of Google's. */
  async function answer(request: Request): Promise<Response | undefined> {
    if (request.url === tokenUrl) return grant(request)
    const [, host, project, location = '', , method] = model.exec(request.url) ?? []
    if (project === undefined) return undefined
    state.calls.push(request.url)
    if (host !== hosts(location)) return refuse(404, 'NOT_FOUND', `${host} does not serve ${location}.`)
    if (request.headers.has('x-goog-api-key')) return refuse(400, 'INVALID_ARGUMENT', 'API keys are not supported.')
    if (request.headers.get('authorization') !== `Bearer ${state.valid}`)
      return refuse(401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.')
    const content = { role: 'model', parts: [{ text: 'Hello from Vertex.' }] }
    const whole = { candidates: [{ content, finishReason: 'STOP' }], usageMetadata: { promptTokenCount: 3 } }
    if (method === 'generateContent') return Response.json(whole)
    const headers = { 'content-type': 'text/event-stream' }
    return new Response(`data: ${JSON.stringify(whole)}\n\n`, { headers })
  }
  return { file, state, answer, strangerKey: stranger.pem }
}

async function createKey() {
  const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true })
  return { publicKey, pem: await exportPKCS8(privateKey) }
}

const hosts = (location: string): string =>
  ({ global: 'aiplatform.googleapis.com', eu: 'aiplatform.eu.rep.googleapis.com' })[location] ??
  `${location}-aiplatform.googleapis.com`

const refuse = (code: number, status: string, message: string) =>
  Response.json({ error: { code, status, message } }, { status: code })
