/** Tests that no connection of a platform that pushes or rings has an alarm while nobody writes. */

import { env, runInDurableObject } from 'cloudflare:test'
import { beforeAll, expect, it } from 'vitest'
import { createDingtalkApi } from '../../support/dingtalk-api.ts'
import { createFeishuApi } from '../../support/feishu-api.ts'
import { createGithubApi } from '../../support/github-api.ts'
import { createQqApi } from '../../support/qq-api.ts'
import { createTwitchApi } from '../../support/twitch-api.ts'
import { createWecomApi } from '../../support/wecom-api.ts'
import { createRocketApi, createTalkApi, createZulipApi } from '../../support/hook-apis.ts'
import { createGoogleChatApi } from '../../support/google-chat-api.ts'
import { createLineApi } from '../../support/line-api.ts'
import { createLinearApi } from '../../support/linear-api.ts'
import { createMetaApi } from '../../support/meta-api.ts'
import { createTwilioApi } from '../../support/twilio-api.ts'
import { createMatrixApi } from '../../support/matrix-api.ts'
import { createMattermostApi } from '../../support/mattermost-api.ts'
import { createSignalApi } from '../../support/signal-api.ts'
import { createTeamsApi } from '../../support/teams-api.ts'
import { createWebexApi } from '../../support/webex-api.ts'
import { createWhatsappApi } from '../../support/whatsapp-api.ts'
import { createZaloApi } from '../../support/zalo-api.ts'
import { listPlatforms } from '#channels/channels.ts'
import { applyMigrations, call, newTenant } from '../../worker/client.ts'

beforeAll(applyMigrations)

const metaSecrets = { app_secret: 'app-secret', verify_token: 'verify-token' }

it('platforms that push or ring are connected without an alarm', async () => {
  const { id: tenant, key } = await newTenant()
  const matrix = createMatrixApi()
  const connections: readonly (readonly [string, object, string?])[] = [
    ['matrix', { access_token: matrix.token }, 'https://matrix.test'],
    ['teams', createTeamsApi().secrets],
    ['feishu', createFeishuApi().secrets],
    ['nextcloud_talk', { secret: createTalkApi().secret }, 'https://nextcloud.test'],
    ['zulip', createZulipApi().secrets, 'https://zulip.test'],
    ['rocketchat', createRocketApi().secrets, 'https://rocketchat.test'],
    ['mattermost', createMattermostApi().secrets, 'https://mattermost.test'],
    ['webex', createWebexApi().secrets],
    ['dingtalk', createDingtalkApi().secrets],
    ['zalo', createZaloApi().secrets],
    ['qq', createQqApi().secrets],
    ['wecom', createWecomApi().secrets],
    ['twitch', createTwitchApi().secrets],
    ['github', createGithubApi().secrets],
    ['linear', createLinearApi().secrets],
    ['signal', createSignalApi().secrets, 'https://signal.test'],
    ['line', { channel_access_token: createLineApi().token, channel_secret: 'line-secret' }],
    ['messenger', { ...metaSecrets, page_access_token: createMetaApi().token, page_id: '99' }],
    ['instagram', { ...metaSecrets, access_token: createMetaApi().token, account_id: '99' }],
    [
      'whatsapp',
      {
        access_token: createWhatsappApi().token,
        app_secret: 'app',
        verify_token: 'verify',
        phone_number_id: 'PNID',
      },
    ],
    ['telnyx_phone', { api_key: 'KEY1', public_key: `${'A'.repeat(43)}=`, from: '+15550001111' }],
    ['google_chat', { service_account: createGoogleChatApi().serviceAccount }],
    ...['sms', 'twilio_whatsapp', 'rcs', 'phone'].map((platform) => {
      const { sid, token } = createTwilioApi()
      const from = platform === 'rcs' ? 'talaria_agent' : '+15550001111'
      return [platform, { account_sid: sid, auth_token: token, from }] as const
    }),
  ]
  // The others are in idle-month.test.ts, and Discord keeps a socket.
  const others = ['telegram', 'slack', 'email', 'discord']
  expect([...connections.map(([platform]) => platform), ...others].toSorted()).toEqual(listPlatforms().toSorted())
  const ids: string[] = []
  for (const [platform, secrets, url] of connections) {
    const body = { platform, secrets, settings: url === undefined ? {} : { url } }
    const made = await call<{ id: string }>('POST', '/api/channels', { key, body })
    expect([platform, made.status]).toEqual([platform, 201])
    ids.push(made.body.id)
  }
  const receivers = ids.map((id) => env.CONNECTION!.getByName(`t/${tenant}/c/${id}`))
  const stubs = [...receivers, env.TENANT.getByName(`t/${tenant}`)]
  const alarms = await Promise.all(
    stubs.map((one) => runInDurableObject(one, (_object, { storage }) => storage.getAlarm())),
  )
  expect(alarms).toEqual(stubs.map(() => null))
  expect(matrix.api.syncs).toBe(1)
})
