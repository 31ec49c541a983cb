/** Starts videos, asks how far they are, and reads the result. */

import type { MediaChoice } from '#agent/routing/media-vendors.ts'
import type { MediaAccess, MediaRequest } from '#backends/media/vendor.ts'
import { type VideoRequest, videoVendors } from '#backends/media/video.ts'
import {
  askVendor,
  type MadeFile,
  type MediaTransport,
  readBytes,
  readJson,
  readSource,
  requireType,
} from './vendor-transport.ts'

type VideoChoice = MediaChoice<'video'>

const ask = (
  transport: MediaTransport,
  choice: VideoChoice,
  create: (access: MediaAccess) => MediaRequest,
): Promise<Response> => askVendor(transport, choice, create, { vendor: choice.provider })

/** Returns the id of the job at the vendor. */
export async function startVideo(
  transport: MediaTransport,
  choice: VideoChoice,
  request: Omit<VideoRequest, 'model'>,
): Promise<string> {
  const { provider, model } = choice
  const vendor = videoVendors[provider]
  const answer = await ask(transport, choice, (access) => vendor.createRequest({ ...request, model }, access))
  return vendor.parseStarted(await readJson(provider, answer))
}

/** Undefined while the vendor works. Throws for a job that has failed. */
export async function readVideo(
  transport: MediaTransport,
  choice: VideoChoice,
  id: string,
): Promise<MadeFile | undefined> {
  const { provider, model } = choice
  const vendor = videoVendors[provider]
  const job = { model, id }
  const status = await ask(transport, choice, (access) => vendor.createStatusRequest(job, access))
  if (!vendor.isDone(await readJson(provider, status))) return undefined
  const result = await ask(transport, choice, (access) => vendor.createResultRequest(job, access))
  const bytes =
    'parseResult' in vendor
      ? await readSource(transport, provider, vendor.parseResult(await readJson(provider, result)))
      : await readBytes(provider, result)
  return requireType(provider, bytes, 'video')
}
