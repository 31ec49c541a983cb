/** Renders the pages of the sign-in of apps. They have no script, load nothing, and stand in no frame. */

import { type AppScope, appScopes, describeReceiver, type Receiver } from '#agent/mcp/app-client.ts'
import { type ConsentWord, type ConsentWords, fillWords } from './consent-words.ts'
import { noStore } from './oauth-error.ts'

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const escape = (text: string): string => text.replace(/[&<>"']/g, (letter) => entities[letter] ?? '')

const style = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 34rem; margin: 0 auto; padding: 2rem 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; }
fieldset { border: 1px solid #8886; border-radius: .5rem; margin: 1rem 0; }
label { display: flex; gap: .6rem; padding: .3rem 0; align-items: baseline; }
input[type=password] { font: inherit; padding: .5rem; width: 100%; box-sizing: border-box; }
button { font: inherit; padding: .6rem 1.2rem; border-radius: .5rem; border: 1px solid #8886; cursor: pointer; min-height: 2.75rem; }
button.main { background: #2456c8; border-color: #2456c8; color: #fff; }
button.plain, a { color: inherit; }
.row { display: flex; flex-wrap: wrap; gap: .6rem; }
.note { opacity: .8; }
.failure { border-left: .3rem solid #c62828; padding-left: .6rem; }
.receiver { font-size: 1.1rem; font-weight: 600; }
`

/** `more`: where the form may lead besides this server, which browsers check along redirects too. */
function respond(words: ConsentWords, { status = 200, title, body, more = '', cookie }: Page): Response {
  const html = `<!doctype html><html lang="${words.lang}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${escape(title)}</title><style>${style}</style></head><body><main><h1>${escape(title)}</h1>${body}</main></body></html>`
  const policy = `default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'${more}`
  return new Response(html, {
    status,
    headers: {
      ...noStore,
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policy,
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex, nofollow',
      ...(cookie !== undefined && { 'set-cookie': cookie }),
    },
  })
}

type Page = {
  readonly title: string
  readonly body: string
  readonly status?: number
  readonly more?: string
  readonly cookie?: string
}

/** The parameters of the request, which every form sends again. */
export type Carried = readonly (readonly [string, string])[]

const renderHidden = (fields: Carried): string =>
  fields.map(([name, value]) => `<input type="hidden" name="${escape(name)}" value="${escape(value)}">`).join('')

const renderFailure = (words: ConsentWords, failure: ConsentWord | undefined): string =>
  failure === undefined ? '' : `<p class="failure" role="alert">${escape(words[failure])}</p>`

function renderLanguage(words: ConsentWords, carried: Carried): string {
  const query = new URLSearchParams(carried.map(([name, value]) => [name, value]))
  query.set('ui_locales', words.otherLang)
  return `<p class="note"><a href="?${escape(query.toString())}" lang="${words.otherLang}" hreflang="${words.otherLang}">${escape(words.other)}</a></p>`
}

export const renderRefusal = (words: ConsentWords, reason: ConsentWord, status = 400): Response =>
  respond(words, { status, title: words.refusedTitle, body: `<p>${escape(words[reason])}</p>` })

type SignInPage = { readonly carried: Carried; readonly host: string; readonly failure?: ConsentWord | undefined }

export function renderSignIn(words: ConsentWords, { carried, host, failure }: SignInPage): Response {
  const body = `<p>${escape(fillWords(words.signInText, { host }))}</p>${renderFailure(words, failure)}
<form method="post">${renderHidden(carried)}
<p><label for="key">${escape(words.key)}</label><input id="key" type="password" name="key" required autocomplete="current-password" autofocus></p>
<button class="main" name="action" value="sign-in">${escape(words.signIn)}</button></form>${renderLanguage(words, carried)}`
  return respond(words, { status: failure === undefined ? 200 : 401, title: words.signInTitle, body })
}

export type ConsentPage = {
  readonly carried: Carried
  readonly name: string
  readonly redirectUri: string
  readonly asked: readonly AppScope[]
  readonly held: ReadonlySet<string>
  readonly who: string
  readonly tenant: string
  /** Names the person, so that a change between page and answer is noticed. */
  readonly holder: string
  /** A cookie can be replaced by that of another key; a header cannot. */
  readonly canSignOut: boolean
  readonly failure?: ConsentWord | undefined
}

const receiverWords = { host: 'toHost', computer: 'toComputer', scheme: 'toScheme' } as const

const renderReceiver = (words: ConsentWords, { kind, name }: Receiver): string =>
  `<p>${escape(words[receiverWords[kind]])} <span class="receiver">${escape(name)}</span></p>`

/** Answering approvals has to be chosen: it lets the app decide what a person was asked for. */
const isPreset = (scope: AppScope): boolean => scope !== 'approve'

function renderScope(words: ConsentWords, { held }: ConsentPage, scope: AppScope): string {
  const isHeld = held.has(scope)
  const state = isHeld ? (isPreset(scope) ? ' checked' : '') : ' disabled'
  const note = isHeld ? '' : ` <span class="note">(${escape(words.notYours)})</span>`
  return `<label><input type="checkbox" name="grant" value="${scope}"${state}><span>${escape(words[scope])}${note}</span></label>`
}

export function renderConsent(words: ConsentWords, page: ConsentPage): Response {
  const { carried, name, redirectUri, asked, who, tenant, holder, canSignOut, failure } = page
  const scopes = appScopes.filter((scope) => asked.includes(scope)).map((scope) => renderScope(words, page, scope))
  const body = `<p>${escape(fillWords(words.asks, { name }))}</p>${renderReceiver(words, describeReceiver(redirectUri))}
<p class="note">${escape(words.unproven)}</p>${renderFailure(words, failure)}
<form method="post">${renderHidden([...carried, ['holder', holder]])}
<fieldset><legend>${escape(words.may)}</legend>${scopes.join('')}</fieldset>
<p>${escape(fillWords(words.person, { who, tenant }))}</p>
<div class="row"><button class="main" name="action" value="allow">${escape(words.allow)}</button>
<button name="action" value="deny">${escape(words.deny)}</button>
${canSignOut ? `<button class="plain" name="action" value="sign-out">${escape(words.signOut)}</button>` : ''}</div></form>
<p class="note">${escape(words.ends)}</p>${renderLanguage(words, carried)}`
  return respond(words, {
    title: fillWords(words.title, { name }),
    body,
    more: ` ${sourceOf(redirectUri)}`,
    ...(failure && { status: 400 }),
  })
}

/** The policy of a page cannot name an address in brackets. */
function sourceOf(redirectUri: string): string {
  const { protocol, hostname, origin } = new URL(redirectUri)
  const isNamed = (protocol === 'https:' || protocol === 'http:') && !hostname.startsWith('[')
  return isNamed ? origin : protocol
}
