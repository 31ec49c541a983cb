/** Decides how the bytes of a web address are read: by their first bytes, and where these say nothing, by the content type. */

import { detectMediaType } from '#agent/core/media/detect-media-type.ts'
import { decodeText } from '../decode-text.ts'

export type ContentKind = 'html' | 'text' | 'pdf' | 'docx' | 'xlsx' | 'pptx' | 'image' | 'media' | 'archive' | 'binary'

const sniffedBytes = 1_024

const htmlStart =
  /^\s{0,200}(?:<!doctype html|<(?:html|head|body|script|style|meta|title|link|div|p|h1|table|br|iframe|font|a|b)[\s>/])/i
const htmlDocument = /^\s{0,200}(?:<!doctype html|<html[\s>])/i

const officeTypes = [
  ['docx', /wordprocessingml|\.docx\b/i],
  ['xlsx', /spreadsheetml|\.xlsx\b/i],
  ['pptx', /presentationml|\.pptx\b/i],
] as const

/** `name`: the path of the address, whose end may name the format of an archive. */
export function detectContent(bytes: Uint8Array, contentType: string, name: string): ContentKind {
  return (
    detectBinary(bytes, `${contentType} ${name}`) ??
    detectText(decodeText(bytes.subarray(0, sniffedBytes)), contentType)
  )
}

function detectBinary(bytes: Uint8Array, description: string): ContentKind | undefined {
  const head = String.fromCharCode(...bytes.subarray(0, sniffedBytes))
  if (head.includes('%PDF-')) return 'pdf'
  if (head.startsWith('PK\u0003\u0004'))
    return officeTypes.find(([, pattern]) => pattern.test(description))?.[0] ?? 'archive'
  if (head.startsWith('\u001f\u008b') || head.startsWith('7z\u00bc') || head.startsWith('Rar!')) return 'archive'
  const media = detectMediaType(bytes)
  if (media) return media.mime.startsWith('image/') ? 'image' : 'media'
  return head.includes('\u0000') && !/^(?:\u00ff\u00fe|\u00fe\u00ff)/.test(head) ? 'binary' : undefined
}

function detectText(head: string, contentType: string): ContentKind {
  if (htmlDocument.test(head)) return 'html'
  if (/^\s{0,200}<\?xml/.test(head)) return /<html[\s>]/i.test(head) ? 'html' : 'text'
  if (/^\s{0,200}[{[]/.test(head) && !/[<]\/?[a-z]/i.test(head)) return 'text'
  if (/^\s{0,20}(?:text\/html|application\/xhtml)/i.test(contentType)) return 'html'
  if (/^\s{0,20}(?:text\/|application\/(?:[\w.+-]{0,60}(?:json|xml)|javascript|x-yaml|yaml))/i.test(contentType))
    return 'text'
  return htmlStart.test(head) ? 'html' : 'text'
}
