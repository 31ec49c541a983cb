/**
 * Finds the roles of a Discord bot in a server. Discord gives each bot a role with its name, so people mention the role
 * where they mean the bot.
 */

import * as z from 'zod'
import { BoundedMap } from '#agent/core/bounded-map.ts'
import type { ChannelConnection } from '#channels/channel.ts'
import { callDiscord } from '#channels/discord/discord-api.ts'
import { clock } from '#durable/platform/clock.ts'

const mentioning = z.object({ guild_id: z.string().regex(/^\d{1,20}$/), mention_roles: z.array(z.string()).min(1) })
const member = z.object({ roles: z.array(z.string()) })

const maxServers = 1_000
/** The bot may be given other roles. */
const freshMs = 600_000

export class OwnRoles {
  readonly #known = new BoundedMap<string, { readonly at: number; readonly roles: string[] }>(maxServers)

  /** Empty for a message that mentions no role. Rejects while Discord does not answer. */
  async find(connection: ChannelConnection, data: unknown, userId: string | undefined): Promise<string[]> {
    const server = mentioning.safeParse(data).data?.guild_id
    if (server === undefined || userId === undefined) return []
    const known = this.#known.get(server)
    if (known && clock.now() - known.at < freshMs) return known.roles
    const answer = await callDiscord(connection, { method: 'GET', path: `guilds/${server}/members/${userId}` })
    const { kind, detail } = answer.kind === 'failed' ? answer.outcome : { kind: 'sent', detail: '' }
    if (kind === 'retry' || kind === 'ambiguous')
      throw new Error(`Discord does not tell the roles of the bot: ${detail}`)
    const roles = (answer.kind === 'done' && member.safeParse(answer.result).data?.roles) || []
    this.#known.set(server, { at: clock.now(), roles })
    return roles
  }
}
