/** Explains what has failed, by the code of the API, and in German also by its sentence. It is loaded with the first error. */

import { germanErrors, germanFailures, germanReasons } from './errors-de.ts'

/** Codes whose sentences are for clients of the API, or too general. */
const english = new Map(
  Object.entries({
    body_too_large: 'It is too large.',
    insufficient_scope: 'Your key may not do this.',
    internal_error: 'Something went wrong on the server. Try again.',
    invalid_api_key: 'You are signed out. Sign in again.',
    invalid_json: 'The text is not valid JSON.',
    limit_exceeded: 'A limit is reached.',
    loop_detected: 'An agent may not use its own page.',
    method_not_allowed: 'The server does not know this. Reload the page.',
    not_found: 'It does not exist any more, or your key may not see it.',
    unknown: 'The server did not answer as expected. Try again.',
  }),
)

/** The German text of a code whose sentence has no translation. The API may have newer ones: `unknown`. */
const germanCodes: Readonly<Record<string, string>> = {
  body_too_large: 'Das ist zu groß.',
  insufficient_scope: 'Dein Schlüssel darf das nicht.',
  internal_error: 'Auf dem Server ist etwas schiefgegangen. Versuche es noch einmal.',
  invalid_api_key: 'Du bist abgemeldet. Melde dich wieder an.',
  invalid_json: 'Der Text ist kein gültiges JSON.',
  limit_exceeded: 'Eine Grenze ist erreicht.',
  loop_detected: 'Ein Agent darf seine eigene Seite nicht benutzen.',
  method_not_allowed: 'Der Server kennt das nicht. Lade die Seite neu.',
  not_found: 'Das gibt es nicht mehr, oder dein Schlüssel darf es nicht sehen.',
  unknown: 'Der Server hat nicht wie erwartet geantwortet. Versuche es noch einmal.',
  blocked_url: 'Diese Adresse darf nicht verwendet werden.',
  conflict: 'Das geht gerade nicht: Es hat sich inzwischen geändert. Lade neu und versuche es noch einmal.',
  context_length_exceeded: 'Das Gespräch ist zu lang für das Modell.',
  disk_full: 'Auf dem Rechner des Arbeitsbereichs ist kein Platz mehr.',
  idempotency_key_conflict: 'Diese Anfrage wurde schon mit anderem Inhalt gesendet. Lade die Seite neu.',
  insufficient_quota: 'Das Konto beim Anbieter hat kein Guthaben mehr.',
  invalid_output: 'Das Modell hat nicht in der verlangten Form geantwortet.',
  invalid_request: 'Diese Angabe geht so nicht.',
  model_not_found: 'Dieses Modell gibt es hier nicht.',
  not_configured: 'Dafür fehlt dieser Installation eine Einstellung.',
  policy: 'Das erlauben die Regeln hier nicht.',
  precondition_failed: 'Das hat sich inzwischen geändert. Lade es neu.',
  previous_response_not_found: 'Die vorige Antwort gibt es nicht mehr.',
  provider_error: 'Der Anbieter des Modells hat einen Fehler gemeldet.',
  provider_key_rejected: 'Der Anbieter hat den Schlüssel abgewiesen.',
  range_not_satisfiable: 'So viel hat die Datei nicht.',
  rate_limit_exceeded: 'Die Anfragegrenze des Anbieters ist erreicht. Warte einen Augenblick.',
  tenant_suspended: 'Dieser Mandant ist gesperrt. Frage den Betreiber.',
  unavailable: 'Der Server ist gerade nicht bereit. Versuche es gleich noch einmal.',
  unsupported: 'Das wird hier nicht unterstützt.',
  websocket_connection_limit_reached: 'Die Verbindung war zu lange offen. Lade die Seite neu.',
}
const german = new Map(Object.entries(germanCodes))

const translate = createTranslator(germanErrors)
const translateReason = createTranslator(germanReasons)

type Refusal = { readonly code: string; readonly message: string; readonly param: string | null }

export function explainError({ code, message, param }: Refusal, language: string): string {
  const name = param ? ` (${param})` : ''
  if (language !== 'de') return `${english.get(code) ?? message}${name}`
  const sentence = translate(message)
  if (sentence !== undefined) return sentence
  return `${german.get(code) ?? germanCodes['unknown']}${nearestOf(message)}${name}`
}

/** The nearest names of a model that is unknown. */
const nearestOf = (message: string): string => {
  const [, names] = /Did you mean ([^?]{1,400})\?/.exec(message) ?? []
  return names === undefined ? '' : ` Meinst du ${names}?`
}

/** Translates sentences by their templates, in their order. Undefined for one that is not known. */
function createTranslator(table: Readonly<Record<string, string>>): (sentence: string) => string | undefined {
  const exact = new Map(Object.entries(table))
  const templates = [...exact]
    .filter(([from]) => from.includes('{1}'))
    .map(([from, text]) => ({ parts: from.split(/\{\d\}/), text }))
  return (sentence) => {
    const known = exact.get(sentence)
    if (known !== undefined) return known
    for (const { parts, text } of templates) {
      const values = match(sentence, parts)
      if (values) return text.replace(/\{(\d)\}/g, (_, at: string) => values[Number(at) - 1] ?? '')
    }
    return undefined
  }
}

/** The texts between the parts of a sentence, which stand in it in this order. */
function match(message: string, parts: readonly string[]): readonly string[] | undefined {
  const [first = '', ...others] = parts
  if (!message.startsWith(first)) return undefined
  const values: string[] = []
  let at = first.length
  for (const [n, part] of others.entries()) {
    const isLast = n === others.length - 1
    const next = isLast ? message.length - part.length : message.indexOf(part, at)
    if (next < at || !message.startsWith(part, next)) return undefined
    values.push(message.slice(at, next))
    at = next + part.length
  }
  return at === message.length ? values : undefined
}

/** Renders a notice of a failed run in the language of the page: what happened, and the words of the provider. */
export function explainFailure(notice: string, language: string): string {
  const [reason] = Object.keys(germanFailures)
    .filter((one) => notice.startsWith(one))
    .toSorted((one, other) => other.length - one.length)
  if (language !== 'de' || reason === undefined) return `I could not finish this: ${notice}`
  const rest = notice.slice(reason.length)
  const detail = rest.startsWith(' (') ? rest.slice(0, rest.indexOf(').') + 1) : ''
  return `Das konnte ich nicht beenden: ${germanFailures[reason]}${detail}. Vom Gespräch ist nichts verloren; du kannst es noch einmal versuchen.`
}

/** Explains why a call waits or a server of MCP is not there. Undefined: only in the words that it has, because others may have written them. */
export const explainReason = (reason: string, language: string): string | undefined =>
  language === 'de' ? translateReason(reason) : reason
