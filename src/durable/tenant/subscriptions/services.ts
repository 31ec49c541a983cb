/**
 * Describes the services that are paid by subscription, as the public clients of their makers sign in to them. None of it
 * is verified live.
 */

import { decodeBase64Url, encodeBase64Url } from '#agent/core/base64.ts'
import { omitUndefined } from '#agent/providers/catalog/json-values.ts'
import { isJsonObject, type JsonObject, parseJson } from '#agent/core/parse-json.ts'
import type { SubscriptionTokens } from '#durable/models/subscription-tokens.ts'
import { clock } from '#durable/platform/clock.ts'
import type { GuardedFetch } from '#durable/platform/guarded-fetch.ts'
import { sha256 } from '#durable/platform/hash.ts'

/** A sign-in that waits for the person. */
export type DeviceSignIn = {
  readonly device: string
  readonly userCode: string
  readonly verificationUrl: string
  /** Seconds. */
  readonly interval: number
  readonly lifetime: number
  /** Proves at the end that it began here. */
  readonly verifier?: string
}

export type PollAnswer =
  | { readonly kind: 'tokens'; readonly tokens: SubscriptionTokens; readonly label?: string }
  | { readonly kind: 'pending'; readonly isTooFast?: boolean }
  | TokenFailure

/** `refused`: the service has decided. `failed`: it could not be asked. */
export type TokenFailure = { readonly kind: 'refused' | 'failed'; readonly reason: string }

type Ask = (path: string, request: AskedRequest) => Promise<Asked>
type AskedRequest = {
  readonly form?: Readonly<Record<string, string>>
  readonly json?: object
  readonly headers?: Readonly<Record<string, string>>
}
/** The status is zero when the service could not be reached. */
type Asked = { readonly status: number; readonly body: JsonObject }

export type Service = {
  readonly start: () => Promise<DeviceSignIn | TokenFailure>
  readonly poll: (signIn: DeviceSignIn) => Promise<PollAnswer>
  readonly renew: (tokens: SubscriptionTokens) => Promise<Extract<PollAnswer, { kind: 'tokens' }> | TokenFailure>
}

const timeoutMs = 15_000
const maxBytes = 256 * 1024

const createAsk =
  (guardedFetch: GuardedFetch, base: string): Ask =>
  async (path, { form, json, headers }) => {
    const body = form ? new URLSearchParams(form).toString() : json && JSON.stringify(json)
    try {
      const { response } = await guardedFetch({
        url: path.startsWith('https:') ? path : `${base}${path}`,
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          accept: 'application/json',
          'user-agent': 'Talaria',
          ...(body !== undefined && {
            'content-type': form ? 'application/x-www-form-urlencoded' : 'application/json',
          }),
          ...headers,
        },
        body,
        timeoutMs,
        maxBytes,
        ports: 'service',
        isTrusted: true,
      })
      const answer = parseJson(await response.text())
      return { status: response.status, body: isJsonObject(answer) ? answer : {} }
    } catch {
      return { status: 0, body: {} } // The address is ours or the deployment's, so only the way to it fails.
    }
  }

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
const numberOf = (value: unknown, fallback: number): number => {
  const number = Number(value)
  return Number.isFinite(number) && number > 0 ? number : fallback
}

/** Free text of a service may repeat what was sent, so only its code is shown. */
function explainFailure({ status, body }: Asked): TokenFailure {
  const nested = isJsonObject(body['error']) ? (body['error']['code'] ?? body['error']['type']) : body['error']
  const code = /^[\w.-]{1,64}$/.exec(textOf(nested))?.[0]
  const reason = status === 0 ? 'the service cannot be reached' : `it answered ${code ?? `with status ${status}`}`
  return { kind: status === 0 || status === 429 || status >= 500 ? 'failed' : 'refused', reason }
}

/** The claims of a token that came from the service itself. */
function readClaims(token: unknown): JsonObject {
  try {
    const payload = parseJson(decodeBase64Url(textOf(token).split('.')[1] ?? ''))
    return isJsonObject(payload) ? payload : {}
  } catch {
    return {}
  }
}

type Issued = Extract<PollAnswer, { kind: 'tokens' }>

/** Undefined when the answer holds no token that a header can carry. A service that sends no refresh token keeps the old one. */
function readIssued(body: JsonObject, before?: SubscriptionTokens): Issued | undefined {
  const access = textOf(body['access_token'])
  if (!/^[\x21-\x7e]{1,16384}$/.test(access)) return undefined
  const claims = { ...readClaims(access), ...readClaims(body['id_token']) }
  const label = textOf(claims['email'])
  const tokens = {
    access,
    issuedAt: clock.now(),
    refresh: textOf(body['refresh_token']) || before?.refresh,
    expiresAt: readEnd(body, access),
    account: readAccount(claims) || before?.account,
    baseUrl: readResourceUrl(body['resource_url']) ?? before?.baseUrl,
  }
  return { kind: 'tokens', tokens: omitUndefined<SubscriptionTokens>(tokens), ...(label && { label }) }
}

/** Services that name no time mean that of the token itself. */
function readEnd(body: JsonObject, access: string): number | undefined {
  const seconds = numberOf(body['expires_in'], 0)
  const end = seconds ? clock.now() + seconds * 1e3 : numberOf(readClaims(access)['exp'], 0) * 1e3
  return end || undefined
}

function readAccount(claims: JsonObject): string {
  const openai = claims['https://api.openai.com/auth']
  return textOf(isJsonObject(openai) ? openai['chatgpt_account_id'] : claims['sub'])
}

/** Qwen names a host, with or without a scheme and `/v1`. */
function readResourceUrl(given: unknown): string | undefined {
  const host = textOf(given)
  if (!host) return undefined
  const url = URL.parse(host.startsWith('http') ? host : `https://${host}`)
  if (!url || url.username || url.search) return undefined
  return `${url.origin}${url.pathname.replace(/\/{1,9}$/, '').replace(/\/v1$/, '')}/v1`
}

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

type DeviceFlow = {
  readonly clientId: string
  readonly scope: string
  readonly devicePath: string
  readonly tokenPath: string
  readonly usesVerifier?: boolean
}

/** Signs in by RFC 8628. */
function deviceFlow(ask: Ask, flow: DeviceFlow): Service {
  const { clientId: client_id, scope, devicePath, tokenPath, usesVerifier } = flow
  return {
    async start() {
      const verifier = encodeBase64Url(crypto.getRandomValues(new Uint8Array(32)))
      const challenge = encodeBase64Url(await sha256(verifier))
      const proof = usesVerifier ? { code_challenge: challenge, code_challenge_method: 'S256' } : {}
      const asked = await ask(devicePath, { form: { client_id, scope, ...proof } })
      const { body } = asked
      const device = textOf(body['device_code'])
      const verificationUrl = textOf(body['verification_uri_complete']) || textOf(body['verification_uri'])
      if (!device || URL.parse(verificationUrl)?.protocol !== 'https:') return explainFailure(asked)
      return {
        device,
        userCode: textOf(body['user_code']),
        verificationUrl,
        interval: numberOf(body['interval'], 5),
        lifetime: numberOf(body['expires_in'], 900),
        ...(usesVerifier && { verifier }),
      }
    },
    async poll({ device, verifier }) {
      const form = {
        client_id,
        grant_type: deviceGrant,
        device_code: device,
        ...(verifier && { code_verifier: verifier }),
      }
      const asked = await ask(tokenPath, { form })
      const error = textOf(asked.body['error'])
      if (error === 'authorization_pending') return { kind: 'pending' }
      if (error === 'slow_down') return { kind: 'pending', isTooFast: true }
      return (asked.status === 200 ? readIssued(asked.body) : undefined) ?? explainFailure(asked)
    },
    async renew(tokens) {
      const form = { client_id, grant_type: 'refresh_token', refresh_token: tokens.refresh ?? '' }
      const asked = await ask(tokenPath, { form })
      return (asked.status === 200 ? readIssued(asked.body, tokens) : undefined) ?? explainFailure(asked)
    },
  }
}

/** OpenAI's own form: the person confirms a code, then the client redeems another one for tokens. */
function signInToChatgpt(ask: Ask, base: string): Service {
  const client_id = 'app_EMoamEEZ73f0CkXaXp7hrann'
  const redeem = async (form: Readonly<Record<string, string>>, before?: SubscriptionTokens) => {
    const asked = await ask('/oauth/token', { form: { client_id, ...form } })
    return (asked.status === 200 ? readIssued(asked.body, before) : undefined) ?? explainFailure(asked)
  }
  return {
    async start() {
      const asked = await ask('/api/accounts/deviceauth/usercode', { json: { client_id } })
      const { body } = asked
      const device = textOf(body['device_auth_id'])
      const userCode = textOf(body['user_code']) || textOf(body['usercode'])
      if (asked.status === 404)
        return { kind: 'refused', reason: 'sign-in by code is switched off in the security settings of ChatGPT' }
      if (!device || !userCode) return explainFailure(asked)
      return {
        device,
        userCode,
        verificationUrl: `${base}/codex/device`,
        interval: numberOf(body['interval'], 5),
        lifetime: 900,
      }
    },
    async poll({ device, userCode }) {
      const json = { device_auth_id: device, user_code: userCode }
      const asked = await ask('/api/accounts/deviceauth/token', { json })
      if (asked.status === 403 || asked.status === 404) return { kind: 'pending' }
      const [code, verifier] = [textOf(asked.body['authorization_code']), textOf(asked.body['code_verifier'])]
      if (asked.status !== 200 || !code) return explainFailure(asked)
      return redeem({
        grant_type: 'authorization_code',
        code,
        redirect_uri: `${base}/deviceauth/callback`,
        code_verifier: verifier,
      })
    },
    renew: (tokens) =>
      redeem(
        {
          grant_type: 'refresh_token',
          refresh_token: tokens.refresh ?? '',
          scope: 'openid profile email',
        },
        tokens,
      ),
  }
}

/** GitHub's token stays valid, and is exchanged for one of Copilot that lives for half an hour. */
function signInToCopilot(ask: Ask, exchangeUrl: string): Service {
  const flow = deviceFlow(ask, {
    clientId: 'Iv1.b507a08c87ecfe98',
    scope: 'read:user',
    devicePath: '/login/device/code',
    tokenPath: '/login/oauth/access_token',
  })
  const exchange = async (github: string, before?: SubscriptionTokens): Promise<Issued | TokenFailure> => {
    const asked = await ask(exchangeUrl, {
      headers: {
        authorization: `token ${github}`,
        'editor-version': 'vscode/1.104.1',
        'editor-plugin-version': 'copilot-chat/0.26.7',
        'copilot-integration-id': 'vscode-chat',
      },
    })
    const { status, body } = asked
    const access = textOf(body['token'])
    if (status === 403 || status === 404) return { kind: 'refused', reason: 'the account has no GitHub Copilot' }
    if (status !== 200 || !/^[\x21-\x7e]{1,16384}$/.test(access)) return explainFailure(asked)
    const api = isJsonObject(body['endpoints']) ? textOf(body['endpoints']['api']) : before?.baseUrl
    const expiresAt = numberOf(body['expires_at'], clock.now() / 1e3 + 1_500) * 1e3
    return {
      kind: 'tokens',
      tokens: { access, refresh: github, issuedAt: clock.now(), expiresAt, ...(api && { baseUrl: api }) },
    }
  }
  return {
    start: flow.start,
    poll: async (signIn) => {
      const answer = await flow.poll(signIn)
      return answer.kind === 'tokens' ? exchange(answer.tokens.access) : answer
    },
    renew: (tokens) => exchange(tokens.refresh ?? '', tokens),
  }
}

const usualBases: Readonly<Record<string, string>> = {
  'openai-codex': 'https://auth.openai.com',
  copilot: 'https://github.com',
  'xai-oauth': 'https://auth.x.ai',
  'qwen-oauth': 'https://chat.qwen.ai',
}

/** `<PROVIDER>_AUTH_URL` of the deployment replaces the address that people sign in to. */
export function createService(env: Env, provider: string, guardedFetch: GuardedFetch): Service {
  const variable = `${provider.toUpperCase().replaceAll('-', '_')}_AUTH_URL`
  const own = textOf((env as unknown as JsonObject)[variable]).replace(/\/{1,9}$/, '')
  const base = own || (usualBases[provider] as string)
  const ask = createAsk(guardedFetch, base)
  switch (provider) {
    case 'openai-codex':
      return signInToChatgpt(ask, base)
    case 'copilot':
      return signInToCopilot(
        ask,
        own ? '/copilot_internal/v2/token' : 'https://api.github.com/copilot_internal/v2/token',
      )
    case 'xai-oauth':
      return deviceFlow(ask, {
        clientId: 'b1a00492-073a-47ea-816f-4c329264a828',
        scope: 'openid profile email offline_access grok-cli:access api:access',
        devicePath: '/oauth2/device/code',
        tokenPath: '/oauth2/token',
      })
    default:
      return deviceFlow(ask, {
        clientId: 'f0304373b74a44d2b584a3fb70ca9e56',
        scope: 'openid profile email model.completion',
        devicePath: '/api/v1/oauth2/device/code',
        tokenPath: '/api/v1/oauth2/token',
        usesVerifier: true,
      })
  }
}
