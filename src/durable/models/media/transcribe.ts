/** Writes down what is said in a file, by the chosen vendor. */

import type { MediaChoice } from '#agent/routing/media-vendors.ts'
import {
  bindingTranscription,
  createTranscriptionBindingCall,
  parseTranscriptionBinding,
  type Transcript,
  type TranscriptionRequest,
  transcriptionVendors,
} from '#backends/media/transcription.ts'
import { MediaFailure } from '#backends/media/vendor.ts'
import { askVendor, type MediaTransport, readJson, runBinding } from './vendor-transport.ts'

export type TranscriptionJob = Omit<TranscriptionRequest, 'model'>

const megabyte = 1024 * 1024

export async function transcribe(
  transport: MediaTransport,
  choice: MediaChoice<'transcription'>,
  job: TranscriptionJob,
): Promise<Transcript> {
  const { provider, model } = choice
  const request = { ...job, model }
  const { maxBytes } = provider === 'workers-ai' ? bindingTranscription : transcriptionVendors[provider]
  if (job.bytes.length > maxBytes)
    throw new MediaFailure('refused', `${provider} takes files of at most ${maxBytes / megabyte} MB.`)
  if (provider === 'workers-ai') {
    const answer = await runBinding(transport, createTranscriptionBindingCall(request))
    return parseTranscriptionBinding('json' in answer ? answer.json : undefined)
  }
  const vendor = transcriptionVendors[provider]
  const response = await askVendor(transport, choice, (access) => vendor.createRequest(request, access), {
    vendor: provider,
  })
  return vendor.parse(await readJson(provider, response))
}
