/** A small client for the examples: requests with the key from the environment. */

const url = process.env['TALARIA_URL'] ?? 'http://localhost:8787'
const key = process.env['TALARIA_API_KEY']
if (!key) throw new Error('Set TALARIA_API_KEY to the key that `npm start` prints.')

export const connection = { url, key }

/** Sends JSON and returns JSON. Throws on an error status, with the message of the server. */
export async function api<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  return (text ? JSON.parse(text) : undefined) as T
}

/** Sends JSON and yields the server-sent events of the answer. */
export async function* events(path: string, body: unknown): AsyncGenerator<{ readonly type: string; readonly data: unknown }> {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok || !response.body) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  let buffer = ''
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    buffer += chunk
    const blocks = buffer.split('\n\n')
    buffer = blocks.pop() ?? ''
    for (const block of blocks) {
      const type = /^event: (.+)$/m.exec(block)?.[1]
      const data = /^data: (.+)$/m.exec(block)?.[1]
      if (type && data) yield { type, data: JSON.parse(data) }
    }
  }
}
