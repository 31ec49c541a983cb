/** A page of one sentence for a browser that has opened a link of ours. It has no script and loads nothing. */

import { notFound } from '../errors.ts'
import type { RequestContext } from '../route.ts'

type Sentence = { readonly en: string; readonly de: string }

export function plainPage({ req }: RequestContext, status: number, sentence: Sentence): Response {
  const lang = /^de\b/i.test(req.header('accept-language') ?? '') ? 'de' : 'en'
  const html = `<!doctype html><html lang="${lang}"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Talaria</title><p>${sentence[lang]}</p></html>`
  return new Response(html, {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'content-security-policy': "default-src 'none'",
      'x-content-type-options': 'nosniff',
    },
  })
}

/** Links that are forged, revoked or expired get the same answer: for people a sentence, for programs an error. */
export function deadLink(context: RequestContext): Response {
  if (!context.req.header('accept')?.includes('text/html')) throw notFound()
  return plainPage(context, 404, {
    en: 'This link leads nowhere: it has expired, was withdrawn, or is incomplete. Ask for a new one.',
    de: 'Dieser Link führt nirgendwohin: Er ist abgelaufen, wurde zurückgezogen oder ist unvollständig. Bitte um einen neuen.',
  })
}
