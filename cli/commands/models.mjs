/** `talaria models`: lists the models that can be asked, sets the default, and signs in to a subscription. */

import { setTimeout } from 'node:timers/promises'
import { createClient } from '../client.mjs'
import { requireConfig } from '../config.mjs'
import { note, plain, printList, printOne } from '../output.mjs'

export async function run({ options, words: [action = 'ls', ...words] }) {
  const client = createClient(requireConfig())
  if (action === 'ls') return list(client, options, words)
  return action === 'default' ? setDefault(client, options, words[0]) : signIn(client, options, words[0])
}

const thousands = (count) => (count >= 1_000 ? `${Math.round(count / 1_000)}k` : String(count))
const price = (usd) => (usd == null ? '?' : `$${usd}`)

async function list(client, options, words) {
  const provider = options.provider === undefined ? '' : `&provider=${encodeURIComponent(options.provider)}`
  const all = await client.list(`/api/settings/models?limit=1000${provider}`, 10_000)
  const wanted = words.map((word) => word.toLowerCase())
  const found = all.filter(({ id }) => wanted.every((word) => id.toLowerCase().includes(word)))
  printList(options, found, ['MODEL', 'WINDOW', 'IN', 'OUT'], ({ id, context_window: window, prices }) => [
    id,
    thousands(window),
    price(prices?.input),
    price(prices?.output),
  ])
  if (!options.json && found.length) note('Prices are in US dollars per million tokens; ? is unknown.')
}

async function setDefault(client, options, id) {
  await client.call('PATCH', '/api/settings', { model: { default: id } })
  printOne(options, { default: id }, `The default is ${plain(id)}.`)
}

/** The code is shown on the error output, so that `--json` prints the credential alone. */
async function signIn(client, options, provider) {
  const ask = async (body) => (await client.call('POST', '/api/credentials/oauth', body)).body
  let answer = await ask({ provider })
  note(`Open ${plain(answer.verification_url)} and enter the code ${plain(answer.user_code)}. Nobody else may have it.`)
  while (answer.status === 'pending') {
    await setTimeout(answer.interval * 1_000)
    answer = await ask({ sign_in: answer.sign_in })
  }
  printOne(options, answer.credential, `Signed in to ${plain(answer.provider)}.`)
}
