/** Makes images by the chosen vendor. A queue is followed until its job is done. */

import { log } from '#agent/core/log.ts'
import type { MediaChoice } from '#agent/routing/media-vendors.ts'
import { createImageBindingCall, type ImageRequest, imageVendors, parseImageBinding } from '#backends/media/images.ts'
import { createResultRequest, createStatusRequest, isQueueDone, parseQueued } from '#backends/media/queue.ts'
import { MediaFailure, type MediaSource, type MediaAccess, type MediaRequest } from '#backends/media/vendor.ts'
import { clock } from '#durable/platform/clock.ts'
import {
  askVendor,
  type MadeFile,
  type MediaTransport,
  readJson,
  readSource,
  requireType,
  runBinding,
} from './vendor-transport.ts'

type ImageChoice = MediaChoice<'image'>

export type ImageJob = {
  readonly request: Omit<ImageRequest, 'model'>
  /** The job in a queue that an earlier attempt has begun. */
  readonly queuedId?: string | undefined
  /** Called with the id of a job as soon as it is in a queue. */
  readonly onQueued?: (id: string) => void
}

const pollMs = 1_500
/** Shorter than the time limit of a tool, so that its result can say that the job goes on. */
const followMs = 240_000
const pollTimeoutMs = 30_000

export async function makeImages(
  transport: MediaTransport,
  choice: ImageChoice,
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
  return readImages(transport, provider, vendor.parse(answer))
}

const readImages = (
  transport: MediaTransport,
  provider: ImageChoice['provider'],
  sources: readonly MediaSource[],
): Promise<readonly MadeFile[]> =>
  Promise.all(
    sources.map(async (source) => requireType(provider, await readSource(transport, provider, source), 'image')),
  )

async function makeByBinding(transport: MediaTransport, request: ImageRequest): Promise<MadeFile> {
  if (request.images?.length) throw new MediaFailure('refused', 'Workers AI cannot edit images here.')
  const answer = await runBinding(transport, createImageBindingCall(request))
  if ('bytes' in answer) return requireType('Workers AI', answer.bytes, 'image')
  const source = parseImageBinding(answer.json)
  return requireType('Workers AI', await readSource(transport, 'Workers AI', source), 'image')
}

async function followQueue(
  transport: MediaTransport,
  choice: ImageChoice,
  { request, queuedId, onQueued }: ImageJob & { readonly request: ImageRequest },
): Promise<unknown> {
  const id = queuedId ?? (await startJob(transport, choice, request))
  if (queuedId === undefined) onQueued?.(id)
  const end = clock.now() + followMs
  while (clock.now() < end) {
    const answer = await pollQueue(transport, choice, id)
    if (answer !== undefined) return answer
    await clock.wait(pollMs, transport.signal && { signal: transport.signal })
  }
  throw new MediaFailure('unknown', `FAL has not finished ${id} in time. It may still be paid.`)
}

async function startJob(transport: MediaTransport, choice: ImageChoice, request: ImageRequest): Promise<string> {
  const create = (access: MediaAccess) => imageVendors.fal.createRequest(request, access)
  const answer = await askVendor(transport, choice, create, { vendor: 'FAL' })
  try {
    return parseQueued(await readJson('FAL', answer))
  } catch (error) {
    if (!(error instanceof MediaFailure) || error.kind !== 'failed') throw error
    throw new MediaFailure('unknown', `FAL has accepted a job and not named it. It may be paid. ${error.message}`)
  }
}

/** Returns the answer of a job. Undefined while FAL works, and when it cannot be asked: the job is paid and goes on. */
async function pollQueue(transport: MediaTransport, choice: ImageChoice, id: string): Promise<unknown> {
  const { model } = choice
  const ask = async (create: (access: MediaAccess) => MediaRequest): Promise<unknown> =>
    readJson('FAL', await askVendor(transport, choice, create, { vendor: 'FAL', timeoutMs: pollTimeoutMs }))
  const state = await ask((access) => createStatusRequest(model, id, access)).catch(ignoreFailure)
  if (!isQueueDone(state)) return undefined
  return ask((access) => createResultRequest(model, id, access)).catch((error: unknown) => {
    if (error instanceof MediaFailure && error.kind === 'refused') throw error
    return ignoreFailure(error)
  })
}

function ignoreFailure(error: unknown): undefined {
  if (!(error instanceof MediaFailure)) throw error
  log.warn('media.unpolled', 'A job in a queue could not be asked for. It is asked again.', { error })
}

/** Returns the image of a job in a queue. Undefined while it cannot be read. Throws for a job that has failed. */
export async function readQueuedImage(
  transport: MediaTransport,
  choice: ImageChoice,
  id: string,
): Promise<MadeFile | undefined> {
  const answer = await pollQueue(transport, choice, id)
  if (answer === undefined) return undefined
  const [first] = await readImages(transport, choice.provider, imageVendors.fal.parse(answer))
  return first
}
