/** Calls GitHub as an installed app, or with the token of an account. */

import { signJwt } from '#durable/platform/sign-jwt.ts'
import { callApi, joinUrl } from '../call-api.ts'
import type { Channel, ChannelConnection, Registration } from '../channel.ts'
import { defineApi, type PlatformRequest } from '../kit/api.ts'
import { defineAppToken, readTokenAnswer, type TokenAnswer, withAppToken } from '../kit/app-token.ts'
import { defineOwnAccount } from '../kit/own-account.ts'
import { pickList, pickText } from '../kit/pick.ts'

/** GitHub refuses calls without the name of a program. */
const commonHeaders = {
  accept: 'application/vnd.github+json',
  'user-agent': 'Talaria',
  'x-github-api-version': '2022-11-28',
}

const call = defineApi({
  headers: () => ({}),
  commonHeaders,
  readFailure: (body) => ({
    message: pickText(body, 'message'),
    details: pickList(body, 'errors')
      .map((one) => pickText(one, 'message') ?? String(one))
      .join('\n'),
  }),
  outcomes: [
    { status: 403, words: /rate limit|abuse detection/i, is: 'busy' },
    { status: 422, words: /too long/i, is: 'too_long' },
    { status: 410, is: 'forbidden' },
  ],
})

const isApp = ({ secrets }: ChannelConnection): boolean => secrets['token'] === undefined

/** The assertion of the app is good for ten minutes. Clocks may differ by one. */
async function headersOfApp({ secrets }: ChannelConnection): Promise<Readonly<Record<string, string>>> {
  const now = Math.floor(Date.now() / 1_000)
  const claims = { iss: secrets['app_id'], iat: now - 60, exp: now + 540 }
  return { authorization: `Bearer ${(await signJwt(secrets['private_key'] ?? '', claims)) ?? ''}` }
}

const callAsApp = async (connection: ChannelConnection, request: PlatformRequest) =>
  call(connection, { ...request, headers: await headersOfApp(connection) })

async function requestToken(connection: ChannelConnection): Promise<TokenAnswer> {
  const { token, installation_id: installation = '' } = connection.secrets
  if (token !== undefined) return { kind: 'granted', token, lifetimeSeconds: 3_600 }
  const url = joinUrl(connection.apiBase, `app/installations/${encodeURIComponent(installation)}/access_tokens`)
  const headers = { ...commonHeaders, ...(await headersOfApp(connection)) }
  return readTokenAnswer(await callApi(url, { method: 'POST', headers }), { token: 'token', error: 'message' })
}

export const callGithub = withAppToken(defineAppToken({ request: requestToken }), call)

/** Apps write under their name with an ending, and are mentioned without it. */
export async function getAccount(connection: ChannelConnection): ReturnType<Channel['getAccount']> {
  const isOfApp = isApp(connection)
  const answer = await (isOfApp
    ? callAsApp(connection, { method: 'GET', path: 'app' })
    : callGithub(connection, { method: 'GET', path: 'user' }))
  if (answer.kind === 'failed') return { refused: answer.outcome.detail }
  const name = pickText(answer.result, isOfApp ? 'slug' : 'login') ?? ''
  return { id: `${name.toLowerCase()}${isOfApp ? '[bot]' : ''}`, name }
}

export const getOwnAccount = defineOwnAccount(getAccount)

/** An app has one webhook, which its API sets. Those of repositories are made by hand. */
export async function register(connection: ChannelConnection, isOn: boolean): Promise<Registration> {
  const { webhookUrl: url, secrets } = connection
  if (!isApp(connection)) {
    const detail = `Enter this address and webhook_secret in the settings of the repository, under Webhooks: ${url}`
    return { ok: true, detail: isOn ? detail : 'Remove the webhook in the settings of the repository.' }
  }
  // GitHub keeps the address of an app; without the secret, nothing that it sends counts.
  if (!isOn) return { ok: true, detail: 'Switch the webhook off in the settings of the app.' }
  const body = { url, content_type: 'json', secret: secrets['webhook_secret'] }
  const set = await callAsApp(connection, { method: 'PATCH', path: 'app/hook/config', body })
  return set.kind === 'failed'
    ? { ok: false, detail: set.outcome.detail }
    : { ok: true, detail: 'GitHub sends the events of the app here.' }
}
