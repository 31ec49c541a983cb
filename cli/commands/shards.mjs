/** `talaria shards`: lists the databases of histories, and moves a tenant from one to another while it is used. */

import { setTimeout as delay } from 'node:timers/promises'
import { createClient } from '../client.mjs'
import { requireConfig } from '../config.mjs'
import { UsageError } from '../exits.mjs'
import { note, printList, printOne } from '../output.mjs'

const pauseMs = 200

export async function run({ options, words: [verb, tenant, database, ...others], usage }) {
  const client = createClient(requireConfig())
  if (verb === undefined) return list(client, options)
  if (verb !== 'move' || !tenant || !database || others.length) throw new UsageError(`talaria ${usage}`)
  await move(client, { tenant, database, options })
}

async function list(client, options) {
  const { data } = await client.get('/api/admin/shards')
  printList(options, data, ['DATABASE', 'TENANTS', 'MB', 'FULL'], ({ name, tenants, bytes, max_bytes: max }) => [
    name,
    String(tenants),
    (bytes / 1e6).toFixed(1),
    `${Math.round((100 * bytes) / max)} %`,
  ])
}

/** Every step can be repeated, so that an interrupted move goes on with the same command. */
async function move(client, { tenant, database, options }) {
  for (;;) {
    const { body: step } = await client.call('POST', `/api/admin/tenants/${encodeURIComponent(tenant)}/history`, {
      database,
    })
    if (step.status === 'done') {
      return printOne(options, step, `${tenant} is in ${database}.`)
    }
    note(step.status === 'copying' ? `${step.sessions} sessions to copy` : 'deleting the rows of the old database')
    await delay(pauseMs)
  }
}
