/** Tests for each platform what its set-up sends to the platform, and that a refused delivery stores nothing. */

import { env, listDurableObjectIds } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import type { ApiCall } from '../../support/json-api.ts'
import { createDingtalkApi } from '../../support/dingtalk-api.ts'
import { createDiscordApi } from '../../support/discord-api.ts'
import { createFeishuApi } from '../../support/feishu-api.ts'
import { createGithubApi } from '../../support/github-api.ts'
import { createGoogleChatApi } from '../../support/google-chat-api.ts'
import { createQqApi } from '../../support/qq-api.ts'
import { createTwitchApi } from '../../support/twitch-api.ts'
import { createWecomApi } from '../../support/wecom-api.ts'
import { createRocketApi, createTalkApi, createZulipApi } from '../../support/hook-apis.ts'
import { createLineApi } from '../../support/line-api.ts'
import { createLinearApi } from '../../support/linear-api.ts'
import { createMattermostApi } from '../../support/mattermost-api.ts'
import { createMatrixApi } from '../../support/matrix-api.ts'
import { createMetaApi } from '../../support/meta-api.ts'
import { createTeamsApi } from '../../support/teams-api.ts'
import { createSignalApi } from '../../support/signal-api.ts'
import { createSlackApi } from '../../support/slack-api.ts'
import { createTelegramApi } from '../../support/telegram-api.ts'
import { createTwilioApi } from '../../support/twilio-api.ts'
import { createWebexApi } from '../../support/webex-api.ts'
import { createWhatsappApi } from '../../support/whatsapp-api.ts'
import { createZaloApi } from '../../support/zalo-api.ts'
import { until } from '../../support/scripted-model.ts'
import { applyMigrations, assignMail, bindings, call, newTenant, request } from '../client.ts'

beforeAll(applyMigrations)

const webhookSecret = 'w'.repeat(32)
const [discordApi, telegramApi] = [createDiscordApi(), createTelegramApi()]
const [slackApi, smsApi, whatsappApi] = [createSlackApi(), createTwilioApi(), createWhatsappApi()]
const [lineApi, messengerApi, instagramApi] = [createLineApi(), createMetaApi(), createMetaApi()]
const googleChatApi = createGoogleChatApi()
const matrixApi = createMatrixApi()
const teamsApi = createTeamsApi()
const mattermostApi = createMattermostApi()
const [dingtalkApi, zaloApi] = [createDingtalkApi(), createZaloApi()]
const [qqApi, wecomApi, twitchApi] = [createQqApi(), createWecomApi(), createTwitchApi()]
const [githubApi, linearApi, webexApi] = [createGithubApi(), createLinearApi(), createWebexApi()]
const [feishuApi, signalApi] = [createFeishuApi(), createSignalApi()]
const [talkApi, zulipApi, rocketApi] = [createTalkApi(), createZulipApi(), createRocketApi()]
const metaSecrets = { app_secret: 'app', verify_token: 'v' }
const metaForged = { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` }
const listCalls = (calls: readonly ApiCall[]) => () => calls.map(({ method, path }) => `${method} ${path}`)

type Platform = {
  readonly secrets: Readonly<Record<string, string>>
  readonly settings?: object
  /** The names of all calls so far. */
  readonly calls: () => readonly string[]
  /** The calls that follow each other when the set-up is tested. */
  readonly tested: readonly string[]
  /** The name of the bot, or why the deployment cannot have one. */
  readonly account?: string
  readonly refusal?: string
  readonly forged: Readonly<Record<string, string>>
}

const platforms: Readonly<Record<string, Platform>> = {
  telegram: {
    secrets: { bot_token: telegramApi.token, webhook_secret: webhookSecret },
    calls: () => telegramApi.registrations.map(({ method }) => method),
    tested: ['setWebhook', 'getWebhookInfo', 'setMyCommands'],
    account: '',
    forged: { 'x-telegram-bot-api-secret-token': `${webhookSecret}x` },
  },
  slack: {
    secrets: { bot_token: slackApi.token, signing_secret: 's' },
    calls: listCalls(slackApi.api.calls),
    tested: ['POST /api/auth.test'],
    account: 'talaria',
    forged: { 'x-slack-request-timestamp': '1', 'x-slack-signature': 'v0=00' },
  },
  discord: {
    secrets: { bot_token: discordApi.token, public_key: 'ab'.repeat(32), application_id: '999' },
    calls: listCalls(discordApi.calls),
    tested: ['GET /api/v10/users/@me', 'POST /api/v10/applications/999/commands', 'PATCH /api/v10/applications/@me'],
    account: 'talaria',
    forged: { 'x-signature-timestamp': '1', 'x-signature-ed25519': 'ab'.repeat(64) },
  },
  whatsapp: {
    secrets: { access_token: whatsappApi.token, app_secret: 'app', verify_token: 'v', phone_number_id: 'PNID' },
    calls: listCalls(whatsappApi.api.calls),
    tested: ['GET /v23.0/PNID', 'POST /v23.0/PNID'],
    account: 'Talaria',
    forged: { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` },
  },
  sms: {
    secrets: { account_sid: smsApi.sid, auth_token: smsApi.token, from: '+15550001111' },
    calls: listCalls(smsApi.api.calls),
    tested: [
      `GET /2010-04-01/Accounts/${smsApi.sid}.json`,
      `GET /2010-04-01/Accounts/${smsApi.sid}/IncomingPhoneNumbers.json`,
      `POST /2010-04-01/Accounts/${smsApi.sid}/IncomingPhoneNumbers/PN00000000000000000000000000000001.json`,
    ],
    account: 'Talaria',
    forged: { 'x-twilio-signature': btoa('x'.repeat(20)) },
  },
  twilio_whatsapp: {
    secrets: { account_sid: smsApi.sid, auth_token: smsApi.token, from: '+15550001111' },
    calls: listCalls(smsApi.api.calls),
    tested: [`GET /2010-04-01/Accounts/${smsApi.sid}.json`],
    account: 'Talaria',
    forged: { 'x-twilio-signature': btoa('x'.repeat(20)) },
  },
  rcs: {
    secrets: { account_sid: smsApi.sid, auth_token: smsApi.token, from: 'brand_agent' },
    calls: listCalls(smsApi.api.calls),
    tested: [`GET /2010-04-01/Accounts/${smsApi.sid}.json`],
    account: 'Talaria',
    forged: { 'x-twilio-signature': btoa('x'.repeat(20)) },
  },
  line: {
    secrets: { channel_access_token: lineApi.token, channel_secret: 's' },
    calls: listCalls(lineApi.api.calls),
    tested: ['GET /v2/bot/info', 'PUT /v2/bot/channel/webhook/endpoint', 'GET /v2/bot/channel/webhook/endpoint'],
    account: 'Talaria',
    forged: { 'x-line-signature': btoa('x'.repeat(32)) },
  },
  google_chat: {
    secrets: { service_account: googleChatApi.serviceAccount },
    settings: { audience: '4711' },
    calls: listCalls(googleChatApi.api.calls),
    tested: ['GET /v1/spaces'],
    account: 'bot-1@project.iam.gserviceaccount.com',
    forged: { authorization: 'Bearer a.b.c' },
  },
  teams: {
    secrets: teamsApi.secrets,
    calls: listCalls(teamsApi.api.calls),
    tested: [],
    account: '28:app-',
    forged: { authorization: 'Bearer a.b.c' },
  },
  nextcloud_talk: {
    secrets: { secret: talkApi.secret },
    settings: { url: 'https://nextcloud.test' },
    calls: listCalls(talkApi.api.calls),
    tested: [],
    account: 'bot',
    forged: {
      'x-nextcloud-talk-backend': 'https://nextcloud.test',
      'x-nextcloud-talk-random': 'x',
      'x-nextcloud-talk-signature': '00',
    },
  },
  zulip: {
    secrets: zulipApi.secrets,
    settings: { url: 'https://zulip.test' },
    calls: listCalls(zulipApi.api.calls),
    tested: ['GET /api/v1/users/me'],
    account: 'Talaria',
    forged: {},
  },
  rocketchat: {
    secrets: rocketApi.secrets,
    settings: { url: 'https://rocketchat.test' },
    calls: listCalls(rocketApi.api.calls),
    tested: ['GET /api/v1/me'],
    account: 'talaria',
    forged: {},
  },
  feishu: {
    secrets: feishuApi.secrets,
    calls: listCalls(feishuApi.api.calls),
    tested: ['GET /open-apis/bot/v3/info'],
    account: 'Talaria',
    forged: { 'x-lark-request-timestamp': '1', 'x-lark-request-nonce': 'n', 'x-lark-signature': '00' },
  },
  signal: {
    secrets: signalApi.secrets,
    settings: { url: 'https://signal.test' },
    calls: listCalls(signalApi.api.calls),
    tested: ['GET /v1/about'],
    account: '+15550001111',
    forged: {},
  },
  mattermost: {
    secrets: mattermostApi.secrets,
    settings: { url: 'https://mattermost.test' },
    calls: listCalls(mattermostApi.api.calls),
    tested: ['GET /api/v4/users/me', 'GET /api/v4/users/me/teams', 'GET /api/v4/commands'],
    account: 'talaria',
    forged: {},
  },
  webex: {
    secrets: webexApi.secrets,
    calls: listCalls(webexApi.api.calls),
    tested: [
      'GET /v1/people/me',
      'GET /v1/webhooks',
      'DELETE /v1/webhooks/h1',
      'DELETE /v1/webhooks/h2',
      'POST /v1/webhooks',
      'POST /v1/webhooks',
    ],
    account: 'Talaria',
    forged: { 'x-spark-signature': '0'.repeat(40) },
  },
  dingtalk: {
    secrets: dingtalkApi.secrets,
    calls: listCalls(dingtalkApi.api.calls),
    tested: [],
    account: 'ding-',
    forged: { timestamp: '1', sign: 'x' },
  },
  zalo: {
    secrets: zaloApi.secrets,
    calls: () => zaloApi.api.calls.map(({ path }) => path.split('/').at(-1) ?? ''),
    tested: ['getMe', 'setWebhook'],
    account: 'bot.Talaria',
    forged: { 'x-bot-api-secret-token': 'x' },
  },
  qq: {
    secrets: qqApi.secrets,
    calls: listCalls(qqApi.api.calls),
    tested: ['GET /users/@me'],
    account: 'Talaria',
    forged: { 'x-bot-appid': qqApi.secrets.app_id, 'x-signature-timestamp': '1', 'x-signature-ed25519': '0' },
  },
  wecom: { secrets: wecomApi.secrets, calls: () => [], tested: [], account: 'AI bot', forged: {} },
  twitch: {
    secrets: twitchApi.secrets,
    calls: listCalls(twitchApi.api.calls),
    tested: [
      'GET /helix/users',
      'GET /helix/eventsub/subscriptions',
      'DELETE /helix/eventsub/subscriptions',
      'POST /helix/eventsub/subscriptions',
    ],
    account: 'talaria',
    forged: { 'twitch-eventsub-message-signature': `sha256=${'0'.repeat(64)}` },
  },
  github: {
    secrets: githubApi.secrets,
    calls: listCalls(githubApi.api.calls),
    tested: ['GET /user'],
    account: 'Talaria-Bot',
    forged: { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` },
  },
  phone: {
    secrets: { account_sid: smsApi.sid, auth_token: smsApi.token, from: '+15550001111' },
    calls: listCalls(smsApi.api.calls),
    tested: [
      `GET /2010-04-01/Accounts/${smsApi.sid}.json`,
      `GET /2010-04-01/Accounts/${smsApi.sid}/IncomingPhoneNumbers.json`,
      `POST /2010-04-01/Accounts/${smsApi.sid}/IncomingPhoneNumbers/PN00000000000000000000000000000001.json`,
    ],
    account: '+15550001111',
    forged: { 'x-twilio-signature': btoa('x'.repeat(20)) },
  },
  linear: {
    secrets: linearApi.secrets,
    calls: listCalls(linearApi.api.calls),
    tested: ['POST /graphql'],
    account: 'Talaria',
    forged: { 'linear-signature': '0'.repeat(64) },
  },
  matrix: {
    secrets: { access_token: matrixApi.token },
    settings: { url: 'https://matrix.test' },
    calls: listCalls(matrixApi.api.calls),
    tested: ['GET /_matrix/client/v3/account/whoami', 'POST /_matrix/client/v3/pushers/set'],
    account: 'talaria',
    forged: {},
  },
  messenger: {
    secrets: { ...metaSecrets, page_access_token: messengerApi.token, page_id: '101580000000001' },
    calls: listCalls(messengerApi.api.calls),
    tested: ['GET /v23.0/me', 'POST /v23.0/101580000000001/subscribed_apps'],
    account: 'Talaria',
    forged: metaForged,
  },
  instagram: {
    secrets: { ...metaSecrets, access_token: instagramApi.token, account_id: '178414000000001' },
    calls: listCalls(instagramApi.api.calls),
    tested: ['GET /v23.0/me', 'POST /v23.0/178414000000001/subscribed_apps'],
    account: 'talaria',
    forged: metaForged,
  },
  email: {
    secrets: {},
    settings: { address: 'setup@talaria.test' },
    calls: () => [],
    tested: [],
    refusal: 'the deployment has no binding EMAIL',
    forged: { 'x-envelope-from': 'anna@x.test', 'x-envelope-to': 'setup@talaria.test' },
  },
}

type Made = { readonly id: string; readonly webhook_url: string }

async function createChannel(platform: string) {
  const { id, key } = await newTenant()
  await assignMail(id)
  const { secrets = {}, settings = {} } = platforms[platform] ?? {}
  const body = { platform, secrets, settings: { allow_users: ['*'], allow_chats: ['*'], ...settings } }
  const made = await call<Made>('POST', '/api/channels', { key, body })
  expect(made.status).toBe(201)
  const remove = () => call('DELETE', `/api/channels/${made.body.id}`, { key })
  return { ...made.body, key, remove }
}

/** Rows of every table of D1, and the objects that exist. */
async function countStored() {
  const found = await bindings.DB.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all<{ name: string }>()
  const names = found.results.map(({ name }) => name).filter((name) => !/^(_cf|sqlite_)/.test(name))
  const counts = names.map((name) => bindings.DB.prepare(`SELECT count(*) AS n FROM "${name}"`).first<number>('n'))
  const sessions = await listDurableObjectIds(env.SESSION)
  const tenants = await listDurableObjectIds(env.TENANT)
  return { rows: await Promise.all(counts), objects: [sessions.length, tenants.length] }
}

describe.each(Object.keys(platforms))('%s', (platform) => {
  const { calls, tested, account, refusal, forged } = platforms[platform]!

  it('tests the secrets with the platform, and registers what it has an API for', async () => {
    const { id, key, remove } = await createChannel(platform)
    const before = calls().length
    const answer = await call<{ ok: boolean; detail: string }>('POST', `/api/channels/${id}/test`, { key })
    const detail = expect.stringContaining(refusal ?? `Connected as ${account}`)
    expect(answer.body).toEqual({ ok: refusal === undefined, detail })
    const made = calls()
      .slice(before)
      .filter((one) => !one.includes('gateway'))
    expect(made).toEqual(tested)
    await remove()
  })

  it('stores nothing of a delivery that it refuses', async () => {
    const { id, remove } = await createChannel(platform)
    const before = await countStored()
    for (const headers of [{}, forged]) {
      const answer = await request('POST', `/webhooks/${platform}/${id}`, {
        key: null,
        headers,
        body: { update_id: 1, message: { text: 'hi' } },
      })
      expect([answer.status, await answer.text()]).toEqual([401, ''])
    }
    expect(await countStored()).toEqual(before)
    await remove()
  })
})

it('GitHub needs an app or a token, whole', async () => {
  const { key } = await newTenant()
  const { token, webhook_secret } = githubApi.secrets
  const refusalOf = async (secrets: object) => {
    const answer = await call<{ error: { param: string } }>('POST', '/api/channels', {
      key,
      body: { platform: 'github', secrets },
    })
    return [answer.status, answer.body.error?.param]
  }
  expect(await refusalOf({ webhook_secret })).toEqual([400, 'secrets.app_id'])
  expect(await refusalOf({ webhook_secret, app_id: '1', installation_id: '2' })).toEqual([400, 'secrets.app_id'])
  expect(await refusalOf({ webhook_secret, token })).toEqual([201, undefined])
})

it('Discord gets the command and the address for interactions, and forgets the address at the end', async () => {
  const api = discordApi
  const before = api.calls.length
  const { webhook_url: address, remove } = await createChannel('discord')
  const listSent = () =>
    api.calls
      .slice(before)
      .filter(({ path }) => path.includes('/applications/'))
      .map(({ body, headers }) => [headers.get('authorization'), body])
  const bot = `Bot ${api.token}`
  const option = { name: 'text', description: expect.any(String), type: 3, required: true }
  const registered = [
    [bot, { name: 'talaria', type: 1, description: expect.any(String), options: [option] }],
    [bot, { interactions_endpoint_url: address }],
  ]
  expect(listSent()).toEqual(registered)
  await remove()
  await until(() => listSent().length > 2)
  expect(listSent()).toEqual([...registered, [bot, { interactions_endpoint_url: null }]])
})

it('Twilio and WhatsApp get the address of their number, and forget it at the end', async () => {
  const [sms, whatsapp] = [smsApi.api.calls, whatsappApi.api.calls]
  const before = [sms.length, whatsapp.length]
  const bodiesOf = (calls: readonly ApiCall[], from = 0) =>
    calls.slice(from).flatMap(({ method, body }) => (method === 'POST' ? [body] : []))
  const sent = () => [bodiesOf(sms, before[0]), bodiesOf(whatsapp, before[1])]
  const number = await createChannel('sms')
  const business = await createChannel('whatsapp')
  const registered = { SmsUrl: number.webhook_url, SmsMethod: 'POST' }
  const override = { override_callback_uri: business.webhook_url, verify_token: 'v' }
  expect(sent()).toEqual([[registered], [{ webhook_configuration: override }]])
  await number.remove()
  await business.remove()
  await until(() => sent().every(({ length }) => length === 2))
  expect(sent()).toEqual([
    [registered, { SmsUrl: '', SmsMethod: 'POST' }],
    [{ webhook_configuration: override }, { webhook_configuration: { override_callback_uri: '' } }],
  ])
})

it('Messenger and LINE send messages to the channel until it is removed', async () => {
  const page = await createChannel('messenger')
  const official = await createChannel('line')
  expect([messengerApi.api.subscribed, lineApi.api.endpoint]).toEqual([
    'messages,messaging_postbacks',
    official.webhook_url,
  ])
  await page.remove()
  await official.remove()
  await until(() => messengerApi.api.subscribed === undefined && lineApi.api.endpoint === '')
})
