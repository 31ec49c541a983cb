/** `talaria approve`: lists and decides what waits for a person. */

import { answerQuestion, askPerson, decide } from '../ask.mjs'
import { createClient } from '../client.mjs'
import { requireConfig } from '../config.mjs'
import { exits, Failure, UsageError } from '../exits.mjs'
import { note, printList, printOne } from '../output.mjs'

const decisions = ['once', 'session', 'always', 'deny']

export async function run({ options, words: ids }) {
  const client = createClient(requireConfig())
  const chosen = decisions.filter((name) => options[name])
  if (chosen.length > 1) throw new UsageError('Give one of --once, --session, --always and --deny.')
  if (options.answer !== undefined) return answer(client, options, ids)
  if (ids.length && chosen.length) return decideAll(client, options, ids, chosen[0])
  const waiting = (await readWaiting(client)).filter(({ id }) => !ids.length || ids.includes(id))
  const missing = ids.filter((id) => !waiting.some((one) => one.id === id))
  if (missing.length) throw new Failure(`Nothing waits under ${missing.join(', ')}. See talaria approve --list.`)
  if (options.list || options.json || !process.stdin.isTTY) return list(options, waiting)
  return askAll(client, waiting)
}

const readWaiting = async (client) => [
  ...(await client.list('/api/approvals')),
  ...(await client.list('/api/questions')),
]

async function answer(client, options, [id, ...more]) {
  if (!id || more.length) throw new UsageError('talaria approve ID --answer TEXT')
  await answerQuestion(client, id, options.answer)
  printOne(options, { id, status: 'answered' }, 'Answered.')
}

async function decideAll(client, options, ids, decision) {
  for (const id of ids) {
    await decide(client, id, decision, options.reason)
    printOne(options, { id, status: 'decided', decision }, `${id}: ${decision}`)
  }
}

function list(options, waiting) {
  printList(options, waiting, ['ID', 'WHAT'], (one) => [
    one.id,
    one.question ?? `${one.tool} ${JSON.stringify(one.input)}`,
  ])
  return waiting.length ? exits.waits : exits.done
}

async function askAll(client, waiting) {
  if (!waiting.length) note('Nothing waits.')
  for (const one of waiting) if (!(await askPerson(client, one))) return exits.waits
  return exits.done
}
