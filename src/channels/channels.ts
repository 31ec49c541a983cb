/** Lists the messaging platforms. The code of each is loaded with its first use. */

import type { Channel } from './channel.ts'
import type { rarePlatforms } from './rare-platforms.ts'

type Loader = () => Promise<Channel>

const loadRare = (name: keyof typeof rarePlatforms) => async () =>
  (await import('./rare-platforms.ts')).rarePlatforms[name]

const platforms: Readonly<Record<string, Loader>> = {
  telegram: async () => (await import('./telegram/telegram.ts')).telegram,
  slack: async () => (await import('./slack/slack.ts')).slack,
  discord: async () => (await import('./discord/discord.ts')).discord,
  whatsapp: async () => (await import('./whatsapp/whatsapp.ts')).whatsapp,
  sms: async () => (await import('./sms/sms.ts')).sms,
  line: async () => (await import('./line/line.ts')).line,
  messenger: async () => (await import('./meta/messenger.ts')).messenger,
  instagram: async () => (await import('./meta/instagram.ts')).instagram,
  teams: async () => (await import('./teams/teams.ts')).teams,
  nextcloud_talk: async () => (await import('./nextcloud-talk/nextcloud-talk.ts')).nextcloudTalk,
  zulip: async () => (await import('./zulip/zulip.ts')).zulip,
  rocketchat: async () => (await import('./rocketchat/rocketchat.ts')).rocketchat,
  feishu: async () => (await import('./feishu/feishu.ts')).feishu,
  signal: async () => (await import('./signal/signal.ts')).signal,
  mattermost: async () => (await import('./mattermost/mattermost.ts')).mattermost,
  webex: loadRare('webex'),
  dingtalk: loadRare('dingtalk'),
  zalo: loadRare('zalo'),
  qq: loadRare('qq'),
  wecom: loadRare('wecom'),
  twitch: loadRare('twitch'),
  github: async () => (await import('./github/github.ts')).github,
  linear: loadRare('linear'),
  matrix: async () => (await import('./matrix/matrix.ts')).matrix,
  google_chat: async () => (await import('./google-chat/google-chat.ts')).googleChat,
  twilio_whatsapp: async () => (await import('./sms/twilio-whatsapp.ts')).twilioWhatsapp,
  rcs: async () => (await import('./sms/rcs.ts')).rcs,
  phone: async () => (await import('./phone/phone.ts')).phone,
  telnyx_phone: async () => (await import('./phone/phone.ts')).telnyxPhone,
  email: async () => (await import('./email/email.ts')).email,
}
let current = platforms
const loaded = new Map<string, Channel>()

export const listPlatforms = (): readonly string[] => Object.keys(current)

/** Undefined for an unknown platform. */
export async function loadChannel(platform: string): Promise<Channel | undefined> {
  const known = loaded.get(platform)
  if (known) return known
  const load = Object.hasOwn(current, platform) ? current[platform] : undefined
  const channel = await load?.()
  if (channel) loaded.set(platform, channel)
  return channel
}

/** For tests: adds platforms in this isolate; without an argument only those above are known again. */
export function addPlatforms(more: Readonly<Record<string, Loader>> = {}): void {
  current = { ...platforms, ...more }
  loaded.clear()
}
