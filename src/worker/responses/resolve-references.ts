/** Replaces references to items by the items, and completes calls of the agent whose result the client did not send. */

import { type ItemKind, parseItemId } from '#agent/public-api/responses/item-ids.ts'
import { invalid } from '../errors.ts'
import { withData } from './item-data.ts'
import type { RouteCall } from '../route.ts'
import { addressSession } from '../sessions.ts'
import {
  type KnownInputItem,
  isMessage,
  isReference,
  type McpCallItem,
  parseItems,
  type PlacedItem,
} from './response-items.ts'

const maxReferences = 500
const maxConcurrent = 20

/** Throws 400 for a reference to an item that does not exist, or is another tenant's. */
export async function resolveReferences(
  call: Pick<RouteCall<unknown, unknown>, 'env' | 'authority' | 'tenant'>,
  items: readonly PlacedItem[],
): Promise<readonly PlacedItem[]> {
  const references = items.filter(({ one }) => isReference(one) || lacksOutput(one))
  if (references.length > maxReferences) throw invalid(`At most ${maxReferences} references to items.`, 'input')
  const found = new Map<PlacedItem, readonly PlacedItem[]>()
  for (let at = 0; at < references.length; at += maxConcurrent)
    await Promise.all(
      references.slice(at, at + maxConcurrent).map(async (placed) => found.set(placed, await resolve(call, placed))),
    )
  return items.flatMap((placed) => found.get(placed) ?? [placed])
}

const lacksOutput = (one: KnownInputItem): boolean =>
  !isMessage(one) &&
  one.type === 'mcp_call' &&
  (one as McpCallItem).output == null &&
  (one as McpCallItem).error == null

/**
 * Thinking stays with the run that had it, and a request for an approval is known by its answer. Both say what comes from
 * the agent.
 */
const emptyItems: Partial<Record<ItemKind, string>> = { rs: 'reasoning', mcpr: 'mcp_approval_request' }

async function resolve(
  call: Pick<RouteCall<unknown, unknown>, 'env' | 'authority' | 'tenant'>,
  placed: PlacedItem,
): Promise<readonly PlacedItem[]> {
  const { env, authority } = call
  const { one, param } = placed
  const id = String(one.id ?? '')
  const parsed = parseItemId(id)
  const type = parsed && emptyItems[parsed.kind]
  if (type !== undefined) return [{ one: { type, id } as KnownInputItem, param }]
  const item = parsed && (await addressSession(env, authority.tenantId, parsed.sessionId).responses.item(authority, id))
  if (item) {
    const whole = await withData(call, JSON.parse(item) as KnownInputItem)
    return parseItems([whole]).map((found) => ({ ...found, param }))
  }
  // A call that the client describes itself stays, without a result.
  if (!isReference(one)) return [placed]
  throw invalid(`There is no item with the id ${JSON.stringify(id)}. Send the item itself.`, `${param}.id`)
}
