/** Tests the proof of a sender against headers that other servers, or senders, have written. */

import { describe, expect, it } from 'vitest'
import { parseAuthenticationResults, provesSender } from '#channels/email/authentication-results.ts'

const service = 'mx.cloudflare.net'
const boss = 'boss@corp.test'

describe('a proof', () => {
  it.each([
    [
      'as Email Routing writes it',
      `${service};\r\n\tdkim=pass header.d=corp.test header.s=a header.b=L6CZ3OJ0;\r\n\tdmarc=pass header.from=corp.test policy.dmarc=none;\r\n\tspf=none (${service}: no SPF records found for postmaster@mail.corp.test) smtp.helo=mail.corp.test`,
    ],
    ['with a version and upper case', `MX.Cloudflare.NET 1; DMARC/1=PASS header.from=Corp.Test`],
    ['with comments', `${service} (the (first) one); dmarc=pass (p=reject; dis=none) header.from=corp.test`],
    ['with a reason', `${service}; dmarc=pass reason="all; is = well" header.from="corp.test"`],
    ['with a semicolon at the end', `${service}; dmarc=pass header.from=corp.test;`],
    [
      'with a quoted address in another result',
      `${service}; spf=pass smtp.mailfrom="a b"@other.test; dmarc=pass header.from=corp.test`,
    ],
  ])('holds %s', (_name, header) => expect(provesSender([header], boss)).toBe(true))

  it('compares names in other alphabets', () => {
    const header = `${service}; dmarc=pass header.from=xn--bcher-kva.test`
    expect(provesSender([header], 'a@bücher.test')).toBe(true)
  })

  it.each([
    ['for another domain', `${service}; dmarc=pass header.from=evil.test`],
    ['for a longer domain', `${service}; dmarc=pass header.from=corp.test.evil.test`],
    ['for a subdomain', `${service}; dmarc=pass header.from=mail.corp.test`],
    ['without a domain', `${service}; dmarc=pass`],
    ['of a foreign server', 'mx.evil.test; dmarc=pass header.from=corp.test'],
    ['of a server with a longer name', `${service}.evil.test; dmarc=pass header.from=corp.test`],
    [
      'inside a quoted address',
      `${service}; dmarc=fail header.from=corp.test; spf=pass smtp.mailfrom="; dmarc=pass header.from=corp.test"@evil.test`,
    ],
    ['inside a comment', `${service}; dmarc=fail (dmarc=pass header.from=corp.test) header.from=corp.test`],
    ['after an open comment', `${service}; spf=pass (; dmarc=pass header.from=corp.test`],
    [
      'inside an address without quotes',
      `${service}; spf=pass smtp.mailfrom=a;dmarc=pass header.from=corp.test@evil.test`,
    ],
    ['twice, with two results', `${service}; dmarc=pass header.from=corp.test; dmarc=fail header.from=corp.test`],
    ['of another method', `${service}; dkim=pass header.d=corp.test; spf=pass smtp.mailfrom=corp.test`],
    ['with a result that begins with pass', `${service}; dmarc=passed header.from=corp.test`],
    ['as the reason of a failure', `${service}; dmarc=fail reason="dmarc=pass" header.from=corp.test`],
    ['as a property', `${service}; spf=fail dmarc=pass header.from=corp.test`],
    ['with two domains', `${service}; dmarc=pass header.from=corp.test header.from=evil.test`],
    ['without anything checked', `${service}; none`],
    ['with another version', `${service} 2; dmarc=pass header.from=corp.test`],
    ['with nothing', ''],
  ])('does not hold %s', (_name, header) => expect(provesSender([header], boss)).toBe(false))

  it.each(['boss@corp.test:80', 'boss@corp.test/x', 'boss@c%6frp.test', 'boss@c\u043erp.test', 'boss@sub.corp.test'])(
    'does not hold for %s',
    (address) => expect(provesSender([`${service}; dmarc=pass header.from=corp.test`], address)).toBe(false),
  )

  it('is only the first header', () => {
    const proof = `${service}; dmarc=pass header.from=corp.test`
    expect(provesSender([`${service}; dmarc=fail header.from=corp.test`, proof], boss)).toBe(false)
    expect(provesSender(['mx.other.test; spf=pass', proof], boss)).toBe(false)
    expect(provesSender([], boss)).toBe(false)
  })
})

it('reads methods, results and properties', () => {
  expect(parseAuthenticationResults(`example.test 1; spf=fail smtp.mailfrom="a b"@x.test`)).toEqual({
    service: 'example.test',
    results: [{ method: 'spf', result: 'fail', properties: new Map([['smtp.mailfrom', '"a b"@x.test']]) }],
  })
})

it('refuses a header that is too long', () => {
  expect(parseAuthenticationResults(`${service}; ${'(x) '.repeat(5_000)}`)).toBeUndefined()
})
