/** Implements the dialect `gemini`: `generateContent` and `streamGenerateContent` of the Gemini API. */

import type { Dialect, SendRequest } from '#agent/core/dialect.ts'
import { limitBody } from '../shared/limit-body.ts'
import { requestBodies } from '../shared/request-bodies.ts'
import { renderGeminiBody } from './body.ts'
import { readGeminiReply, readGeminiStream } from './stream.ts'

/** `platformSend` is the platform's `fetch`: `src/agent` has no access to the network. */
export const createGemini = (platformSend: SendRequest): Dialect => ({
  async call(request, endpoint, { signal, send = platformSend, ...readOptions }) {
    const isWhole = request.repairs?.stream === 'off'
    const method = isWhole ? 'generateContent' : 'streamGenerateContent?alt=sse'
    const url = `${endpoint.baseUrl.replace(/\/{1,20}$/, '')}/models/${encodeURIComponent(request.model)}:${method}`
    const post = (body: BodyInit) =>
      send(
        new Request(url, {
          method: 'POST',
          // The base URL was checked before. A redirect would bypass that check.
          redirect: 'manual',
          headers: {
            ...endpoint.headers,
            'content-type': 'application/json',
            ...(endpoint.key && { 'x-goog-api-key': endpoint.key }),
          },
          body,
          signal,
        }),
      )
    const render = () => renderGeminiBody(request, endpoint.quirks)
    const response = limitBody(await requestBodies.send(render, post, readOptions.sleep))
    return (isWhole ? readGeminiReply : readGeminiStream)(response, readOptions)
  },
})
