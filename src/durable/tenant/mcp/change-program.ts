/** Turns the fields of a request into a stored MCP server that is a program on the hosts of sessions. */

import { hasScope } from '#agent/core/permission/authority.ts'
import {
  listDefined,
  type Refusal,
  refusal,
  sealValue,
  type ServerChangeContext,
  type ServerFields,
} from './change-server.ts'
import { variableOwner } from './list-server.ts'
import { defaultConfig, programUrl, type SealedHeader, type ServerConfig, type StoredServer } from './server-row.ts'

/** `hasHost`: a host of the deployment runs programs. */
type ProgramContext = ServerChangeContext & { readonly hasHost: boolean }

/** Variables that a change does not name stay. */
export async function buildProgram(
  fields: ServerFields,
  context: ProgramContext,
  stored?: StoredServer,
): Promise<{ readonly config: ServerConfig } | { readonly refusal: Refusal }> {
  const refused = findMistake(fields, context, stored) ?? findMissingScope(fields, context)
  if (refused) return refused
  const { env: given = {}, ...plain } = fields
  const known: ServerConfig = stored?.config ?? { ...defaultConfig, alias: plain.alias ?? '', url: '' }
  const { alias } = known
  const env: Record<string, SealedHeader> = { ...known.env }
  for (const [name, value] of Object.entries(given))
    env[name] = await sealValue(context.env, value, variableOwner(context.tenantId, alias, name))
  return { config: { ...known, ...listDefined(plain), alias, transport: 'stdio', url: programUrl(alias), env } }
}

function findMistake(fields: ServerFields, { hasHost }: ProgramContext, stored?: StoredServer) {
  if (!hasHost)
    return refusal(
      'not_configured',
      'transport',
      'A server that is a program needs a host that runs programs: set SANDBOX_BACKEND. Or give the url of an HTTP server.',
    )
  if (stored && stored.config.transport !== 'stdio')
    return refusal('invalid_request', 'transport', 'A server with an address does not become a program. Add a new one.')
  if (!stored && fields.command === undefined)
    return refusal('invalid_request', 'command', 'Give the command of the program.')
  const addressed = (['url', 'auth', 'token', 'headers', 'oauth'] as const).find((name) => fields[name] !== undefined)
  return addressed === undefined
    ? undefined
    : refusal('invalid_request', addressed, 'A program has no address and no headers: give what it needs in env.')
}

/** It runs where the commands of sessions run, so that only a person who may approve these chooses it. */
const findMissingScope = ({ command, args, env, trusted }: ServerFields, { authority }: ServerChangeContext) =>
  (command !== undefined || args || env || trusted) && !hasScope(authority, 'approve')
    ? refusal('insufficient_scope', 'command', 'To choose what runs on hosts, the key needs the scope approve.')
    : undefined
