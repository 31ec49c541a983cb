/** Calls Mattermost, and keeps the slash command `/talaria` in the teams of the bot. */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import { sha256Hex } from '#durable/platform/hash.ts'
import { callApi, joinUrl } from '../call-api.ts'
import type { Channel, ChannelConnection, Registration } from '../channel.ts'
import { isSameSecret } from '../is-same-secret.ts'
import { defineApi } from '../kit/api.ts'
import { defineOwnAccount } from '../kit/own-account.ts'
import { pickList, pickText } from '../kit/pick.ts'

const command = 'talaria'

export const headersOf = ({ secrets }: ChannelConnection) => ({ authorization: `Bearer ${secrets['bot_token'] ?? ''}` })

export const callMattermost = defineApi({
  prefix: () => 'api/v4/',
  headers: headersOf,
  readFailure: ({ id, message }) => ({
    code: typeof id === 'string' ? id : undefined,
    message: typeof message === 'string' ? message : undefined,
  }),
  outcomes: [
    { words: /too long|exceed|maximum.{0,40}(?:length|size|characters)/i, is: 'too_long' },
    { words: /permission|archived|deleted channel|not a member/i, is: 'forbidden' },
  ],
})

/** Tokens that the server gave to our command, by connection. Asked for again at most once a minute. */
const commandTokens = new BoundedMap<string, { readonly at: number; readonly tokens: readonly string[] }>(500)
const refetchMs = 60_000

/** The token of our command, or of an outgoing webhook. */
export async function hasToken(body: unknown, connection: ChannelConnection): Promise<boolean> {
  const given = pickText(body, 'token')
  if (given === undefined || !connection.secrets['bot_token']) return false
  if (isSameSecret(given, connection.secrets['webhook_token'])) return true
  if (pickText(body, 'command') === undefined) return false
  const known = (await listTokens(connection)).map((one) => isSameSecret(given, one))
  return known.includes(true)
}

async function listTokens(connection: ChannelConnection): Promise<readonly string[]> {
  const key = await sha256Hex(JSON.stringify([connection.webhookUrl, connection.secrets]))
  const cached = commandTokens.get(key)
  if (cached && Date.now() - cached.at < refetchMs) return cached.tokens
  const teams = await listTeams(connection)
  const commands = await Promise.all(teams.map((team) => listCommands(connection, team)))
  const tokens = commands.flat().flatMap((one) => pickText(one, 'token') ?? [])
  commandTokens.set(key, { at: Date.now(), tokens })
  return tokens
}

/** Our own commands of a team. The call answers with a list, which the kit does not read. */
async function listCommands(connection: ChannelConnection, team: string): Promise<readonly unknown[]> {
  const found = await getList(connection, `commands?team_id=${encodeURIComponent(team)}&custom_only=true`)
  return found.filter((one) => pickText(one, 'url') === connection.webhookUrl)
}

async function getList(connection: ChannelConnection, path: string): Promise<readonly unknown[]> {
  const url = joinUrl(connection.apiBase, `api/v4/${path}`)
  const answer = await callApi(url, { method: 'GET', headers: headersOf(connection) }, connection.fetchApi)
  return answer.kind === 'answered' && answer.status === 200 ? pickList({ list: answer.body }, 'list') : []
}

const listTeams = async (connection: ChannelConnection): Promise<readonly string[]> =>
  (await getList(connection, 'users/me/teams')).flatMap((one) => pickText(one, 'id') ?? [])

/** Creates the command in each team of the bot, or removes it. */
export async function register(connection: ChannelConnection, isOn: boolean): Promise<Registration> {
  const teams = await listTeams(connection)
  if (!teams.length) return { ok: false, detail: 'The bot is in no team: add it to one, and test again.' }
  for (const team of teams) {
    const failed = await registerIn(connection, team, isOn)
    if (failed !== undefined) return { ok: false, detail: `/${command}: ${failed}` }
  }
  return { ok: true, detail: isOn ? `/${command} works in ${teams.length} teams.` : `/${command} was removed.` }
}

/** Returns why it failed. */
async function registerIn(connection: ChannelConnection, team: string, isOn: boolean): Promise<string | undefined> {
  const own = await listCommands(connection, team)
  if (isOn && own.length) return undefined
  const removed = isOn ? [] : own.map((one) => pickText(one, 'id') ?? '')
  for (const id of removed)
    await callMattermost(connection, { method: 'DELETE', path: `commands/${encodeURIComponent(id)}` })
  if (!isOn) return undefined
  const body = {
    team_id: team,
    trigger: command,
    method: 'P',
    url: connection.webhookUrl,
    auto_complete: true,
    auto_complete_desc: 'Write to the agent',
    auto_complete_hint: '[text]',
    display_name: 'Talaria',
  }
  const made = await callMattermost(connection, { method: 'POST', path: 'commands', body })
  return made.kind === 'failed' ? made.outcome.detail : undefined
}

export async function getAccount(connection: ChannelConnection): ReturnType<Channel['getAccount']> {
  const answer = await callMattermost(connection, { method: 'GET', path: 'users/me' })
  if (answer.kind === 'failed') return { refused: answer.outcome.detail }
  return { id: pickText(answer.result, 'id') ?? '', name: pickText(answer.result, 'username') ?? '' }
}

export const getOwnAccount = defineOwnAccount(getAccount)
