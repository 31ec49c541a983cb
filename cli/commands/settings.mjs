/** `talaria settings`: reads and changes the settings of the tenant. */

import { createClient } from '../client.mjs'
import { requireConfig } from '../config.mjs'
import { exits } from '../exits.mjs'
import { note, plain, print, printOne } from '../output.mjs'

export async function run({ options, words: [action = 'ls', path, ...values] }) {
  const client = createClient(requireConfig())
  if (action === 'ls') return show(await client.get('/api/settings'), options)
  if (action === 'get') return get(client, options, path)
  return change(client, options, path, action === 'unset' ? null : readValue(values.join(' ')))
}

/** JSON where it is JSON, else text. */
function readValue(text) {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Names with a dot in them stand in quotes: `models."openai/gpt-5.2".images`. */
const partsOf = (path) => [...path.matchAll(/"([^"]+)"|([^.]+)/g)].map(([, quoted, bare]) => quoted ?? bare)

const show = (value, { json }) => print(plain(JSON.stringify(value, null, json ? 0 : 2)).replaceAll('\r', ''))

async function get(client, options, path) {
  const value = partsOf(path).reduce((found, part) => found?.[part], await client.get('/api/settings'))
  if (value === undefined) {
    note(`${path} is not set.`)
    return exits.failed
  }
  show(value, options)
}

async function change(client, options, path, value) {
  const patch = partsOf(path).reduceRight((inner, part) => ({ [part]: inner }), value)
  const { body } = await client.call('PATCH', '/api/settings', patch)
  printOne(options, body, value === null ? `${path} is not set any more.` : `${path}: ${JSON.stringify(value)}`)
}
