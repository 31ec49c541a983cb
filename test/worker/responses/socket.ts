/** Opens a WebSocket to the Responses API and collects the events of one request after another. */

import type * as z from 'zod'
import type { responseShape } from '#worker/responses/response-shape.ts'
import { until } from '../../support/scripted-model.ts'
import { adminKey, request } from '../client.ts'

export type ServerEvent = {
  readonly type: string
  readonly sequence_number: number
  readonly response?: z.infer<typeof responseShape>
  readonly item?: { readonly id: string }
  readonly error?: { readonly code: string; readonly param: string | null }
}

const isLast = ({ type }: ServerEvent): boolean => /^error$|^response\.(completed|failed|incomplete)$/.test(type)

export async function openSocket(key = adminKey) {
  const answer = await request('GET', '/v1/responses', { key, headers: { upgrade: 'websocket' } })
  const socket = answer.webSocket
  if (!socket) throw new Error(`${answer.status} ${await answer.text()}`)
  const events: ServerEvent[] = []
  socket.addEventListener('message', ({ data }) => void events.push(JSON.parse(String(data)) as ServerEvent))
  let code = 0
  socket.addEventListener('close', (event) => void (code = event.code))
  socket.accept()
  /** Sends a message and returns the last event of its answer. */
  const askRaw = async (text: string): Promise<ServerEvent> => {
    events.length = 0
    socket.send(text)
    return until(() => events.find(isLast))
  }
  return {
    closeCode: () => code,
    askRaw,
    ask: (event: object) => askRaw(JSON.stringify(event)),
    close: () => socket.close(1000),
  }
}
