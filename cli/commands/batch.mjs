/** `talaria batch`: starts, follows, cancels and repeats batches, and writes their results. */

import { createWriteStream, readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createClient } from '../client.mjs'
import { requireConfig } from '../config.mjs'
import { exits, UsageError } from '../exits.mjs'
import { dollars, note, print, printList, printOne } from '../output.mjs'
import { parsePrompts } from '../prompt-file.mjs'

const pollMs = 2_000
const batchPath = (id, rest = '') => `/api/batches/${encodeURIComponent(id)}${rest}`
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

export async function run({ options, words: [action = 'ls', id], usage }) {
  const client = createClient(requireConfig())
  const acts = {
    ls: () => list(client, options),
    show: async () =>
      printOne(options, await client.get(batchPath(id)), JSON.stringify(await client.get(batchPath(id)), null, 2)),
    follow: () => follow(client, options, id),
    results: () => writeResults(client, id, options),
    cancel: async () => printProgress(options, (await client.call('POST', batchPath(id, '/cancel'), {})).body),
    retry: async () => {
      const budget = options.budget === undefined ? {} : { budget_usd: number(options.budget, 'budget') }
      await client.call('POST', batchPath(id, '/retry'), budget)
      return options.detach ? print(id) : follow(client, options, id)
    },
    rm: async () => {
      await client.call('DELETE', batchPath(id))
      printOne(options, { id, status: 'deleted' }, 'Deleted.')
    },
  }
  const isAct = Object.hasOwn(acts, action)
  if (!isAct && id === undefined) return start(client, options, action)
  if (!isAct || (action !== 'ls' && !id)) throw new UsageError(`talaria ${usage}`)
  return acts[action]()
}

const number = (text, name) => {
  const value = Number(text)
  if (!Number.isFinite(value) || value <= 0) throw new UsageError(`--${name} needs a positive number.`)
  return value
}

const numbers = {
  concurrency: 'concurrency',
  budget: 'budget_usd',
  'per-prompt': 'usd_per_prompt',
  'max-steps': 'max_steps',
  'max-output-tokens': 'max_output_tokens',
}

async function start(client, options, file) {
  const prompts = parsePrompts(readFileSync(file === '-' ? 0 : file, 'utf8'), file)
  if (!prompts.length) throw new UsageError(`${file} has no prompts.`)
  const body = { name: options.name ?? (file === '-' ? 'batch' : file.split(/[\\/]/).pop().slice(0, 100)), prompts }
  for (const [option, field] of Object.entries(numbers))
    if (options[option] !== undefined) body[field] = number(options[option], option)
  if (options.model) body.model = options.model
  if (options.instructions) body.instructions = options.instructions
  const { body: batch } = await client.call('POST', '/api/batches', body)
  if (options.detach) return printOne(options, batch, batch.id)
  note(
    `${batch.id}: ${prompts.length} prompts. Ctrl-C leaves it running; \`talaria batch follow ${batch.id}\` shows the rest.`,
  )
  return follow(client, options, batch.id)
}

/** Ends with 0 when every prompt has an answer. */
async function follow(client, options, id) {
  for (let shown = ''; ;) {
    const batch = await client.get(batchPath(id))
    const line = progressOf(batch)
    if (line !== shown) {
      shown = line
      if (options.json) print(JSON.stringify(batch))
      else note(line)
    }
    if (batch.status !== 'running' && !batch.counts.running) {
      await writeResults(client, id, options)
      return batch.status === 'completed' && !batch.counts.failed ? exits.done : exits.failed
    }
    await pause(pollMs)
  }
}

function progressOf({ id, status, counts, spent_usd: spent, budget_usd: budget, reason }) {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0)
  const failed = counts.failed ? `, ${counts.failed} failed` : ''
  const money = `${dollars(spent)}${budget === null ? '' : ` of ${dollars(budget)}`}`
  return `${id} ${status}: ${counts.completed} of ${total}${failed}, ${counts.running} in progress, ${money}${reason ? `. ${reason}` : ''}`
}

const printProgress = (options, batch) => printOne(options, batch, progressOf(batch))

/** To the file of `--out`, else to stdout. */
async function writeResults(client, id, { format = 'results', out }) {
  const answer = await client.fetch(batchPath(id, `/results?format=${encodeURIComponent(format)}`))
  if (!answer.ok) throw new UsageError((await answer.json()).error?.message ?? `The server answered ${answer.status}.`)
  if (out === undefined) return print(await answer.text())
  await pipeline(Readable.fromWeb(answer.body), createWriteStream(out))
  note(`Written to ${out}.`)
}

async function list(client, options) {
  printList(options, await client.list('/api/batches'), ['ID', 'STATUS', 'DONE', 'FAILED', 'COST', 'NAME'], (batch) => [
    batch.id,
    batch.status,
    `${batch.counts.completed}`,
    `${batch.counts.failed}`,
    dollars(batch.spent_usd),
    batch.name,
  ])
}
