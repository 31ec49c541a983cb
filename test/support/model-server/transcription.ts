/** Answers `/v1/audio/transcriptions`: the same words for every sound that is sent as OpenAI takes it. */

import type { Buffer } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { sendJson } from './answer.ts'

type Http = { readonly request: IncomingMessage; readonly response: ServerResponse }

const webmMark = '\u001aE\u00df\u00a3'

export function sendTranscription({ request, response }: Http, bytes: Buffer): void {
  const { authorization, 'content-type': type = '' } = request.headers
  const form = bytes.toString('latin1', 0)
  const isForm = String(type).startsWith('multipart/form-data')
  const isComplete = /name="file"; filename="audio\.webm"/.test(form) && /name="model"\r\n\r\n\S/.test(form)
  if (String(authorization ?? '').startsWith('Bearer ') && isForm && isComplete && form.includes(webmMark))
    return sendJson(response, 200, JSON.stringify({ text: 'These words were spoken.' }))
  sendJson(response, 400, JSON.stringify({ error: { message: `not WebM in a form: ${form.slice(0, 300)}` } }))
}
