/** `/api/commands`: the commands that a message can begin with, for menus of clients. */

import * as z from 'zod'
import { type CommandSpec, commandGroups, commandTable } from '#agent/policy/slash-command/command-table.ts'
import { scopes } from '#agent/core/permission/authority.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { pageByPosition } from '../../input/page.ts'
import { route } from '../../route.ts'
import { nameSchemas } from '../../schema-names.ts'
import { listOf, longPageQuery, ok } from '../../shapes.ts'

const commandShape = z.object({
  name: z.string(),
  aliases: z.array(z.string()),
  usage: z.string().describe('The arguments, as /help shows them.'),
  description: z.string(),
  group: z.enum([...commandGroups, 'skill']),
  scope: z.enum(scopes).describe('The scope that a key needs.'),
  busy: z
    .enum(['dispatch', 'interrupt', 'wait', 'refuse'])
    .describe(
      'While a turn runs: it works beside it, stops it, counts from the next turn or model call on, or is refused.',
    ),
  chats_only: z.boolean().describe('Only available in chats of a channel.'),
})
nameSchemas({ Command: commandShape })

const view = ({ name, aliases = [], usage, description, group, scope, busy, isForChats }: CommandSpec) => ({
  name,
  aliases,
  usage,
  description,
  group,
  scope,
  busy,
  chats_only: isForChats === true,
})

export const commandRoutes = [
  route({
    method: 'get',
    path: '/api/commands',
    id: 'listCommands',
    scope: 'read',
    tag: 'Sessions',
    summary: 'Commands that a message can begin with, then the skills that can be used as one',
    query: z.strictObject(longPageQuery),
    responses: ok('Commands in the order of /help', listOf(commandShape)),
    handle: async ({ env, tenant, authority, query }) => {
      const table: readonly CommandSpec[] = commandTable
      const skills = await tenantStub(env, tenant.id).skills.list(authority)
      const offered = skills.flatMap(({ archivedAt, head }) =>
        archivedAt === undefined ? [skillView(head.name, head.description)] : [],
      )
      return Response.json(pageByPosition([...table.filter(({ isHidden }) => !isHidden).map(view), ...offered], query))
    },
  }),
]

/** Names of commands have `-` for `_`. */
const skillView = (name: string, description: string) => ({
  name: name.replaceAll('_', '-'),
  aliases: [],
  usage: 'REQUEST',
  description,
  group: 'skill' as const,
  scope: 'chat' as const,
  busy: 'dispatch' as const,
  chats_only: false,
})
