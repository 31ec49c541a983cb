/** `talaria runs`: follows, shows, stops and steers runs, and takes queued ones back. */

import { askPerson } from '../ask.mjs'
import { createClient, sessionPath } from '../client.mjs'
import { requireConfig } from '../config.mjs'
import { exits } from '../exits.mjs'
import { followRun } from '../follow.mjs'
import { note, plain, printOne } from '../output.mjs'

export async function run({ options, words: [action, session, ...rest] }) {
  const client = createClient(requireConfig())
  return actions[action](client, options, session, rest)
}

const actions = { follow, show, stop, steer, 'take-back': takeBack }

async function follow(client, options, session, [asked]) {
  const { run: open, event_seq: after } = await client.get(sessionPath(session))
  const runId = asked ?? open?.run_id
  if (!runId) {
    note('Nothing runs in this session.')
    return exits.done
  }
  const isPerson = process.stdin.isTTY && !options.json
  const ask = isPerson ? askPerson : leaveToOthers
  // An ended run is told from its first event.
  const from = runId === open?.run_id ? after : 0
  return followRun(client, { session, run: runId, after: from, show: options.json ? 'json' : 'text', ask })
}

/** Following a run waits with it. */
const leaveToOthers = () => note('· waits for a person')

async function show(client, options, session, [runId]) {
  const found = await client.get(sessionPath(session, `/runs/${encodeURIComponent(runId)}`))
  printOne(options, found, `${found.status} ${plain(found.error ?? found.output ?? found.activity.doing)}`)
  return found.status === 'waiting' ? exits.waits : found.status === 'failed' ? exits.failed : exits.done
}

async function stop(client, options, session) {
  const { body } = await client.call('POST', sessionPath(session, '/stop'), {})
  printOne(options, body, body.status)
}

async function steer(client, options, session, words) {
  const { body } = await client.call('POST', sessionPath(session, '/steer'), { input: words.join(' ') })
  printOne(options, body, body.status)
}

async function takeBack(client, options, session, [runId]) {
  await client.call('DELETE', sessionPath(session, `/runs/${encodeURIComponent(runId)}`))
  printOne(options, { run_id: runId, status: 'taken_back' }, 'Taken back.')
}
