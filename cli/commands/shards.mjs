/** `talaria shards`: lists the databases of histories, moves a tenant while it is used, and moves old text to R2. */

import { setTimeout as delay } from 'node:timers/promises'
import { createClient } from '../client.mjs'
import { requireConfig } from '../config.mjs'
import { note, printList, printOne } from '../output.mjs'

const pauseMs = 200

export async function run({ options, words: [verb = 'ls', tenant, database] }) {
  const client = createClient(requireConfig())
  if (verb === 'ls') return list(client, options)
  if (verb === 'cool') return cool(client, { tenant, options })
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

/** All tenants, or one. A step that is repeated does nothing. */
async function cool(client, { tenant, options }) {
  const months = Number(options.months ?? 12)
  const ids = tenant ? [tenant] : (await client.list('/api/admin/tenants')).map(({ id }) => id)
  for (const id of ids) {
    let pages = 0
    for (let after = 0; after !== null;) {
      const path = `/api/admin/tenants/${encodeURIComponent(id)}/history/cool`
      const { body } = await client.call('POST', path, { months, after })
      pages += body.pages
      after = body.next
    }
    printOne(options, { id, pages }, `${id}: ${pages} pages older than ${months} months are in R2.`)
  }
}
