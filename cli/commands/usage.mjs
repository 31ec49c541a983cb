/** `talaria usage`: tokens, cost and limits. */

import { createClient } from '../client.mjs'
import { requireConfig } from '../config.mjs'
import { dollars, note, print, printList } from '../output.mjs'

export async function run({ options: { group, from, to, tz, session, ...options } }) {
  const client = createClient(requireConfig())
  const asked = { limit: '200', group, from, to, tz, session_id: session }
  const query = new URLSearchParams(Object.entries(asked).filter(([, value]) => value !== undefined))
  const report = await client.get(`/api/usage?${query}`)
  if (options.json) return print(JSON.stringify(report))
  const line = (name, sums) =>
    [name, sums.turns, sums.input, sums.cached_read, sums.output, dollars(sums.cost_usd)].map(String)
  const rows = report.data.map(({ key, ...sums }) => [key, sums])
  printList(
    options,
    [...rows, ['total', report.totals]],
    ['KEY', 'TURNS', 'INPUT', 'CACHED', 'OUTPUT', 'COST'],
    ([key, sums]) => line(key, sums),
  )
  for (const { limit, used, max, status } of report.limits) note(`${limit}: ${used} of ${max} (${status})`)
}
