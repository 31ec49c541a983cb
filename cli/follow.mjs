/** Follows a run to its end: prints the answer as it comes, and asks the person at the terminal what the agent asks. */

import { exits } from './exits.mjs'
import { note, plain, print } from './output.mjs'
import { ApiError, sessionPath } from './client.mjs'

const ends = new Set(['run.completed', 'run.failed', 'run.cancelled'])

/**
 * Resolves to the exit code. `ask` answers approvals and questions; without it, or when it resolves to false, the run is
 * left waiting.
 * `show`: `text` streams the answer, `final` prints it at the end, `json` prints each event.
 */
export async function followRun(client, { session, run, after, show, ask, signal }) {
  const view = views[show]()
  try {
    for await (const event of client.events(session, after, signal)) {
      if (event.run_id !== run) continue
      view.add(event)
      if (ends.has(event.type)) return view.end(event)
      if (!isAsking(event)) continue
      if (!ask || (await askUnanswered(ask, client, event)) === false) return view.wait(event)
    }
    return exits.failed
  } finally {
    view.close?.()
  }
}

/** Somebody else may have answered, or the event is an old one. */
async function askUnanswered(ask, client, event) {
  try {
    return await ask(client, event)
  } catch (error) {
    if (error?.status !== 409) throw error
  }
}

const isAsking = ({ type }) => type === 'approval.request' || type === 'question.request'

const views = { text: textView, final: finalView, json: jsonView }

const exitOf = ({ type }) => (type === 'run.completed' ? exits.done : exits.failed)

function textView() {
  let isOpen = false
  let step
  const close = () => {
    if (isOpen) process.stdout.write('\n')
    isOpen = false
  }
  return {
    add(event) {
      if (event.type === 'message.delta') {
        if (isOpen && step !== undefined && event.step !== step) process.stdout.write('\n')
        step = event.step
        process.stdout.write(plain(event.delta))
        isOpen = true
      } else if (event.type === 'tool.started') {
        close()
        note(`· ${plain(event.tool)} ${plain(shorten(JSON.stringify(event.input)))}`)
      } else if (event.type === 'tool.completed' && event.failed) note(`  failed: ${plain(shorten(event.preview))}`)
      else if (event.type === 'turn.restarted') {
        close()
        note('· the answer starts again')
      }
    },
    close,
    end(event) {
      close()
      if (event.type !== 'run.completed') note(plain(event.error ?? event.exit_reason))
      return exitOf(event)
    },
    wait(event) {
      close()
      note(describeWaiting(event))
      return exits.waits
    },
  }
}

function finalView() {
  return {
    add() {},
    end(event) {
      if (event.type === 'run.completed') print(plain(event.output))
      else note(plain(event.error ?? event.exit_reason))
      return exitOf(event)
    },
    wait(event) {
      note(describeWaiting(event))
      return exits.waits
    },
  }
}

function jsonView() {
  return {
    add: (event) => print(JSON.stringify(event)),
    end: exitOf,
    wait: () => exits.waits,
  }
}

function describeWaiting(event) {
  if (event.type === 'question.request')
    return `The agent asks: ${plain(event.question)}\nAnswer it with: talaria approve ${event.question_id} --answer TEXT`
  const input = plain(shorten(JSON.stringify(event.input)))
  return `${plain(event.tool)} ${input} waits for an approval.\nDecide it with: talaria approve ${event.approval_id}`
}

const shorten = (text = '') => (text.length > 200 ? `${text.slice(0, 199)}…` : text)

/** Sends a message, and follows its run. `body` is that of POST …/chat. `onRefused` is called when it was not taken. */
export async function chatAndFollow(client, { session, body, show, ask, onRefused }) {
  const { event_seq: after } = await client.get(sessionPath(session))
  const sending = client.call('POST', sessionPath(session, '/chat'), { ...body, wait: false })
  const { body: sent } = await sending.catch(async (error) => {
    if (error.status >= 400 && error.status < 500) await onRefused?.()
    throw error
  })
  const work = (signal) => followRun(client, { session, run: sent.run_id, after, show, ask, signal })
  return withInterrupt(client, { session, run: sent.run_id }, work).catch((error) => {
    if (error instanceof ApiError) error.message += ` To see the rest: talaria runs follow ${session} ${sent.run_id}`
    throw error
  })
}

const secondPressMs = 1_000

/** Ctrl-C stops the run. A second press within a second leaves the run running and ends the command. */
export async function withInterrupt(client, { session, run }, work) {
  const controller = new AbortController()
  let timer
  const stop = () => client.call('POST', sessionPath(session, '/stop'), {}).catch((error) => note(error.message))
  let presses = 0
  const interrupt = () => {
    presses++
    if (presses === 1) {
      note('· stopping the run; Ctrl-C again leaves it running')
      timer = setTimeout(stop, secondPressMs)
      return
    }
    clearTimeout(timer)
    note(`· left; to see the run: talaria runs follow ${session} ${run}`)
    controller.abort()
  }
  process.on('SIGINT', interrupt)
  try {
    return await work(controller.signal)
  } finally {
    clearTimeout(timer)
    process.off('SIGINT', interrupt)
  }
}
