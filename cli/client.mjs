/** Calls the HTTP API: JSON, bytes and streams of events. */

import { ApiError, createApi, requirePath } from '../bin/lib/api.mjs'
import { readEvents } from './events.mjs'

export { ApiError }

/** Pauses before a broken stream is opened again. */
const retryMs = [250, 500, 1_000, 2_000, 4_000, 8_000]

export function createClient({ url, key }) {
  const call = createApi({ url, key })
  const get = async (path) => (await call('GET', path)).body
  return {
    url,
    key,
    call,
    get,
    /** All pages of a list, at most `max` items. */
    async list(path, max = 1_000) {
      const found = []
      for (let cursor = ''; cursor !== null && found.length < max;) {
        const separator = path.includes('?') ? '&' : '?'
        const page = await get(cursor ? `${path}${separator}cursor=${encodeURIComponent(cursor)}` : path)
        found.push(...page.data)
        cursor = page.next_cursor ?? null
      }
      return found.slice(0, max)
    },
    /** The response itself, for bytes. */
    async fetch(path, init = {}) {
      requirePath(path)
      const headers = { authorization: `Bearer ${key}`, ...init.headers }
      const answer = await fetch(`${url}${path}`, { ...init, headers }).catch(() => undefined)
      if (!answer) throw new ApiError(`${url} cannot be reached. Is the server running?`)
      return answer
    },
    /**
     * The events of a session behind `after`. A broken connection is opened again behind the last event. `onState` is told
     * whether there is one.
     */
    events: (session, after, signal, onState = () => {}) => readOn({ url, key, session, signal, onState }, after),
  }
}

async function* readOn(source, after) {
  let [last, failures] = [after, 0]
  const isWanted = () => source.signal?.aborted !== true
  while (isWanted()) {
    try {
      const events = await openEvents(source, last)
      source.onState(true)
      for await (const event of events) {
        failures = 0
        last = event.seq ?? last
        yield event
      }
    } catch (error) {
      if (!isWanted()) return
      if (isFinal(error)) throw error
      source.onState(false)
      if (failures >= retryMs.length) throw new ApiError(`The connection to ${source.url} is lost. The run goes on.`)
    }
    await new Promise((resolve) => setTimeout(resolve, retryMs[Math.min(failures++, retryMs.length - 1)]))
  }
}

/** A server that is being restarted, or has too many streams, answers soon. */
const isFinal = (error) => error instanceof ApiError && error.status < 500 && error.status !== 429

async function openEvents({ url, key, session, signal }, after) {
  const path = `${sessionPath(session)}/events?after=${after}`
  const answer = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` }, signal })
  if (!answer.ok) throw await refusalOf(answer)
  return readEvents(answer.body)
}

async function refusalOf(answer) {
  const body = await answer.json().catch(() => undefined)
  const { message = `The server answered ${answer.status}.`, code } = body?.error ?? {}
  return new ApiError(message, { status: answer.status, code })
}

export const sessionPath = (id, rest = '') => `/api/sessions/${encodeURIComponent(id)}${rest}`
