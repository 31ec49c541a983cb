/** `talaria search`: finds words in the messages of all sessions. */

import { createClient } from '../client.mjs'
import { requireConfig } from '../config.mjs'
import { exits, UsageError } from '../exits.mjs'
import { note, plain, print } from '../output.mjs'

export async function run({ options, words, usage }) {
  const { limit = '20', session, sort } = options
  const q = words.join(' ').trim()
  if (!q || !/^[1-9]\d{0,2}$/.test(limit)) throw new UsageError(`talaria ${usage}`)
  const query = new URLSearchParams({
    q,
    limit: String(Math.min(50, Number(limit))),
    ...(session && { session }),
    ...(sort && { sort }),
  })
  const hits = await createClient(requireConfig()).list(`/api/search?${query}`, Number(limit))
  if (options.json) print(JSON.stringify(hits))
  else for (const hit of hits) print(describe(hit))
  if (!hits.length && !options.json) note('Nothing found.')
  return hits.length ? exits.done : exits.failed
}

const describe = ({ session_id: id, title, role, snippet }) =>
  `${plain(id)}  ${plain(title ?? 'untitled')}\n  ${plain(role)}: ${plain(snippet).replaceAll(/\s+/g, ' ')}`
