/** Pages lists of items as OpenAI does. */

import * as z from 'zod'
import { invalid } from '../errors.ts'
import { pageLimit } from '../shapes.ts'

/** Not strict: SDKs add `include` in several notations. */
export const pageQuery = z.object({
  limit: pageLimit(100).default(20),
  order: z.enum(['asc', 'desc']).default('desc').describe('By time; desc: newest first.'),
  after: z.string().max(300).optional().describe('The id of the last item of the page before.'),
})

/** `items`: oldest first. */
export function pageItems<Item extends { readonly id: string }>(
  items: readonly Item[],
  { limit, order, after }: z.infer<typeof pageQuery>,
) {
  const ordered = order === 'asc' ? items : items.toReversed()
  const last = after === undefined ? -1 : ordered.findIndex(({ id }) => id === after)
  if (after !== undefined && last < 0) throw invalid('after must be the id of an item of this list.', 'after')
  const rest = ordered.slice(last + 1)
  const data = rest.slice(0, limit)
  return {
    object: 'list' as const,
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: rest.length > data.length,
  }
}
