/** Answers `/v1/audio/transcriptions` as OpenAI does. */

import { requireAction } from '../input/require-action.ts'
import { transcribeAction } from '#tools/tool-names.ts'
import { detectMediaType } from '#agent/core/media/detect-media-type.ts'
import { estimateSeconds } from '#backends/media/join-sound.ts'
import type { Transcript } from '#backends/media/transcription.ts'
import { transcribe } from '#durable/models/media/transcribe.ts'
import { AppError, invalid } from '../errors.ts'
import { readForm } from '../input/form.ts'
import { answerOnce, identifyForm } from './answer-once.ts'
import { mediaLimit } from './media-limit.ts'
import type { PaidRequest } from './paid-call.ts'
import { payFor, requireChoice } from './paid-request.ts'

const formats = ['json', 'text', 'verbose_json', 'srt', 'vtt'] as const
type TranscriptFormat = (typeof formats)[number]

export async function createTranscription(call: PaidRequest): Promise<Response> {
  const form = await readForm(call.web.req.raw, 'file', mediaLimit)
  return answerOnce({ ...call, bodyText: await identifyForm(form) }, () => transcribeForm(call, form))
}

async function transcribeForm(call: PaidRequest, form: FormData): Promise<Response> {
  const format = readFormat(form)
  await requireAction(call, { tool: transcribeAction, input: {}, isOrdered: true }, 'model')
  const choice = requireChoice(call, 'transcription', readText(form, 'model'))
  const file = form.get('file')
  if (!(file instanceof File)) throw invalid('Send the sound as the field `file` of multipart/form-data.', 'file')
  const bytes = new Uint8Array(await file.arrayBuffer())
  const type = detectMediaType(bytes)
  if (!type || !/^(?:audio|video)\//.test(type.mime))
    throw invalid('The file is neither sound nor video of a known format.', 'file')
  const { mime, extension } = type
  const job = {
    bytes,
    mime,
    name: `audio.${extension}`,
    language: readText(form, 'language'),
    prompt: readText(form, 'prompt'),
  }
  const transcript = await payFor(call, {
    use: 'transcription',
    choice,
    units: estimateSeconds(bytes, mime) / 60,
    work: (transport) => transcribe(transport, choice, job),
    unitsOf: ({ seconds = estimateSeconds(bytes, mime) }) => seconds / 60,
  })
  return renderTranscript(transcript, format)
}

const maxFieldChars = 4_000

function readText(form: FormData, name: string): string | undefined {
  const value = form.get(name)
  if (value === null || value === '') return undefined
  if (typeof value !== 'string' || value.length > maxFieldChars) throw invalid(`${name} is not a short text.`, name)
  return value
}

function readFormat(form: FormData): TranscriptFormat {
  if (form.get('stream') === 'true')
    throw new AppError(400, 'unsupported', 'Transcriptions are not streamed here.', { param: 'stream' })
  const wanted = readText(form, 'response_format') ?? 'json'
  const format = formats.find((one) => one === wanted)
  if (format === undefined) throw invalid(`response_format is one of ${formats.join(', ')}.`, 'response_format')
  return format
}

function renderTranscript(transcript: Transcript, format: TranscriptFormat): Response {
  const { text, seconds, language, segments } = transcript
  if (format === 'text') return textResponse(`${text}\n`)
  if (format === 'json')
    return Response.json({ text, ...(seconds !== undefined && { usage: { type: 'duration', seconds } }) })
  if (format === 'verbose_json')
    return Response.json({
      task: 'transcribe',
      language: language ?? '',
      duration: seconds ?? 0,
      text,
      segments: (segments ?? []).map((segment, id) => ({ id, ...segment })),
    })
  if (!segments)
    throw new AppError(400, 'unsupported', `This model tells no times, so there is no ${format}.`, {
      param: 'response_format',
    })
  return textResponse(renderSubtitles(segments, format))
}

const textResponse = (text: string) => new Response(text, { headers: { 'content-type': 'text/plain; charset=utf-8' } })

function renderSubtitles(segments: NonNullable<Transcript['segments']>, format: 'srt' | 'vtt'): string {
  const mark = format === 'srt' ? ',' : '.'
  const cues = segments.map(
    ({ start, end, text }, at) =>
      `${format === 'srt' ? `${at + 1}\n` : ''}${renderTime(start, mark)} --> ${renderTime(end, mark)}\n${text.trim()}\n`,
  )
  return `${format === 'vtt' ? 'WEBVTT\n\n' : ''}${cues.join('\n')}\n`
}

function renderTime(seconds: number, mark: string): string {
  const ms = Math.round(seconds * 1_000)
  const [hours, minutes, rest] = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60, Math.floor(ms / 1_000) % 60]
  const two = (value: number) => String(value).padStart(2, '0')
  return `${two(hours)}:${two(minutes)}:${two(rest)}${mark}${String(ms % 1_000).padStart(3, '0')}`
}
