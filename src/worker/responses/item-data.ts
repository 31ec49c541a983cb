/** Inserts the data of images and files, which lies in R2, into the items of the Responses API. */

import { blobPrefix } from '#durable/platform/addresses.ts'
import type { RouteCall } from '../route.ts'

type DataCall = Pick<RouteCall<unknown, unknown>, 'env' | 'tenant'>

/** The address of data behind the beginning of a data URL, or alone. */
const addressPattern = /^((?:data:[^,]{0,300};base64,)?)blob:(.+)$/

/**
 * Answers with JSON in which addresses of data are replaced by the data. Data is read when its place is sent, so that a
 * page of large images is never held whole.
 */
export function respondWithData(call: DataCall, body: unknown, headers: Record<string, string> = {}): Response {
  const mark = crypto.randomUUID()
  const keys: string[] = []
  const json = JSON.stringify(body, (field, value: unknown) => {
    const [, prefix, key] = findAddress(field, value) ?? []
    return key === undefined ? value : `${prefix}${mark}${keys.push(key)}${mark}`
  })
  const pieces = json.split(new RegExp(`${mark}\\d+${mark}`))
  const encoder = new TextEncoder()
  let next = 0
  const stream = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const [at, key] = [next, keys[next - 1]]
      next += 1
      if (at > 0 && key !== undefined) controller.enqueue(encoder.encode(escape((await readData(call, key)) ?? '')))
      const piece = pieces[at]
      if (piece !== undefined) controller.enqueue(encoder.encode(piece))
      if (next >= pieces.length) controller.close()
    },
  })
  return new Response(stream, { headers: { 'content-type': 'application/json', ...headers } })
}

/** Base64 of a client may have line breaks. */
const escape = (data: string): string => JSON.stringify(data).slice(1, -1)

/** Replaces the addresses in one item, which becomes an item of a request. */
export async function withData<Item extends object>(call: DataCall, item: Item): Promise<Item> {
  const response = respondWithData(call, item)
  return (await response.json()) as Item
}

/** Text of a person that looks like an address stands in other fields. */
const dataFields: ReadonlySet<string> = new Set(['image_url', 'file_data', 'data'])

const findAddress = (field: string, value: unknown): RegExpExecArray | undefined =>
  typeof value === 'string' && dataFields.has(field) ? (addressPattern.exec(value) ?? undefined) : undefined

async function readData({ env, tenant }: DataCall, key: string): Promise<string | undefined> {
  const object = key.startsWith(blobPrefix(tenant.id)) ? await env.BLOBS?.get(key) : undefined
  return object?.text()
}
