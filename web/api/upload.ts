/** Sends a file and tells how much of it has left. `fetch` does not tell. */

import { ApiError, toError } from './client.ts'

type Upload = {
  readonly body: Blob
  readonly headers?: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly onShare: (share: number) => void
}

export function upload(path: string, { body, headers = {}, signal, onShare }: Upload): Promise<void> {
  const request = new XMLHttpRequest()
  request.open('PUT', path)
  for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value)
  request.upload.addEventListener('progress', ({ loaded, total }) => onShare(total ? loaded / total : 1))
  signal.addEventListener('abort', () => request.abort())
  return new Promise((resolve, reject) => {
    const finish = async () => {
      if (request.status >= 200 && request.status < 300) return resolve()
      const { responseText, status, statusText } = request
      reject(await toError(new Response(responseText, { status, statusText })))
    }
    request.addEventListener('load', () => void finish())
    request.addEventListener('abort', () => reject(new DOMException('', 'AbortError')))
    request.addEventListener('error', () =>
      reject(new ApiError(0, { message: 'offline', code: 'offline', param: null })),
    )
    request.send(body)
  })
}
