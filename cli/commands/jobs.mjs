/** `talaria jobs`: lists, makes, runs, pauses and deletes jobs. */

import { createClient } from '../client.mjs'
import { requireConfig } from '../config.mjs'
import { print, printList, printOne } from '../output.mjs'

const jobPath = (id, rest = '') => `/api/jobs/${encodeURIComponent(id)}${rest}`
const minute = (time) => (time ?? '').slice(0, 16).replace('T', ' ')

export async function run({ options, words: [action = 'ls', ...words] }) {
  const client = createClient(requireConfig())
  const [id] = words
  if (action === 'ls') return list(client, options)
  if (action === 'add') return add(client, options, words)
  switch (action) {
    case 'show':
      return print(JSON.stringify(await client.get(jobPath(id)), null, options.json ? 0 : 2))
    case 'runs':
      return listRuns(client, options, id)
    case 'run':
    case 'pause':
    case 'resume': {
      const { body } = await client.call('POST', jobPath(id, `/${action}`), {})
      return printOne(options, body, `${id}: ${action}`)
    }
    case 'rm':
      await client.call('DELETE', jobPath(id))
      return printOne(options, { id, status: 'deleted' }, 'Deleted.')
  }
}

async function list(client, options) {
  printList(options, await client.list('/api/jobs'), ['ID', 'STATE', 'NEXT', 'SCHEDULE', 'NAME'], (job) => [
    job.id,
    job.state,
    minute(job.next_run_at),
    job.display,
    job.name,
  ])
}

async function add(client, { name, deliver, timezone, ...options }, [schedule, ...prompt]) {
  const more = { ...(name && { name }), ...(deliver && { deliver }), ...(timezone && { timezone }) }
  const { body } = await client.call('POST', '/api/jobs', { schedule, prompt: prompt.join(' '), ...more })
  printOne(options, body, `${body.id}: next ${minute(body.next_run_at)} UTC`)
}

async function listRuns(client, options, id) {
  printList(options, await client.list(jobPath(id, '/runs'), 100), ['SLOT', 'STATUS', 'OUTPUT'], (one) => [
    minute(one.slot),
    one.status,
    (one.error ?? one.output ?? '').slice(0, 80).replaceAll('\n', ' '),
  ])
}
