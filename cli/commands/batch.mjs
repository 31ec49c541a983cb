/** `talaria batch`: starts, follows, cancels and repeats batches, and writes their results. */

import { createWriteStream, readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ApiError, createClient } from '../client.mjs'
import { requireConfig } from '../config.mjs'
import { exits, UsageError } from '../exits.mjs'
import { dollars, note, print, printList, printOne, requireWritable } from '../output.mjs'
import { parsePrompts } from '../prompt-file.mjs'

const pollMs = 2_000
/** How long a follower looks for a server that is away. */
const patienceMs = 600_000
const batchPath = (id, rest = '') => `/api/batches/${encodeURIComponent(id)}${rest}`
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

export async function run({ options, words: [action = 'ls', id] }) {
  const client = createClient(requireConfig())
  if (options.out !== undefined) requireWritable(options.out)
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
  return Object.hasOwn(acts, action) ? acts[action]() : start(client, options, action)
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
  const look = () => client.get(batchPath(id))
  // A server that is away from the beginning may be the wrong one.
  for (let [shown, batch] = ['', await look()]; ; batch = await whileAway(id, look)) {
    const line = progressOf(batch)
    if (line !== shown) {
      shown = line
      if (options.json) print(JSON.stringify(batch))
      else note(line)
    }
    if (batch.status !== 'running' && !batch.counts.running) {
      await whileAway(id, () => writeResults(client, id, options))
      return batch.status === 'completed' && !batch.counts.failed ? exits.done : exits.failed
    }
    await pause(pollMs)
  }
}

/** The batch goes on without its follower, and so does the follower without the server for a while. */
async function whileAway(id, ask) {
  for (let [until, isNoted] = [Date.now() + patienceMs, false]; ; isNoted = true) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof ApiError) || (error.status ?? 500) < 500) throw error
      if (Date.now() > until) throw new ApiError(`${error.message} \`talaria batch follow ${id}\` shows the rest.`)
      if (!isNoted) note(`${error.message} The batch goes on there; looking again.`)
      await pause(pollMs)
    }
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
  if (!answer.ok) {
    const { error } = (await answer.json().catch(() => undefined)) ?? {}
    const message = error?.message ?? `The server answered ${answer.status}.`
    throw answer.status === 400 ? new UsageError(message) : new ApiError(message, { status: answer.status })
  }
  try {
    if (out === undefined) return print(await answer.text())
    await pipeline(Readable.fromWeb(answer.body), createWriteStream(out))
  } catch (error) {
    if (error?.syscall !== undefined) throw error
    throw new ApiError('The connection was lost before all results had come.')
  }
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
