/** Tests that secrets are masked in texts and streams, that harmless text stays, and that patterns take linear time. */

import { describe, expect, it } from 'vitest'
import { createRedactor, redactJson } from '#agent/core/secrets/redaction.ts'
import { maskSecrets } from '#agent/core/secrets/mask-secrets.ts'
import { identifiableFormats, namedFormats } from '#agent/core/secrets/secret-formats.ts'

/** Deterministic characters with digits, upper and lower case. */
const random = (length: number, alphabet = 'Qa7Zk2LmN8pR4sT6vW1xY3z') =>
  Array.from({ length }, (_, i) => alphabet[(i * 7 + (i >> 3)) % alphabet.length]).join('')
const hex = (length: number) => random(length, '0a9f3c7e1b5d')
const word = random(40)

/** [kind, text, the part that must not be seen] */
const secrets: readonly (readonly [string, string, string])[] = [
  ['openai', `key sk-proj-${word} end`, word],
  ['anthropic', `sk-ant-api03-${word}-AA`, word],
  ['openrouter', `sk-or-v1-${hex(64)}`, hex(64)],
  ['stripe', `sk_live_${random(24)}`, random(24)],
  ['stripe restricted', `rk_test_${random(24)}`, random(24)],
  ['stripe webhook', `whsec_${random(32)}`, random(32)],
  ['cerebras', `csk-${hex(48)}`, hex(48)],
  ['github personal', `ghp_${random(36)}`, random(36)],
  ['github oauth', `gho_${random(36)}`, random(36)],
  ['github server', `ghs_${random(36)}`, random(36)],
  ['github fine-grained', `github_pat_11${random(20)}_${random(59)}`, random(59)],
  ['gitlab', `glpat-${random(20)}`, random(20)],
  ['gitlab deploy', `gldt-${random(20)}`, random(20)],
  ['slack bot', `xoxb-123456789012-${random(24)}`, random(24)],
  ['slack user', `xoxp-1234-${random(24)}`, random(24)],
  ['slack app', `xapp-1-A0123-${random(40)}`, random(40)],
  ['slack webhook', `https://hooks.slack.com/services/T0001/B0001/${random(24)}`, random(24)],
  ['discord webhook', `https://discord.com/api/webhooks/123456789012345678/${random(60)}`, random(60)],
  ['discord bot', `token N${random(25)}.GabcDe.${random(38)} x`, random(38)],
  ['telegram bot', `https://api.telegram.org/bot1234567890:AA${random(33)}/getMe`, random(33)],
  ['aws key id', 'AKIAIOSFODNN7EXAMPLE', 'IOSFODNN7EXAMPLE'],
  ['aws secret', `AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCY${random(8)}`, 'K7MDENG'],
  ['google api', `AIza${random(35)}`, random(35)],
  ['google client secret', `GOCSPX-${random(28)}`, random(28)],
  ['google access token', `ya29.${random(60)}`, random(60)],
  ['npm', `npm_${random(36)}`, random(36)],
  ['hugging face', `hf_${random(34)}`, random(34)],
  ['groq', `gsk_${random(52)}`, random(52)],
  ['xai', `xai-${random(60)}`, random(60)],
  ['talaria', `tal_k1abcd_${random(43)}`, random(43)],
  ['pypi', `pypi-AgEIcHlwaS5vcmc${random(60)}`, random(60)],
  ['jwt', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl', 'c2lnbmF0dXJl'],
  ['sendgrid', `SG.${random(22)}.${random(43)}`, random(43)],
  ['twilio', `SK${hex(32)}`, hex(32)],
  ['mailgun', `key-${hex(32)}`, hex(32)],
  ['mailchimp', `${hex(32)}-us12`, hex(32)],
  ['digitalocean', `dop_v1_${hex(64)}`, hex(64)],
  ['shopify', `shpat_${hex(32)}`, hex(32)],
  ['square', `sq0atp-${random(22)}`, random(22)],
  ['databricks', `dapi${hex(32)}`, hex(32)],
  ['doppler', `dp.pt.${random(43)}`, random(43)],
  ['vault', `hvs.${random(90)}`, random(90)],
  ['terraform', `${random(14)}.atlasv1.${random(67)}`, random(67)],
  ['linear', `lin_api_${random(40)}`, random(40)],
  ['notion', `ntn_${random(46)}`, random(46)],
  ['airtable', `pat${random(14)}.${hex(64)}`, hex(64)],
  ['figma', `figd_${random(40)}`, random(40)],
  ['planetscale', `pscale_tkn_${random(43)}`, random(43)],
  ['postman', `PMAK-${hex(24)}-${hex(34)}`, hex(34)],
  ['new relic', `NRAK-${random(27)}`, random(27)],
  ['grafana', `glsa_${random(32)}_${hex(8)}`, random(32)],
  ['sentry', `sntrys_${random(60)}`, random(60)],
  ['replicate', `r8_${random(37)}`, random(37)],
  ['perplexity', `pplx-${random(48)}`, random(48)],
  ['fireworks', `fw_${random(24)}`, random(24)],
  ['tavily', `tvly-dev-${random(32)}`, random(32)],
  ['firecrawl', `fc-${hex(32)}`, hex(32)],
  ['nvidia', `nvapi-${random(60)}`, random(60)],
  ['jina', `jina_${random(60)}`, random(60)],
  ['e2b', `e2b_${hex(40)}`, hex(40)],
  ['age', `AGE-SECRET-KEY-1${random(58, 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L')}`, '1QDKF0'],
  ['supabase', `sbp_${hex(40)}`, hex(40)],
  ['docker', `dckr_pat_${random(27)}`, random(27)],
  ['rubygems', `rubygems_${hex(48)}`, hex(48)],
  ['atlassian', `ATATT3x${random(80)}`, random(80)],
  ['tailscale', `tskey-auth-${random(20)}-${random(30)}`, random(30)],
  ['langsmith', `lsv2_pt_${hex(32)}_${hex(10)}`, hex(32)],
  ['azure storage', `AccountName=x;AccountKey=${random(86)}==;EndpointSuffix=y`, random(86)],
  ['url password', `postgres://admin:p4ss-Wort!${random(8)}@db.example.com/x`, `p4ss-Wort!${random(8)}`],
  ['basic', `Authorization: Basic ${btoa(`user:${random(12)}`)}`, btoa(`user:${random(12)}`)],
  ['bearer', `curl -H "Authorization: Bearer ${word}" https://x`, word],
  ['api key header', `X-Api-Key: ${random(20)}`, random(20)],
  ['environment', `export MY_SERVICE_TOKEN="${random(20)}"`, random(20)],
  ['json', `{"client_secret": "${random(20)}"}`, random(20)],
  ['yaml', `password: hunter2${random(6)}`, `hunter2${random(6)}`],
  ['flag', `mysql --password ${random(12)} -e x`, random(12)],
  ['curl user', `curl -u admin:${random(12)} https://x`, random(12)],
  ['query', `https://example.com/?access_token=${random(20)}&x=1`, random(20)],
  ['signed link', `https://b.s3.amazonaws.com/k?X-Amz-Signature=${hex(64)}`, hex(64)],
  ['cookie', `Cookie: session=${random(32)}; theme=dark`, random(32)],
  ['netrc', `machine example.com login me password ${random(10)}`, random(10)],
  ['private key', `-----BEGIN RSA PRIVATE KEY-----\n${random(64)}\n${word}\n-----END RSA PRIVATE KEY-----\n`, word],
  ['private key in json', `"-----BEGIN PRIVATE KEY-----\\n${random(64)}\\n-----END PRIVATE KEY-----\\n"`, random(64)],
]

const hexOf = (text: string) => Buffer.from(text).toString('hex')
const exact = 'correct horse/battery+staple "7"'
const redactor = createRedactor([exact, 'plainSecretValue', 'short'])
const exactForms = [
  exact,
  'plainSecretValue',
  encodeURIComponent(exact),
  JSON.stringify(exact).slice(1, -1),
  btoa(exact),
  btoa(`user:${exact}`),
  btoa(`me:${exact}:x`),
  btoa(`ab${exact}`).replaceAll('+', '-').replaceAll('/', '_'),
  hexOf(exact),
  hexOf(exact).toUpperCase(),
  // As Python quotes it, as a form sends it, and in lower case.
  encodeURIComponent(exact).replaceAll('%2F', '/'),
  encodeURIComponent(exact).replaceAll('%20', '+'),
  encodeURIComponent(exact).toLowerCase(),
]

function streamed(pieces: readonly string[]): string {
  const stream = redactor.stream()
  return pieces.map((piece) => stream.push(piece)).join('') + stream.flush()
}

describe('formats of secrets', () => {
  it('are at least sixty', () => expect(secrets.length).toBeGreaterThanOrEqual(60))

  it.each(secrets)('%s is masked', (_kind, text, secret) => {
    expect(redactor.redact(text)).toContain('***')
    expect(redactor.redact(text)).not.toContain(secret)
  })

  it.each(secrets)('%s is masked in a stream, wherever it is split', (_kind, text) => {
    const whole = `Here it is: ${text}\nand more.`
    const redacted = redactor.redact(whole)
    for (let at = 1; at < whole.length; at++)
      expect([at, streamed([whole.slice(0, at), whole.slice(at)])]).toEqual([at, redacted])
    expect(streamed([...whole])).toBe(redacted)
  })

  const ownLink = `/files/${random(90)}?exp=1800000000&sig=${random(43)}`
  it.each([
    ['of its own', ownLink],
    ['in JSON', `{"url":"${ownLink}"}`],
    ['with an origin', `[a](https://talaria.example.com${ownLink}) is ready`],
  ])('let a link %s stay, as it opens a file for an hour only', (_, text) => {
    expect(redactor.redact(text)).toBe(text)
    expect(streamed([...text])).toBe(text)
  })

  it.each([
    ['another path', ownLink.replace('/files/', '/blob/')],
    ['a short id', ownLink.replace(random(90), 'a.txt')],
    ['a longer signature', `${ownLink}A`],
    ['an encoded signature', `${ownLink}%3D`],
    ['another parameter before it', ownLink.replace('&sig', '&x=1&sig')],
  ])('mask the signature of a link with %s', (_, text) => expect(redactor.redact(text)).toMatch(/&sig=\*\*\*$/))

  it('leave a private key without an end masked', () => {
    const text = `-----BEGIN PRIVATE KEY-----\n${`${random(64)}\n`.repeat(20)}That was all.`
    expect(redactor.redact(text)).toBe('***\nThat was all.')
  })
})

describe('exact values', () => {
  it.each(exactForms)('%s is masked, wherever it is split', (form) => {
    const whole = `value ${form} end`
    const redacted = redactor.redactExact(whole)
    expect(redacted).toContain('***')
    expect(redacted).not.toContain(form.slice(4, -4))
    for (let at = 1; at < whole.length; at++)
      expect([at, streamed([whole.slice(0, at), whole.slice(at)])]).toEqual([at, redactor.redact(whole)])
  })

  it('of fewer than eight characters stay', () => expect(redactor.redact('a short text')).toBe('a short text'))

  it('are masked in all texts of a value', () =>
    expect(redactor.redactValue({ a: ['plainSecretValue', 5, null], api_key: 'x' })).toEqual({
      a: ['***', 5, null],
      api_key: '***',
    }))
})

describe('a secret in base64', () => {
  it.each([9, 10, 11, 12, 13])('of %d characters is masked to its last character, with the padding', (length) => {
    const secret = random(length)
    const { redact } = createRedactor([secret])
    expect(redact(`x ${btoa(secret)} y`)).toBe('x *** y')
    expect(redact(`${btoa(secret)}\n`)).toBe('***\n')
    expect(redact(btoa(`user:${secret}`))).toBe('dXNlcj***')
    expect(redact(btoa(`abc${secret}`))).toBe('YWJj***')
  })

  it('leaves the text behind it', () => {
    const { redact } = createRedactor([random(12)])
    expect(redact(btoa(`abc${random(12)}def`))).toBe('YWJj***ZGVm')
    expect(redact(`"${btoa(random(12))}","==="`)).toBe('"***","==="')
  })
})

describe('a secret in forms of other programs', () => {
  const hard = `K'9x $z"p\\w;A,b!#(c)~q`
  const secret = 'zQ7kPw93LmXv81RtYbNc'
  const all = createRedactor([hard, secret])
  /** The output of a program, as recorded. */
  const shown = {
    base32: ['PJITO22QO44TGTDNLB3DQMKSORMWETTD'],
    'base32 behind a character': ['PB5FCN3LKB3TSM2MNVMHMOBRKJ2FSYSOMM======'],
    'base32 behind three': ['PB4HQ6SRG5VVA5ZZGNGG2WDWHAYVE5CZMJHGG==='],
    'printf %q': [String.raw`K\'9x\ \$z\"p\\w\;A\,b\!#\(c\)~q`],
    'single quotes': [String.raw`'K'\''9x $z"p\w;A,b!#(c)~q'`],
    'declare -p': [String.raw`declare -x X="K'9x \$z\"p\\w;A,b!#(c)~q"`],
  } as const

  it.each(Object.entries(shown))('is masked: %s', (_, [output]) => {
    for (const [before, after] of [
      ['', ''],
      ['x ', ' y'],
      ['a\n', '\nb'],
    ]) {
      const text = all.redact(`${before}${output}${after}`)
      expect(text).toContain('***')
      for (const part of ['9x', 'A,b', 'c)', output.slice(-12, -7)]) expect(text).not.toContain(part)
    }
  })

  it.each([4, 8, 10, 20, 29])('is masked in base64, base32 and hex over lines of %i characters', (width) => {
    const wrap = (text: string) => text.replace(new RegExp(`.{${width}}(?=.)`, 'g'), '$&\n')
    for (const form of [btoa(`user:${secret}:x`), hexOf(secret), shown.base32[0], secret])
      for (const [before, after] of [
        ['', ''],
        ['out: ', ''],
        ['', ' end'],
        ['first\n', '\nlast words'],
      ]) {
        const text = `${before}${wrap(form)}${after}`
        const joined = all.redact(text).replaceAll('\n', '')
        expect(joined).toContain('***')
        for (let at = 10; at + 8 < form.length - 6; at += 4) expect(joined).not.toContain(form.slice(at, at + 8))
      }
  })

  it.each([4, 5, 8, 10, 20])('with spaces is masked over lines of %i characters, also in a stream', (width) => {
    const output = `a\n${hard.replace(new RegExp(`.{${width}}(?=.)`, 'g'), '$&\n')}\nb c\n`
    expect(all.redact(output)).toBe('a\n***\nb c\n')
    for (let cut = 0; cut <= output.length; cut++) {
      const stream = all.stream()
      expect(stream.push(output.slice(0, cut)) + stream.push(output.slice(cut)) + stream.flush()).toBe('a\n***\nb c\n')
    }
  })

  it('is masked in a stream, wherever its pieces end', () => {
    const wrapped = btoa(`user:${secret}:x`).replace(/.{20}(?=.)/g, '$&\n')
    for (const output of [wrapped, shown['printf %q'][0], shown.base32[0]])
      for (let cut = 0; cut <= output.length; cut++) {
        const stream = all.stream()
        const text =
          stream.push(`see ${output.slice(0, cut)}`) + stream.push(`${output.slice(cut)}\nend `) + stream.flush()
        expect(text).toBe(all.redact(`see ${output}\nend `))
        expect(text).toContain('***')
      }
  })

  it('leaves other lines, escapes and words as they are, and is shown soon', () => {
    const names = Array.from({ length: 200 }, (_, n) => `file-${n}.ts`).join('\n')
    const other = String.raw`grep -E \"a\|b\" \(x\) C:\dir\file  \\server\share`
    for (const text of [names, other, `${names}\n${other}`]) expect(all.redact(text)).toBe(text)
    const stream = all.stream()
    expect(names.length - stream.push(names).length).toBeLessThan(400)
  })
})

describe('a secret that is wrapped over lines', () => {
  const long = `${random(50)}/${random(70)}`
  const wrapped = (text: string, width: number, end = '\n') =>
    (text.match(new RegExp(`.{1,${width}}`, 'g')) ?? []).join(end)
  const { redact, redactExact, stream } = createRedactor([long, 'plainSecretValue'])
  const streamedIn = (pieces: readonly string[]) => {
    const { push, flush } = stream()
    return pieces.map(push).join('') + flush()
  }

  it.each([
    ['base64', wrapped(btoa(long), 76)],
    ['base64 behind other text', wrapped(btoa(`user:${long}:and more`), 76)],
    ['base64 with carriage returns', wrapped(btoa(long), 64, '\r\n')],
    ['hex', wrapped(hexOf(long), 60)],
    ['plain text', wrapped(long, 40)],
  ])('is masked as %s, wherever it is split', (_, form) => {
    const text = `x\n${form}\nend of it\n`
    const redacted = redactExact(text)
    expect(redacted).toMatch(/^x\n\S{0,8}\*\*\*\S{0,12}\nend of it\n$/)
    expect(redact(text)).toBe(redacted)
    for (let at = 1; at < text.length; at++)
      expect([at, streamedIn([text.slice(0, at), text.slice(at)])]).toEqual([at, redacted])
    expect(streamedIn([...text])).toBe(redacted)
  })

  it('is masked in JSON', () => {
    for (const end of ['\n', '\r\n']) {
      const text = JSON.stringify({ output: `x\n${wrapped(btoa(long), 76, end)}\nend` })
      expect(redactJson(text, redact)).toBe('{"output":"x\\n***\\nend"}')
    }
  })

  it('is masked at its place among other wrapped lines', () => {
    const other = wrapped(random(400, 'ABCDEFGH'), 76)
    const text = `${other}\n${wrapped(btoa(long), 76)}\n\n${other}\nplainSecretValue\n${other}`
    expect(redact(text)).toBe(`${other}\n***\n\n${other}\n***\n${other}`)
  })

  it('takes linear time', () => {
    const lines = wrapped(random(300_000), 76)
    const since = performance.now()
    expect(redact(lines)).toBe(lines)
    streamedIn([lines.slice(0, 150_000), lines.slice(150_000)])
    expect(performance.now() - since).toBeLessThan(2_000)
  })
})

describe('a stream', () => {
  it('shows words as soon as they are complete', () => {
    const stream = redactor.stream()
    expect([stream.push('Hello wor'), stream.push('ld, this is 漢字'), stream.push('!')]).toEqual([
      'Hello ',
      'world, this is 漢字',
      '',
    ])
    expect(stream.flush()).toBe('!')
  })

  it('keeps a bounded text', () => {
    const stream = redactor.stream()
    const text = 'ab'.repeat(5_000)
    let shown = ''
    for (let count = 0; count < 20; count++) shown += stream.push(text)
    expect(shown.length).toBeGreaterThan(100_000)
    expect(shown + stream.flush()).toBe(text.repeat(20))
  })
})

describe('harmless text', () => {
  const lines = [
    'git commit -m "add token counting"',
    'const tokens = count(text)',
    'max_tokens: 4096',
    'max_tokens: 200000',
    'the secret of success',
    'PASSWORD=$PASSWORD ./run.sh',
    'password: string',
    'const apiKey = process.env.OPENAI_API_KEY',
    'token: request.headers.token',
    'npm run test -- --token-limit 5',
    'https://example.com/a:b/c',
    'docker run -u 1000:1000 image',
    'commit 3f786850e387550fdab836ed7e6dc881de23001b',
    'sha512-9NUVHFnNqMXdBQzPJLr8XBeHIIYYbWnQuUdY/l1U3+Q==',
    'id 550e8400-e29b-41d4-a716-446655440000',
    'import { createRedactor } from "../../src/agent/core/redaction.ts"',
    'The bearer of this letter is authorised.',
    'drwxr-xr-x 2 user user 4096 Nov 22 19:00 credentials',
    'SELECT token_count, secret_level FROM usage',
    'Authentication failed for user admin',
    'keyboard-interactive: key-value pairs, monkey-patching',
  ]
  const nouns = ['build', 'token', 'cache', 'secret', 'user', 'key', 'page', 'password', 'index', 'session']
  const verbs = ['reads', 'writes', 'counts', 'returns', 'expires', 'loads', 'is', 'matches']
  const generated = Array.from({ length: 10_000 }, (_, i) => {
    const [one, other] = [nouns[i % 10], nouns[(i * 7 + 3) % 10]]
    const forms = [
      `The ${one} ${verbs[i % 8]} the ${other} ${i} times in ${i % 97} ms.`,
      `${one}_${other} = get${other}(${i})`,
      `[2026-11-22T19:${i % 60}:01Z] info ${one}.${other} ${verbs[i % 8]} id=${i.toString(16)} path=/srv/${one}/${i}`,
      `src/${one}/${other}-${i}.ts:${i % 400}: error TS${1000 + i}: '${one}' ${verbs[i % 8]} no ${other}.`,
      `{"${one}": ${i}, "${other}s": "${verbs[i % 8]} it", "at": "2026-11-22"}`,
      `  readonly ${one}: ${other}Options | undefined`,
      lines[i % lines.length] ?? '',
    ]
    return forms[i % forms.length] ?? ''
  })

  it.each(lines)('%s stays', (line) => expect(redactor.redact(line)).toBe(line))

  it('stays in 99.5 % of ten thousand lines', () => {
    const touched = generated.filter((line) => redactor.redact(line) !== line)
    expect(touched.length).toBeLessThanOrEqual(50)
  })
})

describe('each pattern takes linear time', () => {
  const seeds = [
    ...secrets.map(([, text]) => text),
    ...secrets.map(([, text]) => text.slice(0, Math.ceil(text.length / 2))),
    'eyJ-',
    'eyJaaaaaaaaa.',
    'sk-a-',
    'token',
    'password = ',
    'a://b:',
    'login x ',
    '-u a',
    '?token=',
    'a',
    ' ',
    '-',
    '-----BEGIN PRIVATE KEY-----',
    '-----BEGIN ',
    'cookie: a',
    'authorization: bearer ',
    'aa.',
    'A0',
    'SG.aaaaaaaaaaaaaaaa.',
    '&sig=',
    '?exp=1&sig=',
    `/files/${'a'.repeat(50)}?exp=1&sig=`,
  ]
  const repeated = (seed: string, size: number) => seed.repeat(Math.ceil(size / seed.length)).slice(0, size)
  const hostile = seeds.map((seed) => repeated(seed, 100_000))

  /** Milliseconds. Other files take the processor away at times, so the fastest of several tries counts. */
  function measure(pattern: RegExp, text: string): number {
    let fastest = Infinity
    for (let tries = 0; tries < 12 && fastest > 20; tries++) {
      const start = performance.now()
      for (const match of text.matchAll(pattern)) void match
      fastest = Math.min(fastest, performance.now() - start)
    }
    return fastest
  }

  // A busy machine is slow with short texts, too. Twice the text takes twice the time in linear search, else four times.
  it.each([...identifiableFormats, ...namedFormats].map(({ kind, pattern }) => [kind, pattern] as const))(
    '%s',
    (_, pattern) => {
      const slow = seeds.flatMap((seed, at) => {
        const whole = measure(pattern, hostile[at] ?? '')
        const isLinear = whole <= 20 || (whole <= 200 && whole < 3 * measure(pattern, repeated(seed, 50_000)))
        return isLinear ? [] : [[seed, whole]]
      })
      expect(slow).toEqual([])
    },
  )

  it('the whole redaction, on 100 KB', () => {
    const times = hostile.map((text, at) => {
      const start = performance.now()
      redactor.redact(text)
      return [Math.round(performance.now() - start), seeds[at]] as const
    })
    expect(times.filter(([ms]) => ms > 400)).toEqual([])
  })
})

describe('a text that was masked by formats alone', () => {
  it.each(['aB3$x9&Kd 7=Wm%pT~Y9', "p4ss;word'with quotes", 'left right"and more', 'a1b2c3d4, e5f6'])(
    'has no end of %s',
    (value) => {
      const { redact } = createRedactor([value])
      for (const text of [
        `MY_TOKEN=${value}`,
        `{"MY_TOKEN": ${JSON.stringify(value)}}`,
        `export API_KEY=${value}\nok`,
      ]) {
        const shown = redact(maskSecrets(text))
        for (let at = 0; at + 4 <= value.length; at++) expect(shown).not.toContain(value.slice(at))
      }
    },
  )

  it('keeps what stands behind a mask', () => {
    const { redact } = createRedactor(['aB3$x9&Kd 7=Wm%pT~Y9'])
    expect(redact('TOKEN=***&limit=9, and *** 7')).toBe('TOKEN=***&limit=9, and *** 7')
  })
})

describe('a result in JSON', () => {
  const { redact } = redactor

  it.each([
    [{ output: 'password=hunter2abc"\nnext' }, { output: 'password=***"\nnext' }],
    [
      { files: [{ content: `a ${exact} b` }], count: 3 },
      { files: [{ content: 'a *** b' }], count: 3 },
    ],
    [{ output: 'nothing to hide' }, { output: 'nothing to hide' }],
  ])('stays valid: %j', (value, expected) => {
    expect(JSON.parse(redactJson(JSON.stringify(value), redact))).toEqual(expected)
  })

  it('may be any other text', () => {
    expect(redactJson('{ token: plainSecretValue', redact)).toBe('{ token: ***')
    expect(redactJson('plainSecretValue', redact)).toBe('***')
  })
})
