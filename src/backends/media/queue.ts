/** Follows a job in the queue of FAL: its place, its state and its result. */

import * as z from 'zod'
import { MediaFailure, parseAnswer, type MediaAccess, type MediaRequest } from './vendor.ts'

const queued = z.object({ request_id: z.string().regex(/^[\w-]{1,200}$/) })

/** Returns the id under which the job is asked for. */
export const parseQueued = (answer: unknown): string => parseAnswer('FAL', queued, answer).request_id

/**
 * The address of a job. It is made from the id, not taken from the answer: the key is sent there. Only the first two
 * parts of a model's name are part of it.
 */
const jobUrl = (model: string, id: string, { baseUrl }: MediaAccess): string =>
  `${baseUrl}/${model.split('/').slice(0, 2).join('/')}/requests/${id}`

const read = (url: string, { key }: MediaAccess): MediaRequest => ({
  url,
  method: 'GET',
  headers: { authorization: `Key ${key}` },
})

export const createStatusRequest = (model: string, id: string, access: MediaAccess): MediaRequest =>
  read(`${jobUrl(model, id, access)}/status`, access)

export const createResultRequest = (model: string, id: string, access: MediaAccess): MediaRequest =>
  read(jobUrl(model, id, access), access)

const status = z.looseObject({ status: z.string() })

/** Whether the result can be read. Throws for a job that has failed. An answer without a state says nothing about it. */
export function isQueueDone(answer: unknown): boolean {
  const { data } = status.safeParse(answer)
  if (!data || ['IN_QUEUE', 'IN_PROGRESS'].includes(data.status)) return false
  if (data.status === 'COMPLETED') return true
  throw new MediaFailure('refused', `FAL: the job ended as ${data.status.slice(0, 60)}.`)
}
