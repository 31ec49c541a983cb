/** A provider that speaks four dialects, each below its name as a path, and whose answers may be slow, cut or wrong. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type AnsweringDialect,
  streamedAnswers,
  streamedTexts,
  wholeAnswers,
  type WrittenCall,
} from '../agent/providers/support/call-answers.ts'

/** `slow`: pieces with pauses. `cut`: the connection ends in the middle. `wrong`: bytes that are no answer. */
export type Fault = 'slow' | 'cut' | 'wrong'
export type DialectAnswer =
  | { readonly calls: readonly WrittenCall[]; readonly isWhole?: boolean; readonly fault?: Fault | undefined }
  | { readonly text: string }
  | { readonly refusal: string }
export type DialectRequest = { readonly dialect: AnsweringDialect; readonly text: string; readonly nth: number }

const dialects = Object.keys(streamedAnswers) as readonly AnsweringDialect[]
const pieceBytes = 64
const pauseMs = 20

async function readText(incoming: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of incoming) parts.push(part as Buffer)
  return Buffer.concat(parts).toString('utf8')
}

export async function startDialectServer(answer: (request: DialectRequest) => DialectAnswer) {
  let nth = 0
  const server = createServer(async (incoming, response) => {
    const dialect = dialects.find((name) => incoming.url?.startsWith(`/${name}/`))
    if (!dialect) return response.writeHead(404).end()
    const given = answer({ dialect, text: await readText(incoming), nth: nth++ })
    if ('refusal' in given) return response.writeHead(400).end(JSON.stringify({ error: { message: given.refusal } }))
    if ('calls' in given) return send(response, dialect, given)
    const { headers, body } = streamedTexts[dialect](given.text)
    return response.writeHead(200, headers).end(body)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    origin,
    urlOf: (dialect: AnsweringDialect) => `${origin}/${dialect}`,
    close: () =>
      new Promise<void>((closed) => {
        server.close(() => closed())
        server.closeAllConnections()
      }),
  }
}

async function send(
  response: ServerResponse,
  dialect: AnsweringDialect,
  { calls, isWhole = false, fault }: Extract<DialectAnswer, { readonly calls: unknown }>,
): Promise<void> {
  const { headers, body = '' } = (isWhole ? wholeAnswers : streamedAnswers)[dialect](calls)
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  response.writeHead(200, headers)
  if (fault === undefined) return void response.end(bytes)
  if (fault === 'wrong') return void response.end('<html>Bad gateway</html>')
  const end = fault === 'cut' ? Math.floor(bytes.length / 2) : bytes.length
  for (let from = 0; from < end; from += pieceBytes) {
    response.write(bytes.subarray(from, Math.min(from + pieceBytes, end)))
    if (fault === 'slow') await delay(pauseMs)
  }
  if (fault === 'slow') return void response.end()
  response.write('', () => setTimeout(() => response.destroy(), 2))
}
