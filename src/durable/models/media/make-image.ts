/** Makes images by the chosen vendor. A queue is followed until its job is done. */

import type { MediaChoice } from '../../../agent/routing/media-vendors.ts'
import {
  createImageBindingCall,
  type ImageRequest,
  imageVendors,
  parseImageBinding,
} from '../../../backends/media/images.ts'
import { createResultRequest, createStatusRequest, isQueueDone, parseQueued } from '../../../backends/media/queue.ts'
import { MediaFailure } from '../../../backends/media/vendor.ts'
import { clock } from '../../platform/clock.ts'
import {
  askVendor,
  type MadeFile,
  type MediaTransport,
  readJson,
  readSource,
  requireType,
  runBinding,
} from './vendor-transport.ts'

type Choice = MediaChoice<'image'>

export type ImageJob = {
  readonly request: Omit<ImageRequest, 'model'>
  /** The job in a queue that an earlier attempt has begun. */
  readonly queuedId?: string | undefined
  /** Called with the id of a job as soon as it is in a queue. */
  readonly onQueued?: (id: string) => void
}

const pollMs = 1_500
const maxPolls = 160

export async function makeImages(
  transport: MediaTransport,
  choice: Choice,
  job: ImageJob,
): Promise<readonly MadeFile[]> {
  const { provider, model } = choice
  const request = { ...job.request, model }
  if (provider === 'workers-ai') return [await makeByBinding(transport, request)]
  const vendor = imageVendors[provider]
  const answer =
    provider === 'fal'
      ? await followQueue(transport, choice, { ...job, request })
      : await readJson(
          provider,
          await askVendor(transport, choice, (access) => vendor.createRequest(request, access), { vendor: provider }),
        )
  const sources = vendor.parse(answer)
  return Promise.all(
    sources.map(async (source) => requireType(provider, await readSource(transport, provider, source), 'image')),
  )
}

async function makeByBinding(transport: MediaTransport, request: ImageRequest): Promise<MadeFile> {
  if (request.images?.length) throw new MediaFailure('refused', 'Workers AI cannot edit images here.')
  const answer = await runBinding(transport, createImageBindingCall(request))
  if ('bytes' in answer) return requireType('Workers AI', answer.bytes, 'image')
  const source = parseImageBinding(answer.json)
  return requireType('Workers AI', await readSource(transport, 'Workers AI', source), 'image')
}

async function followQueue(
  transport: MediaTransport,
  choice: Choice,
  { request, queuedId, onQueued }: ImageJob & { readonly request: ImageRequest },
): Promise<unknown> {
  const { model } = choice
  const ask = async (create: Parameters<typeof askVendor>[2]): Promise<unknown> =>
    readJson('FAL', await askVendor(transport, choice, create, { vendor: 'FAL' }))
  const id = queuedId ?? parseQueued(await ask((access) => imageVendors.fal.createRequest(request, access)))
  if (queuedId === undefined) onQueued?.(id)
  for (let polls = 0; polls < maxPolls; polls++) {
    if (isQueueDone(await ask((access) => createStatusRequest(model, id, access))))
      return ask((access) => createResultRequest(model, id, access))
    await clock.wait(pollMs, transport.signal && { signal: transport.signal })
  }
  throw new MediaFailure('unknown', `FAL has not finished ${id} in time. It may still be paid.`)
}
