/** Reads the header that limits the agent's toolsets for one request. */

import { type Authority, narrow } from '#agent/core/permission/authority.ts'
import type { TurnOptions } from '#agent/core/turn-options.ts'
import type { SessionDO } from '#durable/session/session-object.ts'
import { effectiveSettings } from '#durable/tenant/tenant-snapshot.ts'
import { findWiderToolset } from '#tools/find-wider-toolset.ts'
import { isToolsetOrTool } from '#tools/tool-names.ts'
import { AppError, invalid } from '../errors.ts'
import { toolsetsHeader } from '../headers.ts'
import type { RouteCall } from '../route.ts'

const maxNames = 100
const { name: param } = toolsetsHeader

/**
 * Returns the authority of the request, narrowed to the toolsets of the header. `session`: the one that the request
 * continues, whose own policy counts too.
 */
export async function limitToolsets(
  { web, authority, tenant }: Pick<RouteCall<unknown, unknown>, 'web' | 'authority' | 'tenant'>,
  session?: DurableObjectStub<SessionDO>,
): Promise<Authority> {
  const header = web.req.header(param)
  if (header === undefined) return authority
  const names = parseNames(header)
  const own = await session?.info.get(authority)
  const { toolsets } = own ? effectiveSettings(tenant.settings, own.settings, false) : tenant.settings
  const wider = findWiderToolset(names, { ...toolsets, source: own?.source, bounds: authority.toolBounds })
  if (wider !== undefined)
    throw new AppError(403, 'policy', `${wider} has tools that this request may not use.`, { param })
  const narrowed = narrow(authority, { toolBounds: [names] })
  const isOwnLimit = narrowed.toolBounds?.length === authority.toolBounds?.length
  return isOwnLimit ? authority : { ...narrowed, ownBounds: names }
}

/** The toolsets of the header, for a turn whose client brings tools: it keeps those that are named. */
export function namedToolsets({
  web,
  keptToolsets,
}: Pick<RouteCall<unknown, unknown>, 'web'> & { readonly keptToolsets?: readonly string[] | undefined }): Pick<
  TurnOptions,
  'toolsets'
> {
  const header = web.req.header(param)
  if (header !== undefined) return { toolsets: parseNames(header) }
  return keptToolsets ? { toolsets: keptToolsets } : {}
}

function parseNames(header: string): readonly string[] {
  const names = header.split(',').map((name) => name.trim())
  if (names.length > maxNames) throw invalid(`At most ${maxNames} toolsets.`, param)
  const unknown = names.find((name) => !isToolsetOrTool(name))
  if (unknown !== undefined)
    throw invalid(`There is no toolset or tool ${JSON.stringify(unknown)}. GET /v1/toolsets lists them.`, param)
  return names
}
