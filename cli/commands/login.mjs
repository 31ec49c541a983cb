/** `talaria login`: checks a key or a one-time link, and stores address and key with mode 0600. */

import { hostname } from 'node:os'
import { readAnswer } from '../ask.mjs'
import { ApiError, createClient } from '../client.mjs'
import { deleteConfig, readConfig, requireConfig, storeConfig } from '../config.mjs'
import { UsageError } from '../exits.mjs'
import { note, printOne } from '../output.mjs'

export async function run({ options, words: [address, given], usage }) {
  if (options.forget) return deleteConfig()
  if (options.status) return printStatus(options, requireConfig())
  if (!address) throw new UsageError(`talaria ${usage}`)
  const { url, link } = parseAddress(address)
  const key = link ? await keyOfLink(url, link) : (given ?? (await readKey()))
  if (!key) throw new UsageError('Give a key: `npm start` prints one, and the owner of a deployment creates them.')
  // A wrong key is not stored.
  const me = await createClient({ url, key }).get('/api/me')
  const path = storeConfig({ url, key })
  printOne(options, { url, tenant: me.tenant, scopes: me.key.scopes }, `Signed in to ${url} as tenant ${me.tenant}.`)
  note(`Stored in ${path}.`)
}

function parseAddress(address) {
  const whole = URL.parse?.(address) ?? tryUrl(address)
  if (!whole || !/^https?:$/.test(whole.protocol))
    throw new UsageError('The address must begin with http:// or https://.')
  const link = /^#in=(.+)$/.exec(whole.hash)?.[1]
  return { url: `${whole.origin}${whole.pathname}`.replace(/\/+$/, ''), link }
}

function tryUrl(text) {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

async function readKey() {
  if (process.env.TALARIA_API_KEY) return process.env.TALARIA_API_KEY
  return (await readAnswer('Key: '))?.trim()
}

/** A link gives a cookie. With it the command line makes a key of its own. */
async function keyOfLink(url, link) {
  const { origin } = new URL(url)
  const send = async (path, body, cookie) => {
    const headers = { 'content-type': 'application/json', origin, ...(cookie && { cookie }) }
    const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) }).catch(
      () => undefined,
    )
    if (answer?.ok) return answer
    const { error } = (await answer?.json().catch(() => undefined)) ?? {}
    throw new ApiError(error?.message ?? `${url} cannot be reached.`, { status: answer?.status })
  }
  const cookie = (await send('/api/login', { link })).headers.get('set-cookie')?.split(';')[0]
  const made = await send('/api/keys', { name: `talaria on ${hostname()}` }, cookie)
  return (await made.json()).key
}

async function printStatus(options, { url, key }) {
  const { tenant, key: held } = await createClient({ url, key }).get('/api/me')
  printOne(
    options,
    { url: readConfig().url, tenant, ...held },
    `${url}: tenant ${tenant}, key ${held.name}, scopes ${held.scopes.join(', ')}`,
  )
}
