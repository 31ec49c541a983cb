/** Builds the manifest from which Slack creates an app with all scopes and addresses. */

type SlackApp = { readonly name: string; readonly webhookUrl: string; readonly isSocket: boolean }

const scopes = [
  'app_mentions:read',
  'assistant:write',
  'channels:history',
  'channels:read',
  'chat:write',
  'commands',
  'files:read',
  'files:write',
  'groups:history',
  'im:history',
  'mpim:history',
]
const events = [
  'app_mention',
  'member_joined_channel',
  'message.channels',
  'message.groups',
  'message.im',
  'message.mpim',
]

/** With a socket, Slack needs no address. */
export function buildSlackManifest({ name, webhookUrl: url, isSocket }: SlackApp): object {
  const address = isSocket ? {} : { request_url: url }
  const command = { command: '/talaria', description: 'Write to the agent', usage_hint: 'text', should_escape: false }
  return {
    display_information: { name: name.slice(0, 35) },
    features: {
      app_home: { messages_tab_enabled: true, messages_tab_read_only_enabled: false },
      bot_user: { display_name: name.slice(0, 80), always_online: true },
      slash_commands: [{ ...command, ...(!isSocket && { url }) }],
    },
    oauth_config: { scopes: { bot: scopes } },
    settings: {
      event_subscriptions: { ...address, bot_events: events },
      interactivity: { is_enabled: true, ...address },
      org_deploy_enabled: false,
      socket_mode_enabled: isSocket,
      token_rotation_enabled: false,
    },
  }
}
